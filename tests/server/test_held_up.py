"""A server that is late itself judges nobody late: time in which its loop stood counts not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client
from tests.server.made_bots import Gate, bot, sleeper
from tests.server.remotes import Admin, Remote
from tests.server.tables import SILENT, seat_all, until

from ronda.v1 import match_pb2
from ronda_bots.registry import Registry
from ronda_core.match import Cause
from ronda_server.clock import HeldUp

MILLI = 1000
SECOND = 1000 * MILLI
MINUTE = match_pb2.Clock(per_decision=Duration(seconds=60))

Act = Callable[[], Awaitable[None]]


class Time:
    """A time that a test moves, with a loop that comes round in it or does not."""

    def __init__(self) -> None:
        self.micros = 1_700_000_000 * SECOND
        self.told = 0.0
        self.held_up = HeldUp(self._tell, lambda: self.micros * 1000)

    def __call__(self) -> int:
        return self.micros

    def passes(self, micros: int, *, held: bool) -> None:
        step = micros if held else 20 * MILLI
        for _ in range(micros // step):
            self.micros += step
            if not held:
                self.held_up.beat()

    def _tell(self, seconds: float) -> None:
        self.told += seconds


PASSES: dict[str, tuple[list[tuple[int, bool]], int]] = {
    "it never is": ([(10 * SECOND, False)], 0),
    "it is now": ([(SECOND, False), (3 * SECOND, True)], 2980 * MILLI),
    "it was": ([(3 * SECOND, True), (SECOND, False)], 3 * SECOND),
    "it was for a little": ([(29 * MILLI, True), (SECOND, False)] * 2, 0),
    "it was twice": ([(SECOND, True), (20 * MILLI, False)] * 2, 2 * SECOND),
}


@pytest.mark.parametrize(("passes", "expected"), PASSES.values(), ids=PASSES)
def test_how_long_a_loop_was_held_up_is_known_before_and_after_it_goes_on(
    passes: list[tuple[int, bool]], expected: int
) -> None:
    time = Time()
    time.held_up.beat()
    for micros, held in passes:
        before = time.held_up()
        time.passes(micros, held=held)
        assert time.held_up() >= before
    assert time.held_up() == expected
    time.held_up.beat()
    assert time.held_up() == expected
    assert time.told == pytest.approx(expected / SECOND)


def test_a_loop_that_does_not_beat_is_never_held_up() -> None:
    time = Time()
    time.passes(SECOND, held=True)
    assert time.held_up() == 0


async def test_a_loop_beats_by_itself() -> None:
    time = Time()
    watching = asyncio.create_task(time.held_up.watch())
    await asyncio.sleep(0)  # one pass of the loop
    time.micros += SECOND
    await until(lambda: time.told > 0)
    watching.cancel()
    assert time.told == pytest.approx(0.98)


async def person(client: Client, rules: str, *_: Any) -> tuple[str, Act]:
    table = await seat_all(client, rules, clock=MINUTE)

    async def act() -> None:
        with contextlib.suppress(grpc.aio.AioRpcError):  # who is late is refused
            await table.step()

    return table.id, act


async def remote(client: Client, rules: str, key: str, _: Gate) -> tuple[str, Act]:
    far = await Remote(client, key).open()
    created = await client.create("far", "far", rules=rules, clock=MINUTE)
    decision = await far.next("decision")
    return created.match.id, lambda: far.decide(decision)


async def installed(client: Client, rules: str, _: str, gate: Gate) -> tuple[str, Act]:
    created = await client.create("sleeper", "sleeper", rules=rules, clock=MINUTE)
    await until(lambda: gate.waiting == 1)

    async def act() -> None:
        gate.let()

    return created.match.id, act


@pytest.mark.parametrize("rules", SILENT)
@pytest.mark.parametrize("whose", [person, remote, installed])
@pytest.mark.parametrize(
    ("passes", "late"),
    [
        ([(59 * SECOND, False), (600 * SECOND, True)], False),
        ([(600 * SECOND, True), (59 * SECOND, False)], False),
        ([(600 * SECOND, True), (60 * SECOND, False)], True),
        ([(60 * SECOND, False)], True),
    ],
    ids=["held up at the end", "held up at first", "and late after that", "never held up"],
)
async def test_who_decides_while_the_loop_is_held_up_is_in_time(
    start: Any,
    registry: Registry,
    tmp_path: Path,
    gate: Gate,
    rules: str,
    whose: Callable[..., Awaitable[tuple[str, Act]]],
    passes: list[tuple[int, bool]],
    late: bool,
) -> None:
    time = Time()
    bots = Registry((*registry.bots, bot("sleeper", sleeper(gate))), ())
    client = await start(bots, now=time, admin_listen="127.0.0.1:0")
    host = client.server.host
    host.held_up = time.held_up
    time.held_up.beat()
    key = await Admin(client, tmp_path).new_key()
    match_id, act = await whose(client, rules, key, gate)
    live = await host.find(match_id)
    before = live.game.sequence
    for micros, held in passes:
        time.passes(micros, held=held)
        if micros < 60 * SECOND or held:
            await host._expire(live)  # as the timer does, first of all
    assert live.game.sequence == before
    await act()
    await until(lambda: live.game.sequence > before)
    fault = live.game.result.fault if live.game.result else None
    assert (fault.cause if fault else None) == (Cause.TIME if late else None)
