"""The service in this process, without sockets, over an SQLite that can be stopped anywhere.

Every statement passes a `Probe`, and so does every step of the coroutines that hosting and opening
run. A probe may take a picture of the files (what a kill would leave there), or raise an error.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from sqlite3 import dbapi2
from typing import Any, Final, Self, TypeVar

from ronda_arena.seating import InProcess
from ronda_bots.registry import Registry
from ronda_server import identity
from ronda_server.app import Server
from ronda_server.config import Config
from ronda_server.hosting import Host
from ronda_server.services.matches import MatchService

T = TypeVar("T")

DATABASE: Final = "ronda.db"
KEY: Final = f"{DATABASE}.key"


_MEMORY: Final = "/dev/shm"

Files = dict[str, bytes]
"""All that a server keeps in its folder, by name. What SQLite shares in memory is not kept."""


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """Make a folder where a flush costs nothing, if there is such a place.

    What a crash leaves is read from the files here: no power fails, and the disk proves nothing.
    """
    memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ronda-crash-", dir=memory) as folder:
        yield Path(folder)


def files_of(folder: Path, before: Files | None = None) -> Files:
    """Return the files as they are now; those that are as `before` are the same objects."""
    before = before or {}
    files = {}
    for path in folder.iterdir():
        if not path.name.endswith("-shm"):
            with contextlib.suppress(FileNotFoundError):  # SQLite has taken it away
                data, old = path.read_bytes(), before.get(path.name)
                files[path.name] = old if old is not None and old == data else data
    return files


def lay(files: Files, folder: Path) -> None:
    """Make a folder that holds `files`."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


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
    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        with self._probed(sql):
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Self:
        with self._probed(sql):
            return super().executemany(sql, parameters)

    def _probed(self, sql: str) -> AbstractContextManager[None]:
        assert isinstance(self.connection, _Connection)
        return self.connection.probed(sql)


class _Connection(sqlite3.Connection):
    def __init__(self, probe: Probe, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._probe = probe

    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.executemany(sql, parameters)

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


class _Os:
    """The module `os` for whoever writes a file by hand: every call is a step."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            self._probe.step(f"os.{name}")
            done = found(*given, **named)
            self._probe.step(f"os.{name} done")
            return done

        return call


@contextlib.contextmanager
def probing(probe: Probe) -> Iterator[None]:
    """Let every connection that is made meanwhile, and every task of a host, pass `probe`."""
    real: Any = dbapi2.connect
    spawn = Host.spawn

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = real(*given, factory=partial(_Connection, probe), **named)
        return made

    def spawn_stepped(self: Host, work: Coroutine[Any, Any, Any]) -> Any:
        return spawn(self, Stepped(work, probe))

    with contextlib.ExitStack() as stack:
        for module in (sqlite3, dbapi2):
            stack.callback(setattr, module, "connect", real)
            module.connect = connect  # type: ignore[attr-defined] # a double
        stack.callback(setattr, Host, "spawn", spawn)
        Host.spawn = spawn_stepped  # type: ignore[method-assign] # a double
        stack.callback(setattr, identity, "os", os)
        identity.os = _Os(probe)  # type: ignore[assignment,attr-defined] # a double
        yield


class Inside(Server):
    """The whole server but for its listeners: it is called as an object."""

    matches: MatchService

    def __init__(self, config: Config, registry: Registry) -> None:
        super().__init__(config, registry, InProcess())

    async def _listen(self, matches: MatchService, *_: Any) -> None:
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
