"""Records from files: one a line, from a path or from stdin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from ronda_cli.output import Failure
from ronda_core.record import Record, read

LONGEST: Final = 16 * 2**20
"""Bytes of a line; a match of a thousand hands is under one million."""


class Line(NamedTuple):
    """One line of a file: a record, or why it is none."""

    number: int
    record: Record | None
    problem: str = ""


def records(path: str) -> Iterator[Line]:
    """Read the records of a file, or of stdin for ``-``; blank lines are passed over."""
    with _open(path) as file:
        number = 0
        while raw := _next(file):
            number += 1
            if len(raw) > LONGEST:
                yield Line(number, None, f"a line of more than {LONGEST >> 20} MiB")
                return
            if raw.strip():
                yield _read(number, raw)


def _next(file: BinaryIO) -> bytes:
    try:
        return file.readline(LONGEST + 1)
    except OSError as error:
        raise Failure(f"cannot be read: {error.strerror}") from None


def _read(number: int, raw: bytes) -> Line:
    try:
        return Line(number, read(raw.decode("utf-8")))
    except UnicodeDecodeError:
        return Line(number, None, "not UTF-8")
    except ValueError as error:
        return Line(number, None, str(error))


@contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115 -- opening may fail, what is done with it is not ours
    except OSError as error:
        raise Failure(f"cannot be read: {error.strerror}") from None
    with file:
        yield file
