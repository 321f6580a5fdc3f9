"""Refusals: one list of reasons in three places, and nothing else that a caller learns."""

from __future__ import annotations

import io
import json
import logging
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog
from google.rpc import error_details_pb2
from tests.server.conftest import Client, request_id
from tests.server.tables import refused, seat_all, unchanged

from ronda.v1 import error_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_server import errors, logs
from ronda_server.errors import DOMAIN, Reason, ServiceError, code_of, message_of, to_status

ROOT = Path(__file__).parents[2]
PROTO = (ROOT / "proto/ronda/v1/error.proto").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
SECRET = "the stock is 7O 12E 3B and the master 0123456789abcdef"


def in_the_contract() -> dict[str, str]:
    """Return the code that the comment of each reason names."""
    entries = re.findall(r"((?:  //.*\n)+)  ERROR_REASON_(\w+) = \d+;", PROTO)
    return {name: re.sub(r"\s*//\s*", " ", text).split(":")[0].strip() for text, name in entries}


def on_the_page() -> dict[str, list[str]]:
    """Return the other cells of each row of the table of reasons, by reason."""
    table = PAGE.split("## The reasons")[1]
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.+) \| (.+) \|$", table, re.MULTILINE)
    return {reason: list(cells) for reason, *cells in rows}


def test_contract_code_and_page_hold_the_same_reasons() -> None:
    contract = {name.removeprefix("ERROR_REASON_") for name in error_pb2.ErrorReason.keys()[1:]}
    assert contract == {reason.value for reason in Reason} == set(on_the_page())
    assert contract == set(in_the_contract())


def test_the_page_lists_the_reasons_in_the_order_of_the_contract() -> None:
    assert list(on_the_page()) == list(in_the_contract())
    table = PAGE.split("## The reasons")[1].strip().splitlines()
    assert len(table) == len(Reason) + 2, "a row of the table has another form"


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_has_one_code_in_contract_code_and_page(reason: Reason) -> None:
    code, when, advice = on_the_page()[reason.value]
    assert code_of(reason).name == code == in_the_contract()[reason.value]
    assert when.endswith(".")
    assert advice


@pytest.mark.parametrize("reason", Reason)
def test_a_status_carries_its_reason_its_field_and_its_delay_there_and_back(reason: Reason) -> None:
    error = ServiceError(reason, field="seats", metadata={"limit": "matches"}, retry_seconds=2.5)
    status = type(to_status(error)).FromString(to_status(error).SerializeToString())
    info, bad, retry = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RetryInfo(),
    )
    assert [
        detail.Unpack(into) for detail, into in zip(status.details, (info, bad, retry), strict=True)
    ]
    assert (info.reason, info.domain, dict(info.metadata)) == (reason, DOMAIN, {"limit": "matches"})
    assert [one.field for one in bad.field_violations] == ["seats"]
    assert retry.retry_delay.ToTimedelta().total_seconds() == 2.5
    assert status.code == code_of(reason).value[0]
    assert status.message == message_of(reason)
    assert len(to_status(ServiceError(reason)).details) == 1


async def test_the_python_on_the_page_reads_a_reason(client: Client) -> None:
    [source] = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(compile(source, "docs/errors.md", "exec"), names)
    with pytest.raises(grpc.aio.AioRpcError) as refused_by_us:
        await client.matches.GetMatch(pb.GetMatchRequest(match_id="m-none"))
    with pytest.raises(grpc.aio.AioRpcError) as refused_by_grpc:
        await client.channel.unary_unary("/ronda.v1.MatchService/None")(b"")
    assert names["reason"](refused_by_us.value) == "MATCH_NOT_FOUND"
    assert names["reason"](refused_by_grpc.value) == ""


def test_every_reason_has_an_entry_in_the_table_of_codes() -> None:
    assert set(errors._TABLE) == set(Reason)


def test_no_message_of_a_refusal_holds_a_place_for_what_happened() -> None:
    assert not any("%" in message_of(reason) or "{" in message_of(reason) for reason in Reason)


@pytest.fixture
def log_lines() -> Iterator[io.StringIO]:
    """Return what the server logs, as an operator would read it."""
    logs.configure("debug")
    settings = structlog.get_config()
    lines = io.StringIO()
    structlog.configure(
        **settings
        | {
            "logger_factory": structlog.PrintLoggerFactory(lines),
            "cache_logger_on_first_use": False,
        }
    )
    yield lines
    structlog.reset_defaults()


async def _boom(*_args: Any, **_kwargs: Any) -> Any:
    raise RuntimeError(SECRET)


def _check_bare(error: grpc.aio.AioRpcError) -> None:
    assert error.code() is grpc.StatusCode.INTERNAL
    assert error.details() == "internal error"
    everything = f"{error.debug_error_string()} {error.trailing_metadata()}".encode()
    assert not leaks(everything)


def leaks(text: bytes) -> bool:
    """Say whether a text holds a part of the secret."""
    return any(
        word in text for word in (b"7O", b"12E", b"3B", b"0123456789abcdef", b"RuntimeError:")
    )


async def test_an_unknown_exception_is_a_bare_internal_to_the_client_and_a_place_in_the_log(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    log_lines: io.StringIO,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    table = await seat_all(client)
    monkeypatch.setattr(client.server.host, "find", _boom)
    client.faults = 2
    with caplog.at_level(logging.DEBUG):
        with refused(Reason.INTERNAL) as unary:
            await client.matches.GetMatch(pb.GetMatchRequest(match_id=table.id))
        with refused(Reason.INTERNAL) as stream:
            await table.watch().read()
    _check_bare(unary.error)
    _check_bare(stream.error)
    told = [json.loads(line) for line in log_lines.getvalue().splitlines()]
    faults = [line for line in told if line["event"] == "unknown exception"]
    assert [fault["method"] for fault in faults] == ["GetMatch", "WatchMatch"]
    assert all(fault["problem"] == "RuntimeError" for fault in faults)
    assert all(re.fullmatch(r"test_errors\.py:\d+", fault["at"]) for fault in faults)
    printed = capfd.readouterr()
    for text in (log_lines.getvalue(), caplog.text, printed.out, printed.err):
        assert not leaks(text.encode())


async def test_a_fault_inside_a_commit_is_a_bare_internal_and_changes_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, log_lines: io.StringIO
) -> None:
    table = await seat_all(client)
    client.faults = 1

    def boom(_connection: sqlite3.Connection, _values: object) -> None:
        raise KeyError(SECRET)

    async with unchanged(table):
        with monkeypatch.context() as patch, refused(Reason.INTERNAL) as refusal:
            patch.setattr("ronda_server.committer.append_all", boom)
            await table.step()
    _check_bare(refusal.error)
    assert not leaks(log_lines.getvalue().encode())
    await table.step()


async def test_a_call_that_works_after_a_fault_finds_the_server_as_it_was(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await seat_all(client)
    client.faults = 1
    with monkeypatch.context() as patch:
        patch.setattr(client.server.host, "command", _boom)
        with refused(Reason.INTERNAL):
            await table.step(request_id=(same := request_id()))
    await table.step(request_id=same)
    assert (await table.hand()).plays


async def test_a_method_that_does_not_exist_is_unimplemented(client: Client) -> None:
    call = client.channel.unary_unary("/ronda.v1.MatchService/PeekAtStock")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
