"""What a record says around its hands, as far as the record alone can contradict it.

Who sat there, when, how it was run and whether it counts are claims of whoever wrote the record:
the deals prove none of them. What no record can truly say is found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ronda_core.instants import instant
from ronda_core.record import Record

ISOLATIONS: Final = frozenset({"trusted", "process", "sandbox", "remote", "person"})
"""How a seat's player may have been run."""
LONGEST_DETAIL: Final = 200
"""Characters of what is told of a fault."""

_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_NO_ID: Final = "letters, digits, - and _ are expected"
_INKLESS: Final = " \u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0" + "".join(
    chr(code)
    for start, end in ((0x180B, 0x1810), (0xFE00, 0xFE10), (0xE0100, 0xE01F0))
    for code in range(start, end)
)
"""Letters, marks and symbols that leave no ink, though they count as printable."""


def contradictions(record: Record) -> Iterator[tuple[str, str]]:
    """Yield where `record` says what cannot be, and what is wrong there."""
    if not is_id(record.id):
        yield "id", _NO_ID
    if len(record.seats) != record.players:
        yield "seats", f"{record.players} seats are expected"
    if not all(map(is_name, record.seats)):
        yield "seats", "a seat has no name that can be read"
    yield from _times(record)
    yield from _conditions(record)
    yield from _place(record)
    if record.fault and not _is_detail(record.fault.detail):
        yield "fault, detail", f"at most {LONGEST_DETAIL} characters that can be read are expected"


def is_id(text: str) -> bool:
    """Say whether `text` may be an id."""
    return _ID.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Say whether `text` can be read: nothing in it steers a terminal, and something has ink."""
    return text.isprintable() and text.strip(_INKLESS) != ""


def _times(record: Record) -> Iterator[tuple[str, str]]:
    start, end = instant(record.start), instant(record.end)
    for where, moment in (("start", start), ("end", end)):
        if moment is None:
            yield where, "a time as in RFC 3339, which was or will be, is expected"
    if start and end and end < start:
        yield "end", "it is before the start"


def _conditions(record: Record) -> Iterator[tuple[str, str]]:
    isolation = record.isolation
    if isolation is None:
        return
    if len(isolation) != record.players:
        yield "isolation", "one for each seat is expected"
    if not ISOLATIONS.issuperset(isolation):
        yield "isolation", f"one of {', '.join(sorted(ISOLATIONS))} is expected"
    # What a seat of a process was asked to be is not in the record: it may have been just that.
    if record.rated and "trusted" in isolation:
        yield "rated", "a match with a trusted seat is never rated"


def _place(record: Record) -> Iterator[tuple[str, str]]:
    if record.tournament is not None and not is_id(record.tournament):
        yield "tournament", _NO_ID
    for where, number, end in (
        ("block", record.block, None),
        ("rotation", record.rotation, record.players),
    ):
        if (number is None) != (record.tournament is None):
            yield where, "it belongs to a tournament, and there to every match"
        elif number is not None and (number < 0 or (end is not None and number >= end)):
            yield where, "out of range"


def _is_detail(text: str) -> bool:
    return len(text) <= LONGEST_DETAIL and text.isprintable()
