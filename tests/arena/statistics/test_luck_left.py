"""How much of the variance luck leaves is told with an interval that holds the truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.arena.statistics.simulated import World
from tests.arena.statistics.test_luck import blocks, evidence

from ronda_arena.statistics import margins
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.margins import Luck, control

TRIALS = 100


def luck_of(found: Evidence) -> Luck:
    kinds = found.kinds()
    told = margins.luck(kinds, control(kinds), measured=True)
    assert told is not None
    return told


def held(told: Iterator[Estimate], truth: float | None) -> float:
    assert truth is not None
    found = []
    for one in told:
        assert one.low is not None
        assert one.high is not None
        found.append(one.low <= truth <= one.high)
    return float(np.mean(found))


BOUND = 0.95 - 4 * (0.05 * 0.95 / TRIALS) ** 0.5


@pytest.mark.parametrize(
    "world",
    [
        World("a b"),
        World("a b", deal=1, style=9, noise=1),
        World("a b", deal=9, style=1, noise=1),
        World("a b c", players=3, skills=(3, 0, -2)),
        World("a b", players=4),
    ],
    ids=["two seats", "alike", "opposed", "three", "four"],
)
def test_what_rotation_leaves_is_in_its_interval(world: World) -> None:
    rng = np.random.default_rng(21)
    truth = luck_of(world.played(rng, 3000)).left(0)[0].value
    told = (luck_of(world.played(rng, 20)).left(20)[0] for _ in range(TRIALS))
    assert held(told, truth) >= BOUND


def test_what_control_leaves_is_in_its_interval() -> None:
    rng = np.random.default_rng(22)
    skills = (1.0, 0.0)
    truth = luck_of(evidence(blocks(rng, skills, 2000, paired=False), 2)).left(0)[1].value
    told = (
        luck_of(evidence(blocks(rng, skills, 25, paired=False), 2)).left(25)[1]
        for _ in range(TRIALS)
    )
    assert held(told, truth) >= BOUND
