"""Bots in workers, in the seats of hosted matches: they play, and what breaks breaks alone."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from tests.bots.plugins import install
from tests.server.conftest import Client, stop
from tests.server.made_bots import ended, record_of
from tests.server.remotes import Admin
from tests.server.tables import TABLES, Table, refused, until

from ronda.admin.v1 import admin_service_pb2 as admin_pb
from ronda.v1 import match_pb2
from ronda_arena.discovery import discover
from ronda_arena.isolation import Level
from ronda_arena.seating import Isolated, probe
from ronda_arena.worker.canaries import NAMES
from ronda_arena.worker.nursery import Nursery
from ronda_bots.registry import Registry
from ronda_server import driving
from ronda_server.errors import Reason

TENTHS = match_pb2.Clock(per_decision=Duration(nanos=300_000_000))

SOURCE = """
import os, time

class Sound:
    version = "1"
    def __init__(self, seat, rng):
        self.rng = rng
    def play(self, view):
        return self.rng.choice(view.hand)

class Waits(Sound):
    def play(self, view):
        if len(view.plays) > 4:
            time.sleep(3600)
        return view.hand[0]

class Leaves(Sound):
    def play(self, view):
        os._exit(3)

class Grabs(Sound):
    def play(self, view):
        return view.unseen[0]

class Babbles(Sound):
    def play(self, view):
        os.write(3, b"x" * 100)
        return view.hand[0]

class NeverSits(Sound):
    def __init__(self, seat, rng):
        raise LookupError(str(seat))
"""
BOTS = {"sound", "waits", "leaves", "grabs", "babbles", "neversits"}
FAULTS = {
    "waits": match_pb2.Fault.CAUSE_TIME,
    "leaves": match_pb2.Fault.CAUSE_CRASH,
    "grabs": match_pb2.Fault.CAUSE_ILLEGAL,
    "babbles": match_pb2.Fault.CAUSE_PROTOCOL,
    "neversits": match_pb2.Fault.CAUSE_CRASH,
}


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Workers, on a machine that can shut them in."""
    with Nursery() as made:
        report = probe(made)
        if report.level is not Level.SANDBOX:
            pytest.skip(f"no sandbox here: {report.problem}")
        yield made


