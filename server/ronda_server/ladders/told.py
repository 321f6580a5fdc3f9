"""What a server says to a ladder's driver, and what it says back.

Only what is to be hosted holds a secret: that of its block.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ronda_arena.ladder.history import History, Point
from ronda_arena.ladder.plan import LadderPlan
from ronda_arena.ladder.ratings import Rating
from ronda_arena.ladder.rows import Row
from ronda_server.tables.told import Wanted
from ronda_server.tournaments.told import Halted


class Orders(NamedTuple):
    """What a driver is to do."""

    plan: LadderPlan
    """That its folder holds."""
    folder: Path
    home: Path | None
    """Where bots are kept beside the environment; None: in the usual place."""
    wanted: tuple[str, ...]
    """Who plays beside the anchors; empty: all that are installed."""
    owners: Mapping[str, str]
    look_every: float
    workers: int
    """Processes that play for it; 1: it plays itself."""
    remote: bool = False
    """Remote bots play too."""
    absence: float = 60.0
    """Seconds for which a remote bot that is away counts as there."""


class Attendee(NamedTuple):
    """A remote bot that is there."""

    account: str
    max_seats: int


class Attending(NamedTuple):
    """What the server says whenever it changes: the remote bots that are there, by identity."""

    bots: Mapping[str, Attendee]


class CallOff(NamedTuple):
    """Blocks that count for nothing: what is still hosted of them is to end."""

    blocks: tuple[str, ...]


class Head(NamedTuple):
    """How far the log is."""

    facts: int
    now: int
    """When the last of them was."""
    blocks: int
    games: int
    void: int
    """Blocks that were lost by no fault of a bot."""
    misfit: float
    """How far off all ratings are, as the anchors show."""


class Seen(NamedTuple):
    """How a bot stands."""

    row: Row
    """As wide as its sigma says; of one that is away, as it went."""
    rating: Rating | None = None
    """What is thought of it, or was when it went; None: it is pinned."""
    since: int | None = None
    """When it went; None: it is there."""


class Stood(NamedTuple):
    """What has changed since the last word."""

    head: Head
    seen: tuple[Seen, ...]
    points: tuple[tuple[str, Point], ...]
    """What blocks came to, by bot and in their order."""


class Opened(NamedTuple):
    """The log is read: all of it."""

    head: Head
    seen: tuple[Seen, ...]
    histories: Mapping[str, History]


class Waiting(NamedTuple):
    """Nobody is there to play; it looks again by itself, and goes on."""

    words: str
    """For the log."""


Told = Opened | Stood | Waiting | Halted | Wanted | CallOff
