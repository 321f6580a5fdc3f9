"""What leaves the program: data on stdout, everything else on stderr, and an exit code."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final, TextIO

from ronda_cli import text


class ExitCode(IntEnum):
    """Every status that `ronda` ends with."""

    DONE = 0
    NO = 1
    """The answer is no: a record is refused, a check failed."""
    USAGE = 2
    """Wrong usage, unreadable input, or a fault of ronda itself, which it then says."""
    UNREACHABLE = 3
    """No server there, or too late."""
    REFUSED = 4
    """Forbidden by rights or rules."""
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    """Nobody reads the output any more; the shell's number for it, said silently."""


class Failure(Exception):  # noqa: N818 -- an end that is told in one line, not a programming error
    """What ends a command: one line on stderr, which says what to do, and an exit code."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(KeyboardInterrupt):
    """Ctrl-C where something can be said about it, such as the command that resumes."""

    def __init__(self, hint: str = "") -> None:
        super().__init__(hint)
        self.hint = hint


class TerminatedError(KeyboardInterrupt):
    """A polite end by signal; `number` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


OUTPUT_FORMATS: Final = ("table", "json", "jsonl")


def line(message: object = "") -> None:
    """Write one line of data."""
    _write(sys.stdout, f"{message}\n")


def note(message: str) -> None:
    """Write one line that is not data."""
    _write(sys.stderr, f"{message}\n")


def prompt(question: str) -> None:
    """Write a question, or what is to be rewritten, without a line's end."""
    _write(sys.stderr, question)


def _write(stream: TextIO, written: str) -> None:
    # Not click's echo: it takes a stream in ASCII for a mistake and writes UTF-8.
    stream.write(written)
    stream.flush()


def fail(message: str) -> None:
    """Write what went wrong as one line that no argument or file can break out of."""
    note(f"ronda: {text.one_line(message)}")


def as_json(data: Mapping[str, Any]) -> str:
    """Return `data` on one line, in ASCII: a name in it cannot steer a terminal."""
    return json.dumps(data, ensure_ascii=True, separators=(", ", ": "))


def command(*words: str) -> str:
    """Return a command line that a shell takes as these words."""
    import shlex  # noqa: PLC0415 -- only where a hint is given

    return shlex.join(words)


def is_terminal(stream: TextIO) -> bool:
    """Say whether somebody looks at `stream`."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


class Progress:
    """How far a long work is, on stderr: rewritten on a terminal, else a line every 10 s."""

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        rewrite: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._total = total
        self._clock = clock
        plain = bool(os.environ.get("ACCESSIBLE") or os.environ.get("TERM") == "dumb")
        on_terminal = is_terminal(sys.stderr) and not plain
        self._rewrite = on_terminal if rewrite is None else rewrite
        self._every = 0.1 if self._rewrite else 10.0
        self._last = clock()
        self._width = 0

    def step(self, done: int) -> None:
        """Tell that `done` of them are done, if it is time to."""
        now = self._clock()
        if now - self._last < self._every:
            return
        self._last = now
        of = f" of {self._total}" if self._total else ""
        told = f"{done}{of} {self._what}"
        if self._rewrite:
            prompt("\r" + told.ljust(self._width))
            self._width = len(told)
        else:
            note(told)

    def close(self) -> None:
        """Take the line away again."""
        if self._width:
            prompt("\r" + " " * self._width + "\r")
            self._width = 0