@pytest.fixture(scope="module")
def plugins(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """The bots above, installed as anybody's are."""
    folder = tmp_path_factory.mktemp("plugins")
    classes = ("Sound", "Waits", "Leaves", "Grabs", "Babbles", "NeverSits")
    points = {name.lower(): f"strangers:{name}" for name in classes}
    install(folder, "strangers", points, modules={"strangers": SOURCE})
    found = discover([str(folder)], nursery)
    assert {bot.name for bot in found.bots} == BOTS
    assert all(bot.bot_class is None for bot in found.bots)
    return found


@pytest.fixture
def isolated(start: Any, nursery: Nursery, plugins: Registry) -> Callable[..., Any]:
    """Return a function that starts a server whose bots are all in workers."""
    seating = Isolated(nursery)

    async def begin(**changes: Any) -> Client:
        client: Client = await start(plugins, seating, **changes)
        return client

    return begin


async def workers(nursery: Nursery) -> list[int]:
    """Return the processes that were forked from the template and have not been buried."""
    path = Path(f"/proc/{nursery.pid}/task/{nursery.pid}/children")
    return [int(pid) for pid in (await asyncio.to_thread(path.read_text)).split()]


async def none_left(nursery: Nursery) -> None:
    """Wait until every worker is buried."""
    async with asyncio.timeout(20):
        while await workers(nursery):  # noqa: ASYNC110 # nothing tells of it
            await asyncio.sleep(0)  # to let others run; what is waited for comes by itself


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_bots_in_a_sandbox_play_a_match_to_its_end_and_the_record_says_so(
    isolated: Any, nursery: Nursery, rules: str, players: int
) -> None:
    client = await isolated()
    length = 0 if rules == "arabic" else 1
    created = await client.create(*["sound"] * players, rules=rules, length=length)
    table = Table(client, created)
    assert (await ended(table)).result.outcome != match_pb2.Result.OUTCOME_FORFEIT
    assert (await record_of(table)).isolation == ("sandbox",) * players
    await none_left(nursery)


@pytest.mark.parametrize("name", sorted(FAULTS))
async def test_a_bot_that_breaks_ends_its_own_match_with_the_cause_and_no_other(
    isolated: Any, nursery: Nursery, name: str
) -> None:
    client = await isolated()
    good = Table(client, await client.create("sound", "sound", length=2))
    bad = Table(client, await client.create("sound", name, rules="cafe", clock=TENTHS))
    fault = (await ended(bad)).result.fault
    assert (fault.seat, fault.cause) == (1, FAULTS[name])
    assert (await ended(good)).result.outcome == match_pb2.Result.OUTCOME_LENGTH
    await none_left(nursery)


async def test_workers_that_are_lost_are_nobodys_fault_and_the_match_goes_on(
    isolated: Any, nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "_RETRY_SECONDS", 0.001)
    client = await isolated()
    table = Table(client, await client.create("sound", "open", "sound", rules="cafe", length=1))
    table.tokens[1] = (await client.join(table.id)).seat_token
    lost = 0
    while not (game := await table.game()).over:
        if 1 not in game.waits_for:
            await until_waits(table, 1)
            continue
        if lost < 3:
            os.kill(nursery.pid, signal.SIGKILL)
            lost += 1
        if game.match.hand.phase == "declare":
            await table.declare(1, game.match.hand.strengths[1] > 0)
        else:
            await table.play(1, min(game.match.hand.hands[1]))
    assert lost == 3
    assert (await table.match()).result.outcome == match_pb2.Result.OUTCOME_LENGTH
    await record_of(table)


async def test_a_match_goes_on_with_new_workers_after_a_restart(
    isolated: Any, nursery: Nursery
) -> None:
    before = await isolated()
    table = Table(before, await before.create("sound", "open", rules="arabic"))
    table.tokens[1] = (await before.join(table.id)).seat_token
    for _ in range(4):
        await until_waits(table, 1)
        await table.play(1, min((await table.hand()).hands[1]))
    await until_waits(table, 1)
    assert len(await workers(nursery)) == 1
    await stop(before)
    await none_left(nursery)
    again = table.again(await isolated())
    while not (await again.game()).over:
        await until_waits(again, 1)
        if not (await again.game()).over:
            await again.play(1, min((await again.hand()).hands[1]))
    assert (await record_of(again)).isolation == ("sandbox", "person")


async def test_a_match_that_wants_more_workers_than_there_may_be_is_refused(
    isolated: Any,
) -> None:
    client = await isolated(max_workers=3)
    await client.create("sound", "open")
    with refused(Reason.TOO_MANY_MATCHES) as refusal:
        await client.create("sound", "sound", "sound", rules="cafe")
    assert refusal.info.metadata["limit"] == "workers"
    assert "processes" in str(refusal.error.details())
    await client.create("sound", "open", "sound", rules="cafe")


async def test_a_machine_that_shuts_in_less_than_a_match_says_lets_it_wait(
    isolated: Any, start: Any, nursery: Nursery, plugins: Registry
) -> None:
    before = await isolated()
    table = Table(before, await before.create("sound", "open", rules="arabic"))
    table.tokens[1] = (await before.join(table.id)).seat_token
    await until_waits(table, 1)
    await stop(before)
    less = {"want": Level.PROCESS, "minimum": Level.PROCESS}
    weak = await start(plugins, await asyncio.to_thread(lambda: Isolated(nursery, **less)))
    waiting = table.again(weak)
    await waiting.play(1, min((await waiting.hand()).hands[1]))
    live = await weak.server.host.find(table.id)
    await until(lambda: live.driver is None)
    assert 0 in (await waiting.game()).waits_for
    await stop(weak)
    strong = table.again(await isolated())
    await until_waits(strong, 1)


async def until_waits(table: Table, seat: int) -> None:
    """Wait until a seat is asked, or the match is over."""
    async with asyncio.timeout(20):
        while seat not in (game := await table.game()).waits_for and not game.over:  # noqa: ASYNC110 # as above
            await asyncio.sleep(0)  # to let others run; what is waited for comes by itself


async def test_the_admin_is_told_what_the_canaries_found(isolated: Any, tmp_path: Path) -> None:
    admin = Admin(await isolated(admin_listen="127.0.0.1:0"), tmp_path)
    report = (await admin.call("GetIsolation")).report
    await admin.channel.close()
    assert report.wanted == report.granted == admin_pb.ISOLATION_LEVEL_SANDBOX
    assert len(report.checks) == len(NAMES)
    for check in report.checks:
        assert check.ok
        assert re.fullmatch("[a-z0-9-]+", check.name)
