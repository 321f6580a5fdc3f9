"""Whatever a bot does, a seat answers legally or says whose fault it is and why."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.bots.tables import info, seat_info, uniform_deck

from ronda_arena.fault import BotFaultError
from ronda_arena.trusted import TrustedSeat
from ronda_core import match as matches
from ronda_core.cards import PACK, Card
from ronda_core.match import Cause, Match
from ronda_core.rules import settings
from ronda_core.view import View, view

RULES = settings("cafe", 2)


class Good:
    version = "1"

    def __init__(self, seat: Any, rng: random.Random) -> None:
        self.told: list[Any] = []

    def play(self, view: View) -> Card:
        return view.hand[0]


class Declaring(Good):
    def declare(self, view: View) -> bool:
        return view.may_declare

    def observe(self, event: Any) -> None:
        self.told.append(event)


def seat(bot_class: Any) -> TrustedSeat:
    return TrustedSeat(info(bot_class), seat_info(RULES, 0), 1)


def seen(*, set_held: bool = False) -> View:
    """A view of seat 0 that holds a pair, or none, in the declaring step."""
    rng = random.Random(5)
    while True:
        match = Match(RULES, 1)
        matches.deal(match, uniform_deck(rng, 2))
        told = view(match, 0)
        if told.may_declare is set_held:
            return told


def ask(bot_class: Any, method: str, told: View) -> None:
    """Make the bot, and let it be asked by `method`; events are told with the next question."""
    sitting = seat(bot_class)
    if method == "observe":
        sitting.tell(["event"])  # type: ignore[list-item] -- a bot is passed whatever there is
    if method == "declare":
        sitting.declare(told)
    else:
        sitting.play(told)


def fault(bot_class: Any, method: str, told: View) -> BotFaultError:
    with pytest.raises(BotFaultError) as raised:
        ask(bot_class, method, told)
    return raised.value


def test_a_good_bot_is_taken_at_its_word() -> None:
    held = seen(set_held=True)
    for kind, decides in ((Good, False), (Declaring, True)):
        sitting = seat(kind)
        assert sitting.identity == f"{kind.__name__.lower()}@1"
        assert sitting.isolation == "trusted"
        assert sitting.decides is decides
        assert sitting.observes is decides
        assert sitting.play(held) == held.hand[0]
        assert sitting.declare(held) is True
        assert sitting.declare(seen()) is False
        sitting.tell(["event"])  # type: ignore[list-item] -- a bot is passed whatever there is
        assert sitting.finish() is None


def test_a_card_may_be_told_as_its_number() -> None:
    held = seen()

    class Numbers(Good):
        def play(self, view: View) -> Any:
            return int(view.hand[1])

    answer = seat(Numbers).play(held)
    assert answer == held.hand[1]
    assert type(answer) is Card


class Sly(int):
    """Equal to everything, and not what it says."""

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __int__(self) -> int:
        return 1

    def __index__(self) -> int:
        return 1


class Posing:
    __class__ = int  # type: ignore[assignment] -- the lie that isinstance() believes


def not_held(view: View) -> Card:
    return next(card for card in PACK if card not in view.hand)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (not_held, Cause.ILLEGAL),
        (lambda view: 0, Cause.PROTOCOL),
        (lambda view: 41, Cause.PROTOCOL),
        (lambda view: -1, Cause.PROTOCOL),
        (lambda view: 10**30, Cause.PROTOCOL),
        (lambda view: Sly(int(not_held(view))), Cause.ILLEGAL),
        (lambda view: None, Cause.PROTOCOL),
        (lambda view: True, Cause.PROTOCOL),
        (lambda view: str(view.hand[0]), Cause.PROTOCOL),
        (lambda view: float(view.hand[0]), Cause.PROTOCOL),
        (lambda view: view.hand, Cause.PROTOCOL),
        (lambda view: Posing(), Cause.PROTOCOL),
        (lambda view: Card, Cause.PROTOCOL),
    ],
)
def test_an_answer_that_is_no_card_held_is_a_fault(answer: Any, cause: Cause) -> None:
    class Bad(Good):
        def play(self, view: View) -> Any:
            return answer(view)

    raised = fault(Bad, "play", seen())
    assert raised.cause is cause
    assert str(raised.answer) not in f"{raised} {raised.detail}" or raised.answer is None


@pytest.mark.parametrize("answer", [None, 1, 0, "yes", [], True])
def test_a_declaration_is_a_bool_and_true(answer: Any) -> None:
    class Bad(Declaring):
        def declare(self, view: View) -> Any:
            return answer

    expected = Cause.ILLEGAL if answer is True else Cause.PROTOCOL
    assert fault(Bad, "declare", seen()).cause is expected


class BoomError(Exception):
    pass  # a kind of its own


@pytest.mark.parametrize(
    "error", [BoomError, SystemExit, GeneratorExit, RecursionError, MemoryError]
)
@pytest.mark.parametrize("method", ["__init__", "play", "declare", "observe"])
def test_an_exception_is_a_crash_in_every_method_and_its_text_is_not_told(
    method: str, error: type[BaseException]
) -> None:
    def crash(self: Any, *args: Any) -> Any:
        raise error("the other one holds 7O")

    bad = type("Bad", (Declaring,), {method: crash})
    raised = fault(bad, method, seen())
    assert raised.cause is Cause.CRASH
    assert error.__name__ in raised.detail
    assert "7O" not in raised.detail


def test_an_interrupt_is_the_users_in_every_method() -> None:
    def interrupt(self: Any, *args: Any) -> Any:
        raise KeyboardInterrupt

    for method in ("__init__", "play", "declare", "observe"):
        bad = type("Bad", (Declaring,), {method: interrupt})
        with pytest.raises(KeyboardInterrupt):
            ask(bad, method, seen())


@pytest.mark.parametrize("name", ["7O 12E", "x" * 500, "é", "", "1"])
def test_a_name_made_up_for_an_exception_is_not_told(name: str) -> None:
    def crash(self: Any, *args: Any) -> Any:
        raise type(name, (Exception,), {})

    detail = fault(type("Bad", (Good,), {"play": crash}), "play", seen()).detail
    assert len(detail) < 100
    assert detail == f"{'x' * 40 if 'x' in name else 'an exception'} when it was asked to play"


def test_a_bot_without_play_cannot_sit_down() -> None:
    class Mute:
        version = "1"

        def __init__(self, seat: Any, rng: Any) -> None: ...

    with pytest.raises(BotFaultError) as raised:
        seat(Mute)
    assert raised.value.cause is Cause.CRASH


def test_the_same_seed_gives_a_bot_the_same_chance() -> None:
    class Dice(Good):
        def __init__(self, seat: Any, rng: random.Random) -> None:
            self.rng = rng

        def play(self, view: View) -> Card:
            return self.rng.choice(view.hand)

    held = seen()
    one, other = [TrustedSeat(info(Dice), seat_info(RULES, 0), 77) for _ in range(2)]
    random.seed(3)
    first = [one.play(held) for _ in range(50)]
    random.seed(4)
    assert [other.play(held) for _ in range(50)] == first
