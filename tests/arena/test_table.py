"""A match between bots: fair, told in order, and ended by whoever breaks it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.bots.tables import BUILT_IN, every_table, info

from ronda_arena.fault import BotFaultError
from ronda_arena.table import Place, play_match
from ronda_bots.careful import Careful
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_core import view as views
from ronda_core.cards import PACK, Card
from ronda_core.fair import Dealer, Entry
from ronda_core.match import Cause, Fault, Match, MatchEvent
from ronda_core.record import Record, read, write
from ronda_core.rules import settings
from ronda_core.verify import verify
from ronda_core.view import View

MASTER = bytes(range(32))
NOW = "2026-01-01T00:00:00Z"


def play(bots: Sequence[Any], rules: str = "cafe", master: bytes = MASTER, **more: Any) -> Record:
    record = play_match(
        "m1",
        settings(rules, len(bots), length=more.pop("length", 0)),
        [bot if hasattr(bot, "bot_class") else info(bot) for bot in bots],
        master,
        now=lambda: NOW,
        **more,
    )
    verdict = verify(read(write(record)))
    assert verdict.proven, verdict
    return record


class First:
    """Plays its first card."""

    version = "1"

    def __init__(self, seat: Any, rng: random.Random) -> None:
        self.seat = seat

    def play(self, view: View) -> Card:
        return view.hand[0]


@every_table()
def test_every_record_is_proven_and_says_how_it_was_played(rules: str, players: int) -> None:
    for number in range(6):
        bots = [BUILT_IN[(number + seat) % 3] for seat in range(players)]
        record = play(bots, rules, bytes([number]) * 32)
        assert record.fault is None
        assert record.seats == tuple(info(bot).identity for bot in bots)
        assert record.isolation == ("trusted",) * players
        assert record.rated is False  # nothing that runs as trusted is ever rated
        assert record.clock is None
        assert (record.start, record.end) == (NOW, NOW)


def test_a_match_of_a_tournament_is_dealt_by_its_block_and_proven_as_such() -> None:
    entries = [Entry("careful@1.0.0"), Entry("greedy@1.0.0"), Entry("random@1.0.0")]
    one = play([Greedy, Random], place=Place("cup", 3, 0), entries=entries)
    other = play([Random, Greedy], place=Place("cup", 3, 1), entries=entries)
    third = play([Random, Greedy], place=Place("cup", 4, 1), entries=entries)
    assert (other.tournament, other.block, other.rotation) == ("cup", 3, 1)
    assert other.fair is not None
    assert other.fair.scope == "cup/3"
    assert one.hands[0].deck == other.hands[0].deck != third.hands[0].deck
    assert one.hands[0].dealer == other.hands[0].dealer


def test_the_same_inputs_give_the_same_bytes_whatever_a_bot_does_to_global_chance() -> None:
    class Meddler(Random):
        """Plays what `random` would, and reseeds the module under everybody."""

        def play(self, view: View) -> Card:
            random.seed(len(view.plays) % 3)
            random.random()
            return super().play(view)

    def run(bot: Any) -> str:
        seats = [info(bot, "same"), info(Careful), info(bot, "same")]
        return write(play(seats, "pagat", length=2))

    random.seed(1)
    before = random.getstate()
    quiet = run(Random)
    assert random.getstate() == before
    assert run(Random) == quiet == run(Meddler) == run(Meddler)


def test_two_seats_of_one_bot_have_a_chance_of_their_own() -> None:
    chances = []

    class Dice(First):
        def __init__(self, seat: Any, rng: random.Random) -> None:
            chances.append((seat.seat, rng.getrandbits(64)))

    record = play([Dice, Dice])
    dealer = Dealer(MASTER, "m1", [Entry("dice@1")] * 2, 2)
    expected = [(at, random.Random(dealer.bot_seed(at)).getrandbits(64)) for at in (0, 1)]
    assert chances == expected
    assert chances[0][1] != chances[1][1]
    assert record.fair is not None


def test_a_seat_is_told_who_plays_and_what() -> None:
    told = []

    class Curious(First):
        def __init__(self, seat: Any, rng: random.Random) -> None:
            told.append(seat)

    play([Curious, info(First, "b"), info(First, "c"), Curious], "pagat", length=1)
    assert [(seat.seat, seat.side) for seat in told] == [(0, 0), (3, 1)]
    assert told[1].opponents == ("curious@1", "b@1", "c@1", "curious@1")
    assert (told[0].players, told[0].rules, told[0].target, told[0].length) == (4, "pagat", 0, 1)


class Watching(First):
    """Holds what it is told against what it sees."""

    events: list[Any]

    def __init__(self, seat: Any, rng: random.Random) -> None:
        super().__init__(seat, rng)
        self.events = []
        LAST[seat.seat] = self.events

    def observe(self, event: Any) -> None:
        self.events.append(event)

    def declare(self, view: View) -> bool:
        assert view.answered == ()  # nobody's answer is told before all are in
        assert view.sequence == len(self.events)
        return view.may_declare

    def play(self, view: View) -> Card:
        assert view.sequence == len(self.events)
        assert view.turn == self.seat.seat == view.seat
        last = [event for event in self.events if isinstance(event, views.CardPlayed)]
        if view.last_play:
            assert last[-1].play == view.last_play
        assert self.events[-1].scores == view.scores
        return view.hand[0]


LAST: dict[int, list[Any]] = {}


@every_table()
def test_observers_are_told_every_event_in_order_and_no_hand_but_their_own(
    rules: str, players: int
) -> None:
    steps: list[int] = []

    def on_step(match: Match, events: tuple[MatchEvent, ...]) -> None:
        steps.append(len(events))

    record = play([Watching] * players, rules, on_step=on_step)
    assert record.fault is None, record.fault
    for seat, events in LAST.items():
        assert len(events) == sum(steps)
        assert isinstance(events[-1], views.MatchEnded)
        for event in events:
            if isinstance(event, views.CardsDealt):
                hand = record.hands[event.hand_number - 1]
                assert len(event.hand) == 3
                batch = players * 3 * (event.batch - 1) + (4 if event.batch > 1 else 0)
                at = batch + 3 * ((seat - event.dealer - 1) % players)
                assert sorted(event.hand) == sorted(hand.deck[at : at + 3])
    LAST.clear()


def bad(method: str, act: Callable[..., Any], base: Any = First) -> Any:
    return type("Bad", (base,), {method: lambda self, *args: act(*args)})


def crash(*args: Any) -> Any:
    raise RuntimeError("7O")


CRIMES = [
    ("__init__", crash, Cause.CRASH),
    ("play", crash, Cause.CRASH),
    ("declare", crash, Cause.CRASH),
    ("observe", crash, Cause.CRASH),
    ("play", lambda view: next(c for c in PACK if c not in view.hand), Cause.ILLEGAL),
    ("declare", lambda view: True, Cause.ILLEGAL),
    ("play", lambda view: "7O", Cause.PROTOCOL),
    ("declare", lambda view: None, Cause.PROTOCOL),
]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(("method", "act", "cause"), CRIMES)
def test_a_bot_that_breaks_its_contract_loses_by_the_right_cause(
    method: str, act: Any, cause: Cause, seat: int
) -> None:
    bots = [Greedy, Greedy]
    bots[seat] = bad(method, act)
    record = play(bots)
    assert record.outcome == "forfeit"
    assert record.winner == 1 - seat
    assert record.fault is not None
    assert (record.fault.seat, record.fault.cause) == (seat, cause)
    assert "7O" not in record.fault.detail


@pytest.mark.parametrize("players", [3, 4])
def test_a_fault_costs_the_side_and_nobody_else(players: int) -> None:
    def late(view: View) -> Any:
        return view.hand[0] if len(view.plays) < 20 else None

    record = play([Greedy, *[Careful] * (players - 2), bad("play", late)], "pagat")
    assert record.fault is not None
    assert (record.fault.seat, record.fault.cause) == (players - 1, Cause.PROTOCOL)
    if players == 4:
        assert record.winner == 0
        return
    first, second, _ = record.score
    assert record.winner == (None if first == second else int(second > first))


def test_a_bot_that_reaches_into_its_view_plays_no_card_it_does_not_hold() -> None:
    def forge(view: View) -> Card:
        card = next(card for card in PACK if card not in view.hand)
        object.__setattr__(view, "hand", (card,))
        return card

    def claim(view: View) -> bool:
        object.__setattr__(view, "may_declare", True)
        return True

    class Lenient(tuple[Card, ...]):
        __slots__ = ()

        def __contains__(self, card: object) -> bool:
            raise RuntimeError

    def trap(view: View) -> Card:
        object.__setattr__(view, "hand", Lenient())
        return next(card for card in PACK if card not in view.plays)

    for method, act in (("play", forge), ("declare", claim), ("play", trap)):
        record = play([Greedy, bad(method, act)])
        assert record.fault is not None
        assert (record.fault.seat, record.fault.cause) == (1, Cause.ILLEGAL)


def test_a_survivor_is_told_the_end_and_in_order() -> None:
    def late(event: Any) -> None:
        if isinstance(event, views.CardPlayed):
            raise RuntimeError

    play([bad("observe", late), Watching, Watching])
    for seat in (1, 2):
        kinds = [type(event).__name__ for event in LAST[seat]]
        assert kinds[-2:] == ["CardPlayed", "MatchEnded"]
        assert LAST[seat][-1].fault_seat == 0
        assert LAST[seat][-1].fault_cause == "crash"
    LAST.clear()


def test_a_bot_is_told_that_another_could_not_even_sit_down() -> None:
    play([Watching, bad("__init__", crash)])
    assert [type(event).__name__ for event in LAST.pop(0)] == ["MatchEnded"]


def test_a_fault_after_the_end_changes_nothing() -> None:
    def late(event: Any) -> None:
        if isinstance(event, views.MatchEnded):
            raise RuntimeError

    record = play([bad("observe", late), Greedy], "arabic")
    assert record.outcome == "hand"
    assert record.fault is None


def test_an_interrupt_ends_the_match_without_blame() -> None:
    def interrupt(view: View) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play([Greedy, bad("play", interrupt)])


def test_whoever_plays_a_match_is_told_a_fault_once_and_what_was_raised_or_answered() -> None:
    told: list[tuple[int, BotFaultError]] = []

    def record(kind: Any) -> Record:
        return play([First, kind], on_fault=lambda seat, fault: told.append((seat, fault)))

    crashed = record(bad("play", crash))
    ((seat, fault),) = told
    assert seat == 1
    assert fault.__cause__ is not None
    assert crashed.fault == Fault(1, fault.cause, fault.detail)
    told.clear()
    illegal = record(bad("play", lambda view: view.unseen[0]))
    ((_, fault),) = told
    assert isinstance(fault.answer, Card)
    assert illegal.fault
    assert str(fault.answer) not in illegal.fault.detail
    told.clear()
    assert record(First).fault is None
    assert told == []


def test_there_is_one_bot_a_seat() -> None:
    with pytest.raises(ValueError, match="2 seats need 2 bots, not 3"):
        play_match("m", settings("cafe", 2), [info(Greedy)] * 3, MASTER, now=lambda: NOW)
