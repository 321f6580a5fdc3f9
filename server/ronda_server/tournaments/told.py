"""What a server says to a driver, and what it says back.

Only what it wants hosted holds secrets: those that it has from the server.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import Registry
from ronda_server.tables.told import Wanted


class Orders(NamedTuple):
    """What a driver is to do."""

    contract: Contract
    registry: Registry
    """With the bots of the plan that are installed."""
    folder: Path
    workers: int
    """Processes that play for it; 1: it plays itself."""


class Stood(NamedTuple):
    """How far it is."""

    blocks: int
    """That count."""
    planned: int | None
    games: int
    """That are over, all in all."""
    lost: int
    """By no fault of a bot, since the driver began."""
    twice: int
    """Results that were known when they came, since the driver began."""


class Reported(NamedTuple):
    """The report of so many blocks is on disk."""

    blocks: int


class Over(NamedTuple):
    """All is played, and the last report is on disk."""

    state: str
    """`finished` or `stopped`."""


class Halted(NamedTuple):
    """It cannot go on."""

    problem: str
    """`bot_missing`, `isolation`, `workers` or `storage`."""
    words: str
    """For the log."""


Told = Stood | Reported | Over | Halted | Wanted
