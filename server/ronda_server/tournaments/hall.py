"""All tournaments of one server: made from the oldest promise, played a few at a time, ended.

What the database says of a tournament is what stands: it is open, or it has ended in some way.
Whether an open one is played at this moment is the server's own matter, so a server that is killed
plays on what is open when it starts again.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import structlog
from sqlalchemy.exc import SQLAlchemyError

from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.store import StoreError
from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import BotNotFoundError, Registry
from ronda_server.commitments import Promises
from ronda_server.errors import Reason, ServiceError, StorageError
from ronda_server.hosting import Host
from ronda_server.live import Request
from ronda_server.tables.desk import Desk
from ronda_server.tables.tables import Tables
from ronda_server.tables.told import Wanted
from ronda_server.tournaments import folder as folders
from ronda_server.tournaments.book import Book, Row
from ronda_server.tournaments.drive import Drive
from ronda_server.tournaments.live import HALTED, RUNNING, WAITING, Tournament
from ronda_server.tournaments.told import Halted, Orders, Over, Reported, Stood, Told
from ronda_server.tournaments.turns import Turns

_log = structlog.get_logger(__name__)

_AGAIN_SECONDS: Final = 60.0
"""Until what is halted is tried again."""
_AT_ONCE: Final = 3
"""Drivers in a row that may end without a word before it is halted too."""
_KEPT: Final = 64
"""Tournaments that are over and stay in memory."""


class Limits(NamedTuple):
    """How much a server takes on."""

    open: int = 100
    account: int = 4
    at_once: int = 2
    workers: int = 1
    games: int = 100_000


class Hall:
    """The tournaments of one server."""

    def __init__(
        self, host: Host, promises: Promises, root: Path, limits: Limits, tables: Tables
    ) -> None:
        self._host = host
        self._tables = tables
        self._promises = promises
        self._root = root
        self.limits = limits
        self.book = Book(host.log)
        self._open: dict[str, Tournament] = {}
        self._over: OrderedDict[str, Tournament] = OrderedDict()
        self._turns = Turns()
        self._playing: dict[str, Tournament] = {}
        """In the order in which they were begun."""
        self._timers: set[asyncio.TimerHandle] = set()
        self._one_at_a_time = asyncio.Lock()
        self._coming: Plan | None = None
        """Of one that is just being created."""
        host.remotes.awaited.append(self._awaits)

    async def open(self) -> None:
        """Take up every tournament that is not over, the oldest first."""
        for row in await self.book.open_ones():
            await self._take_up(row)

    def drain(self) -> None:
        """Take no more, and end every stream with where to resume."""
        for one in (*self._open.values(), *self._over.values()):
            one.audience.drain()

    async def close(self) -> None:
        """End everything that is played; it goes on from what is stored when a server starts."""
        self.drain()
        for timer in self._timers:
            timer.cancel()
        drives = [one.drive for one in self._open.values() if one.drive]
        await asyncio.gather(*(drive.end() for drive in drives))

    async def create(
        self, name: str, account: str, planned: Callable[[], Plan], request: Request
    ) -> Row:
        """Create a tournament and return it as it was then; the same request returns the same.

        What is `planned` is found out only for a new one that there is room for.
        """
        made = await self._host.to_the_end(self._create(name, account, planned, request))
        return made._replace(state="open", ended=None, progress=None)

    async def find(self, tournament_id: str) -> Tournament:
        """Return a tournament; `ServiceError` if there is none."""
        known = self._open.get(tournament_id) or self._over.get(tournament_id)
        if known:
            return known
        row = await self.book.find(tournament_id)
        if row is None:
            raise ServiceError(Reason.TOURNAMENT_NOT_FOUND)
        return await self._take_up(row)

    async def cancel(self, tournament_id: str, account: str, request: Request) -> Tournament:
        """End a tournament of an account at once."""
        return await self._host.to_the_end(self._cancel(tournament_id, account, request))

    async def games(
        self, one: Tournament, after: tuple[int, int], count: int
    ) -> list[folders.Listed]:
        """Return games of blocks that are over, in schedule order."""
        # Only what the last standing counts; once it is over, no process deals from its master.
        end, opened = one.counted, one.over
        try:
            return await asyncio.to_thread(
                folders.games, self._folder(one.id), after, end, count, opened=opened
            )
        except (StoreError, SQLAlchemyError) as problem:
            _log.error("games cannot be read", tournament=one.id, problem=type(problem).__name__)
            raise StorageError("the games of a tournament cannot be read") from problem

    async def _create(
        self, name: str, account: str, planned: Callable[[], Plan], request: Request
    ) -> Row:
        async with self._one_at_a_time:
            known = await self._known(account, request)
            if known:
                row = await self.book.find(known)
                assert row
                return row
            if self._host.draining:
                raise ServiceError(Reason.DRAINING)
            self._make_room(account)
            self._coming = plan = planned()
            try:
                row = await self._insert(name, account, plan, request)
            finally:
                self._coming = None
        _log.info("tournament created", tournament=row.id, format=plan.format, rules=plan.rules)
        return row

    async def _insert(self, name: str, account: str, plan: Plan, request: Request) -> Row:
        scope, commitment = await self._promises.take()
        plan = msgspec.structs.replace(plan, id=scope)
        now = self._host.now()
        try:
            row = await self.book.insert(name, account, now, commitment, plan, request)
        except StorageError:
            self._host.spawn(self._settle(scope, commitment))
            raise
        await self._take_up(row)
        return row

    def _awaits(self, name: str) -> bool:
        """Say whether remote bots of a name still have to play: the name is nobody else's yet."""
        plans = [one.row.plan for one in self._open.values()]
        if self._coming:
            plans.append(self._coming)
        return any(bot.partition("@")[0] == name for plan in plans for bot in plan.remote)

    def _make_room(self, account: str) -> None:
        limits = self.limits
        mine = sum(one.row.account == account for one in self._open.values())
        for limit, most, count in (
            ("tournaments", limits.open, len(self._open)),
            ("account_tournaments", limits.account, mine),
        ):
            if count >= most:
                raise ServiceError(
                    Reason.TOO_MANY_TOURNAMENTS, metadata={"limit": limit}, retry_seconds=30
                )

    async def _known(self, account: str, request: Request) -> str:
        """Return the tournament that a request has been answered with; empty if it is new."""
        known = await self.book.requested(account, request.key)
        if known is None:
            return ""
        content, tournament_id = known
        if content != request.content:
            raise ServiceError(Reason.REQUEST_ID_REUSED)
        return tournament_id

    async def _settle(self, scope: str, commitment: str) -> None:
        """See what became of one that was not stored for sure, though nobody asks."""
        while not self._host.draining:
            try:
                await self.find(scope)
            except StorageError:
                await self._host.pause()
                continue
            except ServiceError:
                self._promises.give_back(scope, commitment)
            return

    async def _cancel(self, tournament_id: str, account: str, request: Request) -> Tournament:
        one = await self.find(tournament_id)
        async with one.lock:
            if one.row.account != account:
                raise ServiceError(Reason.BAD_TOKEN)
            if await self._known(account, request) or one.row.state == "cancelled":
                return one
            if one.over:
                raise ServiceError(Reason.TOURNAMENT_OVER)
            if self._host.draining:
                raise ServiceError(Reason.DRAINING)
            if one.drive:
                await one.drive.end()
            try:
                await self._end(one, "cancelled", request)
            except StorageError:
                self._host.spawn(self._see(one))
                raise
        return one

    async def _see(self, one: Tournament) -> None:
        """See whether the storage holds an end that it has not confirmed; else play on."""
        while not self._host.draining:
            try:
                async with one.lock:
                    row = await self.book.find(one.id)
            except StorageError:
                await self._host.pause()
                continue
            if row and row.over:
                await self._ended(one, row)
                if one.drive:  # begun again meanwhile
                    await one.drive.end()
            else:
                self._wait(one)
            return

    async def _take_up(self, row: Row) -> Tournament:
        one = Tournament(row)
        await self._read(one)
        known = self._open.get(row.id) or self._over.get(row.id)
        if known:  # somebody else has taken it up meanwhile
            return known
        if self._host.draining:
            one.audience.drain()
        if row.over:
            one.close(row)
            self._keep(one)
        else:
            self._open[row.id] = one
            self._wait(one)
        return one

    def _keep(self, one: Tournament) -> None:
        self._over[one.id] = one
        while len(self._over) > _KEPT:
            self._over.popitem(last=False)

    def _wait(self, one: Tournament) -> None:
        """Let a tournament be played when there is room."""
        if one.over or self._host.draining or one in self._turns or one.id in self._playing:
            return
        one.become(WAITING)
        self._turns.add(one)
        self._next()

    def _next(self) -> None:
        """Begin with what waits, as far as there is room."""
        playing = self._playing
        while len(playing) < self.limits.at_once and not self._host.draining:
            one = self._turns.take(playing.values())
            if one is None:
                break
            one.yields = False
            playing[one.id] = one
            self._host.spawn(self._play(one))
        if not any(one.yields for one in playing.values()) and not self._host.draining:
            late = self._turns.in_the_way(playing.values())
            if late and late.drive:
                late.yields = True
                self._host.spawn(late.drive.end())
        self._count()

    async def _play(self, one: Tournament) -> None:
        """Let a driver play one until it is over, halted, or the driver is gone."""
        try:
            said = await self._driven(one)
            async with one.lock:
                one.drive = None
                if isinstance(said, Over) and not one.over:
                    await self._end_for_sure(one, said.state)
        finally:
            self._playing.pop(one.id, None)
            self._next()
        if one.over or self._host.draining:
            return
        if said is None and one.yields:
            self._wait(one)
        else:
            self._halt(one, said)

    async def _driven(self, one: Tournament) -> Told | None:
        """Return the last word of a driver; None where it is gone without any."""
        try:
            bots = tuple(map(self._host.registry.find, one.row.plan.installed))
            master = await self._host.log.master(one.id)
        except BotNotFoundError as missing:
            return Halted("bot_missing", str(missing))
        except StorageError:
            return Halted("storage", "the secret cannot be read")
        contract = Contract(one.row.plan, master)
        orders = Orders(contract, Registry(bots, ()), self._folder(one.id), self.limits.workers)
        if self._host.draining or one.over:
            return None
        heard: asyncio.Queue[Told] = asyncio.Queue()
        one.become(RUNNING)
        one.stood = None
        one.drive = drive = Drive(orders, heard.put_nowait)
        one.desk = desk = Desk(self._tables, drive.say)
        drive.done.add_done_callback(lambda _: heard.put_nowait(_GONE))
        self._next()  # it may be in somebody's way by now
        try:
            while (told := await heard.get()) is not _GONE:
                if isinstance(told, Over | Halted):
                    await drive.end()  # what it has said is on disk
                    return told
                if isinstance(told, Wanted):
                    desk.take(told)
                else:
                    await self._hear(one, told)
        finally:
            await desk.close()
        return None

    async def _hear(self, one: Tournament, told: Told) -> None:
        if isinstance(told, Stood):
            self._tally(one.stood, told)
            one.stand(told)
        elif isinstance(told, Reported):
            if told.blocks > one.counted:  # it gets on, whatever became of the drivers before
                one.failures = 0
            await self._read(one)

    def _tally(self, before: Stood | None, now: Stood) -> None:
        """Count what has happened since the driver's last word."""
        metrics = self._host.metrics
        if before is None:
            return
        metrics.tournament_games.inc(max(0, now.games - before.games))
        metrics.tournament_games_lost.inc(max(0, now.lost - before.lost))
        metrics.tournament_games_twice.inc(max(0, now.twice - before.twice))

    async def _read(self, one: Tournament) -> None:
        """Read the last report."""
        told = await asyncio.to_thread(folders.report, self._folder(one.id))
        if told:
            one.report(told)

    def _halt(self, one: Tournament, said: Told | None) -> None:
        """Try again: soon if the driver is gone, later if it has said that it cannot go on."""
        one.failures += 1
        if said is None and one.failures <= _AT_ONCE:
            _log.warning("a tournament's driver is gone", tournament=one.id)
            self._wait(one)
            return
        problem, words = said if isinstance(said, Halted) else ("workers", "drivers end at once")
        _log.error("tournament halted", tournament=one.id, problem=problem, words=words)
        one.become(HALTED, problem)
        self._count()
        self._later(lambda: self._wait(one))

    def _later(self, call: Callable[[], None]) -> None:
        def run() -> None:
            self._timers.discard(timer)
            call()

        timer = asyncio.get_running_loop().call_later(_AGAIN_SECONDS, run)
        self._timers.add(timer)

    async def _end_for_sure(self, one: Tournament, state: str) -> None:
        """Write down the end of one, for as long as the storage may be away."""
        while not self._host.draining:
            try:
                await self._end(one, state)
            except StorageError:
                await self._host.pause()
            else:
                return

    async def _end(self, one: Tournament, state: str, request: Request | None = None) -> None:
        if one.desk:
            await one.desk.close()
        await self._tables.end(one.id)  # before its secret is told
        progress = one.audience.progress
        row = await self.book.end(one.row, state, self._host.now(), progress, request)
        await self._ended(one, row)

    async def _ended(self, one: Tournament, row: Row) -> None:
        await self._read(one)
        one.close(row)
        self._open.pop(row.id, None)
        self._keep(one)
        self._host.metrics.tournaments_over.labels(row.state).inc()
        self._count()
        _log.info("tournament over", tournament=row.id, state=row.state)

    def _count(self) -> None:
        states = Counter(one.state for one in self._open.values())
        for state in (WAITING, RUNNING, HALTED):
            self._host.metrics.tournaments.labels(state).set(states[state])

    def _folder(self, tournament_id: str) -> Path:
        return self._root / tournament_id


_GONE: Any = object()
"""After the last word of a driver."""
