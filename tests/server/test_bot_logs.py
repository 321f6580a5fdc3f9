"""What a bot in a worker prints: for whoever runs the server, and for nobody else."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from click.testing import CliRunner
from tests.bots.plugins import install
from tests.server.conftest import Client
from tests.server.made_bots import ended
from tests.server.remotes import Admin
from tests.server.tables import Table, refused, until
from tests.server.test_errors import log_lines  # noqa: F401 -- a fixture
from tests.server.test_isolated_bots import nursery  # noqa: F401 -- a fixture

from ronda.v1 import match_pb2
from ronda.v1 import match_service_pb2 as matches_pb
from ronda.v1.bot_service_pb2 import ListBotsRequest
from ronda_arena.discovery import discover
from ronda_arena.fault import BotFaultError
from ronda_arena.seating import Isolated
from ronda_arena.worker.nursery import Nursery
from ronda_bots.registry import Registry
from ronda_cli import admin as command
from ronda_cli.admin_client import AdminClient, BotLog
from ronda_cli.channel import Target
from ronda_core.match import Cause
from ronda_server.bot_logs import BotLogs
from ronda_server.errors import Reason

SOURCE = r"""
class Quiet:
    version = "1"
    def __init__(self, seat, rng):
        pass
    def play(self, view):
        return view.hand[0]

class Talks(Quiet):
    def play(self, view):
        print("quite content")
        return view.hand[0]

class Blurts(Quiet):
    version = "2"
    def play(self, view):
        print("\x1b[2Jtell-tale", view.hand[0], flush=True)
        raise LookupError("tell-tale too")
