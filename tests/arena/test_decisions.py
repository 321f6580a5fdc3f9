"""A recorded decision is asked again as it was asked then: same view, same events, same chance."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

from ronda_arena.decisions import Decision, advise, chance, decisions, live
from ronda_arena.seating import InProcess
from ronda_arena.table import play_match
from ronda_bots.registry import BotInfo
from ronda_core.match import Cause
from ronda_core.record import Record, read, write
from ronda_core.rules import PRESETS, settings

NOW = "2026-01-01T00:00:00Z"
TABLES = [(p.name, players) for p in PRESETS.values() for players in p.players]
HERE = InProcess()


class Spy:
    """Notes all that it is given, and plays by chance."""

    version = "1"
    lives: list[Spy] = []  # noqa: RUF012 -- every spy that was made

    def __init__(self, seat: Any, rng: random.Random) -> None:
        self.seat = seat
        self.rng = rng
        self.given: list[object] = []
        Spy.lives.append(self)

    def play(self, view: Any) -> Any:
        self.given.append(view)
        return self.rng.choice(view.hand)

    def declare(self, view: Any) -> bool:
        self.given.append(view)
        return bool(view.may_declare and self.rng.random() < 0.5)

    def observe(self, event: Any) -> None:
        self.given.append(event)


class Breaks(Spy):
    def play(self, view: Any) -> Any:
        if len(view.plays) > 10:
            raise KeyError
        return super().play(view)


class Stops(Spy):
    def play(self, view: Any) -> Any:
        breakpoint()
        return super().play(view)


class Fickle(Spy):
    def play(self, view: Any) -> Any:
        return view.hand[-1]


def info(kind: Any) -> BotInfo:
    return BotInfo(kind.__name__.lower(), "1", "tests", "1", "", kind)


SPY = info(Spy)


def played(rules: str, players: int, *bots: BotInfo, length: int = 2) -> Record:
    chosen = settings(rules, players, length=length if PRESETS[rules].targets else 0)
    seats = bots or (SPY,) * players
    return play_match("m1", chosen, seats, bytes(range(32)), now=lambda: NOW)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_a_seat_is_given_again_all_that_it_was_given_and_decides_the_same(
    rules: str, players: int
) -> None:
    Spy.lives.clear()
    record = played(rules, players)
    then = list(Spy.lives)
    record = read(write(record))
    made = list(decisions(record))
    for seat in range(players):
        own = [one for one in made if one.seat == seat]
        Spy.lives.clear()
        lived = live(SPY, record, own, HERE)
        (now,) = Spy.lives
        assert now.seat == then[seat].seat
        assert now.given == then[seat].given[: len(now.given)]
        assert now.given[-1] == own[-1].view
        assert lived.fault is None
        assert lived.differed == ()
        assert lived.choice == own[-1].chosen
        assert lived.reached is own[-1]


def test_a_breakpoint_stops_at_the_last_decision_only(monkeypatch: pytest.MonkeyPatch) -> None:
    record = played("cafe", 2)
    own = [one for one in decisions(record) if one.seat == 0 and not one.declares]
    Spy.lives.clear()
    stopped: list[object] = []

    def stop() -> None:
        stopped.append(len(Spy.lives[-1].given))

    monkeypatch.setattr(sys, "breakpointhook", stop)
    assert live(info(Stops), record, own, HERE).fault is None
    assert sys.breakpointhook is stop
    assert len(stopped) == 1
    assert Spy.lives[-1].given[-1] == own[-1].view
    assert live(info(Stops), record, own, HERE, last=False).fault is None
    assert len(stopped) == 1


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_every_play_and_every_answer_is_a_decision_once(rules: str, players: int) -> None:
    record = played(rules, players)
    made = list(decisions(record))
    for number, hand in enumerate(record.hands, 1):
        plays = [one for one in made if one.hand == number and not one.declares]
        assert [one.play for one in plays] == list(range(1, len(hand.plays) + 1))
        assert tuple(one.chosen for one in plays) == hand.plays
        answers = [one for one in made if one.hand == number and one.declares]
        batches = 12 // players if settings(rules, players).declares else 0
        assert len(answers) == batches * players
        told = {(one.batch, one.seat) for one in answers if one.chosen}
        assert told == {(b, seat) for b, kinds in hand.declared.items() for seat in kinds}


def test_the_decision_that_was_a_fault_is_the_last_one_and_has_no_choice() -> None:
    record = played("playtash", 2, SPY, info(Breaks))
    assert record.fault
    last = list(decisions(record))[-1]
    assert last.seat == record.fault.seat == 1
    assert last.chosen is None
    assert last.play == len(record.hands[-1].plays) + 1
    own = [one for one in decisions(record) if one.seat == 1]
    lived = live(info(Breaks), record, own, HERE)
    assert lived.fault
    assert lived.fault.cause is Cause.CRASH
    assert lived.reached == own[-1]


def test_what_breaks_or_differs_earlier_is_told_with_its_place() -> None:
    record = played("playtash", 2)
    own = [one for one in decisions(record) if one.seat == 0]
    lived = live(info(Breaks), record, own, HERE)
    assert lived.fault
    assert (lived.reached.hand, lived.choice) == (1, None)
    assert lived.reached.play in (12, 13)
    lived = live(info(Fickle), record, own, HERE)
    assert lived.fault is None
    assert lived.differed
    assert all(one.chosen != one.view.hand[-1] for one in lived.differed)


def test_the_last_decision_can_be_left_out() -> None:
    record = played("playtash", 2)
    own = [one for one in decisions(record) if one.seat == 0][:5]
    Spy.lives.clear()
    live(SPY, record, own, HERE, last=False)
    assert own[4].view not in Spy.lives[0].given
    assert own[3].view in Spy.lives[0].given


def test_advice_is_told_all_and_asked_once() -> None:
    record = played("cafe", 3)
    own = [one for one in decisions(record) if one.seat == 1]
    Spy.lives.clear()
    advise(SPY, record, own, HERE)
    asked = [given for given in Spy.lives[0].given if given in [one.view for one in own]]
    assert asked == [own[-1].view]
    events = [event for one in own for event in one.news]
    assert [given for given in Spy.lives[0].given if given not in asked] == events


def test_a_sealed_record_shows_no_chance() -> None:
    record = played("playtash", 2)
    assert chance(record, 0) not in (None, chance(record, 1))
    assert chance(Record(**{**_fields(record), "fair": None}), 0) is None


def _fields(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in Record.__slots__}


def test_no_card_is_in_the_text_of_a_decision() -> None:
    one = next(decisions(played("playtash", 2)))
    assert isinstance(one, Decision)
    assert str(one.chosen) not in repr(one)
    assert one.place == f"hand 1, play 1, seat {one.seat}"
