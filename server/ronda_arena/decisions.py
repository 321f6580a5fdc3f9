"""The decisions of a recorded match: what a seat saw, what it did, and what a bot does there now.

A bot is made afresh with what its seat was given, and lives the match up to the decision: the same
views, the same events. That is how a server revives its bots as well.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

from ronda_arena.clock import Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.seat import Seat
from ronda_arena.seating import Seating, seat_info
from ronda_arena.worker.seat import WorkerSeat
from ronda_bots.registry import BotInfo
from ronda_core.cards import CARDS
from ronda_core.fair import Dealer
from ronda_core.hand import Answered, Phase, Played
from ronda_core.match import Match
from ronda_core.record import Record
from ronda_core.rules import settings
from ronda_core.verify import replay
from ronda_core.view import Event, View, story, view


@dataclass(slots=True)
class Decision:
    """One decision of one seat."""

    hand: int
    batch: int
    play: int
    """Which card of the hand it is, from 1; of a declaration, the first card after it."""
    seat: int
    declares: bool
    """It was asked to declare, not to play."""
    view: View = field(repr=False)
    news: list[Event] = field(repr=False)
    """What the seat was told since its last decision."""
    chosen: object = None
    """A card, or a bool; None where the match ended there."""

    @property
    def place(self) -> str:
        """Say which it is."""
        what = f"declaration in batch {self.batch}" if self.declares else f"play {self.play}"
        return f"hand {self.hand}, {what}, seat {self.seat}"


def decisions(record: Record, clock: float | None = None) -> Iterator[Decision]:
    """Yield every decision of a record, each when it was made; at last the one that was a fault.

    `ReplayError` where the record tells what cannot have happened. `clock` is what views say of
    the time that is left: a record does not tell it.
    """
    sequence = 0
    news: list[list[Event]] = [[] for _ in range(record.players)]
    waiting: dict[int, Decision] = {}
    for match, events in replay(record):
        sequence += len(events)
        for seat in range(record.players):
            news[seat] += story(match, events, seat)
        for event in events:
            if isinstance(event, Played | Answered) and event.seat in waiting:
                yield _made(waiting.pop(event.seat), event, record)
        for seat in _asked(match):
            assert match.hand is not None
            waiting[seat] = Decision(
                match.hand.number,
                match.hand.batch,
                len(match.hand.plays) + 1,
                seat,
                match.hand.phase is Phase.DECLARE,
                view(match, seat, sequence, clock),
                news[seat],
            )
            news[seat] = []
    if record.fault is not None and record.fault.seat in waiting:
        yield waiting[record.fault.seat]


def _made(asked: Decision, event: Played | Answered, record: Record) -> Decision:
    """Return a decision with what was decided."""
    if isinstance(event, Played):
        asked.chosen = CARDS[event.card]
    else:
        asked.chosen = asked.seat in record.hands[asked.hand - 1].declared.get(asked.batch, {})
    return asked


def _asked(match: Match) -> Sequence[int]:
    """Return the seats that are asked now: every one to declare, before any has answered."""
    hand = match.hand
    if match.result is not None or hand is None:
        return ()
    if hand.phase is Phase.DECLARE:
        return range(match.settings.players) if not any(map(_given, hand.answers)) else ()
    return (hand.turn,) if hand.phase is Phase.PLAY else ()


def _given(answer: bool | None) -> bool:
    return answer is not None


def chance(record: Record, seat: int) -> int | None:
    """Return the seed that the bot of a seat was given; None where the record does not show it."""
    fair = record.fair
    if fair is None or fair.master is None:
        return None
    return Dealer(fair.master, fair.scope, fair.entries, record.players).bot_seed(seat)


class Lived(NamedTuple):
    """What a bot did that lived a match up to a decision."""

    choice: object
    """A card or a bool; None where it broke, or was not asked."""
    fault: BotFaultError | None
    seconds: float
    """What its last decision took."""
    differed: tuple[Decision, ...]
    """Earlier decisions that it made otherwise than the record."""
    log: bytes
    """All that it has printed."""
    reached: Decision
    """The decision that it came to: an earlier one where it broke there."""


def live(
    bot: BotInfo,
    record: Record,
    asked: Sequence[Decision],
    seating: Seating,
    *,
    clock: Clock | None = None,
    last: bool = True,
) -> Lived:
    """Let `bot` live the decisions of one seat, in order; the last one only if `last`.

    What it decides before the last makes no difference: the match goes on as it was recorded. In
    this process a `breakpoint()` stops at the last one only.
    """
    rules = settings(record.rules, record.players, record.target or None, record.length)
    number = asked[-1].seat
    about = seat_info(rules, number, record.seats)
    level = seating.level(bot)
    differed: list[Decision] = []
    choice: object = None
    seat: Seat | None = None
    fault = None
    took = 0.0
    reached = asked[0]
    try:
        seat = seating.sit(bot, about, chance(record, number) or 0, level, clock)
        for one in asked if last else asked[:-1]:
            reached = one
            seat.tell(one.news)
            with nullcontext() if one is asked[-1] else _no_breakpoints():
                began = time.perf_counter()
                choice = seat.declare(one.view) if one.declares else seat.play(one.view)
            took = seat.seconds if isinstance(seat, WorkerSeat) else time.perf_counter() - began
            if one is not asked[-1] and one.chosen is not None and choice != one.chosen:
                differed.append(one)
    except BotFaultError as broken:
        fault, choice, took = broken, None, broken.seconds or 0.0
    finally:
        if seat is not None:
            seat.close()
    log = fault.log if fault else b""
    if isinstance(seat, WorkerSeat):
        log = log or seat.log
    return Lived(choice, fault, took, tuple(differed), log, reached)


@contextmanager
def _no_breakpoints() -> Iterator[None]:
    """Let `breakpoint()` in this process do nothing."""
    opens = sys.breakpointhook
    sys.breakpointhook = _pass_by
    try:
        yield
    finally:
        sys.breakpointhook = opens


def _pass_by(*_: object, **__: object) -> None:
    """Stop nobody."""


def advise(bot: BotInfo, record: Record, asked: Sequence[Decision], seating: Seating) -> object:
    """Return what another bot would do at the last of these decisions, told all that led there."""
    rules = settings(record.rules, record.players, record.target or None, record.length)
    at = asked[-1]
    about = seat_info(rules, at.seat, record.seats)
    seat = seating.sit(bot, about, chance(record, at.seat) or 0, seating.level(bot))
    try:
        for one in asked:
            seat.tell(one.news)
        return seat.declare(at.view) if at.declares else seat.play(at.view)
    finally:
        seat.close()