"""
CLASSES = ("Quiet", "Talks", "Blurts")


@pytest.fixture(scope="module")
def plugins(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Registry:  # noqa: F811 -- the fixture
    folder = tmp_path_factory.mktemp("plugins")
    points = {name.lower(): f"printers:{name}" for name in CLASSES}
    install(folder, "printers", points, modules={"printers": SOURCE})
    return discover([str(folder)], nursery)


@pytest.fixture
async def printing(
    start: Any,
    nursery: Nursery,  # noqa: F811 -- the fixture
    plugins: Registry,
    tmp_path: Path,
) -> Any:
    """Return whoever runs a server whose bots are in workers and print."""
    seating = await asyncio.to_thread(Isolated, nursery)
    client = await start(plugins, seating, admin_listen="127.0.0.1:0")
    made = Admin(client, tmp_path)
    yield made
    await made.channel.close()


def stored(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in folder.iterdir()]


async def logged(client: Client, number: int) -> None:
    logs = client.server.host.bot_logs
    await until(lambda: len(logs._kept) == number)


async def test_what_a_bot_printed_before_it_broke_is_told_to_the_admin_and_is_nowhere_else(
    printing: Admin,
    tmp_path: Path,
    log_lines: io.StringIO,  # noqa: F811 -- the fixture
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    client = printing.client
    with caplog.at_level(logging.DEBUG):
        table = Table(client, await client.create("blurts", "quiet", rules="arabic"))
        result = (await ended(table)).result
        assert (result.fault.seat, result.fault.cause) == (0, match_pb2.Fault.CAUSE_CRASH)
        await logged(client, 1)
        [log] = (await printing.call("GetBotLog", bot="blurts@2")).logs
    live = await client.server.host.find(table.id)
    assert (log.identity, log.match_id, log.seat) == ("blurts@2", table.id, 0)
    assert log.cause == match_pb2.Fault.CAUSE_CRASH
    assert log.detail == "LookupError when it was asked to play"
    assert log.duration.ToMicroseconds() > 0
    assert log.end_time.ToMicroseconds() >= live.game.last_time
    assert log.output.startswith(b"\x1b[2Jtell-tale ")
    record = await client.matches.GetRecord(matches_pb.GetRecordRequest(match_id=table.id))
    got = await client.matches.GetMatch(matches_pb.GetMatchRequest(match_id=table.id))
    bots = await client.bots.ListBots(ListBotsRequest())
    printed = capfd.readouterr()
    elsewhere = [
        record.SerializeToString(),
        got.SerializeToString(),
        bots.SerializeToString(),
        (await client.view(table.id)).SerializeToString(),
        prometheus_client.generate_latest(client.server.metrics.registry),
        *[text.encode() for text in (log_lines.getvalue(), caplog.text, printed.out, printed.err)],
        repr(client.server.host.bot_logs.of("blurts")).encode(),
        *stored(tmp_path),
    ]
    assert b"match over" in log_lines.getvalue().encode()
    for text in elsewhere:
        assert b"tell-tale" not in text


async def test_a_bot_that_does_nothing_wrong_is_logged_if_it_prints(printing: Admin) -> None:
    client = printing.client
    await ended(Table(client, await client.create("talks", "quiet", rules="arabic")))
    await logged(client, 1)
    [log] = (await printing.call("GetBotLog", bot="talks")).logs
    assert log.output.startswith(b"quite content\n")
    assert (log.cause, log.detail) == (match_pb2.Fault.CAUSE_UNSPECIFIED, "")
    assert not log.HasField("duration")
    assert list((await printing.call("GetBotLog", bot="quiet@1")).logs) == []
    for unknown in ("nobody", "quiet@2", "", "x" * 5000):
        with refused(Reason.BOT_NOT_FOUND, "bot"):
            await printing.call("GetBotLog", bot=unknown)


async def test_the_door_of_the_operator_brings_a_log_as_it_is(printing: Admin) -> None:
    client = printing.client
    table = Table(client, await client.create("quiet", "blurts", rules="arabic"))
    await ended(table)
    await logged(client, 1)
    address = client.server.addresses["admin_listen"]
    door = AdminClient(Target(address, False, address), printing.key)
    [log] = await door.bot_logs("blurts")
    await door.close()
    assert (log.about["match"], log.about["seat"], log.about["cause"]) == (table.id, 1, "crash")
    assert log.about["seconds"] > 0
    assert log.output.startswith(b"\x1b[2Jtell-tale ")
    assert "tell-tale" not in repr(log)


NASTY = b"\x1b[2Jplain 7O\r\n\xc2\x9b31m\xe2\x80\xae \xff\x00 \xd8\xa7\n"


@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
def test_no_control_character_of_a_log_reaches_a_terminal(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    about = {
        "bot": "blurts@2",
        "match": "m-1",
        "seat": 0,
        "ended": "2026-01-01T00:00:00Z",
        "cause": "crash",
        "detail": "LookupError when it was asked to play\x1b[2J",
        "seconds": 0.25,
    }
    answers: Callable[..., Any] = lambda *_: [BotLog(about, NASTY)]  # noqa: E731 -- in one line
    monkeypatch.setattr(command, "_ask", answers)
    shown = CliRunner().invoke(command.admin, ["log", "blurts", "-o", form])
    assert shown.exit_code == 0, shown.output
    assert all(char == "\n" or char.isprintable() for char in shown.output)
    assert "plain 7O" in shown.output
    assert "tell" not in shown.output
    if form == "table":
        lines = shown.output.splitlines()
        assert lines[0].startswith("blurts@2 in seat 0 of m-1, 2026-01-01T00:00:00Z, crash: ")
        assert lines[0].endswith("(0.250 s)")
        assert lines[1] == r"    \x1b[2Jplain 7O\r"
        assert lines[2] == r"    \x9b31m\u202e \xff\x00 " + "\N{ARABIC LETTER ALEF}"


def kept(logs: BotLogs, bot: str, number: int, size: int = 10) -> None:
    fault = BotFaultError(Cause.TIME, "no answer within 1 s", seconds=1.0)
    logs.keep(f"m-{number}", bot, 0, fault, b"x" * size)


def test_the_last_twenty_of_each_version_are_kept_the_newest_first() -> None:
    logs = BotLogs(lambda: 5)
    for number in range(30):
        kept(logs, "mine@1", number)
        if number < 3:
            kept(logs, "mine@2", 100 + number)
    assert [log.match_id for log in logs.of("mine@1")] == [f"m-{n}" for n in range(29, 9, -1)]
    assert [log.match_id for log in logs.of("mine@2")] == ["m-102", "m-101", "m-100"]
    assert len(logs.of("mine")) == 23
    assert logs.of("min") == logs.of("mine@3") == logs.of("") == []


def test_all_logs_together_take_no_more_than_they_may_and_the_oldest_go_first() -> None:
    logs = BotLogs(lambda: 5, most_bytes=20_000)
    for number in range(200):
        kept(logs, f"bot{number}@1", number, 2000)
    assert len(logs._kept) == 7  # of some 2.5 KB
    assert len(logs._by_bot) == 7
    assert logs.of("bot192") == []
    assert [log.match_id for log in logs.of("bot199@1")] == ["m-199"]
