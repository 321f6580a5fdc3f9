"""A folder of one process alone, and a database in it that loses nothing that it has taken."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlalchemy import URL, Engine, MetaData, Row, Table, create_engine, event, insert, select
from sqlalchemy.exc import SQLAlchemyError


class StoreError(Exception):
    """A folder or database that something cannot be kept in; says what to do."""


class UnreadableError(StoreError):
    """What is kept cannot be read, and the same command would find it so again."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: put back a copy of it, or take another folder")


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


class Kept(NamedTuple):
    """What is kept in the database of a folder."""

    file: str
    what: str
    """How it is called: `tournament`, `ladder`."""
    tables: MetaData
    head: Table
    """Has one row, which says what it is."""
    version: int
    """Of the tables; a database of another version is refused."""


class Folder:
    """Where one thing is kept: a folder with a database, which is opened once it is needed."""

    def __init__(self, path: Path, kept: Kept) -> None:
        self.path = path
        self._kept = kept
        self._engine: Engine | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            self._engine.dispose()

    @property
    def state(self) -> Path:
        """The database."""
        return self.path / self._kept.file

    @property
    def engine(self) -> Engine:
        """The database, open."""
        if self._engine is None:
            self._engine = sqlite(self.state)
        return self._engine

    def head(self) -> Row[Any] | None:
        """Return the row that says what is kept here; None where nothing is.

        `UnreadableError` where that cannot be told.
        """
        if not self.state.exists():
            return None
        kept = self._kept
        try:
            with self.engine.connect() as connection:
                version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
                tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
                if version == 0 and not tables.scalar_one():  # it died before it wrote anything
                    return None
                if version == 0:
                    raise UnreadableError(f"{self.state} is no {kept.what}'s")
                if version != kept.version:
                    raise UnreadableError(f"{self.state} was written by another version of ronda")
                return connection.execute(select(kept.head)).one_or_none()
        except SQLAlchemyError as error:
            raise UnreadableError(f"{self.state} cannot be read: {words(error)}") from None

    def fill(self, head: Mapping[str, object]) -> None:
        """Make the database, with the row that says what is kept in it."""
        if not self.state.exists():
            self.state.touch(mode=0o600)  # it holds the secrets that deals come from
        kept = self._kept
        try:
            with self.engine.begin() as connection:
                kept.tables.create_all(connection)
                connection.execute(insert(kept.head), head)
                connection.exec_driver_sql(f"PRAGMA user_version = {kept.version}")
        except SQLAlchemyError as error:
            raise StoreError(f"{self.state} cannot be written: {words(error)}") from None


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
