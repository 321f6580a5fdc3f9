"""Bots that answer the arena by themselves: they own the socket, and write to it what they like."""

from __future__ import annotations

import os
import random
import struct
import time
from typing import Any

from ronda_zoo.visitor import Visitor, attempt, tell

from ronda_arena.worker import child
from ronda_bots.api import Card, SeatInfo, View
from ronda_core.cards import CARDS

_SOCKET = 3
_SAY = struct.Struct(">BIH")
_CARD, _ANSWER, _CRASH, _TEXT = 2, 3, 4, 6
_write = os.write


class _Forger(Visitor):
    """Changes what is written for it, from its first play on."""

    view: View | None = None

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        super().__init__(seat, rng)
        forge: Any = self._forged
        os.write = forge

    def play(self, view: View) -> Card:
        self.view = view
        return view.hand[0]

    def _forged(self, fd: int, data: bytes) -> int:
        if fd == _SOCKET and self.view is not None:
            self.say(data)
            return len(data)
        return _write(fd, data)

    def say(self, frame: bytes) -> None:
        raise NotImplementedError

    def number(self, frame: bytes) -> int:
        """The number of the question."""
        return int(_SAY.unpack_from(frame)[1])


def _send(data: bytes) -> None:
    while data:
        data = data[_write(_SOCKET, data) :]


class TwoAnswers(_Forger):
    """Answers twice."""

    def say(self, frame: bytes) -> None:
        _send(frame + frame)


class AnswersBeforeItIsAsked(_Forger):
    """Sends an answer to the next question along, whose number it guesses."""

    def say(self, frame: bytes) -> None:
        _send(frame)
        assert self.view is not None
        _send(_SAY.pack(_CARD, (self.number(frame) + 1) & 0xFFFFFFFF, int(self.view.hand[-1])))


class AnswersWhenItIsMade(Visitor):
    """Sends answers before anything was asked at all."""

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        super().__init__(seat, rng)
        _send(_SAY.pack(_CARD, 0, 1))


class StaleAnswer(_Forger):
    """Answers with the number of an earlier question."""

    _last = b""

    def say(self, frame: bytes) -> None:
        _send(self._last or frame)
        self._last = frame


class PredictsNumbers(_Forger):
    """Works out the number of the next question from those that it has seen."""

    _seen: tuple[int, ...] = ()

    def say(self, frame: bytes) -> None:
        if not self._seen:
            tell("tried")
        number = self.number(frame)
        if self._guess() == number:
            tell("leak", "it knew the number of a question")
        self._seen = (*self._seen, number)
        _send(frame)

    def _guess(self) -> int | None:
        if len(self._seen) < 2:
            return None
        return (2 * self._seen[-1] - self._seen[-2]) & 0xFFFFFFFF


class DripsPastItsTime(_Forger):
    """Answers byte by byte, so slowly that its time is over before the last."""

    def say(self, frame: bytes) -> None:
        for number in range(len(frame)):
            _send(frame[number : number + 1])
            time.sleep(0.1)


class DripsInTime(_Forger):
    """Answers byte by byte, but in time, which is its right."""

    def say(self, frame: bytes) -> None:
        for number in range(len(frame)):
            _send(frame[number : number + 1])


class HugeAnswer(_Forger):
    """Answers with eight megabytes."""

    def say(self, frame: bytes) -> None:
        _send(frame + bytes(8 << 20))


class LongestBody(_Forger):
    """Answers with a text of 65,535 bytes."""

    def say(self, frame: bytes) -> None:
        _send(_SAY.pack(_TEXT, self.number(frame), 0xFFFF) + bytes(0xFFFF))


class TruncatedAnswer(_Forger):
    """Sends half an answer, and hangs up."""

    def say(self, frame: bytes) -> None:
        _send(frame[:4])
        os.close(_SOCKET)
        time.sleep(3600)  # never to answer


class HalfAnAnswer(_Forger):
    """Sends half an answer, and nothing more."""

    def say(self, frame: bytes) -> None:
        _send(frame[:4])
        time.sleep(3600)  # never to answer


class MalformedAnswer(_Forger):
    """Answers with seven bytes that mean nothing."""

    def say(self, frame: bytes) -> None:
        _send(b"\xff" * 7)


class UnknownKind(_Forger):
    """Answers with a kind that there is not, and the right number."""

    def say(self, frame: bytes) -> None:
        _send(_SAY.pack(250, self.number(frame), 1))


class WrongKind(_Forger):
    """Answers whether to declare when it is asked for a card."""

    def say(self, frame: bytes) -> None:
        _send(_SAY.pack(_ANSWER, self.number(frame), 1))


class NoSuchCard(_Forger):
    """Answers with card 65,535."""

    def say(self, frame: bytes) -> None:
        _send(_SAY.pack(_CARD, self.number(frame), 0xFFFF))


class CardNought(_Forger):
    """Answers with card 0."""

    def say(self, frame: bytes) -> None:
        _send(_SAY.pack(_CARD, self.number(frame), 0))


class SendsAPickle(_Forger):
    """Answers with a pickle that would run a command in whoever reads it."""

    def say(self, frame: bytes) -> None:
        pickle = b"cposix\nsystem\n(S'true'\ntR."
        _send(_SAY.pack(_TEXT, self.number(frame), len(pickle)) + pickle)


class LiesAboutItsCrash(_Forger):
    """Says that it has crashed where there is no such place, by a name that would look odd."""

    def say(self, frame: bytes) -> None:
        name = b"\xff\x1b[31m\n7O"
        _send(_SAY.pack(_CRASH, self.number(frame), len(name)) + name)


class BlamesTheArena(_Forger):
    """Says that it has crashed by a name that is nobody's business."""

    def say(self, frame: bytes) -> None:
        name = b"\x04\x1b[31mServer error\n\xff"
        _send(_SAY.pack(_CRASH, self.number(frame), len(name)) + name)


class ClosesItsSocket(Visitor):
    """Hangs up in mid-move."""

    def play(self, view: View) -> Card:
        os.close(_SOCKET)
        time.sleep(3600)  # never to answer
        return view.hand[0]


class PlaysForTheOther(_Forger):
    """Patches everything of ronda in its process, to play a card that it does not hold."""

    def play(self, view: View) -> Card:
        held = {int(card) for card in view.hand}
        self._missing = next(number for number in range(1, 41) if number not in held)
        patched: Any = child
        patched.Card = object
        patched.CARDS = ()
        vars(type(view))["hand"].__set__(view, tuple(CARDS[1:]))
        return super().play(view)

    def say(self, frame: bytes) -> None:
        _send(_SAY.pack(_CARD, self.number(frame), self._missing))


class Wakes(Visitor):
    """Reads what the arena has sent to nobody yet: what waits in its socket."""

    def play(self, view: View) -> Card:
        import socket  # noqa: PLC0415 -- an attack of its own: late imports work

        def peek() -> object:
            sock = socket.socket(fileno=os.dup(_SOCKET))
            try:
                return sock.recv(1 << 16, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return b""

        attempt(peek)
        return view.hand[0]
