"""The log: events are appended in groups, each group one commit, and read back in order.

One thread owns the connection that writes. Whatever waits when it is free goes into its next
transaction, so a busy server pays one flush to disk for many plays. A caller is answered after
the commit that holds its work, never before.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Row, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ronda_server import database
from ronda_server.errors import Reason, ServiceError
from ronda_server.schema import commitment, event, match, secret

T = TypeVar("T")

_GROUP: Final = 256
"""Most pieces of work in one commit."""
_SIBLINGS: Final = 8
_DELAY: Final = 0.002
"""Seconds that a commit waits for company after one of more than `_SIBLINGS`: under load a larger
group costs less than it delays, and alone nobody waits. PostgreSQL calls them commit_siblings and
commit_delay."""


class StorageError(ServiceError):
    """The storage did not answer; whether it holds the work is to be read from it again."""

    def __init__(self, problem: str) -> None:
        super().__init__(Reason.STORAGE_UNAVAILABLE)
        self.args = (problem,)


class ConflictError(StorageError):
    """Someone else has written this number, or this match, first."""


class Fact(NamedTuple):
    """A row of the log: what happened, as little as a replay needs."""

    sequence: int
    time: int
    """Microseconds since 1970."""
    kind: str
    data: dict[str, Any]
    request: bytes | None = None
    content: bytes | None = None

    def __repr__(self) -> str:
        return f"Fact({self.sequence}, {self.kind})"


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


class CommitmentRow(NamedTuple):
    """An entry of the public list."""

    number: int
    scope: str
    commitment: str
    ending: str
    previous_hash: str
    hash: str


class SqliteLog:
    """The log in an SQLite file.

    `observe(seconds, size)` is told of every commit.
    """

    def __init__(self, path: Path, observe: Callable[[float, int], None] | None = None) -> None:
        self._path = path
        self._observe = observe
        self._engine = database.engine(path)
        self._work: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._opened = threading.Event()
        self._problem: sqlite3.Error | None = None

    async def open(self) -> None:
        """Start the writing thread; `StorageError` if the file cannot be opened."""
        self._thread.start()
        await asyncio.to_thread(self._opened.wait)
        if self._problem:
            raise StorageError("the database cannot be opened") from self._problem

    async def close(self) -> None:
        """Finish what waits, then close the file."""
        self._work.put(None)
        await asyncio.to_thread(self._thread.join)
        self._engine.dispose()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Return a future of what `work` returns, done when it is committed.

        `Rows` that it returns are appended to the log.

        `work` runs inside a transaction that others share. `ConflictError` when a key is taken,
        `StorageError` when the storage fails: then it may or may not hold the work.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._work.put(_Job(work, future, loop))
        return future

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

    async def commitments(self, after: int, count: int) -> list[CommitmentRow]:
        """Return entries of the public list, the oldest first."""
        return await _read_on_thread(self._commitments, after, count)

    async def unused_scopes(self) -> list[tuple[str, str]]:
        """Return scope and commitment of those that no match has taken, the oldest first."""
        return await _read_on_thread(self._unused)

    async def commitment(self, scope: str) -> str:
        """Return what was published for a scope."""
        return await _read_on_thread(self._commitment, scope)

    async def master(self, scope: str) -> bytes:
        """Return the secret of a scope, for the one who deals."""
        return await _read_on_thread(self._master, scope)

    def _read(self, match_id: str, after: int) -> list[Fact]:
        wanted = (
            select(
                event.c.sequence,
                event.c.time,
                event.c.kind,
                event.c.data,
                event.c.request,
                event.c.content,
            )
            .where(event.c.match_id == match_id, event.c.sequence > after)
            .order_by(event.c.sequence)
        )
        with self._engine.connect() as connection:
            return [
                Fact(row[0], row[1], row[2], json.loads(row[3]), row[4], row[5])
                for row in connection.execute(wanted)
            ]

    def _matches(self, wanted: ColumnElement[bool], count: int) -> list[MatchRow]:
        query = select(match).where(wanted).order_by(match.c.number.desc())
        if count:
            query = query.limit(count)
        with self._engine.connect() as connection:
            return [_match_row(row) for row in connection.execute(query)]

    def _commitments(self, after: int, count: int) -> list[CommitmentRow]:
        query = (
            select(commitment)
            .where(commitment.c.number > after)
            .order_by(commitment.c.number)
            .limit(count)
        )
        with self._engine.connect() as connection:
            return [CommitmentRow(*row) for row in connection.execute(query)]

    def _unused(self) -> list[tuple[str, str]]:
        taken = select(match.c.id)
        query = (
            select(commitment.c.scope, commitment.c.commitment)
            .where(commitment.c.scope.not_in(taken))
            .group_by(commitment.c.scope, commitment.c.commitment)
            .having(func.max(commitment.c.ending) == "")
            .order_by(func.min(commitment.c.number))
        )
        with self._engine.connect() as connection:
            return [(row[0], row[1]) for row in connection.execute(query)]

    def _commitment(self, scope: str) -> str:
        query = select(commitment.c.commitment).where(commitment.c.scope == scope).limit(1)
        with self._engine.connect() as connection:
            return str(connection.execute(query).scalar_one())

    def _master(self, scope: str) -> bytes:
        query = select(secret.c.master).where(secret.c.scope == scope)
        with self._engine.connect() as connection:
            return bytes(connection.execute(query).scalar_one())

    def _write(self) -> None:
        try:
            connection = sqlite3.connect(self._path, isolation_level=None)
            database.prepare(connection)
        except sqlite3.Error as problem:
            self._problem = problem
            return
        finally:
            self._opened.set()
        running = True
        group_was = 0
        while running:
            jobs = [self._work.get()]
            if group_was > _SIBLINGS:
                time.sleep(_DELAY)
            while len(jobs) < _GROUP and not self._work.empty():
                jobs.append(self._work.get())
            group = [job for job in jobs if job]
            running = len(group) == len(jobs)
            group_was = len(group)
            if group:
                started = time.perf_counter()
                _deliver(_commit(connection, group))
                if self._observe:
                    self._observe(time.perf_counter() - started, len(group))
        connection.close()


async def _read_on_thread(read: Callable[..., T], *asked: Any) -> T:
    """Read beside the loop; `StorageError` if the storage does not answer."""
    try:
        return await asyncio.to_thread(read, *asked)
    except (DBAPIError, PoolTimeout) as problem:
        raise StorageError("the storage cannot be read") from problem


class _Job(NamedTuple):
    work: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


_Outcome = tuple[_Job, Any, Exception | None]


def _commit(connection: sqlite3.Connection, jobs: list[_Job]) -> list[_Outcome]:
    """Do all of `jobs` in one transaction; if one fails, each in one of its own."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        done: list[_Outcome] = [(job, job.work(connection), None) for job in jobs]
        append_all(connection, [value for _, value, _ in done])
        connection.execute("COMMIT")
    except Exception as problem:  # noqa: BLE001 # whatever it is, it becomes the answer of its job
        _roll_back(connection)
        if len(jobs) == 1:
            return [(jobs[0], None, _as_ours(problem))]
        return [outcome for job in jobs for outcome in _commit(connection, [job])]
    return done


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            # The file is gone from under us; the next transaction will say so to its caller.
            return


