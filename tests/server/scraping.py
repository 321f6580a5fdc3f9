"""What the metrics port tells, and calls of every kind for it to tell of."""

from __future__ import annotations

import asyncio
import urllib.request
from typing import NamedTuple

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from prometheus_client.parser import text_string_to_metric_families
from tests.server.conftest import Client
from tests.server.probing import services_by_reflection
from tests.server.tables import Table, refused, seat_all, until, watching

from ronda.v1 import match_service_pb2 as pb
from ronda_server.errors import Reason

# Metrics.


class Sample(NamedTuple):
    """One line of what is scraped."""

    name: str
    labels: dict[str, str]
    value: float


async def scrape(client: Client) -> list[Sample]:
    """Return all that the metrics port tells."""

    def get() -> str:
        address = client.server.addresses["metrics_listen"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    families = text_string_to_metric_families(await asyncio.to_thread(get))
    return [
        Sample(one.name, one.labels, one.value) for family in families for one in family.samples
    ]


def total(samples: list[Sample], name: str, **labels: str) -> float:
    """Return the sum of a metric over all samples that carry `labels`."""
    return sum(
        one.value for one in samples if one.name == name and labels.items() <= one.labels.items()
    )


async def everything(client: Client) -> Table:
    """Make a call of every kind and with every kind of end, and return a match that is over."""
    table = await seat_all(client, "arabic")
    with refused(Reason.STALE_SEQUENCE):
        await table.step(expected_sequence=1)
    with refused(Reason.MATCH_NOT_FOUND):
        await client.matches.GetMatch(pb.GetMatchRequest(match_id="m-none"))
    with refused(Reason.TOKEN_REQUIRED):
        await table.act("Resign", "")
    with refused(Reason.REQUEST_INVALID):
        await client.channel.unary_unary("/ronda.v1.MatchService/GetMatch")(b"\xff")
    left = table.watch()
    await left.read()
    left.cancel()
    with refused(Reason.MATCH_NOT_FOUND):
        await client.matches.WatchMatch(pb.WatchMatchRequest(match_id="m-none")).read()
    await table.play_out()
    ended = table.watch(0, 1)
    while await ended.read() is not grpc.aio.EOF:
        pass  # to its end
    await HealthStub(client.channel).Check(health_pb2.HealthCheckRequest())
    await services_by_reflection(client, "v1")
    with pytest.raises(grpc.aio.AioRpcError):
        await client.channel.unary_unary("/ronda.v1.MatchService/NoSuchMethod")(b"")
    with pytest.raises(grpc.aio.AioRpcError):
        await client.channel.unary_unary("/no.such.Service/AtAll")(b"")
    await until(lambda: watching(client) == 0)
    return table


async def idle(client: Client) -> list[Sample]:
    """Return what is scraped once no call is under way."""
    async with asyncio.timeout(10):
        while True:
            samples = await scrape(client)
            if total(samples, "grpc_server_started_total") == total(
                samples, "grpc_server_handled_total"
            ):
                return samples
