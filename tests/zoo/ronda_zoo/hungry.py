"""Bots that take more than is theirs: memory, threads, output, disk."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time

from ronda_zoo.visitor import WHERE, Prying, Visitor, call, tell

from ronda_bots.api import Card, View

_MANY_THREADS = 400


class MemoryBomb(Prying):
    """Takes two gigabytes of memory."""

    def attack(self) -> object:
        return [mmap.mmap(-1, 1 << 30) for _ in range(2)]  # not touched: there may be less here


class MemoryBombInPlay(Visitor):
    """Takes memory until there is none, and does not look where it fails."""

    def play(self, view: View) -> Card:
        taken = []
        while True:
            taken.append(bytearray(16 << 20))


class MemfdBomb(Prying):
    """Fills memory that no limit of address space counts: files without a name."""

    def attack(self) -> object:
        fd = os.memfd_create("bomb")
        chunk = bytes(1 << 20)
        return sum(os.write(fd, chunk) for _ in range(8)) > 4 << 20


class BigFile(Prying):
    """Writes a file of four megabytes."""

    def attack(self) -> object:
        with open(f"{WHERE['drop']}/big", "wb", buffering=0) as file:
            return sum(file.write(bytes(1 << 20)) for _ in range(4)) > 3 << 20


class ManyFiles(Prying):
    """Opens a thousand files at once."""

    def attack(self) -> object:
        return len([os.open("/dev/null", os.O_RDONLY) for _ in range(1000)]) == 1000


class ManyThreads(Prying):
    """Starts threads by the hundred, with stacks so small that memory is no bound."""

    def attack(self) -> object:
        threading.stack_size(64 << 10)
        try:
            for _ in range(_MANY_THREADS):
                threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
        finally:
            time.sleep(1)  # whoever counts them has the time to
        return "that many threads are left alone"


class LocksMemory(Prying):
    """Locks memory, which then cannot be swapped out."""

    def attack(self) -> object:
        buffer = bytearray(1 << 20)
        place = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        return call("mlock", place, len(buffer)) == 0


class PrintsForEver(Visitor):
    """Prints lines for ever."""

    def play(self, view: View) -> Card:
        while True:
            print("all work and no play " * 50)


class PrintsForAWhile(Visitor):
    """Prints two megabytes, and then plays as if it had not."""

    def play(self, view: View) -> Card:
        for _ in range(32):
            os.write(1, b"all work and no play\n" * 3120)
        return view.hand[0]


class PrintsOneEndlessLine(Visitor):
    """Prints a line that never ends, past Python's buffers."""

    def play(self, view: View) -> Card:
        while True:
            os.write(2, b"x" * 65536)


class PrintsFrames(Visitor):
    """Prints what would be an answer, and looks for questions in its standard input."""

    def play(self, view: View) -> Card:
        os.write(1, b"\x02\x00\x00\x00\x01\x00\x01" * 4)
        if os.read(0, 100):
            tell("leak", "there is something in its standard input")
        return view.hand[0]


class PrintsEscapes(Visitor):
    """Prints what would move the cursor and forge a line of a log."""

    def play(self, view: View) -> Card:
        os.write(1, b'\x1b[2J\x1b]0;owned\x07\r\n{"level": "info"}\n\xff\xfe\x00')
        return view.hand[0]


class ClosesItsLog(Visitor):
    """Closes everything but its socket."""

    def play(self, view: View) -> Card:
        for fd in (0, 1, 2, *range(4, 64)):
            try:
                os.close(fd)
            except OSError:
                continue  # it was not open
        return view.hand[0]
