"""The real service, built as `app.Server` builds it, in two places: in this thread and over gRPC.

In this thread there are no sockets, no files and no threads, and time is simulated: requests and
answers still pass the edge as bytes, and each run begins on a copy of the same database. Whatever
of the server a test has patched is used: names are looked up when they are needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from unittest.mock import patch

import grpc
import prometheus_client
from google.protobuf.message import Message
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import StaticPool

from ronda.v1 import match_service_pb2
from ronda_bots.registry import Registry
from ronda_server import app, commitments, database
from ronda_server import log as logs_of_matches
from tests.hidden.simulated import SimulatedLoop

T = TypeVar("T")

KEY: Final = bytes(range(100, 132))
"""The key of every server under test."""

_EPOCH: Final = 1_800_000_000_000_000
_STEP: Final = 0.001
_PATIENCE: Final = 10.0


class Answer(NamedTuple):
    """What a caller gets: a message, or a status with its details and trailing metadata."""

    code: str
    details: str
    trailing: tuple[tuple[str, str | bytes], ...]
    body: bytes

    @property
    def ok(self) -> bool:
        """The call was taken."""
        return self.code == "OK"


class Stream:
    """What came over one stream, and how it ended."""

    def __init__(self, match_id: str, views: bool) -> None:
        self.match_id = match_id
        self.views = views
        """It asked for a view after every step."""
        self.frames: list[tuple[int, bytes]] = []
        self.end: Answer | None = None
        self.open = asyncio.Event()
        """While it is clear the reader reads nothing."""
        self.open.set()
        self.task: asyncio.Task[None]

    async def close(self) -> None:
        """Hang up."""
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


class Store:
    """The database that every run begins on: an empty one with promises, the same each time.

    Its bytes are made by the server's own code when first wanted, so by what is patched then.
    """

    def __init__(self) -> None:
        self.connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self.engine: Engine = create_engine(
            "sqlite://", creator=lambda: self.connection, poolclass=StaticPool
        )
        self._folder = tempfile.TemporaryDirectory(prefix="ronda-hidden-")
        self.path = Path(self._folder.name)
        (self.path / "key").write_bytes(KEY)
        self.key_file = str(self.path / "key")
        self.image = self._empty()
        self.image, self.scopes, self.masters = self._with_promises()

    def fresh(self) -> None:
        """Make the database in memory what it is at the start of every run."""
        self.connection.deserialize(self.image)
        database.prepare(self.connection)

    def _empty(self) -> bytes:
        file = self.path / "empty.db"
        database.upgrade(str(file))
        connection = sqlite3.connect(file)
        connection.execute("PRAGMA journal_mode = DELETE")
        image = bytes(connection.serialize())
        connection.close()
        return image

    def _with_promises(self) -> tuple[bytes, list[str], list[bytes]]:
        self.fresh()
        chance = random.Random("the promises of every run")

        async def announce() -> None:
            log = _log_in_memory(self)(Path("none"))
            await commitments.Promises(log).open()

        with (
            patch.object(commitments.os, "urandom", chance.randbytes),
            patch.object(database, "engine", lambda _: self.engine),
        ):
            run(announce())
        order = "SELECT scope FROM commitment WHERE ending = '' ORDER BY number"
        scopes = [str(row[0]) for row in self.connection.execute(order)]
        masters = [bytes(row[0]) for row in self.connection.execute("SELECT master FROM secret")]
        return bytes(self.connection.serialize()), scopes, masters


_stores: list[Store] = []


def store(*, anew: bool = False) -> Store:
    """Return the database of all runs of this process; `anew` makes it again first."""
    if anew:
        _stores.clear()
    if not _stores:
        _stores.append(Store())
    return _stores[0]


def run(work: Any) -> Any:
    """Run `work` on a loop of its own with simulated time."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(work)


