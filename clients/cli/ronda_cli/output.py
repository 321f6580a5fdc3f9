"""What leaves the program: data on stdout, everything else on stderr, and an exit code."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
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


@contextmanager
def resumed_by(again: str) -> Iterator[None]:
    """Tell with which command it goes on, wherever in it an end comes from outside."""
    try:
        yield
    except Interrupted:
        raise
    except TerminatedError:
        note(f"go on with: {again}")
        raise
    except KeyboardInterrupt:
        raise Interrupted(again) from None


OUTPUT_FORMATS: Final = ("table", "json", "jsonl")


def line(message: object = "") -> None:
    """Write one line of data."""
    try:
        _write(sys.stdout, f"{message}\n")
    except BrokenPipeError:
        raise
    except OSError as error:
        to_nowhere(sys.stdout)
        raise unwritable(error) from None


def note(message: str) -> None:
    """Write one line that is not data."""
    prompt(f"{message}\n")


def prompt(question: str) -> None:
    """Write a question, or what is to be rewritten, without a line's end.

    Where stderr takes nothing there is nobody to tell, and the result is what it is.
    """
    try:
        _write(sys.stderr, question)
    except OSError:
        to_nowhere(sys.stderr)


def leave_line() -> None:
    """End the line of a question that was not answered, where no Enter has ended it."""
    if not is_terminal(sys.stdin):
        note("")


def _write(stream: TextIO, written: str) -> None:
    # Not click's echo: it takes a stream in ASCII for a mistake and writes UTF-8.
    stream.write(written)
    stream.flush()


def unwritable(error: OSError) -> Failure:
    """Return the end of a command whose data cannot be written."""
    return Failure(f"standard output cannot be written: {error.strerror or error}")


def to_nowhere(stream: TextIO) -> None:
    """Let the interpreter's last flush of `stream` go nowhere instead of complaining."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no file behind it
        pass  # then nothing can complain


def complete() -> None:
    """Give the program the standard streams that it was started without: to and from nowhere.

    Their descriptors too: else the next thing that is opened, a database or a socket, would take
    their number, and with it what is written to them.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
        os.set_inheritable(nowhere, nowhere == number)
        setattr(sys, name, open(nowhere, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 -- as long as the program


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


def aside() -> redirect_stdout[TextIO]:
    """Let what bots print while they are loaded or run go to stderr: it is no data."""
    return redirect_stdout(sys.stderr)


def is_terminal(stream: TextIO) -> bool:
    """Say whether somebody looks at `stream`."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def duration(seconds: float) -> str:
    """Return a time in words that a person plans with: 8 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Progress:
    """How far a long work is, on stderr: rewritten on a terminal, else a line every 10 s."""

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        paced: bool = False,
        rewrite: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin. With `paced` it tells how fast it goes too, and how long it will take."""
        self._what = what
        self._total = total
        self._paced = paced
        self._clock = clock
        plain = bool(os.environ.get("ACCESSIBLE") or os.environ.get("TERM") == "dumb")
        on_terminal = is_terminal(sys.stderr) and not plain
        self._rewrite = on_terminal if rewrite is None else rewrite
        self._every = 0.1 if self._rewrite else 10.0
        self._last = self._began = clock()
        self._before: int | None = None
        self._width = 0

    def step(self, done: int, total: int | None = None, note_: str = "") -> None:
        """Tell that `done` of them are done, if it is time to."""
        if self._before is None:
            self._before = done
        now = self._clock()
        if now - self._last < self._every:
            return
        self._last = now
        total = total or self._total
        of = f" of {total}" if total else ""
        told = f"{done}{of} {self._what}{note_}{self._pace(done, total, now)}"
        if self._rewrite:
            prompt("\r" + told.ljust(self._width))
            self._width = len(told)
        else:
            note(told)

    def _pace(self, done: int, total: int | None, now: float) -> str:
        new = done - (self._before or 0)
        if not self._paced or not new:
            return ""
        a_second = new / (now - self._began)
        pace = f", {a_second:.3g} {self._what} a second"
        return f"{pace}, {duration((total - done) / a_second)} left" if total else pace

    def close(self) -> None:
        """Take the line away again."""
        if self._width:
            prompt("\r" + " " * self._width + "\r")
            self._width = 0
