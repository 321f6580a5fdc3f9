"""What a probe asks of a listener: whether it serves, and what."""

from __future__ import annotations

from typing import Any

import grpc
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha import reflection_pb2
from tests.server.conftest import Client

SERVING = health_pb2.HealthCheckResponse.SERVING


async def check(channel: grpc.aio.Channel, service: str) -> int:
    """Return the health of a service."""
    asked = health_pb2.HealthCheckRequest(service=service)
    answer = await HealthStub(channel).Check(asked)
    return int(answer.status)


async def ask_reflection(client: Client, version: str, **asked: str) -> Any:
    """Return what reflection answers, by one of its names."""
    call = client.channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )()
    await call.write(reflection_pb2.ServerReflectionRequest(**asked))
    answer = await call.read()
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF
    return answer


async def services_by_reflection(client: Client, version: str) -> set[str]:
    """Return the names of the services that reflection lists."""
    answer = await ask_reflection(client, version, list_services="")
    return {service.name for service in answer.list_services_response.service}
