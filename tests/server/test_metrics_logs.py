"""What an operator sees: metrics, logs, health and reflection; and what no server starts with."""

from __future__ import annotations

import asyncio
import io
import json
import re
import socket
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import grpc
import pytest
import structlog
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha import reflection_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from tests.server.conftest import Client, stop
from tests.server.tables import Table, held_up, refused, seat_all, until, watching

from ronda.v1 import match_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core.cards import PACK, Card
from ronda_core.match import Cause, Outcome
from ronda_core.rules import PRESETS
from ronda_server import app, logs
from ronda_server.errors import ConfigError, Reason
from ronda_server.identity import ACCESS
from ronda_server.metrics import code_label
from ronda_server.remote_bot import Rejection

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICES = ["", "ronda.v1.MatchService", "ronda.v1.BotService"]
LISTENERS = ["listen", "health_listen", "metrics_listen"]

CODES_OF_GO = {
    *("OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound"),
    *("AlreadyExists", "PermissionDenied", "ResourceExhausted", "FailedPrecondition"),
    *("Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss"),
    "Unauthenticated",
}

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


async def test_calls_are_counted_by_the_names_that_dashboards_know(client: Client) -> None:
    await everything(client)
    samples = await idle(client)
    service = {"grpc_service": "ronda.v1.MatchService"}
    assert total(samples, "grpc_server_handled_total", **service, grpc_code="OK") > 36
    for method, code, kind in (
        ("PlayCard", "Aborted", "unary"),
        ("GetMatch", "NotFound", "unary"),
        ("GetMatch", "InvalidArgument", "unary"),
        ("Resign", "Unauthenticated", "unary"),
        ("WatchMatch", "NotFound", "server_stream"),
        ("WatchMatch", "Canceled", "server_stream"),
        ("WatchMatch", "OK", "server_stream"),
    ):
        labels = service | {"grpc_method": method, "grpc_code": code, "grpc_type": kind}
        assert total(samples, "grpc_server_handled_total", **labels) == 1, labels
    plays = service | {"grpc_method": "PlayCard"}
    assert total(samples, "grpc_server_handling_seconds_count", **plays) == 37
    sent = service | {"grpc_method": "WatchMatch"}
    assert total(samples, "grpc_server_msg_sent_total", **sent) > 36


async def test_what_was_started_was_handled_once_nothing_is_under_way(client: Client) -> None:
    await everything(client)
    samples = await idle(client)
    started = [one for one in samples if one.name == "grpc_server_started_total"]
    assert len(started) >= 8
    for one in started:
        assert total(samples, "grpc_server_handled_total", **one.labels) == one.value, one


async def test_a_stream_that_is_open_is_started_and_not_handled(client: Client) -> None:
    table = await seat_all(client)
    stream = table.watch()
    await stream.read()
    samples = await scrape(client)
    labels = {"grpc_method": "WatchMatch"}
    assert total(samples, "grpc_server_started_total", **labels) == 1
    assert total(samples, "grpc_server_handled_total", **labels) == 0
    assert total(samples, "ronda_watchers") == 1


async def test_the_values_of_labels_come_from_closed_lists(client: Client) -> None:
    table = await everything(client)
    await client.join((await client.create("open", "greedy")).match.id, name="Fatima")
    samples = await idle(client)
    paths = [path.split("/")[1:] for path in ACCESS]
    allowed = {
        "grpc_type": {"unary", "server_stream", "bidi_stream"},
        "grpc_service": {service for service, _ in paths},
        "grpc_method": {method for _, method in paths},
        "grpc_code": CODES_OF_GO,
        "rules": set(PRESETS),
        "outcome": {outcome.value for outcome in Outcome},
        "cause": {cause.value for cause in Cause},
        "reason": {rejection.value for rejection in Rejection},
    }
    for one in samples:
        for label, value in one.labels.items():
            if label == "le":
                assert float(value) > 0
            else:
                assert value in allowed[label], one
    text = repr(samples)
    assert table.id not in text
    assert "greedy" not in text
    assert "Fatima" not in text


def test_every_code_has_the_name_that_go_gives_it() -> None:
    assert {code_label(code) for code in grpc.StatusCode} == CODES_OF_GO


async def test_nothing_that_is_scraped_grows_with_the_matches(client: Client) -> None:
    async def all_presets() -> set[tuple[str, str]]:
        for name in PRESETS:
            table = await seat_all(client, name)
            await table.step()
            await table.act("Resign", 0)
        return {(one.name, repr(sorted(one.labels.items()))) for one in await scrape(client)}

    once = await all_presets()
    for _ in range(5):
        assert await all_presets() == once


