"""One worker as its owner sees it: ask, and get an answer in time or a fault with its cause.

A worker runs only while it is asked: before and after it is stopped, so that no bot thinks on
another's time or takes its processor. Time is measured here, from the last byte out to the last
byte in, and judged before anything that was said.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import struct
import threading
import time
from typing import Final

from ronda_arena.fault import BotFaultError, crash_name
from ronda_arena.isolation import WorkerLostError
from ronda_arena.worker.child import STAGES
from ronda_arena.worker.nursery import Cradle, Nursery, Remains, close_quietly
from ronda_arena.worker.wire import ASK, MOST_BODY, SAY, WITH_BODY, Ask, Say
from ronda_core.match import Cause

_TIMEVAL: Final = struct.Struct("ll")
_MOST: Final = SAY.size + MOST_BODY
_SLACK: Final = 0.001
"""Seconds that the kernel is asked to wait longer than a clock says: the clock is judged here."""
_HELD_UP: Final = 0.5
"""Seconds beyond a limit after which it was not the worker that was slow: whoever waits is woken
at the limit, unless it was stopped itself, or the whole machine was."""


class Worker:
    """A process with one bot, for one seat of one match."""

    __slots__ = (
        "_awake",
        "_ending",
        "_generation",
        "_number",
        "_nursery",
        "_pid",
        "_socket",
        "_waits",
        "remains",
        "seconds",
    )

    def __init__(self, nursery: Nursery, cradle: Cradle) -> None:
        """Start it; `WorkerLostError` where that is not possible."""
        self._nursery = nursery
        self._generation, self._pid, self._socket = nursery.spawn(cradle)
        # Nobody can answer a question before it is asked: its number cannot be known.
        self._number = random.Random(os.urandom(16)).getrandbits
        self._waits = 0.0
        self._awake = True
        self._ending = threading.Lock()
        self.seconds = 0.0
        """What the last answer took."""
        self.remains: Remains | None = None
        """What is known of it since it has ended."""

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._pid

    def ask(self, kind: Ask, body: bytes, limit: float) -> tuple[Say, int | bytes]:
        """Return what it says within `limit` seconds; after a `BotFaultError` it is no more.

        `WorkerLostError` where nobody can say whether it would have been in time, because this
        process itself was stopped meanwhile.
        """
        sock = self._socket
        number = self._number(32)
        if limit != self._waits:
            self._waits = limit
            self._wait_at_most(limit)
        try:
            sock.sendall(ASK.pack(len(body), kind, number) + body)
        except OSError:
            raise self._ended() from None
        if not self._awake:
            self._signal(signal.SIGCONT)
        asked = time.monotonic()
        try:
            data = sock.recv(_MOST)
            self.seconds = time.monotonic() - asked
            if len(data) != SAY.size or data[0] in WITH_BODY:
                data = self._rest(data, asked, limit)
        except BlockingIOError:
            self.seconds = time.monotonic() - asked
            raise self._late(limit) from None
        except OSError:
            raise self._ended() from None
        self._signal(signal.SIGSTOP)
        self._awake = False
        if self.seconds > limit:
            raise self._late(limit)
        said, echo, value = SAY.unpack_from(data)
        if echo != number:
            raise self._garbled("it answered what it was not asked")
        if said == Say.CRASH:
            raise self._crash(data[SAY.size :])
        return said, data[SAY.size :] if said in WITH_BODY else value

    def end(self, *, ending: bool = False) -> Remains:
        """End it and its tree, once; `WorkerLostError` if it was lost by a fault of ours.

        `ending`: it has hung up. It may be called while another thread asks: that one then finds
        it ended.
        """
        with self._ending:
            if self.remains is None:
                close_quietly(self._socket)
                self.remains = self._nursery.bury(self._generation, self._pid, ending=ending)
            return self.remains

    def nonsense(self, what: str) -> BotFaultError:
        """End it for an answer that is none."""
        return self._garbled(what)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._pid, number)
        except ProcessLookupError:  # reaped by somebody else: its template is gone
            raise self._ended() from None

    def _rest(self, data: bytes, asked: float, limit: float) -> bytes:
        """Read on until one answer is whole; what is no answer, or more than one, is a fault."""
        while True:
            if not data:
                raise self._ended()
            if len(data) >= SAY.size:
                said, _, size = SAY.unpack_from(data)
                whole = SAY.size + (size if said in WITH_BODY else 0)
                if whole > _MOST or len(data) > whole:
                    raise self._garbled("it said more than one answer")
                if len(data) == whole:
                    self._wait_at_most(self._waits)
                    return data
            self._wait_at_most(max(asked + limit - time.monotonic(), 0.0))
            more = self._socket.recv(_MOST + 1 - len(data))
            self.seconds = time.monotonic() - asked
            data = data + more if more else more

    def _wait_at_most(self, seconds: float) -> None:
        seconds += _SLACK
        whole = int(seconds)
        timeval = _TIMEVAL.pack(whole, int((seconds - whole) * 1e6))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)

    def _late(self, limit: float) -> BotFaultError | WorkerLostError:
        if self.seconds > limit + _HELD_UP:
            self.end()
            return WorkerLostError("this process was held up while a bot was to answer")
        return self._fault(Cause.TIME, f"no answer within {limit:.3g} s")

    def _garbled(self, what: str) -> BotFaultError:
        return self._fault(Cause.PROTOCOL, what)

    def _crash(self, body: bytes) -> BotFaultError:
        name = crash_name(body[1:].decode("ascii", "replace"))
        if not body or body[0] >= len(STAGES):
            return self._garbled("it said something that is no answer")
        return self._fault(Cause.CRASH, f"{name} when {STAGES[body[0]]}")

    def _ended(self) -> BotFaultError:
        """Return whose fault it is that nothing came any more."""
        remains = self.end(ending=True)
        if remains.excess:
            cause, detail = Cause.PROTOCOL, remains.excess
        elif remains.status is None:
            cause, detail = Cause.CRASH, "it hung up"
        elif remains.status < 0:
            cause, detail = Cause.CRASH, f"it was ended by {_name(-remains.status)}"
        else:
            cause, detail = Cause.CRASH, f"it ended with exit status {remains.status}"
        return BotFaultError(cause, detail, seconds=self.seconds, log=remains.log)

    def _fault(self, cause: Cause, detail: str) -> BotFaultError:
        remains = self.end()
        if remains.excess:  # it was on its way out already, and this is why
            cause, detail = Cause.PROTOCOL, remains.excess
        return BotFaultError(cause, detail, seconds=self.seconds, log=remains.log)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return f"signal {number}"
