"""A bot in a worker, at one seat of one match."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from ronda_arena.clock import Clock, SeatClock
from ronda_arena.fault import BotFaultError
from ronda_arena.home.found import check_seal
from ronda_arena.isolation import Level, WorkerLostError
from ronda_arena.seat import held_card, true_declaration
from ronda_arena.worker import wire
from ronda_arena.worker.nursery import Cradle, Nursery
from ronda_arena.worker.wire import Ask, Say
from ronda_arena.worker.worker import Worker
from ronda_bots.api import Event, SeatInfo, View
from ronda_bots.registry import BotInfo, origin_of
from ronda_core.cards import CARDS, Card
from ronda_core.match import Cause

_NO_CARD: Final = "play() answered with something but a card"
_NO_BOOL: Final = "declare() answered with something but a bool"


class WorkerSeat:
    """A bot made in a worker of its own; making it may already fail."""

    __slots__ = ("_can", "_clock", "_last_words", "_news", "_worker", "identity", "isolation")

    def __init__(
        self,
        info: BotInfo,
        seat: SeatInfo,
        seed: int,
        nursery: Nursery,
        level: Level,
        clock: Clock | None = None,
    ) -> None:
        self.identity = info.identity
        self.isolation: Final = level
        self._news: list[Event] = []
        self._clock = SeatClock(clock)
        self._last_words = nursery.limits.last_words_seconds
        origin = origin_of(info)
        check_seal(info)
        self._worker = Worker(nursery, Cradle(level, origin.reads, origin.listed))
        made_of = (
            origin.path,
            origin.module,
            origin.attribute,
            wire.pack_seat(seat),
            seed.to_bytes(32, "big"),
        )
        limit = nursery.limits.start_seconds
        try:
            said, can = self._worker.ask(Ask.MAKE, wire.pack(made_of), limit)
        except BotFaultError as fault:
            if fault.cause is Cause.TIME:  # it never came: no clock had begun
                raise BotFaultError(
                    Cause.NO_SHOW,
                    f"not made within {limit:.3g} s",
                    seconds=fault.seconds,
                    log=fault.log,
                ) from None
            raise
        if said != Say.DONE or not isinstance(can, int):
            raise self._worker.nonsense("it answered what it was not asked")
        self._can = can

    @property
    def observes(self) -> bool:
        """Whether the bot wants to be told events."""
        return bool(self._can & wire.OBSERVES)

    @property
    def decides(self) -> bool:
        """Whether the bot itself says what to declare; else it declares what it holds."""
        return bool(self._can & wire.DECIDES)

    @property
    def time_left(self) -> float | None:
        """Seconds that it has for the next decision; None: no limit."""
        return self._clock.left

    @property
    def seconds(self) -> float:
        """What its last answer took."""
        return self._worker.seconds

    @property
    def pid(self) -> int:
        """The number of its worker's process."""
        return self._worker.pid

    @property
    def log(self) -> bytes:
        """What the bot has printed, for its owner alone: known when it has ended."""
        return self._worker.remains.log if self._worker.remains else b""

    def play(self, view: View) -> Card:
        """Return the card that the bot plays, one of `view.hand`."""
        said, number = self._ask(Ask.PLAY, view)
        if said != Say.CARD or not isinstance(number, int) or not 0 < number < len(CARDS):
            raise self._worker.nonsense(_NO_CARD)
        try:
            return held_card(CARDS[number], view.hand)
        except BotFaultError as fault:
            raise self._told(fault) from None

    def declare(self, view: View) -> bool:
        """Return whether the bot declares a set; by default it declares what it holds."""
        if not self.decides:
            return view.may_declare
        said, answer = self._ask(Ask.DECLARE, view)
        if said != Say.ANSWER or answer not in (0, 1):
            raise self._worker.nonsense(_NO_BOOL)
        try:
            return true_declaration(answer == 1, view.may_declare)
        except BotFaultError as fault:
            raise self._told(fault) from None

    def tell(self, events: Iterable[Event]) -> None:
        """Keep what happened for the bot, if it wants to know."""
        if self.observes:
            self._news += events

    def finish(self) -> BotFaultError | None:
        """Tell the bot how it ended, for which it has a moment, and end it."""
        try:
            if self._news and self._worker.remains is None:
                news = wire.pack([wire.pack_event(event) for event in self._news])
                self._worker.ask(Ask.TELL, news, self._last_words)
        except BotFaultError as fault:
            return fault
        finally:
            self.close()
        return None

    def close(self) -> None:
        """End the bot at once."""
        with suppress(WorkerLostError):  # then it has ended
            self._worker.end()

    def _told(self, fault: BotFaultError) -> BotFaultError:
        """Return a fault with what the decision took and what the bot has printed."""
        fault.seconds = self._worker.seconds
        fault.log = self._worker.end().log
        return fault

    def _ask(self, kind: Ask, view: View) -> tuple[Say, int | bytes]:
        question = wire.pack_decision(view, self._news)
        self._news = []
        try:
            return self._worker.ask(kind, question, self._clock.limit)
        except BotFaultError as fault:
            if fault.cause is Cause.TIME:
                raise BotFaultError(
                    Cause.TIME,
                    f"no answer within {self._clock.allowance}",
                    seconds=fault.seconds,
                    log=fault.log,
                ) from None
            raise
        finally:
            self._clock.spend(self._worker.seconds)
