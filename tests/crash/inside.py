"""The service in this process, without sockets, over an SQLite that can be stopped anywhere.

Every statement passes a `Probe`, and so does every step of the coroutines that hosting and opening
run. A probe may take a picture of the files (what a kill would leave there), or raise an error.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from functools import partial
from pathlib import Path
from sqlite3 import dbapi2
from typing import Any, NamedTuple, TypeVar

from ronda_server.app import Config, Server
from ronda_server.hosting import Host
from ronda_server.services.bots import BotService
from ronda_server.services.matches import MatchService

T = TypeVar("T")

DATABASE = "ronda.db"


class Files(NamedTuple):
    """What a database consists of."""

    main: bytes
    wal: bytes

    def lay(self, folder: Path) -> Path:
        """Write the files into `folder` and return the path of the database."""
        path = folder / DATABASE
        path.write_bytes(self.main)
        wal = folder / f"{DATABASE}-wal"
        if self.wal:
            wal.write_bytes(self.wal)
        else:
            wal.unlink(missing_ok=True)
        (folder / f"{DATABASE}-shm").unlink(missing_ok=True)
        return path


def files_of(folder: Path) -> Files:
    """Return the database files as they are on disk now."""
    path, wal = folder / DATABASE, folder / f"{DATABASE}-wal"
    return Files(path.read_bytes(), wal.read_bytes() if wal.exists() else b"")


class Probe:
    """Is told of everything that happens to storage. Statements are never cut through."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def before(self, statement: str) -> None:
        """Come before a statement; an error raised here keeps it from running."""

    def after(self, statement: str) -> None:
        """Come after a statement; an error raised here is what its caller gets."""

    def step(self, name: str) -> None:
        """Come before a coroutine goes on after an await."""


class _Cursor(sqlite3.Cursor):
    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        assert isinstance(self.connection, _Connection)
        with self.connection.probed(sql):
            return super().execute(sql, *given)

    def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
        assert isinstance(self.connection, _Connection)
        with self.connection.probed(sql):
            return super().executemany(sql, *given)


class _Connection(sqlite3.Connection):
    def __init__(self, probe: Probe, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._probe = probe

    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.execute(sql, *given)

    def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.executemany(sql, *given)

    @contextlib.contextmanager
    def probed(self, sql: str) -> Iterator[None]:
        with self._probe.lock:
            self._probe.before(sql)
            yield
            self._probe.after(sql)


class Stepped(Coroutine[Any, Any, T]):
    """A coroutine whose every step is told to a probe first."""

    def __init__(self, work: Coroutine[Any, Any, T], probe: Probe) -> None:
        self._work = work
        self._probe = probe
        self._name = getattr(work, "__qualname__", "?")

    def send(self, value: Any) -> Any:
        self._probe.step(self._name)
        return self._work.send(value)

    def throw(self, *problem: Any) -> Any:
        return self._work.throw(*problem)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        raise NotImplementedError("it is run as a task")


@contextlib.contextmanager
def probing(probe: Probe) -> Iterator[None]:
    """Let every connection that is made meanwhile, and every task of a host, pass `probe`."""
    real, spawn = dbapi2.connect, Host.spawn

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = real(*given, factory=partial(_Connection, probe), **named)
        return made

    def spawn_stepped(self: Host, work: Coroutine[Any, Any, Any]) -> Any:
        return spawn(self, Stepped(work, probe))

    with contextlib.ExitStack() as stack:
        for module in (sqlite3, dbapi2):
            stack.callback(setattr, module, "connect", real)
            module.connect = connect  # type: ignore[assignment,attr-defined] # a double
        stack.callback(setattr, Host, "spawn", spawn)
        Host.spawn = spawn_stepped  # type: ignore[method-assign] # a double
        yield


class Inside(Server):
    """The whole server but for its listeners: it is called as an object."""

    matches: MatchService

    async def _listen(self, matches: MatchService, bots: BotService) -> None:
        self.matches = matches


class Caller:
    """As much of a call's context as a servicer looks at."""

    def __init__(self, token: str = "") -> None:
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._metadata


def config(folder: Path, now: Callable[[], int]) -> Config:
    """Return the configuration of a server over the files in `folder`."""
    return Config(database=str(folder / DATABASE), now=now, drain_seconds=0.0)


def copy_key(source: Path, target: Path) -> None:
    """Give a folder the key of another."""
    shutil.copyfile(source / f"{DATABASE}.key", target / f"{DATABASE}.key")