async def test_matches_plays_and_faults_are_counted(client: Client) -> None:
    before = await scrape(client)
    assert total(before, "ronda_plays_total") == 0
    finished = await seat_all(client, "arabic")
    await finished.play_out()
    resigned = await seat_all(client, "cafe")
    await resigned.answer_all()
    await resigned.step()
    await resigned.act("Resign", 0)
    await seat_all(client, "pagat")
    samples = await scrape(client)
    assert total(samples, "ronda_plays_total", rules="arabic") == 36
    assert total(samples, "ronda_plays_total", rules="cafe") == 1
    assert total(samples, "ronda_matches_created_total") == 3
    assert total(samples, "ronda_matches_finished_total", outcome="hand") == 1
    assert total(samples, "ronda_matches_finished_total", outcome="forfeit") == 1
    assert total(samples, "ronda_faults_total", cause="resigned") == 1
    assert total(samples, "ronda_matches_live") == 1
    assert total(samples, "ronda_internal_errors_total") == 0


async def test_a_restart_counts_nothing_again(start: Any) -> None:
    before = await start()
    table = await seat_all(before)
    await table.step()
    await stop(before)
    after = await start()
    samples = await scrape(after)
    assert total(samples, "ronda_plays_total") == 0
    assert total(samples, "ronda_matches_created_total") == 0
    assert total(samples, "ronda_matches_live") == 1


# Logs.

TOKENS = st.from_regex(r"rnd_[osi]_[A-Za-z0-9_-]{43}", fullmatch=True)


@dataclass
class Holder:
    """Something with a text form of its own."""

    inner: object

    def __str__(self) -> str:
        return f"holds {self.inner}"


class Pair(NamedTuple):
    """A tuple with names."""

    first: object
    second: object


