"""The server's clock: no wall clock that is set makes anybody late, or lets a match stand still."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from prometheus_client import CollectorRegistry, Gauge
from structlog.testing import capture_logs
from tests.server.conftest import Client, stop
from tests.server.remotes import Admin, Remote
from tests.server.tables import TABLES, seat_all, until

from ronda.v1 import match_pb2
from ronda_server.clock import Offset, SteadyClock
from ronda_server.metrics import Metrics

SECOND = 1_000_000
HOUR = 3600 * SECOND
MINUTE = match_pb2.Clock(per_decision=Duration(seconds=60))
TENTH = match_pb2.Clock(per_decision=Duration(nanos=100_000_000))
STEPS = pytest.mark.parametrize("step", [-HOUR, HOUR], ids=["back", "forward"])


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.micros = 1_700_000_000 * SECOND

    def __call__(self) -> int:
        return self.micros


def set_wall_clock(monkeypatch: pytest.MonkeyPatch, micros: int) -> None:
    wall = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: wall() + micros * 1000)


@pytest.mark.parametrize("step", [0, 1, -1, SECOND, -SECOND, HOUR, -HOUR, -(10**6) * HOUR])
def test_the_clock_begins_at_the_wall_clock_and_goes_on_by_the_steady_one_alone(step: int) -> None:
    wall, steady = Hands(), Hands()
    clock = SteadyClock(wall, lambda: steady.micros * 1000)
    assert clock() == wall.micros
    wall.micros += step
    steady.micros += 5
    assert clock() == 1_700_000_000 * SECOND + 5


def test_the_clock_of_a_server_is_near_the_wall_clock_and_never_goes_back() -> None:
    before = time.time_ns() // 1000
    clock = SteadyClock()
    told = [clock() for _ in range(1000)]
    assert told == sorted(told)
    assert abs(told[0] - before) < HOUR


@STEPS
async def test_a_wall_clock_that_is_set_moves_no_deadline_and_makes_nobody_late(
    client: Client, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    table = await seat_all(client, clock=MINUTE)
    live = await client.server.host.find(table.id)
    deadline = live.deadline
    set_wall_clock(monkeypatch, step)
    await client.server.host._expire(live)
    assert live.deadline == deadline
    before = live.game.last_time
    await table.step()
    assert before <= live.game.last_time < deadline


@STEPS
async def test_a_wall_clock_that_is_set_lets_no_match_of_a_silent_person_stand_still(
    client: Client, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    table = await seat_all(client, clock=TENTH)
    set_wall_clock(monkeypatch, step)
    live = await client.server.host.find(table.id)
    turn = live.game.waits_for[0]
    await live.ended.wait()
    fault = (await table.match()).result.fault
    assert (fault.seat, fault.cause) == (turn, match_pb2.Fault.CAUSE_TIME)


@STEPS
async def test_a_remote_bot_that_answers_is_in_time_though_the_wall_clock_is_set(
    admin: Admin, key: str, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    bot = await Remote(admin.client, key).open()
    await admin.client.create("far", "greedy", rules="arabic", clock=MINUTE)
    decision = await bot.next("decision")
    set_wall_clock(monkeypatch, step)
    await bot.decide(decision)
    ends = await bot.play_out()
    assert [one.result.outcome for one in ends] == [match_pb2.Result.OUTCOME_HAND]


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_server_that_comes_back_to_a_wall_clock_set_back_goes_on_at_once(
    start: Any, rules: str, players: int
) -> None:
    clock = Hands()
    before = await start(now=clock)
    table = await seat_all(before, rules, players, clock=MINUTE)
    await stop(before)
    clock.micros -= HOUR
    after = await start(now=clock)
    again = table.again(after)
    live = await after.server.host.find(table.id)
    assert after.server.host.due(live) == clock.micros + 60 * SECOND - 1
    waits_for = live.game.waits_for
    clock.micros += 60 * SECOND
    await after.server.host._expire(live)
    assert live.game.over or live.game.waits_for != waits_for
    assert (await again.game()).last_time == clock.micros


OFFSETS: dict[str, tuple[list[int], list[float]]] = {
    "it stands": ([0, 0, 0], []),
    "it is a little off": ([SECOND, -SECOND, SECOND], []),
    "it is set forward": ([0, HOUR, HOUR, HOUR + SECOND], [3600.0]),
    "it is set back": ([-HOUR, -HOUR], [-3600.0]),
    "it is set and set right": ([HOUR, HOUR, 0, 0], [3600.0, 0.0]),
    "it runs away": ([SECOND * at // 2 for at in range(7)], [1.5, 3.0]),
}


@pytest.mark.parametrize(("offsets", "told"), OFFSETS.values(), ids=OFFSETS)
def test_each_step_of_the_wall_clock_is_told_once(offsets: list[int], told: list[float]) -> None:
    now, wall = Hands(), Hands()
    gauge = Gauge("offset", "Offset.", registry=CollectorRegistry())
    looking = Offset(now, gauge, wall)
    with capture_logs() as logs:
        for offset in offsets:
            wall.micros = now.micros + offset
            looking.look()
            assert gauge._value.get() == offset / 1e6
    assert [one["ahead_seconds"] for one in logs] == told


async def test_the_offset_is_watched_and_can_be_scraped() -> None:
    now, wall = Hands(), Hands()
    wall.micros -= HOUR
    metrics = Metrics()
    watching = asyncio.create_task(Offset(now, metrics.clock_offset, wall).watch())
    sample = "ronda_clock_offset_seconds"
    await until(lambda: metrics.registry.get_sample_value(sample) == -3600.0)
    watching.cancel()
