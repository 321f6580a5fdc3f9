"""What one connection does to the door takes nothing from the others."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable
from typing import Any

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tests.server.conftest import Client
from tests.server.http2 import Rude, call, reset
from tests.server.tables import Table, seat_all

from ronda.v1 import match_service_pb2 as pb
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_server import listening, logs

_APART = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 10),
    ("grpc.min_reconnect_backoff_ms", 10),
)
"""A connection of its own, that looks often whether the door is open again."""
_LIST = b"/ronda.v1.MatchService/ListMatches"
_LOST = (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE)
_PATHS = [b"/\xff", b"\xff", b"/ronda.v1.MatchService/\xc3\x28", b"/" + bytes(range(128, 200))]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a listener look often, and the calls of one that fell end soon."""
    monkeypatch.setattr(listening, "_LOOK_SECONDS", 0.01)


async def _served(address: str) -> None:
    """Check that a stranger who comes now is served."""
    async with grpc.aio.insecure_channel(address, _APART) as channel:
        await _answered(MatchServiceStub(channel).ListMatches, pb.ListMatchesRequest())


async def _answered(method: Any, asked: Any) -> Any:
    """Return what a caller is answered who tries again while a listener gets up."""
    async with asyncio.timeout(10):
        while True:
            try:
                return await method(asked, wait_for_ready=True)
            except grpc.aio.AioRpcError as error:
                if error.code() not in _LOST:
                    raise


async def _step(table: Table) -> None:
    """Play a card, again if it found the door closed for a moment."""
    async with asyncio.timeout(10):
        while True:
            try:
                await table.step()
            except grpc.aio.AioRpcError as error:
                if error.code() not in _LOST:
                    raise
            else:
                return


async def _healthy(address: str) -> None:
    async with grpc.aio.insecure_channel(address, _APART) as channel:
        asked = health_pb2.HealthCheckRequest()
        told = await _answered(health_pb2_grpc.HealthStub(channel).Check, asked)
        assert told.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("path", _PATHS)
async def test_a_path_that_is_no_text_closes_the_door_for_nobody(
    client: Client, path: bytes
) -> None:
    table = await seat_all(client, "arabic")
    sequence = (await table.game()).sequence
    stream = table.watch(None, sequence)
    await stream.read()
    for name, checked in (("listen", _served), ("health_listen", _healthy)) * 3:
        address = client.server.addresses[name]
        async with Rude(address) as rude:
            await rude.say(call(1, path))
            await checked(address)
        # Who was there before plays on, and a watcher sees nothing of it.
        await _step(table)
        sequence += 1
        async with asyncio.timeout(10):
            assert (await stream.read()).event.sequence == sequence
    await table.play_out()


@pytest.mark.usefixtures("quick")
async def test_a_server_whose_listener_fell_stops_as_any_other(start: Callable[..., Any]) -> None:
    client = await start()
    table = await seat_all(client)
    address = client.server.addresses["listen"]
    async with Rude(address) as rude:
        await rude.say(call(1, b"/\xff"))
        await _served(address)
    stream = table.watch(None, 0)
    await stream.read()
    client.stopped = True
    await client.server.stop()
    assert (await stream.read()).ended.reason == pb.StreamEnded.REASON_DRAINING
    assert await stream.read() is grpc.aio.EOF
    await client.channel.close()


@pytest.mark.parametrize("listener", ["listen", "health_listen"])
async def test_what_a_standard_service_lacks_or_cannot_read_is_no_fault_of_ours(
    client: Client, listener: str
) -> None:
    async with grpc.aio.insecure_channel(client.server.addresses[listener], _APART) as channel:
        for method, code in (
            ("List", grpc.StatusCode.UNIMPLEMENTED),
            ("Check", grpc.StatusCode.INVALID_ARGUMENT),
        ):
            call = channel.unary_unary(f"/grpc.health.v1.Health/{method}")
            with pytest.raises(grpc.aio.AioRpcError) as refusal:
                await call(b"" if method == "List" else b"\xff\xff")
            assert refusal.value.code() is code
            assert "parse" not in (refusal.value.details() or "").lower()
    assert client.server.metrics.errors._value.get() == 0


@pytest.mark.parametrize("given_up", [True, False])
async def test_calls_without_end_on_one_connection_take_nothing_from_another(
    client: Client, given_up: bool
) -> None:
    table = await seat_all(client, "arabic")
    async with Rude(client.server.addresses["listen"]) as rude:

        async def flood() -> None:
            for first in range(1, 40_001, 200):
                streams = range(first, first + 200, 2)
                calls = [call(one, _LIST) + (reset(one) if given_up else b"") for one in streams]
                await rude.say(b"".join(calls))

        flooding = asyncio.create_task(flood())
        while not flooding.done():
            await table.step()  # refused, it would raise
        await flooding
    await table.play_out()


async def test_a_connection_has_so_many_calls_at_once_and_the_next_waits(
    start: Callable[..., Any],
) -> None:
    client = await start(max_streams=3)
    table = await seat_all(client)
    await client.channel.close()
    async with grpc.aio.insecure_channel(client.server.addresses["listen"], _APART) as channel:
        stub = MatchServiceStub(channel)
        streams = [stub.WatchMatch(pb.WatchMatchRequest(match_id=table.id)) for _ in range(3)]
        for stream in streams:
            assert (await stream.read()).HasField("view")
        late = asyncio.ensure_future(stub.GetMatch(pb.GetMatchRequest(match_id=table.id)))
        await _served(client.server.addresses["listen"])  # another connection has its own
        assert not late.done()
        streams[0].cancel()
        assert (await asyncio.wait_for(late, 10)).match.id == table.id


def test_what_a_library_complains_of_is_a_line_of_json_without_its_words() -> None:
    lines = io.StringIO()
    logs.configure()
    structlog.configure(
        logger_factory=structlog.PrintLoggerFactory(lines), cache_logger_on_first_use=False
    )
    logger = logging.getLogger("a.library")
    handler = logs.Libraries()
    logger.addHandler(handler)
    try:
        try:
            raise ValueError("the deck begins with 12E")
        except ValueError:
            logger.exception("it failed with %s", "rnd_s_secret")
        logger.warning("7O")
    finally:
        logger.removeHandler(handler)
        structlog.reset_defaults()
    first, second = map(json.loads, lines.getvalue().splitlines())
    assert (first["event"], first["library"]) == ("a library complains", "a.library")
    assert (first["level"], first["problem"]) == ("error", "ValueError")
    assert (second["level"], second["problem"]) == ("warning", "")
    assert not any(word in lines.getvalue() for word in ("12E", "7O", "rnd_s"))
