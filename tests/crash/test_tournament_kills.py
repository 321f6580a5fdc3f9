"""Killed tournaments come to what they would have come to: a few here, many in the long runs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.crash.tournaments import Tally, compare, disturbed, disturbed_on_dask, drawn, undisturbed


@pytest.mark.thorough
def test_a_killed_tournament_comes_to_what_it_would_have(tmp_path: Path) -> None:
    random_ = random.Random(20)
    tournament = drawn(random_, blocks=30)
    tally = Tally()
    undisturbed(tournament, tmp_path / "whole")
    where = ("--executor=local", "--workers=2")
    disturbed(tournament, tmp_path / "broken", where, 3, random_, tally, longest=2.0)
    compare(tmp_path / "whole", tmp_path / "broken", tally)
    assert not tally.faults
    assert tally.tournaments == 1


@pytest.mark.outside
@pytest.mark.timeout(600)
def test_so_does_one_on_dask_whose_workers_scheduler_and_driver_are_killed(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="games on Dask need the extra dask")
    random_ = random.Random(21)
    tournament = drawn(random_, blocks=60)
    tally = Tally()
    undisturbed(tournament, tmp_path / "whole")
    disturbed_on_dask(tournament, tmp_path / "broken", 4, random_, tally)
    compare(tmp_path / "whole", tmp_path / "broken", tally)
    assert not tally.faults