class Service:
    """A server under test, as its callers see it."""

    simulated: bool
    """Time can be made to pass."""

    def __init__(self, server: app.Server) -> None:
        self.server = server

    def now(self) -> int:
        """Return the time in microseconds that the server goes by."""
        raise NotImplementedError

    async def unary(self, method: str, request: Message, token: str) -> Answer:
        """Call a method."""
        raise NotImplementedError

    def frames(self, method: str, request: Message, token: str) -> AsyncIterator[bytes]:
        """Open a stream."""
        raise NotImplementedError

    async def settle(self, streams: Sequence[Stream]) -> None:
        """Let everything happen that follows from what was asked, and a little time pass."""
        raise NotImplementedError

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        raise NotImplementedError

    def metrics(self) -> str:
        """Return what the metrics port would answer."""
        return prometheus_client.generate_latest(self.server.metrics.registry).decode()

    def watch(self, method: str, request: Any, token: str) -> Stream:
        """Open a stream and read it as it comes."""
        stream = Stream(request.match_id, request.include_views)
        frames = self.frames(method, request, token)

        async def read() -> None:
            try:
                while True:
                    await stream.open.wait()
                    frame = await anext(frames, None)
                    if frame is None:
                        stream.end = Answer("OK", "", (), b"")
                        return
                    stream.frames.append((self.now(), frame))
            except Refused as refused:
                stream.end = refused.answer

        stream.task = asyncio.get_running_loop().create_task(read())
        return stream


