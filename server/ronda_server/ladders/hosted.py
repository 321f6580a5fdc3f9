"""All ladders of one server, each played by a driver for as long as the server lives."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import structlog

from ronda_arena.ladder.plan import LadderPlan
from ronda_arena.ladder.rows import BOT_STATES
from ronda_server.errors import Reason, ServiceError, StorageError
from ronda_server.hosting import Host
from ronda_server.ladders.audience import Audience, Sign
from ronda_server.ladders.drive import live
from ronda_server.ladders.table import Table
from ronda_server.ladders.told import (
    Attendee,
    Attending,
    CallOff,
    Opened,
    Orders,
    Stood,
    Told,
    Waiting,
)
from ronda_server.tables.desk import Desk
from ronda_server.tables.tables import Tables
from ronda_server.tables.told import Wanted
from ronda_server.tournaments.drive import Drive
from ronda_server.tournaments.told import Halted

_log = structlog.get_logger(__name__)

STARTING: Final = "starting"
RUNNING: Final = "running"
HALTED: Final = "halted"
_STATES: Final = (STARTING, RUNNING, HALTED)

_AGAIN_SECONDS: Final = 60.0
"""Until what is halted is tried again."""
_AT_ONCE: Final = 3
"""Drivers in a row that may end without a word before it is halted too."""
_GONE: Any = object()
"""After the last word of a driver."""


class Ladder:
    """One ladder."""

    def __init__(
        self, orders: Orders, host: Host, tables: Tables, turned: Callable[[], None]
    ) -> None:
        """Begin; `turned` is called when anything of it is new."""
        self.orders = orders
        self._host = host
        self._tables = tables
        self._settings = orders.plan.settings
        self._attending: Mapping[str, Attendee] | None = None
        """The remote bots that its driver knows to be there."""
        self._looking = False
        self.table = Table()
        self.state = STARTING
        self.problem = ""
        """Why it is halted: `bots`, `isolation`, `workers` or `storage`."""
        self.audience = Audience(self._sign, self.table.knows)
        self.drive: Drive | None = None
        self._metrics = host.metrics
        self._turned = turned
        self._failures = 0
        """Drivers in a row that ended before another block was over."""

    def __repr__(self) -> str:
        return f"<Ladder {self.name}>"

    @property
    def plan(self) -> LadderPlan:
        """What is played."""
        return self.orders.plan

    @property
    def name(self) -> str:
        """The id, by which requests name it."""
        return self.plan.id

    async def live(self, leaving: asyncio.Event) -> None:
        """Let one driver after the other play it until the server leaves."""
        while not leaving.is_set():
            said = await self._driven()
            if leaving.is_set():
                return
            self._failures += 1
            if said is None and self._failures <= _AT_ONCE:
                _log.warning("a ladder's driver is gone", ladder=self.name)
                continue
            problem, words = said or Halted("workers", "drivers end at once")
            _log.error("ladder halted", ladder=self.name, problem=problem, words=words)
            self._turn(HALTED, problem)
            with contextlib.suppress(TimeoutError):  # then it is tried again
                async with asyncio.timeout(_AGAIN_SECONDS):
                    await leaving.wait()

    async def _driven(self) -> Halted | None:
        """Return the last word of a driver; None where it is gone without any."""
        heard: asyncio.Queue[Told] = asyncio.Queue()
        self._turn(STARTING)
        self.drive = drive = Drive(self.orders, heard.put_nowait, live)
        desk = Desk(self._tables, drive.say)
        drive.done.add_done_callback(lambda _: heard.put_nowait(_GONE))
        self._attending = None
        self._look()
        try:
            while (told := await heard.get()) is not _GONE:
                if isinstance(told, Halted):
                    await drive.end()  # what it has said is on disk
                    return told
                if isinstance(told, Wanted):
                    desk.take(told)
                elif isinstance(told, CallOff):
                    self._host.spawn(self._call_off(desk, told.blocks))
                else:
                    self._hear(told)
        finally:
            await desk.close()
        return None

    def look(self) -> None:
        """See soon which remote bots are there."""
        if self.orders.remote and not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._looking = False
        if not self.orders.remote or self.drive is None:
            return
        plan = self.plan
        seats = plan.players // plan.seats
        there = {
            bot.identity: Attendee(bot.account, bot.max_seats)
            for bot in self._host.remotes.here
            if bot.plays(self._settings) and bot.max_seats >= seats
        }
        if there != self._attending:
            self._attending = there
            self.drive.say(Attending(there))

    async def _call_off(self, desk: Desk, blocks: Sequence[str]) -> None:
        """End what is hosted of blocks, for as long as the storage may be away."""
        for block in blocks:
            while not self._host.draining:
                try:
                    await desk.drop(block)
                    break
                except StorageError:
                    await self._host.pause()

    def _hear(self, told: Opened | Stood | Waiting) -> None:
        if isinstance(told, Waiting):
            _log.warning("nobody plays on a ladder", ladder=self.name, words=told.words)
            self._turn(HALTED, "bots")
            return
        before = self.table.head
        if isinstance(told, Opened):
            self.table.open(told)
        else:
            self.table.stand(told)
        if before:
            if told.head.blocks > before.blocks:  # it gets on, whatever the drivers before did
                self._failures = 0
            self._metrics.ladder_games.inc(told.head.games - before.games)
            self._metrics.ladder_blocks_lost.inc(told.head.void - before.void)
        self._turn(RUNNING)

    def _turn(self, state: str, problem: str = "") -> None:
        self.state, self.problem = state, problem
        self.audience.wake()
        self._turned()

    def _sign(self) -> Sign:
        return Sign(self.table.sequence, self.state, self.problem)


class Ladders:
    """The ladders of one server, by name; the first is that of who names none."""

    def __init__(self, host: Host, tables: Tables, orders: Sequence[Orders]) -> None:
        self._host = host
        self._every = [Ladder(one, host, tables, self._count) for one in orders]
        host.remotes.listeners += [one.look for one in self._every]
        self._leaving = asyncio.Event()
        self._lives: list[asyncio.Task[None]] = []

    def open(self) -> None:
        """Begin to play them."""
        self._lives = [asyncio.create_task(one.live(self._leaving)) for one in self._every]

    def drain(self) -> None:
        """Play no more, and end every stream with where to resume."""
        self._leaving.set()
        for one in self._every:
            one.audience.drain()

    async def close(self) -> None:
        """End everything that is played; it goes on from what is stored when a server starts."""
        self.drain()
        drives = [one.drive for one in self._every if one.drive]
        await asyncio.gather(*(drive.end() for drive in drives))
        await asyncio.gather(*self._lives)

    def find(self, name: str) -> Ladder:
        """Return a ladder, the first if `name` is empty; `ServiceError` if there is none."""
        for one in self._every:
            if name in ("", one.name):
                return one
        raise ServiceError(Reason.LADDER_NOT_FOUND, field="ladder")

    def _count(self) -> None:
        states = Counter(one.state for one in self._every)
        bots = Counter(dict.fromkeys(BOT_STATES, 0))
        for one in self._every:
            bots.update(one.table.states)
        self._host.metrics.laddered({state: states[state] for state in _STATES}, bots)
