"""The real service over real gRPC: its ports, its threads, its files, and a clock that stands."""

from __future__ import annotations

import asyncio
import contextlib
import socketserver
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import grpc
from google.protobuf.message import Message
from prometheus_client.metrics import MetricWrapperBase
from tests.hidden.service import EPOCH, STEP, Answer, RefusedError, Service, Stream
from tests.hidden.store import KEY, store

from ronda.v1 import match_service_pb2
from ronda_arena.seating import InProcess
from ronda_bots.registry import Registry
from ronda_server import app, database, streams
from ronda_server.config import Config

_PATIENCE: Final = 10.0
_COMMITS: Final = "ronda_commit_"
"""Counted by another thread, some time after the commit."""


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
        call: Any = self._channel.unary_unary(
            method, request_serializer=_serialised, response_deserializer=None
        )(request, metadata=_bearer(token))
        try:
            body = await call
        except grpc.aio.AioRpcError as error:
            return _refusal(error)
        metadata = (*(await call.initial_metadata()), *(await call.trailing_metadata()))
        return Answer("OK", "", metadata, body)

    async def frames(self, method: str, request: Message, token: str) -> AsyncIterator[bytes]:
        call: Any = self._channel.unary_stream(
            method, request_serializer=_serialised, response_deserializer=None
        )(request, metadata=_bearer(token))
        try:
            async for frame in call:
                yield frame
        except grpc.aio.AioRpcError as error:
            raise RefusedError(_refusal(error)) from error
        finally:
            call.cancel()

    async def settle(self, opened: Sequence[Stream]) -> None:
        async with asyncio.timeout(_PATIENCE):
            for stream in opened:
                await _until(partial(self._up_to_date, stream))
            await _until(partial(self._counted, opened))
        self._clock[0] += round(STEP * 1e6)

    async def _counted(self, opened: Sequence[Stream]) -> bool:
        """Say whether the server has counted all that it has sent, and all who have left."""
        metrics = self.server.metrics
        watching = sum(not stream.task.done() for stream in opened)
        sent = sum(len(stream.frames) for stream in opened)
        return _value(metrics.watchers) == watching and _value(metrics.sent) == sent

    def metrics(self) -> str:
        return "".join(
            line for line in super().metrics().splitlines(keepends=True) if _COMMITS not in line
        )

    def samples(self) -> str:
        return "\n".join(line for line in super().samples().splitlines() if _COMMITS not in line)

    async def _up_to_date(self, stream: Stream) -> bool:
        """Say whether a stream has brought all that there is by now."""
        if stream.task.done():
            return True
        if not stream.frames:  # the first one is on its way, or a refusal
            return False
        live = await self.server.host.find(stream.match_id)
        if live.driver is not None or live.game.over or self.server.host.draining:
            return False  # the frame that ends it is still to come
        if any(watcher.taken_over for watcher in live.audience._watchers):
            return False  # it is still to be told so, and that has no number to wait for
        last = match_service_pb2.WatchMatchResponse.FromString(stream.frames[-1][1])
        kind = last.WhichOneof("update")
        if kind is None or (kind == "event" and stream.views):
            return False
        return bool(getattr(last, kind).sequence >= live.game.sequence)


async def _until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what only a look can tell."""
    while not await true():  # noqa: ASYNC110 # the server tells nobody when it has counted
        await asyncio.sleep(0.0005)  # nothing tells of it


def _value(metric: MetricWrapperBase) -> float:
    """Return the number of a metric, of all its labels together."""
    samples = [sample for family in metric.collect() for sample in family.samples]
    return sum(one.value for one in samples if not one.name.endswith("_created"))


def _serialised(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),) if token else ()


def _refusal(error: grpc.aio.AioRpcError) -> Answer:
    metadata = (*(error.initial_metadata() or ()), *(error.trailing_metadata() or ()))
    return Answer(error.code().name, error.details() or "", tuple(metadata), b"")


@contextlib.asynccontextmanager
async def serve(registry: Registry) -> AsyncIterator[OverGrpc]:
    """Serve on free loopback ports, on a fresh copy of the database in a file."""
    kept = store()
    clock = [EPOCH]
    with tempfile.TemporaryDirectory(prefix="ronda-hidden-") as folder, _patient():
        file = Path(folder) / "ronda.db"
        file.write_bytes(kept.image)
        config = Config(
            listen="127.0.0.1:0",
            health_listen="127.0.0.1:0",
            metrics_listen="127.0.0.1:0",
            database=str(file),
            drain_seconds=1.0,
            now=lambda: clock[0],
        )
        with (
            patch.object(database, "upgrade", lambda _: ""),
            patch.object(app, "load_key", lambda _: KEY),
        ):
            server = app.Server(config, registry, InProcess())
            await server.start()
        channel = grpc.aio.insecure_channel(server.addresses["listen"])
        try:
            yield OverGrpc(server, channel, clock)
        finally:
            await channel.close()
            await server.stop()


@contextlib.contextmanager
def _patient() -> Iterator[None]:
    """Let no wall time show: a stream that rests says nothing; the metrics port ends at once."""
    serve_forever: Any = socketserver.BaseServer.serve_forever
    before = serve_forever.__defaults__
    serve_forever.__defaults__ = (0.005,)
    try:
        with patch.object(streams, "HEARTBEAT_SECONDS", 3600.0):
            yield
    finally:
        serve_forever.__defaults__ = before
