"""How matches come into memory: those that were open when the server began, and those asked for.

A match has one place in memory, however many ask for it at once. One that cannot be read is left
out, and the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

import structlog

from ronda_core import fair
from ronda_server import fold
from ronda_server.errors import LogError, Reason, ServiceError, StorageError
from ronda_server.live import Live, Shelf
from ronda_server.log import SqliteLog
from ronda_server.metrics import Metrics
from ronda_server.streams import Audience

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Hosting(Protocol):
    """What loading needs of whoever hosts the matches."""

    log: SqliteLog
    metrics: Metrics
    draining: bool

    def now(self) -> int:
        """Return the time in microseconds since 1970."""
        ...

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` beside the rest."""
        ...

    async def pause(self) -> None:
        """Wait until the storage may be tried again."""
        ...

    def take_up(self, live: Live) -> None:
        """Go on with a match that has come into memory."""
        ...

    def all_loaded(self) -> None:
        """Note that every match is taken up that was open when the server began."""
        ...


class Loading:
    """The matches that are to come into memory, and those that are on their way."""

    def __init__(self, host: Hosting, shelf: Shelf) -> None:
        self._host = host
        self._shelf = shelf
        self._under_way: dict[str, asyncio.Task[Live]] = {}
        self._to_come: set[str] = set()
        self._all: asyncio.Task[None]

    def __len__(self) -> int:
        """Return how many of those that were open are still to be loaded."""
        return len(self._to_come)

    async def open(self) -> None:
        """Begin to take up every match that is not over where its log ends, the newest first.

        Who asks for one before its turn does not wait for the others.
        """
        rows = await self._host.log.unfinished()
        self._to_come = {row.id for row in rows}
        self._all = self._host.spawn(self._load_all([row.id for row in rows]))

    async def done(self) -> None:
        """Wait until every match is taken up that can be."""
        await self._all

    def came(self, match_id: str) -> None:
        """Note that a match is in memory, however it came there."""
        self._to_come.discard(match_id)

    async def find(self, match_id: str) -> Live:
        """Return a match, from memory or from its log; `ServiceError` if there is none."""
        live = self._shelf.get(match_id)
        if live is not None:
            return live
        task = self._under_way.get(match_id)
        if task is None:
            task = self._under_way[match_id] = self._host.spawn(self._load(match_id))
            task.add_done_callback(lambda _: self._under_way.pop(match_id, None))
        return await asyncio.shield(task)

    async def _load_all(self, match_ids: list[str]) -> None:
        for match_id in match_ids:
            while not self._host.draining:
                try:
                    await self.find(match_id)
                except LogError as problem:
                    # The others go on; this one waits for someone who can read what became of it.
                    self.came(match_id)
                    self._host.metrics.errors.inc()
                    _log.error("a match is left out", match=match_id, problem=str(problem))
                except StorageError:
                    await self._host.pause()
                    continue
                break
        if not self._host.draining:
            self._host.all_loaded()

    async def _load(self, match_id: str) -> Live:
        log = self._host.log
        row = await log.match(match_id)
        if row is None:
            raise ServiceError(Reason.MATCH_NOT_FOUND)
        facts = await log.read(match_id)
        table = fold.table_of(facts[0]) if facts else None
        scope = table.tournament if table else match_id
        master = await log.master(scope)
        commitment = fair.commitment(master, scope) if table else await log.commitment(scope)
        game, happened = await asyncio.to_thread(fold.latest, match_id, facts, commitment, master)
        known = self._shelf.get(match_id)
        if known is not None:  # it was made meanwhile: a match has one place in memory
            return known
        live = Live(game, Audience(self._host.now, self._host.metrics))
        live.take_in(game, happened)
        live.rematch_id = row.rematch_id or ""
        self._host.take_up(live)
        return live
