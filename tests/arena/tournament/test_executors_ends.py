"""Whoever ends: what is lost is told, and no worker and no bot is left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import count
from multiprocessing import resource_tracker
from typing import Any
from unittest.mock import patch

import pytest
from tests.arena.tournament import plays
from tests.bots.plugins import ROOT

from ronda_arena.tournament.executors import Executor, ExecutorError, chunks
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.tasks import Contract, Played
from ronda_bots.registry import Registry

pytestmark = pytest.mark.thorough

Make = Callable[[Contract, Registry], AbstractContextManager[Executor]]


def in_processes(contract: Contract, registry: Registry) -> Processes:
    return Processes(contract, registry, 2)


on_this_machine = pytest.mark.parametrize("make", [Here, in_processes])


def bystanders() -> set[int]:
    """The processes below this one that are no workers; one that `multiprocessing` has is among."""
    resource_tracker.ensure_running()
    return plays.descendants(os.getpid())


@on_this_machine
def test_a_game_that_is_lost_is_told_and_may_be_played_again(make: Make) -> None:
    contract = plays.contract(isolation="process")
    wanted = list(plays.tasks(range(8)))
    alone = plays.here(contract, wanted)
    rng = random.Random(1)
    before = bystanders()
    done: list[Any] = []
    with make(contract, plays.registry()) as executor:
        kills = 4
        left = wanted
        while left:
            lost = []
            for chunk in executor.play(iter(left)):
                done += [one for one in chunk if one.lost is None]
                lost += [one for one in chunk if one.lost is not None]
                below = sorted(plays.descendants(os.getpid()) - before)
                if kills and below:
                    kills -= 1
                    os.kill(rng.choice(below), signal.SIGKILL)
            assert all(one.lost and one.game is None and one.record is None for one in lost)
            left = [one.task for one in lost]
    # A bot that somebody else has killed has crashed: these games are other ones, and over.
    assert {one.task for one in done} == set(wanted)
    assert len(done) == len(wanted)
    fair = [one for one in done if one.game is not None and one.game.fault is None]
    assert len(fair) > len(wanted) // 2
    assert all(alone[task] == what for task, what in plays.told(fair).items())


@on_this_machine
def test_leaving_in_the_middle_leaves_no_process(make: Make) -> None:
    before = bystanders()
    with make(plays.contract(isolation="process"), plays.registry()) as executor:
        next(executor.play(plays.tasks(count())))
        below = plays.descendants(os.getpid()) - before
        assert below
    plays.await_end(below)


@pytest.mark.parametrize("bot", ["deadly", "torn"])
def test_where_only_losses_come_it_is_given_up(bot: str) -> None:
    """Also where a worker ends when it has said half of what came of its games."""
    contract = plays.contract(bots=(bot, "greedy", "random"), isolation="trusted")
    words = "2 losses in a row and no game was played; the last: a worker was ended by SIGKILL"
    lost: list[Played] = []
    with (
        patch.object(chunks, "_TOO_MANY", 2),
        pytest.raises(ExecutorError, match=words),
        Processes(contract, plays.registry(), 1) as executor,
    ):
        for chunk in executor.play(plays.tasks(count(step=3))):  # of the first two bots
            lost += chunk
    assert {one.lost for one in lost} == {"a worker was ended by SIGKILL"}
    assert len({one.task for one in lost}) == len(lost) == 4


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_driver_that_is_killed(by: signal.Signals) -> None:
    for lines in (0, 3) if by is signal.SIGKILL else (1,):
        with driver() as host:
            below = heard(host, lines)
            host.send_signal(by)
            assert host.wait(plays.WAIT_SECONDS) == -by
        plays.await_end(below)


def test_an_interrupt_at_the_terminal_is_for_the_driver_to_judge() -> None:
    for lines in (0, 2):
        with driver() as host:
            below = heard(host, lines)
            os.killpg(host.pid, signal.SIGINT)
            out, errors = host.communicate(timeout=plays.WAIT_SECONDS)
        assert (host.returncode, out.splitlines()[-1], errors) == (130, "interrupted", "")
        plays.await_end(below)


def driver() -> subprocess.Popen[str]:
    """Start a driver, with all that it starts in a group of processes, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.arena.tournament.driver"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        process_group=0,
    )


def heard(host: subprocess.Popen[str], lines: int) -> set[int]:
    """Wait until a driver has played so many chunks; return what runs below it."""
    assert host.stdout is not None
    for _ in range(lines + 1):
        assert host.stdout.readline()
    return plays.descendants(host.pid)