def holders(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return containers of every kind."""
    words = st.text("abc", max_size=5)
    keys = words | secrets | st.sampled_from(sorted(logs._SECRET_KEYS))
    return (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Pair, inner, inner)
        | st.builds(Holder, inner)
        | st.sets(secrets, max_size=3)
        | st.frozensets(secrets, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
        | st.builds(lambda token: f"seat with {token} came", TOKENS)
    )


secrets = (
    st.sampled_from(PACK)
    | st.binary(min_size=4, max_size=20)
    | TOKENS
    | st.tuples(st.sampled_from(PACK), TOKENS)
)
VALUES = st.recursive(secrets | st.none() | st.booleans() | st.text("abc"), holders, max_leaves=8)


def rendered(event: dict[str, Any]) -> str:
    """Return the line that an event becomes."""
    logs.configure("debug")
    processors = structlog.get_config()["processors"]
    structlog.reset_defaults()
    told: Any = dict(event)
    for processor in processors:
        told = processor(None, "info", told)
    assert isinstance(told, str)
    return told


def leaves(value: Any) -> Iterator[Any]:
    """Yield every key and value of a parsed line."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


@given(st.dictionaries(st.sampled_from(["match", "problem", "what", "token", "hand"]), VALUES))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_card_token_or_bytes_are_ever_in_a_line_however_they_are_nested(
    event: dict[str, Any],
) -> None:
    line = rendered({"event": "something", **event})
    assert "\n" not in line
    told = json.loads(line)
    time = told.pop("timestamp")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", time)
    for leaf in leaves(told):
        # No number was put in: one that comes out is a card's.
        assert leaf is None or isinstance(leaf, bool | str), leaf
        if isinstance(leaf, str):
            assert "rnd_" not in leaf
            assert not re.search(r"\d", leaf), leaf
            assert "\\x" not in leaf


@pytest.mark.parametrize("key", sorted(logs._SECRET_KEYS))
def test_a_value_with_the_name_of_a_secret_is_taken_out_at_every_depth(key: str) -> None:
    line = rendered({"event": "x", key: "plain", "deep": [{"deeper": ({key: "plain"},)}]})
    assert "plain" not in line


def test_every_card_is_taken_out_by_its_type() -> None:
    for card in PACK:
        assert isinstance(card, Card)
        assert set(json.loads(rendered({"event": "x", "what": card}))["what"]) == {"•"}


def test_a_line_is_one_line_whatever_a_text_holds() -> None:
    line = rendered({"event": "x", "name": "a\nb\r\x1b[2J\u2028\u202e"})
    assert line.isprintable()
    assert json.loads(line)["name"] == "a\nb\r\x1b[2J\u2028\u202e"


async def test_a_whole_match_leaves_neither_card_nor_token_nor_entropy_in_the_log(
    start: Any,
) -> None:
    logs.configure("debug")
    lines = io.StringIO()
    structlog.configure(
        **structlog.get_config()
        | {
            "logger_factory": structlog.PrintLoggerFactory(lines),
            "cache_logger_on_first_use": False,
        }
    )
    try:
        client = await start()
        table = await everything(client)
        bots = Table(client, await client.create("greedy", "careful", rules="cafe", length=1))
        stream = bots.watch()
        while await stream.read() is not grpc.aio.EOF:
            pass  # to its end
        await stop(client)
    finally:
        structlog.reset_defaults()
    text = lines.getvalue()
    assert len(text.splitlines()) < 20, "events are logged, not calls"
    assert table.id in text
    for secret in (table.owner, *table.tokens.values(), "rnd_"):
        assert secret not in text
    assert not re.search(r"\b(1|2|3|4|5|6|7|10|11|12)[OCEB]\b", text)
    for line in text.splitlines():
        json.loads(line)


async def test_who_says_nothing_to_the_metrics_port_is_not_waited_for(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_SCRAPE_SECONDS", 0.05)
    client = await start()
    host, _, port = client.server.addresses["metrics_listen"].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()
    await writer.wait_closed()
    assert await scrape(client)


# Health and reflection.


@pytest.fixture
async def probe(client: Client) -> AsyncIterator[grpc.aio.Channel]:
    """Return a channel to the listener that is only for health."""
    async with grpc.aio.insecure_channel(client.server.addresses["health_listen"]) as channel:
        yield channel


async def check(channel: grpc.aio.Channel, service: str) -> int:
    """Return the health of a service."""
    asked = health_pb2.HealthCheckRequest(service=service)
    answer = await HealthStub(channel).Check(asked)
    return int(answer.status)


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


# What no server starts with.


def test_the_table_of_rights_names_every_method_that_is_served_and_no_other() -> None:
    app.check_access()
    modules = (app.match_service_pb2, app.bot_service_pb2, app.admin_service_pb2)
    ours = {
        f"/{service.full_name}/{method.name}"
        for module in modules
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert {path for path in ACCESS if path.startswith("/ronda")} == ours


@pytest.mark.parametrize("path", [path for path in ACCESS if path.startswith("/ronda")])
async def test_a_method_without_an_entry_in_the_table_of_rights_stops_the_start(
    start: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with monkeypatch.context() as patch:
        patch.delitem(ACCESS, path)
        with pytest.raises(ConfigError, match=path.rsplit("/", 1)[1]):
            await start()
    assert (await (await start()).create("open", "open")).match.id


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "example.org:0"])
async def test_a_listener_beyond_loopback_without_tls_is_refused(
    start: Any, listener: str, address: str
) -> None:
    with pytest.raises(ConfigError, match="loopback"):
        await start(**{listener: address})


async def test_a_listener_beyond_loopback_is_taken_when_it_is_said_to_be_plaintext(
    start: Any,
) -> None:
    client = await start(**dict.fromkeys(LISTENERS, "0.0.0.0:0"), allow_plaintext=True)
    assert all(client.server.addresses[one].startswith("0.0.0.0:") for one in LISTENERS)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.7.7.7"])
async def test_a_loopback_listener_by_any_of_its_names_is_taken(start: Any, host: str) -> None:
    if host == "[::1]" and not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    client = await start(**dict.fromkeys(LISTENERS, f"{host}:0"))
    assert (await client.create("open", "open")).match.id
    assert all(
        re.fullmatch(rf"{re.escape(host)}:\d+", client.server.addresses[one]) for one in LISTENERS
    )
    assert await scrape(client)


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize(
    "address", ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:x"]
)
async def test_an_address_that_is_none_is_refused(start: Any, listener: str, address: str) -> None:
    with pytest.raises(ConfigError):
        await start(**{listener: address})


@pytest.mark.parametrize("listener", LISTENERS)
async def test_a_port_that_is_in_use_is_named_and_nothing_is_left_behind(
    start: Any, listener: str
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ConfigError, match=re.escape(address)):
            await start(**{listener: address})
    client = await start(**{listener: address})
    assert (await client.create("open", "open")).match.id


@pytest.mark.parametrize("listener", LISTENERS)
async def test_two_servers_never_share_a_port(start: Any, tmp_path: Any, listener: str) -> None:
    first = await start()
    address = first.server.addresses[listener]
    with pytest.raises(ConfigError, match=re.escape(address)):
        await start(**{listener: address}, database=str(tmp_path / "other.db"))
    for _ in range(5):
        assert await check(first.channel, "") == SERVING
        assert await scrape(first)


async def test_a_server_that_could_not_start_lets_go_of_what_it_had(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = len(asyncio.all_tasks())

    async def failing(*_: object) -> None:
        raise OSError("the probe cannot start")

    steps: list[Callable[[pytest.MonkeyPatch], None]] = [
        lambda patch: patch.setattr(app.Promises, "open", failing),
        lambda patch: patch.setattr(app.Host, "open", failing),
        lambda patch: patch.setattr(app.Server, "_listen", failing),
        lambda patch: patch.setattr(app.SqliteLog, "open", failing),
    ]
    for step in steps:
        with monkeypatch.context() as patch, pytest.raises(OSError, match="cannot start"):
            step(patch)
            await start()
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    assert (await (await start()).create("open", "open")).match.state == (
        match_pb2.Match.STATE_WAITING
    )
