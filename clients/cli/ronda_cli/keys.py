"""Single keys from a terminal, without Enter."""

from __future__ import annotations

import os
import re
import select
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ronda_cli.output import is_terminal

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


_SEQUENCE: Final = re.compile(rb"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|.", re.DOTALL)


class Keyboard:
    """Takes keys from stdin one by one while it is open, and gives the terminal back after."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._pressed: deque[bytes] = deque()

    @contextmanager
    def open(self) -> Iterator[Keyboard]:
        """Read keys without Enter and without an echo."""
        import termios  # noqa: PLC0415 -- not on every system
        import tty  # noqa: PLC0415 -- not on Windows

        before = termios.tcgetattr(self._fd)
        try:
            tty.setcbreak(self._fd)
            yield self
        finally:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, before)

    def read(self, timeout: float) -> str:
        """Return the next key's meaning, or an empty text when none came in time or it has none."""
        if not self._pressed:
            if not select.select([self._fd], [], [], timeout)[0]:
                return ""
            data = os.read(self._fd, 1024)
            if not data:  # the terminal is gone
                return "quit"
            self._pressed.extend(_SEQUENCE.findall(data))
        return _KEYS.get(self._pressed.popleft(), "")


def available() -> bool:
    """Say whether keys can be read here at all."""
    try:
        import termios  # noqa: PLC0415, F401 -- not on every system
    except ImportError:
        return False
    return is_terminal(sys.stdin)
