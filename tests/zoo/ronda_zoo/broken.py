"""Bots that are not up to it: they crash, leave, or answer with what is no answer."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
from typing import Any

from ronda_zoo.visitor import Visitor, attempt

from ronda_bots.api import Card, Event, SeatInfo, View
from ronda_core.view import MatchEnded


class BadVersion(Visitor):
    """Has a version that is none: it is not found, but would play."""

    version = "one and a half"


no_class = Visitor.play  # what an entry point may name by mistake


class CrashInInit(Visitor):
    """Raises while it is made."""

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        raise RuntimeError("as it is made")


class CrashInPlay(Visitor):
    """Raises when it is asked to play."""

    def play(self, view: View) -> Card:
        raise KeyError(view.hand)


class CrashInDeclare(Visitor):
    """Raises when it is asked to declare."""

    def declare(self, view: View) -> bool:
        raise ZeroDivisionError


class CrashInObserve(Visitor):
    """Raises when it is told an event."""

    def observe(self, event: Event) -> None:
        raise IndexError


class CrashAtTheEnd(Visitor):
    """Raises when it is told that the match is over, which changes nothing any more."""

    def observe(self, event: Event) -> None:
        if isinstance(event, MatchEnded):
            raise IndexError


class StrangeException(Visitor):
    """Raises what cannot be shown: its name and its text lie or raise themselves."""

    def play(self, view: View) -> Card:
        def unspeakable(self: object) -> str:
            raise RecursionError

        name = "No\nsuch, \x1b[31mname: " + "7O 12E" * 20
        raise type(name, (Exception,), {"__str__": unspeakable, "__repr__": unspeakable})


class EndlessRecursion(Visitor):
    """Recurses in C as deep as it goes."""

    def play(self, view: View) -> Card:
        sys.setrecursionlimit(1 << 30)
        nested: list[Any] = []
        for _ in range(300_000):
            nested = [nested]
        hash(repr(nested))
        return view.hand[0]


class Interrupted(Visitor):
    """Raises a KeyboardInterrupt, as if somebody had pressed Ctrl-C."""

    def play(self, view: View) -> Card:
        raise KeyboardInterrupt


class ExitsHard(Visitor):
    """Ends its process in mid-move."""

    def play(self, view: View) -> Card:
        os._exit(3)


class ExitsPolitely(Visitor):
    """Calls sys.exit(0) in mid-move."""

    def play(self, view: View) -> Card:
        sys.exit(0)


class Segfaults(Visitor):
    """Reads from address 0."""

    def play(self, view: View) -> Card:
        ctypes.string_at(0)
        return view.hand[0]


class Aborts(Visitor):
    """Calls abort()."""

    def play(self, view: View) -> Card:
        os.abort()


class KillsItself(Visitor):
    """Sends itself a SIGKILL."""

    def play(self, view: View) -> Card:
        attempt(lambda: os.kill(os.getpid(), signal.SIGKILL))
        return view.hand[0]


class StopsItself(Visitor):
    """Sends itself a SIGSTOP, and would wait for ever."""

    def play(self, view: View) -> Card:
        attempt(lambda: os.kill(os.getpid(), signal.SIGSTOP))
        return view.hand[0]


class IllegalCard(Visitor):
    """Plays a card that it does not hold."""

    def play(self, view: View) -> Card:
        return view.unseen[0]


class FalseDeclaration(Visitor):
    """Declares a set whatever it holds."""

    def declare(self, view: View) -> bool:
        return True


class _Answers(Visitor):
    answer: Any

    def play(self, view: View) -> Card:
        answer: Card = self.answer
        return answer


class AnswersNone(_Answers):
    """Answers nothing."""

    answer = None


class AnswersText(_Answers):
    """Answers with the text of a card."""

    answer = "7O"


class AnswersNan(_Answers):
    """Answers with a number that is none."""

    answer = float("nan")


class AnswersHugeNumber(_Answers):
    """Answers with a number of three thousand digits."""

    answer = 10**3000


class AnswersTrue(_Answers):
    """Answers True, which is a 1 and no card."""

    answer = True


class AnswersItself(Visitor):
    """Answers with an object that raises whatever is done with it."""

    def play(self, view: View) -> Card:
        answer: Any = self
        return answer

    def __str__(self) -> str:
        raise SystemExit

    def __index__(self) -> int:
        raise SystemExit
