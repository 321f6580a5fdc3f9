"""Whoever is killed, at whatever moment: nothing of a bot lives on, and no bot is blamed for it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.bots.plugins import ROOT
from tests.zoo.keeper import Zoo, keeper
from tests.zoo.layers import without_in_template

from ronda_arena.isolation import Level
from ronda_arena.worker.worker import Worker
from ronda_core.match import Cause
from ronda_core.verify import verify

pytestmark = pytest.mark.outside  # it needs Landlock and libseccomp: more than Python

KILLS = 3
WAIT_SECONDS = 20.0
LEVELS = (Level.PROCESS, Level.SANDBOX)

each_level = pytest.mark.parametrize("level", LEVELS)


def named(token: str) -> set[int]:
    """The processes that have `token` in their command line."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if token.encode() in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                continue  # it has ended meanwhile
    return found


def await_none(left: Callable[[], Any]) -> None:
    """Wait until nothing is left; fail if that does not come."""
    end = time.monotonic() + WAIT_SECONDS
    while left():
        assert time.monotonic() < end, left()
        time.sleep(0.002)  # nothing tells when somebody else's process ends: it is looked for


@each_level
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_arena_at_whatever_moment_it_is_killed(
    level: Level, by: signal.Signals, tmp_path: Path
) -> None:
    rng = random.Random(f"{level}/{by}")
    for number in range(KILLS):
        token = str(tmp_path / f"token-{number}")
        host = subprocess.Popen(
            [sys.executable, "-m", "tests.zoo.host", level.value, token],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
        )
        with host:
            assert host.stdout is not None
            for _ in range(rng.randrange(2, 120)):
                assert host.stdout.readline()
            assert len(named(token) - {host.pid}) >= 1  # the template, and whoever is there
            host.send_signal(by)
            assert host.wait(WAIT_SECONDS) == -by
        await_none(lambda own=token: named(own))


@each_level
def test_whoever_kills_the_template_gets_no_bot_blamed(zoo: Zoo, level: Level) -> None:
    rng = random.Random(level.value)
    with keeper(zoo, level) as host:
        for _ in range(KILLS):
            steps = iter(range(rng.randrange(1, 20), -1, -1))
            pids: list[int] = []

            def kill(*_: Any, left: Any = steps, seen: list[int] = pids) -> None:
                if next(left, -1) == 0:
                    seen += [host.nursery.pid, *children(host.nursery.pid)]
                    os.kill(host.nursery.pid, signal.SIGKILL)
                    await_none(lambda: [pid for pid in seen if running(pid)])

            assert host.play("secretive", on_step=kill).ended == "lost"
            assert len(pids) == 2
            assert host.play("secretive").ended == "plays on"
            assert host.record is not None
            assert verify(host.record).proven


@each_level
def test_a_worker_that_somebody_else_kills_ends_its_own_match_alone(zoo: Zoo, level: Level) -> None:
    with keeper(zoo, level) as host:

        def kill(*_: Any) -> None:
            for pid in children(host.nursery.pid):
                os.kill(pid, signal.SIGKILL)

        assert host.play("secretive", on_step=kill).ended == Cause.CRASH
        assert host.record is not None
        assert host.record.fault is not None
        assert host.record.fault.detail == "it was ended by SIGKILL"
        assert host.play("secretive").ended == "plays on"


def test_without_its_signal_a_busy_worker_outlives_the_template(zoo: Zoo) -> None:
    """The same as above with one layer less."""
    seen: list[int] = []
    with (
        without_in_template("confine.die_with = lambda _: None"),
        keeper(zoo, Level.SANDBOX) as host,
    ):

        def kill(*_: Any) -> None:
            if not seen:
                seen.extend(children(host.nursery.pid))
                os.kill(host.nursery.pid, signal.SIGKILL)
                await_none(lambda: running(host.nursery.pid))

        # One that is stopped is told by the kernel that nobody is left: this one is not.
        with patch.object(Worker, "_signal", lambda *_: None):
            assert host.play("busy-loop", on_step=kill).ended == "lost"
        try:
            assert [pid for pid in seen if running(pid)] == seen != []
        finally:
            for pid in seen:
                os.kill(pid, signal.SIGKILL)


def children(pid: int) -> list[int]:
    """The processes that a template has."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def running(pid: int) -> bool:
    """Whether a process is there and no zombie, which somebody else has to bury."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_where_no_more_workers_can_be_started_the_others_go_on(zoo: Zoo, call: str) -> None:
    fails = "os.close(-1)"  # raises what a call does that fails
    once = f"os.{call} = lambda: real() if next(left, '') else {fails}"
    with (
        without_in_template(f"left = iter('1'); real = os.{call}; {once}"),
        keeper(zoo, Level.SANDBOX) as host,
    ):
        ends: list[str] = []

        def another(*_: Any) -> None:
            if not ends:
                ends.append(host.play("secretive").ended)

        assert host.play("secretive", on_step=another).ended == "plays on"
        assert ends == ["lost"]
