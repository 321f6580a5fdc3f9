"""What is typed, line by line."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NamedTuple

from ronda_cli.asking import LeftError, leaves
from ronda_cli.output import is_terminal


class Line(NamedTuple):
    """One line; None at the end of the input."""

    text: str | None


def line() -> str:
    """Wait for the next line; leave where it says so, or where the input ends."""
    typed = sys.stdin.readline()
    if not typed or leaves(typed):
        raise LeftError
    return typed


def read_lines(
    put: Callable[[Line], Coroutine[Any, Any, None]], loop: asyncio.AbstractEventLoop
) -> None:
    """Hand each line over to `loop`, from a thread that nobody has to wait for."""

    def read() -> None:
        for typed in _lines():
            handing = put(Line(typed))
            try:
                asyncio.run_coroutine_threadsafe(handing, loop).result()
            except (RuntimeError, asyncio.CancelledError):  # the loop is closed: nobody listens
                handing.close()
                return

    threading.Thread(target=read, daemon=True, name="stdin").start()


def _lines() -> Iterator[str | None]:
    """Yield the lines of stdin, then None.

    They are read below Python's buffer: its lock would be held while the interpreter ends.
    """
    try:
        fd = sys.stdin.fileno()
    except (OSError, ValueError):  # no file behind it
        yield from sys.stdin
        yield None
        return
    rest = b""
    while data := os.read(fd, 4096):
        *whole, rest = (rest + data).split(b"\n")
        for typed in whole:
            yield typed.decode("utf-8", "replace")
        rest = rest[-4096:]
    yield None


def forget() -> None:
    """Forget what was typed before a question: an impatient Enter is no answer to it."""
    if not is_terminal(sys.stdin):
        return
    try:
        import termios  # noqa: PLC0415 -- not on every system

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (ImportError, OSError):
        pass  # what was typed ahead stays
