"""When a bot has failed so often that it is put aside: a function of what was played.

Nothing is kept here that the log does not hold: the same log gives the same quarantines, whether
they are found one game after the other or all at once later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from ronda_core.match import Cause

COUNTED: Final = (Cause.CRASH, Cause.TIME, Cause.PROTOCOL, Cause.NO_SHOW)
"""Faults of a bot that does not work; an illegal card loses its game, and that is all."""


class Played(NamedTuple):
    """A bot has played a game to its end, or to its own fault."""

    identity: str
    cause: Cause | None
    at: str
    """The time, as records tell it."""


class Released(NamedTuple):
    """Somebody has let a bot play again: what was before does not count any more."""

    identity: str


class Quarantine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bot is put aside."""

    since: str
    reason: str


class Limit(NamedTuple):
    """How often a bot may fail."""

    faults: int = 5
    """With so many it is put aside."""
    games: int = 20
    """Of its last games that count."""


class Faults:
    """The last games of every bot."""

    def __init__(self, limit: Limit = Limit()) -> None:  # noqa: B008 -- it is a tuple
        if not 0 < limit.faults <= limit.games:
            raise ValueError(f"{limit.faults} faults of {limit.games} games are no limit")
        self._limit = limit
        self._last: dict[str, deque[Cause | None]] = {}
        self.quarantined: dict[str, Quarantine] = {}
        """By identity."""

    def note(self, entry: Played | Released) -> Quarantine | None:
        """Take in what happened next; return the quarantine that follows from it."""
        identity = entry.identity
        if isinstance(entry, Released):
            self._last.pop(identity, None)
            self.quarantined.pop(identity, None)
            return None
        if identity in self.quarantined:
            return None  # a game that had begun before
        last = self._last.setdefault(identity, deque(maxlen=self._limit.games))
        last.append(entry.cause if entry.cause in COUNTED else None)
        faults = [cause.value for cause in last if cause]
        if entry.cause not in COUNTED or len(faults) < self._limit.faults:
            return None
        counts = {cause: faults.count(cause) for cause in sorted(set(faults))}
        told = ", ".join(f"{count} {cause}" for cause, count in counts.items())
        reason = f"{len(faults)} faults in {len(last)} games: {told}"
        self.quarantined[identity] = Quarantine(entry.at, reason)
        return self.quarantined[identity]


def quarantined(
    log: Iterable[Played | Released],
    limit: Limit = Limit(),  # noqa: B008 -- it is a tuple
) -> dict[str, Quarantine]:
    """Return the bots that are in quarantine after all of a log, in the order they came there."""
    faults = Faults(limit)
    for entry in log:
        faults.note(entry)
    return faults.quarantined
