"""A bot in this process: taken at its word, since it can do whatever this process can."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from ronda_arena.fault import BotFaultError, crash_name
from ronda_arena.isolation import Level
from ronda_arena.seat import held_card, true_declaration
from ronda_bots.api import Event, SeatInfo, View
from ronda_bots.registry import BotInfo, load
from ronda_core.cards import CARDS, Card
from ronda_core.match import Cause


class TrustedSeat:
    """A bot made for one seat of one match; making it may already fail."""

    __slots__ = ("_declare", "_news", "_observe", "_play", "identity")

    isolation: Final = Level.TRUSTED
    time_left: Final = None

    def __init__(self, info: BotInfo, seat: SeatInfo, seed: int) -> None:
        self.identity = info.identity
        self._news: list[Event] = []
        try:
            bot = load(info)(seat, random.Random(seed))
            self._play: Callable[[View], object] = bot.play
            self._declare = _optional(bot, "declare")
            self._observe = _optional(bot, "observe")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() too
            raise _crash("it was made", error) from error

    @property
    def observes(self) -> bool:
        """Whether the bot wants to be told events."""
        return self._observe is not None

    @property
    def decides(self) -> bool:
        """Whether the bot itself says what to declare; else it declares what it holds."""
        return self._declare is not None

    def play(self, view: View) -> Card:
        """Return the card that the bot plays, one of `view.hand`."""
        if self._news:
            self._tell()
        held = view.hand  # kept: a bot in this process can reach into its view
        try:
            answer = self._play(view)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() too
            raise _crash("it was asked to play", error) from error
        if type(answer) is not Card:
            answer = _card(answer)
        return held_card(answer, held)

    def declare(self, view: View) -> bool:
        """Return whether the bot declares a set; by default it declares what it holds."""
        if self._declare is None:
            return view.may_declare
        self._tell()
        may_declare = view.may_declare
        try:
            answer = self._declare(view)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() too
            raise _crash("it was asked to declare", error) from error
        if answer is not True and answer is not False:
            raise BotFaultError(
                Cause.PROTOCOL, "declare() answered with something but a bool", answer
            )
        return true_declaration(answer, may_declare)

    def tell(self, events: Iterable[Event]) -> None:
        """Keep what happened for the bot, if it wants to know."""
        if self._observe is not None:
            self._news += events

    def finish(self) -> BotFaultError | None:
        """Tell the bot how it ended."""
        try:
            self._tell()
        except BotFaultError as fault:
            return fault
        return None

    def close(self) -> None:
        """Do nothing: it goes with whoever holds it."""

    def _tell(self) -> None:
        news, self._news = self._news, []
        observe: Any = self._observe
        for event in news:
            try:
                observe(event)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # sys.exit() too
                raise _crash("it was told an event", error) from error


def _optional(bot: object, name: str) -> Callable[[object], object] | None:
    method = getattr(bot, name, None)
    return method if callable(method) else None


def _card(answer: object) -> Card:
    """Return the card that a plain number means. A subclass may lie about itself: ask its type."""
    kind = type(answer)
    if not issubclass(kind, int) or kind is bool:
        raise BotFaultError(Cause.PROTOCOL, "play() answered with something but a card", answer)
    number = int.__int__(cast("int", answer))
    if not 0 < number < len(CARDS):
        raise BotFaultError(Cause.PROTOCOL, "play() answered with a number that is no card", answer)
    return CARDS[number]


def _crash(when: str, error: BaseException) -> BotFaultError:
    return BotFaultError(Cause.CRASH, f"{crash_name(type(error).__name__)} when {when}")
