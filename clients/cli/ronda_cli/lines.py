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
    for first, (number, raw) in enumerate(_lines(path)):
        if not first and (problem := _no_text(raw)):
            yield Line(number, None, problem)  # once: more lines of it say no more
            return
        yield _read(number, raw)


class Found(NamedTuple):
    """One of the records of a file."""

    line: Line | None
    place: int
    """The first is 1."""
    of: int
    """Records that the file holds, as far as it was read."""


def one(path: str, wanted: str) -> Found:
    """Return the record of a place in a file, or of an id."""
    found, place = None, 0
    count = 0
    for count, (number, raw) in enumerate(_lines(path), 1):
        if count == 1 and (problem := _no_text(raw)):
            return Found(Line(number, None, problem), count, count)
        if found is not None:
            continue
        here = wanted == str(count)
        if not here and wanted.isdecimal() and wanted.encode() not in raw:
            continue  # no need to read it: it is not its id
        line = _read(number, raw)
        if here or (line.record and line.record.id == wanted):
            found, place = line, count
    return Found(found, place, count)


def first_fault(path: str) -> Found:
    """Return the first record of a file in which a bot forfeits, or the first of all."""
    first, count = None, 0
    for count, line in enumerate(records(path), 1):
        first = first or line
        if line.record and line.record.fault is not None:
            return Found(line, count, count)
    return Found(first, 1, count)


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines in which something stands, and their numbers; no more after one too long."""
    with _open(path) as file:
        number = 0
        while raw := _next(file):
            number += 1
            if raw.strip():
                yield number, raw
            if len(raw) > LONGEST:
                return


def _no_text(raw: bytes) -> str:
    """Say what a file is that starts like this, if it is no text at all."""
    if raw.startswith(b"\x1f\x8b"):
        return "a gzip file: unpack it first, such as with gunzip -c"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        # A line that is cut off at the limit may end within a letter.
        return "" if len(raw) > LONGEST else "not UTF-8: this is no file of records"
    return "not text: this is no file of records" if b"\0" in raw else ""


def _next(file: BinaryIO) -> bytes:
    try:
        return file.readline(LONGEST + 1)
    except OSError as error:
        raise Failure(f"cannot be read: {error.strerror}") from None


def _read(number: int, raw: bytes) -> Line:
    if len(raw) > LONGEST:
        return Line(number, None, f"a line of more than {LONGEST >> 20} MiB")
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
