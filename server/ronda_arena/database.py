"""A folder of one process alone, and a database in it that loses nothing that it has taken."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    MetaData,
    Row,
    Table,
    Text,
    create_engine,
    delete,
    event,
    insert,
    select,
)
from sqlalchemy.exc import OperationalError, SQLAlchemyError

# What it would log of a connection that Ctrl-C has cut is told in words where that is caught.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())

_HOLDER: Final = Table("holder", MetaData(), Column("token", Text, primary_key=True))
"""Has one row: who may write. It is apart from all else that a database holds."""


class StoreError(Exception):
    """A folder or database that something cannot be kept in; says what to do."""


class TakenError(StoreError):
    """Another process has the folder, and the same command would be refused until it leaves."""


class UnreadableError(StoreError):
    """What is kept cannot be read, and the same command would find it so again."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: put back a copy of it, or take another folder")


@contextlib.contextmanager
def locked(folder: Path, taken: str) -> Iterator[None]:
    """Have a folder for this process alone; it is made if it is not there.

    `TakenError` with the words `taken` if another process has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TakenError(taken) from None
        yield
    finally:
        os.close(file)


def one_name(path: Path) -> str:
    """Say what is wrong where a database has several names; empty where it has one.

    SQLite keeps what is not yet in a database beside the name that it was opened by: who opens it
    by another one would miss that, and write over it.
    """
    try:
        names = path.stat().st_nlink
    except FileNotFoundError:
        return ""
    if names == 1:
        return ""
    return f"{path} has {names} names (hard links), and a database may have one: remove the others"


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

    def __init__(self, path: Path, kept: Kept, *, claimed: bool = False) -> None:
        """Open nothing yet; `claimed`: this process is to be the one that writes."""
        self.path = path
        self._kept = kept
        self._claimed = claimed
        self._token = secrets.token_hex(16)
        self._holds = False
        self._engine: Engine | None = None
        self.is_new = False
        """Whether what is kept here was begun by this process."""

    def __enter__(self) -> Self:
        if self._claimed and (problem := one_name(self.state)):
            raise StoreError(problem)
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
        self._engine = None

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

        Who has claimed the folder is from then on the one who writes. `UnreadableError` where it
        cannot be told what is kept.
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
                found = connection.execute(select(kept.head)).one_or_none()
        except SQLAlchemyError as error:
            raise UnreadableError(f"{self.state} cannot be read: {words(error)}") from None
        if self._claimed and found is not None and not self._holds:
            try:
                with self.engine.begin() as connection:
                    self._take(connection)
            except OperationalError as error:
                raise StoreError(f"{self.state} cannot be written: {words(error)}") from None
            except SQLAlchemyError as error:  # it is damaged
                raise UnreadableError(f"{self.state} cannot be read: {words(error)}") from None
            self._hold()
        return found

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
                if self._claimed:
                    self._take(connection)
        except SQLAlchemyError as error:
            raise StoreError(f"{self.state} cannot be written: {words(error)}") from None
        self.is_new = True
        if self._claimed:
            self._hold()

    def discard(self) -> None:
        """Take away what this process has begun to keep here: it cannot be done after all."""
        assert self.is_new
        self._close()
        self._holds = self.is_new = False
        for beside in ("", "-wal", "-shm"):
            self.state.with_name(f"{self.state.name}{beside}").unlink(missing_ok=True)

    def _take(self, connection: Connection) -> None:
        """Be the one who writes; whoever was it before finds out when it would write again.

        The lock of a folder can be taken away by hand. What is written here cannot be without the
        database.
        """
        _HOLDER.create(connection, checkfirst=True)
        connection.execute(delete(_HOLDER))
        connection.execute(insert(_HOLDER), {"token": self._token})

    def _hold(self) -> None:
        self._holds = True
        event.listen(self.engine, "commit", self._check)

    def _check(self, connection: Connection) -> None:
        """Refuse to commit, in the very transaction that has written, what another may write."""
        if connection.execute(select(_HOLDER.c.token)).scalars().all() != [self._token]:
            raise StoreError(
                f"another process has begun to write {self.state} since, because the lock of its"
                " folder was taken away: nothing more is written here"
            )


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
