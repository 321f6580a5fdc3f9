"""Work in groups, each group one commit, done by the one thread that owns the writing connection.

Whatever waits when it is free goes into its next transaction, so a busy server pays one flush to
disk for many plays. A caller is answered after the commit that holds its work, never before.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import structlog

from ronda_server import database
from ronda_server.errors import ConflictError, StorageError
from ronda_server.statements import append_all, is_one_statement

T = TypeVar("T")

Observe = Callable[[float, int, bool], None]

_log = structlog.get_logger(__name__)

_GROUP: Final = 256
"""Most pieces of work in one commit."""
_SIBLINGS: Final = 8
_DELAY: Final = 0.003
"""Seconds that a commit waits for company under a load of more than `_SIBLINGS`, where a larger
group costs less than it delays; alone nobody waits. PostgreSQL calls them commit_siblings and
commit_delay."""
_REMEMBERED: Final = 3 / 4
"""What a smaller group leaves of the load: small ones come between large ones by chance."""


class Committer:
    """The writing thread of one SQLite file.

    `observe` is told of every commit: the seconds, how many pieces of work, and if all is stored.
    """

    def __init__(self, path: Path, observe: Observe | None = None) -> None:
        self._path = path
        self._observe = observe
        self._work: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._opened = threading.Event()
        self._problem: sqlite3.Error | None = None
        self._failing = False

    def __len__(self) -> int:
        """Return how many pieces of work wait for a transaction."""
        return self._work.qsize()

    async def open(self) -> None:
        """Start the thread; `StorageError` if the file cannot be opened."""
        self._thread.start()
        await asyncio.to_thread(self._opened.wait)
        if self._problem:
            raise StorageError("the database cannot be opened") from self._problem

    async def close(self) -> None:
        """Finish what waits, then close the file."""
        self._work.put(None)
        await asyncio.to_thread(self._thread.join)

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Return a future of what `work` returns, done when it is committed."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._work.put(_Job(work, future, loop))
        return future

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
        load = 0.0
        while running:
            jobs = [self._work.get()]
            if load > _SIBLINGS:
                time.sleep(_DELAY)  # on its own thread
            while len(jobs) < _GROUP and not self._work.empty():
                jobs.append(self._work.get())
            group = [job for job in jobs if job]
            running = len(group) == len(jobs)
            load = max(len(group), load * _REMEMBERED)
            if group:
                started = time.perf_counter()
                outcomes = _commit(connection, group)
                _deliver(outcomes)
                self._tell(outcomes, time.perf_counter() - started)
        connection.close()

    def _tell(self, outcomes: list[_Outcome], seconds: float) -> None:
        """Say when the storage fails, once, and when it is back."""
        problem = next((problem for _, _, problem in outcomes if _is_failure(problem)), None)
        if problem and not self._failing:
            _log.error("the storage does not take commits", problem=str(problem.__cause__))
        elif self._failing and not problem:
            _log.warning("the storage takes commits again")
        self._failing = problem is not None
        if self._observe:
            self._observe(seconds, len(outcomes), problem is None)


class _Job(NamedTuple):
    work: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


_Outcome = tuple[_Job, Any, Exception | None]


def _commit(connection: sqlite3.Connection, jobs: list[_Job]) -> list[_Outcome]:
    """Do all of `jobs` in one transaction; if one fails, each in one of its own."""
    # Each statement is one more wait for the loop to let go of the interpreter.
    single = is_one_statement([job.work for job in jobs])
    try:
        if not single:
            connection.execute("BEGIN IMMEDIATE")
    except sqlite3.Error as problem:  # it has waited its time already, for all of them
        _roll_back(connection)  # it may have begun all the same
        return [(job, None, _as_ours(problem)) for job in jobs]
    try:
        done: list[_Outcome] = [(job, job.work(connection), None) for job in jobs]
        append_all(connection, [value for _, value, _ in done])
        if not single:
            connection.execute("COMMIT")
    except Exception as problem:  # noqa: BLE001 # whatever it is, it becomes the answer of its job
        _roll_back(connection)
        if len(jobs) == 1 or (single and _has_waited(problem)):
            return [(job, None, _as_ours(problem)) for job in jobs]
        return [outcome for job in jobs for outcome in _commit(connection, [job])]
    return done


def _has_waited(problem: Exception) -> bool:
    """Say whether someone else kept the file, for as long as anybody waits for it."""
    if not isinstance(problem, sqlite3.OperationalError):
        return False
    code: int = getattr(problem, "sqlite_errorcode", 0)  # not all have one
    return code & 0xFF == sqlite3.SQLITE_BUSY  # the rest says why


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


def _is_failure(problem: Exception | None) -> bool:
    return isinstance(problem, StorageError) and not isinstance(problem, ConflictError)


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
