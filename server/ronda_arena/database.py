"""A folder of one process alone, and a database in it that loses nothing that it has taken."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError


class StoreError(Exception):
    """A folder or database that something cannot be kept in; says what to do."""


@contextlib.contextmanager
def locked(folder: Path, taken: str) -> Iterator[None]:
    """Have a folder for this process alone; it is made if it is not there.

    `StoreError` with the words `taken` if another process has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(taken) from None
        yield
    finally:
        os.close(file)


def sqlite(path: Path) -> Engine:
    """Return the database in a file; what it has committed is on disk."""
    engine = create_engine(URL.create("sqlite", database=str(path)))
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def words(error: SQLAlchemyError) -> str:
    """Return what the driver says, without the statement: its values are secret."""
    return str(getattr(error, "orig", None) or type(error).__name__)


def _prepare(connection: Any, _record: Any) -> None:
    """Commit to disk, and leave transactions to SQLAlchemy: the driver begins none for DDL."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA busy_timeout = 10000")
    cursor.close()


def _begin(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN")
