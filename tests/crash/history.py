"""What clients sent and were told, in order.

A journal is a list that is only appended to, by one thread: its order is the order of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .stored import Database


class Sent(NamedTuple):
    """A command goes out, for the first time or again."""

    request_id: str
    kind: str
    """Of the fact that it may become; `rematch` becomes a `joined` of another match."""
    match: str
    """Empty while there is none."""
    seat: int
    """-1: not a seat's."""
    data: dict[str, Any]
    """What the fact will hold, as far as the client knows."""
    expected: int
    method: str
    request: bytes
    token: str

    def __repr__(self) -> str:
        return f"Sent({self.kind}, {self.request_id})"


class Answered(NamedTuple):
    """A command was acknowledged, with an answer that is to stay the same for ever."""

    request_id: str
    match: str
    sequence: int
    """0: the answer names none."""
    answer: bytes


class Refused(NamedTuple):
    """A command was refused for good."""

    request_id: str
    reason: str


class Opened(NamedTuple):
    """A stream begins, or resumes after the last number it was told."""

    stream: str
    match: str
    seat: int | None
    after: int
    token: str = ""


class Told(NamedTuple):
    """A stream was told an event."""

    stream: str
    number: int
    event: bytes


class Ended(NamedTuple):
    """A stream was told that its match is over."""

    stream: str
    number: int


class Stopped(NamedTuple):
    """The server was killed, and this is what it left."""

    left: Database


class Recorded(NamedTuple):
    """A record was read."""

    match: str
    line: str


class Clock(NamedTuple):
    """Simulated time was moved."""

    name: str
    micros: int


Entry = Sent | Answered | Refused | Opened | Told | Ended | Stopped | Recorded | Clock


def unanswered(journal: Iterable[Entry]) -> Iterator[Sent]:
    """Yield the commands that nothing has come back for, the oldest first."""
    open_still: dict[str, Sent] = {}
    for entry in journal:
        if isinstance(entry, Sent):
            open_still[entry.request_id] = entry
        elif isinstance(entry, Answered | Refused):
            open_still.pop(entry.request_id, None)
    yield from open_still.values()
