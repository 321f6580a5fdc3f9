"""Metrics: what is counted, under which names, and that it never grows with the matches."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from tests.server.conftest import Client, stop
from tests.server.scraping import everything, idle, scrape, total
from tests.server.tables import seat_all

from ronda_core.match import Cause, Outcome
from ronda_core.rules import PRESETS
from ronda_server import app
from ronda_server.identity import ACCESS
from ronda_server.metrics import code_label
from ronda_server.remote_bot import Rejection

CODES_OF_GO = {
    *("OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound"),
    *("AlreadyExists", "PermissionDenied", "ResourceExhausted", "FailedPrecondition"),
    *("Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss"),
    "Unauthenticated",
}


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