class Refused(Exception):
    """A stream ended with a status."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.code)
        self.answer = answer


class _Context:
    """The context of a call that comes over no wire."""

    def __init__(self, token: str) -> None:
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self.initial: tuple[tuple[str, str | bytes], ...] = ()
        self.trailing: tuple[tuple[str, str | bytes], ...] = ()
        self.answer: Answer | None = None

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._metadata

    async def send_initial_metadata(self, metadata: Any) -> None:
        self.initial = tuple(metadata)

    def set_trailing_metadata(self, metadata: Any) -> None:
        self.trailing = tuple(metadata)

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing: Any = ()) -> None:
        self.answer = Answer(code.name, details, self.all(trailing), b"")
        raise grpc.aio.AbortError

    def all(self, more: Any = ()) -> tuple[tuple[str, str | bytes], ...]:
        """Return all metadata that the caller gets."""
        return (*self.initial, *self.trailing, *more)

    def refused(self, problem: Exception) -> Answer:
        """Return what grpc tells a caller of an exception."""
        if self.answer is not None:
            return self.answer
        text = f"Unexpected {type(problem)}: {problem}"
        return Answer("UNKNOWN", text, self.all(), b"")

    def peer(self) -> str:
        return "ipv4:127.0.0.1:50000"

    def cancelled(self) -> bool:
        return False

    def add_done_callback(self, callback: object) -> None:
        """Nobody hangs up on this call."""


class _Details(NamedTuple):
    method: str
    invocation_metadata: tuple[tuple[str, str], ...]


class InThread(Service):
    """A server without sockets, on the simulated loop that runs."""

    simulated = True

    def __init__(self, server: _Unwired) -> None:
        super().__init__(server)
        self._unwired = server

    def now(self) -> int:
        return simulated_now()

    async def unary(self, method: str, request: Message, token: str) -> Answer:
        context = _Context(token)
        handler = await self._unwired.handler(method, context)
        try:
            asked = handler.request_deserializer(request.SerializeToString())
            response = await handler.unary_unary(asked, context)
            return Answer("OK", "", context.all(), handler.response_serializer(response))
        except Exception as problem:  # noqa: BLE001 # as grpc does
            return context.refused(problem)

    async def frames(self, method: str, request: Message, token: str) -> AsyncIterator[bytes]:
        context = _Context(token)
        handler = await self._unwired.handler(method, context)
        try:
            asked = handler.request_deserializer(request.SerializeToString())
            async for frame in handler.unary_stream(asked, context):
                yield handler.response_serializer(frame)
        except Exception as problem:
            raise Refused(context.refused(problem)) from problem

    async def settle(self, streams: Sequence[Stream]) -> None:
        await asyncio.sleep(_STEP)

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def simulated_now() -> int:
    """Return the time in microseconds since 1970 that the running loop stands for."""
    return _EPOCH + round(asyncio.get_running_loop().time() * 1e6)


class _Unwired(app.Server):
    """The whole server, but where it would listen it keeps the handlers of its methods."""

    async def _listen(self, *services: Any) -> None:
        self._edge = app.Edge(self.metrics)
        self._methods: dict[str, Any] = {}
        for service in services:
            base = next(cls for cls in type(service).__mro__ if cls.__name__.endswith("Servicer"))
            add = getattr(sys.modules[base.__module__], f"add_{base.__name__}_to_server")
            add(service, self)

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """Registered ones are all there is."""

    def add_registered_method_handlers(self, service: str, handlers: dict[str, Any]) -> None:
        """Keep what a service answers to."""
        self._methods |= {f"/{service}/{name}": handler for name, handler in handlers.items()}

    async def handler(self, method: str, context: _Context) -> Any:
        """Return what answers `method`, behind the edge."""

        async def found(_: object) -> Any:
            return self._methods[method]

        details: Any = _Details(method, context.invocation_metadata())
        return await self._edge.intercept_service(found, details)


def _log_in_memory(kept: Store) -> type[logs_of_matches.SqliteLog]:
    """Return the log, writing at once to the database in memory."""

    class InMemory(logs_of_matches.SqliteLog):
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
                connection.execute("COMMIT")
                future.set_result(done)
            except Exception as problem:  # noqa: BLE001 # it is its caller's
                connection.rollback()
                future.set_exception(_as_told(problem))
            if self._observe:
                self._observe(0.0, 1)
            return future

    return InMemory


def _as_told(problem: Exception) -> Exception:
    if isinstance(problem, sqlite3.IntegrityError):
        return logs_of_matches.ConflictError("someone else has written this first")
    if isinstance(problem, sqlite3.Error):
        return logs_of_matches.StorageError("the storage did not take the work")
    return problem


def _config(kept: Store, now: Callable[[], int], **changes: Any) -> app.Config:
    return app.Config(
        listen="127.0.0.1:0",
        health_listen="127.0.0.1:0",
        metrics_listen="127.0.0.1:0",
        key_file=kept.key_file,
        now=now,
        **changes,
    )


@contextlib.asynccontextmanager
async def in_thread(registry: Registry) -> AsyncIterator[InThread]:
    """Serve without sockets, on a fresh copy of the database."""
    kept = store()
    kept.fresh()
    with (
        patch.object(app, "SqliteLog", _log_in_memory(kept)),
        patch.object(database, "engine", lambda _: kept.engine),
        patch.object(database, "upgrade", lambda _: ""),
    ):
        server = _Unwired(_config(kept, simulated_now, database="none.db"), registry)
        await server.start()
    try:
        yield InThread(server)
    finally:
        await server.stop()


class OverGrpc(Service):
    """A server on loopback ports, with its threads, its files and a clock that stands still."""

    simulated = False

    def __init__(self, server: app.Server, channel: grpc.aio.Channel, clock: list[int]) -> None:
        super().__init__(server)
        self._channel = channel
        self._clock = clock

    def now(self) -> int:
        return self._clock[0]

    async def unary(self, method: str, request: Message, token: str) -> Answer:
        call = self._channel.unary_unary(
            method, request_serializer=_serialised, response_deserializer=None
        )(request, metadata=_bearer(token))
        try:
            body = await call
        except grpc.aio.AioRpcError as error:
            return _refusal(error)
        metadata = (*(await call.initial_metadata()), *(await call.trailing_metadata()))
        return Answer("OK", "", metadata, body)

    async def frames(self, method: str, request: Message, token: str) -> AsyncIterator[bytes]:
        call = self._channel.unary_stream(
            method, request_serializer=_serialised, response_deserializer=None
        )(request, metadata=_bearer(token))
        try:
            async for frame in call:
                yield frame
        except grpc.aio.AioRpcError as error:
            raise Refused(_refusal(error)) from error
        finally:
            call.cancel()

    async def settle(self, streams: Sequence[Stream]) -> None:
        async with asyncio.timeout(_PATIENCE):
            for stream in streams:
                while not await self._up_to_date(stream):
                    await asyncio.sleep(0.0005)
            wanted = sum(not stream.task.done() for stream in streams)
            while self.server.metrics.registry.get_sample_value("ronda_watchers") != wanted:
                await asyncio.sleep(0.0005)
        self._clock[0] += round(_STEP * 1e6)

    async def _serialised(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),) if token else ()


def _refusal(error: grpc.aio.AioRpcError) -> Answer:
    metadata = (*(error.initial_metadata() or ()), *(error.trailing_metadata() or ()))
    return Answer(error.code().name, error.details() or "", tuple(metadata), b"")


@contextlib.asynccontextmanager
async def over_grpc(registry: Registry) -> AsyncIterator[OverGrpc]:
    """Serve on free loopback ports, on a fresh copy of the database in a file."""
    kept = store()
    clock = [_EPOCH]
    with tempfile.TemporaryDirectory(dir=kept.path) as folder:
        file = Path(folder) / "ronda.db"
        file.write_bytes(kept.image)
        config = _config(kept, lambda: clock[0], database=str(file), drain_seconds=1.0)
        with patch.object(database, "upgrade", lambda _: ""):
            server = app.Server(config, registry)
            await server.start()
        channel = grpc.aio.insecure_channel(server.addresses["listen"])
        try:
            yield OverGrpc(server, channel, clock)
        finally:
            await channel.close()
            await server.stop()


