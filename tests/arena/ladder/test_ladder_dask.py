"""A ladder on Dask: a worker that is killed costs time, and nobody a rating."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

from tests.arena.ladder.games import ladder_plan, refolded, told
from tests.arena.tournament import farm as farms

from ronda_arena.discovery import discover
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.standings import Ladder
from ronda_arena.ladder.store import claim
from ronda_arena.tournament.executors.dask import Dask

# A scheduler and workers are servers of their own: more than Python.
pytestmark = [pytest.mark.outside, pytest.mark.thorough, pytest.mark.xdist_group("farm")]


def test_a_ladder_on_dask_goes_on_when_a_worker_is_killed_and_its_log_says_how_it_stands(
    tmp_path: Path,
) -> None:
    with farms.farm() as farm, claim(tmp_path) as folder:
        farm.ensure(2)
        store = folder.begin(ladder_plan())
        killed: list[int] = []

        def kill(ladder: Ladder) -> None:
            if ladder.games >= 20 and not killed:
                victim = farm.workers[0]
                killed.append(victim.pid)
                victim.kill()
                victim.wait()
                farm.ensure(2)

        running = Run(store, discover, wanted=("random", "greedy", "careful"), tell=kill)
        running.play(lambda contract, bots: Dask(farm.address, contract, bots), 60)
        assert killed
        assert running.ladder.games >= 60
        assert len(running.ladder.bots) == 3
        assert all(bot.games and not bot.faults for bot in running.ladder.bots)
        assert told(refolded(store)) == told(running.ladder)
