"""A nursery without processes: its one worker has said already all that it will ever say."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from ronda_arena.clock import Clock
from ronda_arena.isolation import Level, Limits
from ronda_arena.worker.nursery import Cradle, Nursery, Remains
from ronda_arena.worker.seat import WorkerSeat
from ronda_arena.worker.wire import OBSERVES, SAY, Say
from ronda_arena.worker.worker import Worker
from ronda_bots.api import SeatInfo
from ronda_bots.registry import BotInfo, Origin

NUMBER = 7
"""Of every question here."""
HUNG_UP = Remains(None, 0.0, 0, b"its log", "")


class Cot(Nursery):
    """Gives out a socket at which `said` waits, after which the other end closes or does not."""

    def __init__(self, said: bytes, *, closes: bool = True, remains: Remains = HUNG_UP) -> None:
        super().__init__(Limits(start_seconds=5.0))
        self.buried: list[tuple[int, bool]] = []
        self._said = said
        self._closes = closes
        self._remains = remains
        self._peers: list[socket.socket] = []

    def spawn(self, cradle: Cradle) -> tuple[int, int, socket.socket]:
        mine, peer = socket.socketpair()
        self._peers.append(peer)
        self.say(self._said)
        if self._closes:
            self.hang_up()
        return 1, 0, mine

    def say(self, data: bytes) -> None:
        """Let the worker say something before it is asked."""
        self._peers[-1].sendall(data)

    def hang_up(self) -> None:
        """Let it say nothing more; what it is asked still goes somewhere."""
        self._peers[-1].shutdown(socket.SHUT_WR)

    def bury(self, generation: int, pid: int, *, ending: bool = False) -> Remains:
        self.buried.append((pid, ending))
        return self._remains

    def close(self) -> None:
        for peer in self._peers:
            peer.close()


class Told(Worker):
    """A worker that is no process: it is sent no signals, and its questions have one number."""

    __slots__ = ()

    def __init__(self, nursery: Nursery, cradle: Cradle) -> None:
        super().__init__(nursery, cradle)
        self._number = lambda _bits: NUMBER

    def _signal(self, number: Any) -> None:
        """Nobody is there."""


def frame(said: int, value: int | bytes = 0, number: int = NUMBER) -> bytes:
    """An answer as a worker should send it."""
    if isinstance(value, bytes):
        return SAY.pack(said, number, len(value)) + value
    return SAY.pack(said, number, value)


MADE = frame(Say.DONE, OBSERVES)


def seated(cot: Cot, about: SeatInfo, clock: Clock | None = None) -> WorkerSeat:
    """Return a seat with the worker of `cot`."""
    info = BotInfo("bot", "1", "tests", "1", "", None, Origin("nowhere", "Bot"))
    return WorkerSeat(info, about, 1, cot, Level.SANDBOX, clock)


def mutations(whole: Sequence[bytes], rng: Any) -> bytes:
    """Return an answer with something wrong with it, or at least something odd."""
    data = bytearray(rng.choice(whole))
    for _ in range(rng.randrange(4)):
        kind = rng.randrange(5)
        if kind == 0 and data:
            data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind == 1:
            del data[rng.randrange(len(data) + 1) :]
        elif kind == 2:
            data += rng.randbytes(rng.choice((1, 7, 100, 5000)))
        elif kind == 3:
            data += rng.choice(whole)
        else:
            data[:0] = rng.randbytes(rng.randrange(1, 8))
    return bytes(data)
