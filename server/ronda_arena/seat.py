"""One bot at one seat, in this process: how a decision is got from it, and who is to blame.

Whatever a bot does, what leaves this module is a legal answer or a `BotFaultError` with the cause
of a forfeit. Its detail names an exception's type at most: the text of one could hold a card.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final, cast

from ronda_bots.api import Event, SeatInfo, View
from ronda_bots.registry import BotInfo
from ronda_core.cards import CARDS, Card
from ronda_core.match import Cause


class BotFaultError(Exception):
    """A bot broke its contract: its side forfeits. A crash has the exception as its `__cause__`."""

    def __init__(self, cause: Cause, detail: str, answer: object = None) -> None:
        super().__init__(f"{cause.value}: {detail}")
        self.cause = cause
        self.detail = detail
        self.answer = answer
        """What it answered, for its author alone: it may tell a hand, and is never written down."""


class Seat:
    """A bot made for one seat of one match; making it may already fail."""

    __slots__ = ("_declare", "_observe", "_play", "identity")

    isolation: Final = "trusted"

    def __init__(self, info: BotInfo, seat: SeatInfo, seed: int) -> None:
        self.identity = info.identity
        try:
            bot = info.bot_class(seat, random.Random(seed))
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
        held = view.hand  # kept: a bot in this process can reach into its view
        try:
            answer = self._play(view)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() too
            raise _crash("it was asked to play", error) from error
        if type(answer) is not Card:
            answer = _card(answer)
        if answer not in held:
            raise BotFaultError(Cause.ILLEGAL, "it played a card that it does not hold", answer)
        return answer

    def declare(self, view: View) -> bool:
        """Return whether the bot declares a set; by default it declares what it holds."""
        if self._declare is None:
            return view.may_declare
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
        if answer and not may_declare:
            raise BotFaultError(Cause.ILLEGAL, "it declared a set that it does not hold", answer)
        return answer

    def observe(self, event: Event) -> None:
        """Tell the bot an event, if it wants to know."""
        if self._observe is None:
            return
        try:
            self._observe(event)
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
    # A bot chooses its exceptions' names: keep what Python itself would take for one.
    name = type(error).__name__
    name = name[:40] if name.isascii() and name.isidentifier() else "an exception"
    return BotFaultError(Cause.CRASH, f"{name} when {when}")
