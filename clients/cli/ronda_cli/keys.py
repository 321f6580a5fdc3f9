"""Single keys from a terminal, without Enter."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_KEYS: Final = {
    b" ": "next",
    b"\x1b[C": "next",
    b"\x1bOC": "next",
    b"l": "next",
    b"\r": "next",
    b"\n": "next",
    b"\x1b[D": "back",
    b"\x1bOD": "back",
    b"h": "back",
    b"\x7f": "back",
    b"\x1b[A": "hand back",
    b"\x1bOA": "hand back",
    b"k": "hand back",
    b"\x1b[B": "hand next",
    b"\x1bOB": "hand next",
    b"j": "hand next",
    b"\x1b[H": "first",
    b"\x1b[1~": "first",
    b"g": "first",
    b"\x1b[F": "last",
    b"\x1b[4~": "last",
    b"G": "last",
    b"q": "quit",
    b"Q": "quit",
    b"\x04": "quit",
    b"\x1b": "quit",
}


@contextmanager
def raw() -> Iterator[None]:
    """Take keys one by one from stdin, and give the terminal back as it was."""
    import termios  # noqa: PLC0415 -- not on every system
    import tty  # noqa: PLC0415

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def available() -> bool:
    """Say whether keys can be read here at all."""
    try:
        import termios  # noqa: PLC0415, F401 -- not on every system
    except ImportError:
        return False
    return sys.stdin.isatty()


def read(timeout: float) -> str:
    """Return the next key's meaning, or an empty text when none came in time or it has none."""
    fd = sys.stdin.fileno()
    if not select.select([fd], [], [], timeout)[0]:
        return ""
    pressed = os.read(fd, 8)
    if not pressed:  # the terminal is gone
        return "quit"
    return _KEYS.get(pressed, "")
