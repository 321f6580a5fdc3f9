"""Live matches: judge a command, step, append, and only then tell; the one place that decides.

A command works on a copy of the game, appends what happened, and the copy becomes the game when
that is committed. If its caller hangs up meanwhile, what was committed is read back from the log.
Commands on one match wait for one another; those on different matches share commits.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import structlog

from ronda_arena.seating import Seating
from ronda_bots.registry import BotInfo, Registry, in_order
from ronda_core.hand import IllegalMoveError
from ronda_core.record import Record
from ronda_server import deadlines, endings, fold
from ronda_server import game as games
from ronda_server.bot_logs import BotLogs
from ronda_server.bots import Answer
from ronda_server.clock import HeldUp
from ronda_server.driving import Drivers
from ronda_server.errors import LogError, Reason, ServiceError, StorageError
from ronda_server.game import Decision, Game, Happened
from ronda_server.identity import Keys
from ronda_server.live import Live, Request, Shelf
from ronda_server.loading import Loading
from ronda_server.log import SqliteLog
from ronda_server.metrics import Metrics
from ronda_server.remote import Remotes
from ronda_server.scribe import record_of
from ronda_server.statements import Rows, rows_of
from ronda_server.streams import Audience

T = TypeVar("T")

_log = structlog.get_logger(__name__)

_GRACE_MICROS: Final = 10_000_000
"""Time that a decision still has after a restart."""
_RETRY_SECONDS: Final = 1.0
"""Between attempts while the storage is away."""


class Host:
    """All matches that this server serves."""

    def __init__(
        self,
        log: SqliteLog,
        keys: Keys,
        registry: Registry,
        seating: Seating,
        metrics: Metrics,
        now: Callable[[], int],
        bot_delay: float = 0.0,
        max_bots: int = 1000,
        max_account_bots: int = 100,
        max_bot_seats: int = 256,
    ) -> None:
        self.log = log
        self.keys = keys
        self.registry = registry
        self.seating = seating
        self.metrics = metrics
        metrics.live_matches.set_function(self.__len__)
        self.now = now
        self.draining = False
        self._began = now()
        self.held_up = HeldUp(metrics.held_up.inc)
        self._shelf = Shelf()
        self._loading = Loading(self, self._shelf)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.bot_logs = BotLogs(now)
        self._bot_delay = bot_delay
        self._drivers = Drivers(self, seating, metrics, self.bot_logs, bot_delay)
        self.remotes = Remotes(self, now, metrics, max_bots, max_account_bots, max_bot_seats)

    def __len__(self) -> int:
        """Return how many matches wait or run, those among them that are still to be loaded."""
        return len(self._shelf.open) + len(self._loading)

    @property
    def workers(self) -> int:
        """How many workers the bots of open matches have or will have."""
        return sum(live.game.workers for live in self._shelf.open.values())

    async def open(self) -> None:
        """Begin to take up every match that is not over where its log ends, the newest first."""
        await self._loading.open()

    async def loaded(self) -> None:
        """Wait until every match is taken up that can be."""
        await self._loading.done()

    def all_loaded(self) -> None:
        """Tell remote bots that they have been told of every match."""
        self.remotes.all_loaded()

    async def close(self) -> None:
        """Stop bots and timers; every match goes on from its log, elsewhere or later."""
        self.drain()
        for live in self._shelf.open.values():
            if live.timer:
                live.timer.cancel()
            if live.driver:
                live.driver.cancel()
            self._drivers.dismiss(live)
        while self._tasks:  # what is cancelled may leave a task that reads what became of it
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self._drivers.close()

    def meet(self, bots: Sequence[BotInfo]) -> None:
        """Learn of bots that were installed since the server began, or are not what they were."""
        known = {bot.identity: bot for bot in self.registry.bots}
        if any(known.get(bot.identity) != bot for bot in bots):
            known.update((bot.identity, bot) for bot in bots)
            self.registry = replace(self.registry, bots=tuple(in_order(known.values())))

    def at_tables(self, tournament: str) -> list[Live]:
        """Return the matches that are played for a tournament, or for a block of a ladder."""
        return [
            live
            for live in self._shelf.open.values()
            if live.game.table and live.game.table.tournament == tournament
        ]

    async def call_off(self, live: Live) -> None:
        """End a match that counts for nothing."""
        async with live.lock:
            await self._refresh(live)
            if not live.game.over:
                await self._advance(live, ("cancelled", {}), None)

    def drain(self) -> None:
        """Take no more commands, and end every stream with where to resume."""
        self.draining = True
        self.remotes.drain()
        for live in self._shelf:
            live.audience.drain()

    async def find(self, match_id: str) -> Live:
        """Return a match, from memory or from its log; `ServiceError` if there is none."""
        return await self._loading.find(match_id)

    def take_up(self, live: Live) -> None:
        """Go on with a match that has come into memory."""
        if self.draining:
            live.audience.drain()
        if not live.game.over and live.game.last_time > self.now():
            # The wall clock was set back while no server was there: nothing waits until then.
            fold.nothing_after(live.game, self._began - 1)
        live.held_up = self.held_up()
        self._shelve(live)
        self.go_on(live)

    async def command(
        self, live: Live, caller: bytes, request: Request, decide: Callable[[Game], Decision | int]
    ) -> int:
        """Take a command and return the number of the event that it became.

        `decide` sees the game as it is and says what is to happen, or refuses, or names the event
        by which it is so already. `caller` tells the callers of one match apart: a request id is
        one caller's.
        """
        return await self._take(live, caller, request, decide)

    async def record(self, live: Live) -> Record:
        """Return the record of a match that is over."""
        if not live.game.over:
            raise ServiceError(Reason.RECORD_SEALED)
        if live.record is None:
            game = live.game
            facts = await self.log.read(game.id)
            live.record = await asyncio.to_thread(
                record_of, game.id, facts, game.commitment, game.master
            )
        return live.record

    def keep(self, game: Game, happened: list[Happened]) -> Live:
        """Take in a match that has just been committed."""
        live = self._shelf.get(game.id)
        if live is not None:  # someone who knew its id has looked for it at once
            return live
        live = Live(game, Audience(self.now, self.metrics))
        live.held_up = self.held_up()
        self._shelve(live)
        self._tell(live, game, happened)
        return live

    async def to_the_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to its end even if the caller hangs up meanwhile."""
        return await asyncio.shield(self.spawn(work))

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` beside the rest, and say so if it fails."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    async def pause(self) -> None:
        """Wait until the storage may be tried again."""
        await asyncio.sleep(_RETRY_SECONDS)  # the storage is away

    async def _take(
        self, live: Live, caller: bytes, request: Request, decide: Callable[[Game], Decision | int]
    ) -> int:
        async with live.lock:
            await self._refresh(live)
            key = caller + request.key
            known = live.requests.get(key)
            if known:
                if known[0] != request.content:
                    raise ServiceError(Reason.REQUEST_ID_REUSED)
                return known[1]
            if self.draining:
                raise ServiceError(Reason.DRAINING)
            await self._judge(live)
            decided = decide(live.game)
            if isinstance(decided, int):
                return decided
            return await self._advance(live, decided, Request(key, request.content))

    async def _advance(self, live: Live, decision: Decision, request: Request | None) -> int:
        """Step, append, and tell; the caller holds the lock of the match."""
        before = live.game
        after = games.copy(before)
        try:
            happened = fold.apply(after, *decision, self.now(), *(request or (None, None)))
        except IllegalMoveError as refusal:
            raise ServiceError(Reason(refusal.reason.value)) from None

        rows = rows_of(after.id, [one.fact for one in happened])

        def with_state(connection: sqlite3.Connection) -> Rows:
            endings.write_state(connection, after)
            return rows

        try:
            await self.log.submit(rows if after.state == before.state else with_state)
        except (StorageError, asyncio.CancelledError) as problem:
            live.stale = True
            self.spawn(self._catch_up(live))
            if isinstance(problem, StorageError):
                _log.error("an event was not stored", match=after.id, problem=str(problem))
            raise
        self._tell(live, after, happened)
        return happened[0].fact.sequence

    def _tell(self, live: Live, after: Game, happened: list[Happened]) -> None:
        """Make what is committed the game, tell everybody, and see what comes next."""
        opened_before = live.game.opened
        live.take_in(after, happened)
        if after.opened != opened_before:
            live.held_up = self.held_up()
            live.handed = self.now() if live.remote else 0
        self.metrics.happened(after, happened)
        if after.result:
            if not after.table:  # of those there are as many as anybody wants
                _log.info("match over", match=after.id, outcome=after.result.outcome)
            self._shelve(live)
        self.go_on(live)

    def go_on(self, live: Live) -> None:
        """Set the clock of what waits, and let bots decide."""
        self._set_timer(live)
        if live.remote:
            self.remotes.look(live)
        if live.hosted:
            self._drivers.look(live)

    async def take_answer(self, live: Live, answer: Answer) -> None:
        """Take what a bot has decided, if it is still asked."""
        async with live.lock:
            await self._refresh(live)
            await self._judge(live)
            game = live.game
            open_still = game.opened == answer.opened and answer.seat in game.waits_for
            if not game.over and (open_still or answer.decision[0] == "forfeited"):
                await self._advance(live, answer.decision, None)

    def decided(self, live: Live, answer: Answer) -> None:
        """Take what a remote bot has decided in time, after as long as any bot waits."""
        live.answering += 1
        if not self._bot_delay or live.game.table:  # of which nobody sees anything
            self.spawn(self._take_remote(live, answer))
            return

        def take() -> None:
            if not self.draining:  # else it is asked again after the restart
                self.spawn(self._take_remote(live, answer))

        asyncio.get_running_loop().call_later(self._bot_delay, take)

    def late(self, live: Live) -> None:
        """See that the time of a match is up, before its timer does."""
        self.spawn(self._expire(live))

    async def _take_remote(self, live: Live, answer: Answer) -> None:
        """Take an answer for as long as the storage may be away: it was in time."""
        try:
            while not self.draining:
                try:
                    return await self.take_answer(live, answer)
                except StorageError:
                    await self.pause()
        finally:
            live.answering -= 1
            self._set_timer(live)

    def due(self, live: Live) -> int:
        """Return when something happens by itself, 0 for never.

        Time that ran out while no server was there is nobody's fault: it ends a little later, and
        so does time in which our loop was held up. A bot's begins when it is asked.
        """
        game = live.game
        due = deadlines.due(game, live.handed, live.granted)
        if not due:
            return 0
        if game.last_time < self._began:
            due = max(due, self._began + _GRACE_MICROS)
        return due + self.held_up() - live.held_up

    def _set_timer(self, live: Live) -> None:
        """Be there when something is due; a timer that comes too early looks again."""
        if live.answering:  # it is set when that is stored
            return
        due = self.due(live)
        if live.timer:
            if due and live.deadline <= due:
                return
            live.timer.cancel()
            live.timer = None
        if due:
            self._wait_until(live, due)

    def _wait_until(self, live: Live, due: int, at_least: float = 0.0) -> None:
        live.deadline = due
        seconds = max(at_least, (due - self.now()) / 1e6)
        live.timer = asyncio.get_running_loop().call_later(
            seconds, lambda: self.spawn(self._expire(live))
        )

    async def _judge(self, live: Live) -> None:
        """Let what has not come in time be no declaration, or an end; for who holds the lock.

        What comes late finds this done, whether the timer has been or not; where an answer came in
        time and is still to be stored, that first.
        """
        while not live.answering and (due := self.due(live)) and self.now() >= due:
            there = functools.partial(self.remotes.was_there, live)
            await self._advance(live, deadlines.lateness(live.game, there), None)

    async def _expire(self, live: Live) -> None:
        """See what has come when a time is up, and wait for the next."""
        if live.timer:
            live.timer.cancel()
            live.timer = None
        async with live.lock:
            try:
                await self._refresh(live)
                if not self.draining:
                    await self._judge(live)
                    self._set_timer(live)
            except ServiceError as problem:
                _log.warning("deadline waits", match=live.game.id, reason=problem.reason.value)
                self._wait_until(live, self.due(live), _RETRY_SECONDS)

    async def _refresh(self, live: Live) -> None:
        """Read what the storage holds beyond memory, after a commit whose fate is unknown."""
        if not live.stale:
            return
        await self.log.submit(_nothing)  # whatever was under way is decided after this
        facts = await self.log.read(live.game.id, live.game.sequence)
        live.stale = False
        while facts:
            fact = facts[0]
            after = games.copy(live.game)
            happened = fold.apply(
                after, fact.kind, fact.data, fact.time, fact.request, fact.content
            )
            facts = facts[len(happened) :]
            self._tell(live, after, happened)

    async def _catch_up(self, live: Live) -> None:
        """See what became of a commit, though nobody asks: what is committed is to be told."""
        while live.stale:
            try:
                async with live.lock:
                    await self._refresh(live)
            except StorageError:
                if self.draining:
                    return
                await self.pause()

    def _shelve(self, live: Live) -> None:
        self._shelf.put(live)
        self._loading.came(live.game.id)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            problem = task.exception()
            if problem and not isinstance(problem, ServiceError | LogError):
                self.metrics.errors.inc()
                _log.error("a task failed", problem=type(problem).__name__)


def _nothing(_connection: sqlite3.Connection) -> None:
    """Do nothing, in turn."""
