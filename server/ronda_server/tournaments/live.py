"""A tournament in memory: its row, how it stands, and who watches it."""

from __future__ import annotations

import asyncio
from typing import Final

from ronda.v1.tournament_pb2 import Standings
from ronda_server.tables.desk import Desk
from ronda_server.tournaments.audience import CANCELLED, HALTED, OVER, Audience
from ronda_server.tournaments.book import Progress, Row, before_the_first
from ronda_server.tournaments.drive import Drive
from ronda_server.tournaments.folder import Report
from ronda_server.tournaments.pace import Pace
from ronda_server.tournaments.told import Stood

WAITING: Final = "waiting"
RUNNING: Final = "running"

__all__ = ["HALTED", "RUNNING", "WAITING", "Tournament"]

Shown = tuple[int, str, Standings]
"""Standings, and of which number and state they are."""


class Tournament:
    """One tournament."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.state = row.state if row.over else WAITING
        """`waiting`, `running`, `halted`, or how it ended."""
        self.problem = ""
        """Why it is halted: `bot_missing`, `isolation`, `workers` or `storage`."""
        self.audience = Audience()
        self.audience.progress = row.progress or before_the_first(row.plan)
        self.audience.state = self.state
        self.told: Report | None = None
        """The last report."""
        self.pace = Pace()
        """How fast the driver of this moment is."""
        self.drive: Drive | None = None
        self.desk: Desk | None = None
        """Where its driver asks for games to be hosted."""
        self.stood: Stood | None = None
        """What its driver has said last of how far it is."""
        self.brief: Shown | None = None
        self.shown: Shown | None = None
        """The last report as it is shown: without pairs, and with them."""
        self.yields = False
        """Its driver is ended for one of an account that has none."""
        self.failures = 0
        """Drivers in a row that ended before another block was over."""
        self.lock = asyncio.Lock()
        """Of who would end it."""

    def __repr__(self) -> str:
        return f"<Tournament {self.id}>"

    @property
    def id(self) -> str:
        """The id, which is the scope of its deals."""
        return self.row.id

    @property
    def over(self) -> bool:
        """Whether it has ended: nothing more is dealt from its master."""
        return self.row.over

    @property
    def counted(self) -> int:
        """How many blocks the last report counts; the games of these can be seen."""
        return int(self.told["blocks"]) if self.told else 0

    def become(self, state: str, problem: str = "") -> None:
        """Wait, run or be halted from now on, and tell."""
        self.state, self.problem = state, problem
        self.audience.state = state
        self.pace = Pace()
        self.audience.wake()

    def stand(self, stood: Stood) -> None:
        """Take in how far it is, and tell."""
        self.pace.step(stood.blocks, stood.games)
        self.stood = stood
        self.audience.progress = Progress(*stood[:4])
        self.audience.wake()

    def report(self, told: Report) -> None:
        """Take in a report, and tell. The number of it grows with its blocks."""
        self.told = told
        progress = self.audience.progress
        if progress.blocks < told["blocks"]:  # as after a start, when nobody has said more
            games, lost = told["games"], told["timing"]["lost"]
            self.audience.progress = Progress(told["blocks"], told["planned"], games, lost)
        self.audience.sequence = max(self.audience.sequence, 1 + self.counted)
        self.audience.wake()

    def close(self, row: Row) -> None:
        """Take in how it ended, and tell."""
        self.row, self.drive = row, None
        self.become(row.state)
        if row.progress:
            self.audience.progress = row.progress
        self.audience.sequence = 2 + self.counted
        self.audience.ending = CANCELLED if row.state == "cancelled" else OVER
        self.audience.wake()
