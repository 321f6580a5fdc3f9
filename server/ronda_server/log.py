"""The log of all matches, and what lists need of them: written in commits, read back in order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Row, func, select, union_all
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ronda_core.commitments import Listed
from ronda_server import database
from ronda_server.committer import Committer, Observe
from ronda_server.errors import LogError, StorageError
from ronda_server.facts import Fact
from ronda_server.schema import commitment, event, match, secret, tournament

T = TypeVar("T")


class MatchRow(NamedTuple):
    """A match as lists need it."""

    number: int
    id: str
    state: str
    visibility: str
    created: int
    ended: int | None
    result: dict[str, Any] | None
    rematch_id: str | None
    request: bytes | None
    content: bytes | None


class Lobby(NamedTuple):
    """A match before its first deal, and how long it became."""

    facts: list[Fact]
    sequence: int
    commitment: str


_FACT: Final = (
    event.c.sequence,
    event.c.time,
    event.c.kind,
    event.c.data,
    event.c.request,
    event.c.content,
)
_LOBBY: Final = ("created", "joined", "ready")


class SqliteLog:
    """The log in an SQLite file.

    `observe` is told of every commit, as `Committer` tells it.
    """

    def __init__(self, path: Path, observe: Observe | None = None) -> None:
        self._engine = database.engine(path)
        self.committer = Committer(path, observe)

    async def open(self) -> None:
        """Start to write; `StorageError` if the file cannot be opened."""
        await self.committer.open()

    async def close(self) -> None:
        """Finish what waits, then close the file."""
        await self.committer.close()
        self._engine.dispose()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Return a future of what `work` returns, done when it is committed.

        `statements.Rows` that it returns are appended to the log.

        `work` runs inside a transaction that others share. `ConflictError` when a key is taken,
        `StorageError` when the storage fails: then it may or may not hold the work.
        """
        return self.committer.submit(work)

    async def read(self, match_id: str, after: int = 0) -> list[Fact]:
        """Return the events of a match that follow number `after`."""
        return await _read_on_thread(self._read, match_id, after)

    async def match(self, match_id: str) -> MatchRow | None:
        """Return one match."""
        rows = await _read_on_thread(self._matches, match.c.id == match_id, 1)
        return rows[0] if rows else None

    async def requested(self, request: bytes) -> MatchRow | None:
        """Return the match that a request has created."""
        rows = await _read_on_thread(self._matches, match.c.request == request, 1)
        return rows[0] if rows else None

    async def unfinished(self) -> list[MatchRow]:
        """Return the matches that are open or run."""
        return await _read_on_thread(self._matches, match.c.state.in_(("waiting", "running")), 0)

    async def listed(self, state: str, below: int, count: int) -> list[MatchRow]:
        """Return public matches, the newest first: at most `count`, with numbers under `below`."""
        wanted = match.c.visibility == "public"
        if state:
            wanted &= match.c.state == state
        if below:
            wanted &= match.c.number < below
        return await _read_on_thread(self._matches, wanted, count)

    async def commitments(self, after: int, count: int) -> list[Listed]:
        """Return entries of the public list, the oldest first."""
        return await _read_on_thread(self._commitments, after, count)

    async def unused_scopes(self, kind: str = "") -> list[tuple[str, str]]:
        """Return scope and commitment of those that nobody has taken, the oldest first.

        `kind` is what such a scope begins with; empty: all of them.
        """
        return await _read_on_thread(self._unused, kind)

    async def commitment(self, scope: str) -> str:
        """Return what was published for a scope."""
        return await _read_on_thread(self._commitment, scope)

    async def lobbies(self, match_ids: Sequence[str]) -> dict[str, Lobby]:
        """Return what lists need of matches: what was before their first deal, and their length.

        One that cannot be read is not among them.
        """
        return await _read_on_thread(self._lobbies, match_ids)

    async def master(self, scope: str) -> bytes:
        """Return the secret of a scope, for the one who deals."""
        return await _read_on_thread(self._master, scope)

    def _read(self, match_id: str, after: int) -> list[Fact]:
        wanted = (
            select(*_FACT)
            .where(event.c.match_id == match_id, event.c.sequence > after)
            .order_by(event.c.sequence)
        )
        with self._engine.connect() as connection:
            return [_fact(row) for row in connection.execute(wanted)]

    def _matches(self, wanted: ColumnElement[bool], count: int) -> list[MatchRow]:
        query = select(match).where(wanted).order_by(match.c.number.desc())
        if count:
            query = query.limit(count)
        with self._engine.connect() as connection:
            return [_match_row(row) for row in connection.execute(query)]

    def _commitments(self, after: int, count: int) -> list[Listed]:
        query = (
            select(commitment)
            .where(commitment.c.number > after)
            .order_by(commitment.c.number)
            .limit(count)
        )
        with self._engine.connect() as connection:
            return [Listed(*row) for row in connection.execute(query)]

    def _unused(self, kind: str) -> list[tuple[str, str]]:
        taken = union_all(select(match.c.id), select(tournament.c.id))
        query = (
            select(commitment.c.scope, commitment.c.commitment)
            .where(commitment.c.scope.startswith(kind), commitment.c.scope.not_in(taken))
            .group_by(commitment.c.scope, commitment.c.commitment)
            .having(func.max(commitment.c.ending) == "")
            .order_by(func.min(commitment.c.number))
        )
        with self._engine.connect() as connection:
            return [(row[0], row[1]) for row in connection.execute(query)]

    def _lobbies(self, match_ids: Sequence[str]) -> dict[str, Lobby]:
        of_these = event.c.match_id.in_(match_ids)
        before = select(event.c.match_id, *_FACT).where(of_these, event.c.kind.in_(_LOBBY))
        last = select(event.c.match_id, func.max(event.c.sequence)).where(of_these)
        told = select(commitment.c.scope, commitment.c.commitment)
        rows: dict[str, list[Any]] = {}
        with self._engine.connect() as connection:
            for row in connection.execute(before.order_by(event.c.sequence)):
                rows.setdefault(row[0], []).append(row)
            sequences = _pairs(connection.execute(last.group_by(event.c.match_id)))
            commitments = _pairs(connection.execute(told.where(commitment.c.scope.in_(match_ids))))
        found = {}
        for match_id, some in rows.items():
            with contextlib.suppress(LogError):  # it is left out: one match does not hide others
                facts = [_fact(row[1:]) for row in some]
                promised = _there(commitments.get(match_id), match_id)
                found[match_id] = Lobby(facts, sequences[match_id], promised)
        return found

    def _commitment(self, scope: str) -> str:
        query = select(commitment.c.commitment).where(commitment.c.scope == scope).limit(1)
        with self._engine.connect() as connection:
            return str(_there(connection.execute(query).scalar(), scope))

    def _master(self, scope: str) -> bytes:
        query = select(secret.c.master).where(secret.c.scope == scope)
        with self._engine.connect() as connection:
            return bytes(_there(connection.execute(query).scalar(), scope))


async def _read_on_thread(read: Callable[..., T], *asked: Any) -> T:
    """Read beside the loop; `StorageError` if the storage does not answer."""
    try:
        return await asyncio.to_thread(read, *asked)
    except (DBAPIError, PoolTimeout) as problem:
        raise StorageError("the storage cannot be read") from problem


def _pairs(rows: Iterable[Any]) -> dict[str, Any]:
    return {row[0]: row[1] for row in rows}


def _fact(row: Any) -> Fact:
    try:
        data = json.loads(row[3])
    except (TypeError, ValueError):
        raise LogError(f"event {row[0]} is no JSON") from None
    return Fact(row[0], row[1], row[2], data, row[4], row[5])


def _there(value: T | None, scope: str) -> T:
    """Return what the database holds of a scope; a part of it may have been lost."""
    if value is None:
        raise LogError(f"the promise of {scope} is missing")
    return value


def _match_row(row: Row[Any]) -> MatchRow:
    values = list(row)
    try:
        values[6] = json.loads(values[6]) if values[6] else None
    except ValueError:  # how it ended is in the log too
        values[6] = None
    return MatchRow(*values)