def _as_ours(problem: Exception) -> Exception:
    if isinstance(problem, sqlite3.IntegrityError):
        return ConflictError("someone else has written this first")
    if isinstance(problem, sqlite3.Error):
        error = StorageError("the storage did not take the work")
        error.__cause__ = problem
        return error
    return problem


def _deliver(outcomes: list[_Outcome]) -> None:
    """Hand all outcomes to their loops, waking each loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[_Outcome]] = {}
    for outcome in outcomes:
        loops.setdefault(outcome[0].loop, []).append(outcome)
    for loop, mine in loops.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, mine)


def _settle(outcomes: list[_Outcome]) -> None:
    for job, value, problem in outcomes:
        if job.future.done():  # its caller has gone; the work is committed all the same
            continue
        if problem:
            job.future.set_exception(problem)
        else:
            job.future.set_result(value)


class Rows(list[tuple[Any, ...]]):
    """Events that a piece of work leaves to be appended, by one statement with all others'.

    The writing thread yields to the loop at every statement, and waits for its turn after it: a
    statement for each play would cost more than the flush to disk.
    """

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"


def rows_of(match_id: str, facts: Sequence[Fact]) -> Rows:
    """Return `facts` as they are appended to a match."""
    return Rows(
        (match_id, fact.sequence, fact.time, fact.kind, _dump(fact.data), *fact[4:])
        for fact in facts
    )


def append_all(connection: sqlite3.Connection, values: Sequence[Any]) -> None:
    """Append the rows among what pieces of work have returned; `ConflictError` if one is taken."""
    rows = [row for value in values if isinstance(value, Rows) for row in value]
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        flat = [field for row in some for field in row]
        connection.execute(_insertion(len(some)), flat)


_ROWS: Final = 256
"""Rows of one statement."""


_COLUMNS: Final = "match_id, sequence, time, kind, data, request, content"


@lru_cache(_ROWS)
def _insertion(rows: int) -> str:
    places = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * rows)
    return f"INSERT INTO event ({_COLUMNS}) VALUES {places}"  # noqa: S608 # nothing from outside


def insert_match(
    connection: sqlite3.Connection,
    match_id: str,
    visibility: str,
    created: int,
    request: bytes | None,
    content: bytes | None,
) -> None:
    """Add a match that waits for its seats."""
    connection.execute(
        "INSERT INTO match (id, state, visibility, created, request, content)"
        " VALUES (?, 'waiting', ?, ?, ?, ?)",
        (match_id, visibility, created, request, content),
    )


def set_running(connection: sqlite3.Connection, match_id: str) -> None:
    """Say that a match has begun."""
    connection.execute("UPDATE match SET state = 'running' WHERE id = ?", (match_id,))


def set_ended(
    connection: sqlite3.Connection, match_id: str, state: str, ended: int, result: dict[str, Any]
) -> None:
    """Say that a match is over."""
    connection.execute(
        "UPDATE match SET state = ?, ended = ?, result = ? WHERE id = ?",
        (state, ended, _dump(result), match_id),
    )


def set_rematch(connection: sqlite3.Connection, match_id: str, rematch_id: str) -> None:
    """Say which match follows one; `ConflictError` if one follows already."""
    changed = connection.execute(
        "UPDATE match SET rematch_id = ? WHERE id = ? AND rematch_id IS NULL",
        (rematch_id, match_id),
    )
    if changed.rowcount != 1:
        raise ConflictError("another match follows already")


_dump: Final[Callable[[dict[str, Any]], str]] = json.JSONEncoder(separators=(",", ":")).encode


def _match_row(row: Row[Any]) -> MatchRow:
    values = list(row)
    values[6] = json.loads(values[6]) if values[6] else None
    return MatchRow(*values)
