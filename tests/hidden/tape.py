"""What a run leaves behind: every byte that somebody could read, by channel and in order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from google.protobuf.message import DecodeError, Message

from ronda.v1 import bot_service_pb2, match_service_pb2

OPEN_TO_ALL: Final = ("stranger", "owner", "metrics", "log")
"""Channels that every viewer may read besides its own."""

# Wall time by nature: how long a call took, and when a counter was made.
_WALL_TIME: Final = re.compile(
    r"^(?:# .*|\w+_created(?:\{.*\})? .*|\w+_seconds_sum(?:\{.*\})? .*"
    r'|\w+_seconds_bucket\{.*le="(?!\+Inf).*)\n',
    re.MULTILINE,
)
_STAMP: Final = re.compile(r'"timestamp": ?"[^"]*"')
_PORT: Final = re.compile(r"127\.0\.0\.1:\d+")
_SHOWN: Final = 300


class Entry(NamedTuple):
    """Something that was received: when and for what, its bytes, and what was known by then."""

    time: int
    what: str
    data: bytes
    method: str = ""
    """Of an answer; "frame" for a message of a stream; empty for text."""
    match: str = ""
    """Which match it is about: main, rematch or neighbour."""
    known: int = 0
    """Events of that match by then."""
    cards: tuple[int, ...] = ()
    """That a bot was shown."""

    @property
    def same(self) -> tuple[int, str, bytes]:
        """What must be equal in a twin."""
        return self.time, self.what, self.data


class Tape:
    """All channels of one run."""

    def __init__(self) -> None:
        self.channels: dict[str, list[Entry]] = defaultdict(list)

    def add(self, channel: str, entry: Entry) -> None:
        """Record what came over a channel."""
        self.channels[channel].append(entry)

    def of(self, viewer: int | None) -> dict[str, list[Entry]]:
        """Return all that a viewer can read."""
        names = [*OPEN_TO_ALL, *([] if viewer is None else [f"seat {viewer}"])]
        return {name: self.channels.get(name, []) for name in names}


def differences(base: Tape, twin: Tape, viewer: int | None) -> Iterator[str]:
    """Yield where what a viewer receives differs; nothing if it does not."""
    theirs = twin.of(viewer)
    for name, mine in base.of(viewer).items():
        others = theirs[name]
        for one, other in zip(mine, others, strict=False):
            if one.same != other.same:
                yield f"{name}: {_apart(one, other)}"
                break
        else:
            if len(mine) != len(others):
                yield f"{name}: {len(mine)} entries, in the twin {len(others)}"


def metrics_text(exposition: str) -> str:
    """Return what of the metrics is not wall time."""
    return _WALL_TIME.sub("", exposition)


def log_text(line: str) -> str:
    """Return a log line without the time of day and the number of a free port."""
    return _PORT.sub("127.0.0.1:0", _STAMP.sub('"timestamp": ""', line))


def parsed(entry: Entry) -> Message | None:
    """Return the message of an entry, or None for text and refusals."""
    if not entry.method or not entry.data:
        return None
    kind: Any = match_service_pb2.WatchMatchResponse
    if entry.method != "frame":
        module = bot_service_pb2 if entry.method == "ListBots" else match_service_pb2
        kind = getattr(module, f"{entry.method}Response")
    message: Message = kind.FromString(entry.data)
    return message


def _apart(one: Entry, other: Entry) -> str:
    if one.what != other.what:
        return f"at {one.what!r}, in the twin at {other.what!r}"
    if one.time != other.time:
        return f"at {one.what!r}: {other.time - one.time} us later in the twin"
    mine, theirs = (_readable(entry).splitlines() for entry in (one, other))
    for line, its in zip([*mine, ""], [*theirs, ""], strict=False):
        if line != its:
            return f"at {one.what!r}: {line[:_SHOWN]!r}, in the twin {its[:_SHOWN]!r}"
    return f"at {one.what!r}: {one.data[:_SHOWN]!r}, in the twin {other.data[:_SHOWN]!r}"


def _readable(entry: Entry) -> str:
    try:
        message = parsed(entry)
    except DecodeError:
        return repr(entry.data)
    return str(message) if message is not None else entry.data.decode(errors="backslashreplace")
