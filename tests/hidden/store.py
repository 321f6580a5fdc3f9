"""The database that every run begins on, kept in memory."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import random
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar
from unittest.mock import patch

from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import StaticPool
from tests.hidden.simulated import run

from ronda_server import commitments, database
from ronda_server.errors import ConflictError, StorageError
from ronda_server.log import SqliteLog
from ronda_server.statements import append_all

T = TypeVar("T")

KEY: Final = bytes(range(100, 132))
"""The key of every server under test."""


class Store:
    """The database that every run begins on: an empty one with promises, the same each time.

    Its bytes are made by the server's own code when first wanted, so by what is patched then.
    """

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.engine: Engine = create_engine(
            "sqlite://", creator=lambda: self.connection, poolclass=StaticPool
        )
        self.image = _empty()
        self.image, self.scopes, self.masters = self._with_promises()

    def fresh(self) -> None:
        """Make the database in memory what it is at the start of every run."""
        self.connection.deserialize(self.image)
        database.prepare(self.connection)

    def _with_promises(self) -> tuple[bytes, list[str], list[bytes]]:
        self.fresh()
        chance = random.Random("the promises of every run")

        async def announce() -> None:
            log = log_in_memory(self)(Path("none"))
            await commitments.Promises(log).open()
            await commitments.Promises(log, commitments.TOURNAMENT).open()

        with (
            patch("os.urandom", chance.randbytes),
            patch.object(database, "engine", lambda _: self.engine),
        ):
            run(announce())
        order = "SELECT scope FROM commitment WHERE ending = '' ORDER BY number"
        scopes = [str(row[0]) for row in self.connection.execute(order)]
        secrets = dict(self.connection.execute("SELECT scope, master FROM secret"))
        masters = [bytes(secrets[scope]) for scope in scopes]
        return bytes(self.connection.serialize()), scopes, masters

    def close(self) -> None:
        """Give up what it holds."""
        self.engine.dispose()
        self.connection.close()


_stores: list[Store] = []


@atexit.register
def forget() -> None:
    """Let the next run begin on a database that is made anew."""
    while _stores:
        _stores.pop().close()


def store() -> Store:
    """Return the database of all runs of this process."""
    if not _stores:
        _stores.append(Store())
    return _stores[0]


@functools.cache
def _empty() -> bytes:
    """Return a database without a row, as the migrations make it."""
    with tempfile.TemporaryDirectory(prefix="ronda-hidden-") as folder:
        file = Path(folder) / "empty.db"
        database.upgrade(str(file))
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            return bytes(connection.serialize())


def log_in_memory(kept: Store) -> type[SqliteLog]:
    """Return the log, writing at once to the database in memory."""

    class InMemory(SqliteLog):
        async def open(self) -> None:
            """Nothing is to be opened."""

        async def close(self) -> None:
            """The next run uses it again."""

        def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
            future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            connection = kept.connection
            try:
                connection.execute("BEGIN IMMEDIATE")
                done = work(connection)
                append_all(connection, [done])
                connection.execute("COMMIT")
                future.set_result(done)
            except Exception as problem:  # noqa: BLE001 # it is its caller's
                connection.rollback()
                future.set_exception(_as_told(problem))
            if self.committer._observe:
                self.committer._observe(0.0, 1, True)
            return future

    return InMemory


def _as_told(problem: Exception) -> Exception:
    if isinstance(problem, sqlite3.IntegrityError):
        return ConflictError("someone else has written this first")
    if isinstance(problem, sqlite3.Error):
        return StorageError("the storage did not take the work")
    return problem
