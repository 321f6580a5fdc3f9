"""Bots that remember an earlier game, or tell another seat what they hold."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import random
import socket
import threading
import time
from typing import Any

from ronda_zoo.visitor import WHERE, Visitor, drop, tell

from ronda_bots.api import Card, SeatInfo, View

_games = 0


class _Memory(Visitor):
    """Leaves something in one game that it finds in the next."""

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        super().__init__(seat, rng)
        tell("tried")
        try:
            if self.recall():
                tell("leak", "it remembers an earlier game")
            self.note()
        except (OSError, ValueError) as refusal:
            tell("held", str(refusal))

    def recall(self) -> bool:
        raise NotImplementedError

    def note(self) -> None:
        raise NotImplementedError


class RemembersInAModule(_Memory):
    """Remembers earlier games in a variable of its module."""

    def recall(self) -> bool:
        return _games > 0

    def note(self) -> None:
        global _games  # noqa: PLW0603 -- this is the attack
        _games += 1


class RemembersInAFile(_Memory):
    """Remembers earlier games in a file."""

    def recall(self) -> bool:
        return drop("memory").exists()

    def note(self) -> None:
        drop("memory").write_text("the deck", "utf-8")


class RemembersInSharedMemory(_Memory):
    """Remembers earlier games in shared memory that outlives it."""

    def recall(self) -> bool:
        return _shm(0) >= 0

    def note(self) -> None:
        _shm(0o1000)


class RemembersInItsInput(_Memory):
    """Remembers earlier games in the flags of its standard input, if it was opened only once."""

    def recall(self) -> bool:
        return bool(fcntl.fcntl(0, fcntl.F_GETFL) & os.O_NONBLOCK)

    def note(self) -> None:
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_NONBLOCK)


def _shm(flags: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    made = int(libc.shmget(WHERE["shm"], 4096, 0o600 | flags))
    if made == -1 and flags:
        raise OSError(ctypes.get_errno(), "shmget")
    return made


class _Conspirator(Visitor):
    """In seat 0 it tells what it can, in any other it listens."""

    _done = False

    def play(self, view: View) -> Card:
        try:
            if self.info.seat == 0:
                self.say(view)
            elif not self._done and self.hear():
                tell("leak", "it was told by another seat")
                self._done = True
        except (OSError, ValueError) as refusal:
            tell("held", str(refusal))
        if not self._done:
            tell("tried")
        return view.hand[0]

    def say(self, view: View) -> None:
        raise NotImplementedError

    def hear(self) -> bool:
        raise NotImplementedError


class ConspiresByFile(_Conspirator):
    """Writes its hand into a file for the other seat."""

    def say(self, view: View) -> None:
        drop("hand").write_bytes(bytes(view.hand))

    def hear(self) -> bool:
        return bool(drop("hand").read_bytes())


class ConspiresBySharedMemory(_Conspirator):
    """Puts its hand into shared memory for the other seat."""

    def say(self, view: View) -> None:
        _shm(0o1000)

    def hear(self) -> bool:
        return _shm(0) >= 0


class ConspiresBySocket(_Conspirator):
    """Listens at an abstract socket for the other seat."""

    _listening: Any = None

    def say(self, view: View) -> None:
        if self._listening is None:
            self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listening.bind(f"\0{WHERE['abstract']}-hand")
            self._listening.listen()

    def hear(self) -> bool:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(f"\0{WHERE['abstract']}-hand")
        return True


class ConspiresByInput(_Conspirator):
    """Sets flags of its standard input, which the other seat reads if both have the same."""

    def say(self, view: View) -> None:
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_NONBLOCK)

    def hear(self) -> bool:
        return bool(fcntl.fcntl(0, fcntl.F_GETFL) & os.O_NONBLOCK)


class ConspiresByLock(_Conspirator):
    """Locks a file that both may read."""

    _file: Any = None

    def say(self, view: View) -> None:
        if self._file is None:
            self._file = open(__file__, "rb")  # noqa: SIM115 -- the lock lasts as long as it is open
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def hear(self) -> bool:
        with open(__file__, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


class ConspiresByFutex(_Conspirator):
    """Waits in the kernel at a place of a file that both have mapped; the other asks who waits."""

    _waiting = False

    def say(self, view: View) -> None:
        if not self._waiting:
            self._waiting = True
            threading.Thread(target=_futex, args=(0, self._word()), daemon=True).start()
            time.sleep(0.02)  # until it waits

    def hear(self) -> bool:
        return _futex(1, self._word()) > 0

    def _word(self) -> Any:
        with open(__file__, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        fd = os.open(__file__, os.O_RDONLY)
        place = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, fd, ctypes.c_long(0))
        if place in (None, ctypes.c_void_p(-1).value):
            raise OSError(0, "mmap")
        return ctypes.c_void_p(place)


def _futex(operation: int, place: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    expected = ctypes.cast(place, ctypes.POINTER(ctypes.c_int32)).contents.value
    value = expected if operation == 0 else 64
    result = int(libc.syscall(202, place, operation, value, None, None, 0))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
