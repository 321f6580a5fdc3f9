"""Health and reflection: what each listener says, and what it does not serve."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from tests.server.conftest import Client, stop
from tests.server.probing import SERVING, ask_reflection, check, services_by_reflection
from tests.server.tables import held_up, refused, seat_all, until

from ronda_server.errors import Reason
from ronda_server.identity import ACCESS

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING

SERVICES = ["", "ronda.v1.MatchService", "ronda.v1.BotService"]


# Health and reflection.


@pytest.fixture
async def probe(client: Client) -> AsyncIterator[grpc.aio.Channel]:
    """Return a channel to the listener that is only for health."""
    async with grpc.aio.insecure_channel(client.server.addresses["health_listen"]) as channel:
        yield channel


async def test_both_listeners_say_that_each_service_serves(
    client: Client, probe: grpc.aio.Channel
) -> None:
    for channel in (client.channel, probe):
        assert [await check(channel, service) for service in SERVICES] == [SERVING] * 3
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await check(channel, "no.such.Service")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_both_listeners_tell_their_watchers_that_a_drain_has_begun(
    client: Client, probe: grpc.aio.Channel
) -> None:
    watches = [
        HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=service))
        for channel in (client.channel, probe)
        for service in SERVICES
    ]
    for watch in watches:
        assert (await watch.read()).status == SERVING
    stopping = asyncio.create_task(stop(client))
    for watch in watches:
        assert (await watch.read()).status == NOT_SERVING
        watch.cancel()
    await stopping


async def test_the_health_listener_answers_for_as_long_as_calls_still_finish(
    client: Client, probe: grpc.aio.Channel
) -> None:
    table = await seat_all(client)
    log = client.server.host.log
    async with held_up(log):
        step = asyncio.create_task(table.step())
        await until(lambda: len(log.committer) > 0)
        stopping = asyncio.create_task(stop(client))
        await until(lambda: client.server.host.draining)
        assert [await check(probe, service) for service in SERVICES] == [NOT_SERVING] * 3
    assert (await step).sequence  # what was under way was taken, and answered
    await stopping


async def test_the_health_listener_serves_nothing_else(
    client: Client, probe: grpc.aio.Channel
) -> None:
    for path in ACCESS:
        if "Health" not in path:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await probe.unary_unary(path)(b"")
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_reflection_answers_under_both_of_its_names(client: Client, version: str) -> None:
    listed = await services_by_reflection(client, version)
    assert listed == {path.split("/")[1] for path in ACCESS if "admin" not in path}
    for service in ("ronda.v1.MatchService", "ronda.v1.BotService"):
        answer = await ask_reflection(client, version, file_containing_symbol=service)
        files = [
            FileDescriptorProto.FromString(one)
            for one in answer.file_descriptor_response.file_descriptor_proto
        ]
        assert service.rsplit(".", 1)[1] in {one.name for file in files for one in file.service}


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_bytes_that_are_no_message_are_refused_by_reflection_too(
    client: Client, version: str
) -> None:
    call = client.channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    )()
    await call.write(b"\xff")
    with refused(Reason.REQUEST_INVALID):
        await call.read()


async def test_reflection_is_off_on_a_public_listener(start: Any) -> None:
    client = await start(listen="0.0.0.0:0", allow_plaintext=True)
    port = client.server.addresses["listen"].rsplit(":", 1)[1]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        for version in ("v1", "v1alpha"):
            path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
            call = channel.stream_stream(path)()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call.read()
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
