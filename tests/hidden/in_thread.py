"""The real service in this thread: no sockets, no files, no threads, and simulated time.

It is built as `app.Server` builds it, and requests and answers pass the edge as bytes. Whatever of
the server a test has patched is used: names are looked up when they are needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import grpc
from google.protobuf.message import Message
from tests.hidden.service import EPOCH, STEP, Answer, RefusedError, Service, Stream
from tests.hidden.store import KEY, log_in_memory, store

from ronda_arena.seating import InProcess
from ronda_bots.registry import Registry
from ronda_server import app, database, interceptors
from ronda_server.config import Config


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

    def __init__(self, server: _Unwired, registry: Registry) -> None:
        super().__init__(server)
        self._unwired = server
        self._registry = registry

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
        except Exception as problem:  # as the edge answers it
            raise RefusedError(context.refused(problem)) from problem

    async def talk(
        self, method: str, said: AsyncIterator[Message], token: str
    ) -> AsyncIterator[bytes]:
        """Open a stream on which both sides talk."""
        context = _Context(token)
        handler = await self._unwired.handler(method, context)

        async def heard() -> AsyncIterator[Any]:
            async for message in said:
                yield handler.request_deserializer(message.SerializeToString())

        try:
            async for frame in handler.stream_stream(heard(), context):
                yield handler.response_serializer(frame)
        except Exception as problem:  # as the edge answers it
            raise RefusedError(context.refused(problem)) from problem

    async def settle(self, opened: Sequence[Stream]) -> None:
        await asyncio.sleep(STEP)  # simulated

    async def restart(self) -> None:
        await self.server.stop()
        await asyncio.sleep(STEP)  # simulated
        self.server = self._unwired = await _started(self._registry)

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # simulated


def simulated_now() -> int:
    """Return the time in microseconds since 1970 that the running loop stands for."""
    return EPOCH + round(asyncio.get_running_loop().time() * 1e6)


class _Unwired(app.Server):
    """The whole server, but where it would listen it keeps the handlers of its methods."""

    async def _listen(self, *services: Any) -> None:
        self._edge = interceptors.Edge(self.metrics)
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


@contextlib.asynccontextmanager
async def serve(registry: Registry) -> AsyncIterator[InThread]:
    """Serve without sockets, on a fresh copy of the database."""
    store().fresh()
    served = InThread(await _started(registry), registry)
    try:
        yield served
    finally:
        await served.server.stop()


async def _started(registry: Registry) -> _Unwired:
    """Return a server that has taken up what is stored."""
    kept = store()
    with (
        patch.object(app, "SqliteLog", log_in_memory(kept)),
        patch.object(database, "engine", lambda _: kept.engine),
        patch.object(database, "upgrade", lambda _: ""),
        patch.object(database, "claim", lambda _: contextlib.nullcontext()),
        patch.object(app, "load_key", lambda _: KEY),
    ):
        server = _Unwired(Config(database="none.db", now=simulated_now), registry, InProcess())
        await server.start()
    return server
