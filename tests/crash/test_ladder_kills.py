"""A ladder whose driver and workers are killed loses no block, and doubles none."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.crash.ladders import Tally, counted, disturbed, judge, lived


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["trusted", "sandbox"])
def test_the_log_the_chain_and_the_records_of_a_killed_ladder_agree(
    tmp_path: Path, level: str
) -> None:
    flags = ("--hands=1", "--bots=random,greedy,careful", f"--isolation={level}", "--workers=2")
    tally = Tally()
    disturbed(tmp_path, flags, 4, random.Random(7), tally)
    life = lived(tmp_path, flags, counted(tmp_path) + 40, tally)
    judge(tmp_path, tally)
    assert tally.faults == []
    assert tally.kills == 4
    assert life.games >= 40
    assert tally.proven == 2 * tally.blocks
