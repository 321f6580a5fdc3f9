"""Where the log is kept: engines, settings of the connection, and migrations."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from ronda_arena.database import one_name


class DatabaseError(ValueError):
    """A database that this server cannot use."""


def sqlite_path(url: str) -> Path:
    """Return the file that `url` names: a path, or ``sqlite:///path``."""
    if "://" not in url:
        return Path(url)
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise DatabaseError("the database is a path or a URL such as sqlite:///ronda.db") from None
    if parsed.get_backend_name() != "sqlite":
        raise DatabaseError("only SQLite is served so far: give a path or sqlite:///path")
    if not parsed.database or parsed.database == ":memory:":
        raise DatabaseError("the log is kept in a file: give its path")
    return Path(parsed.database)


def engine(path: Path) -> Engine:
    """Return an engine over `path` whose every connection commits to disk and waits its turn."""
    made = create_engine(URL.create("sqlite", database=str(path)))  # a URL would read %, ? and #
    event.listen(made, "connect", _prepare)
    return made


def _prepare(connection: Any, _record: Any) -> None:
    prepare(connection)


def prepare(connection: Any) -> None:
    """Set what every SQLite connection of this server needs."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA busy_timeout = 10000")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextlib.contextmanager
def claim(path: Path) -> Iterator[None]:
    """Have the database at `path` for this process alone, until it leaves or is killed.

    `path` is its only name, without links. `DatabaseError` if another server has it: each would
    think that it alone knows how matches stand.
    """
    # Not the database itself: SQLite's own locks on a file go when any handle of it is closed.
    # Whatever else has that name is neither followed, nor changed, nor waited for.
    name = f"{path}.lock"
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatabaseError(
                f"another server uses {path}: stop it, or give this one a database of its own"
            ) from None
        yield
    finally:
        os.close(file)


def upgrade(url: str) -> str:
    """Bring the database to the newest schema, all or nothing, and return its revision."""
    path = sqlite_path(url)
    if problem := one_name(path):
        raise DatabaseError(problem)
    if not path.exists():
        with contextlib.suppress(OSError):  # what cannot be made is told by the driver, below
            path.touch(mode=0o600)  # it holds the secrets that deals come from
    made = engine(path)
    # The driver begins no transaction for DDL: of a server killed there, half a schema would stay.
    event.listen(made, "begin", _begin)
    try:
        with as_file(files("ronda_server") / "migrations") as scripts, made.begin() as connection:
            config = Config()
            config.set_main_option("script_location", str(scripts).replace("%", "%%"))
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError:
                raise DatabaseError(
                    f"{path} is not a database of this version of ronda: a newer one made it, or"
                    " something else did"
                ) from None
            return str(
                connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
            )
    finally:
        made.dispose()
