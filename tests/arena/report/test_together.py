"""Who compares many finds some that differ by chance: the report says which stand together."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from tests.arena.report.test_gather import gathered, planned
from tests.arena.statistics.simulated import World

from ronda_arena.report.comparison import Comparison, apart, challenges, neighbours
from ronda_arena.statistics import pairs
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.ratings import Strengths

TOURNAMENTS = 100
NAMES = [f"b{at:02}" for at in range(12)]
EQUALS = World(" ".join(NAMES))


def compared(format_: str, rng: np.random.Generator) -> list[Comparison]:
    """Return the comparisons of a tournament of equals."""
    count = len(NAMES)
    met = list(combinations(range(count), 2)) * 2
    if format_ == "gauntlet":
        met = [(0, other) for other in range(1, count)] * 8
    evidence = Evidence(EQUALS.entrants, 2, 1)
    for number, pair in enumerate(met):
        evidence.add(EQUALS.block(rng, number, pair))
    strengths = Strengths(evidence)
    if format_ == "gauntlet":
        told = partial(pairs.margins, evidence, strengths.kinds, strengths.taken)
        return challenges(NAMES, range(count), 1, told)
    margins = [one.value or 0.0 for one in strengths.margins()]
    order = sorted(range(count), key=lambda at: -margins[at])
    return neighbours(NAMES, order, strengths)


@pytest.mark.parametrize("format_", ["gauntlet", "round-robin"])
def test_of_equals_one_tournament_in_twenty_says_that_somebody_stands(format_: str) -> None:
    rng = np.random.default_rng(8)
    alone = together = 0
    for _ in range(TOURNAMENTS):
        told = compared(format_, rng)
        alone += any(apart(one.by) for one in told)
        together += any(one.stands for one in told)
    bound = 0.05 + 4 * (0.05 * 0.95 / TOURNAMENTS) ** 0.5
    assert together / TOURNAMENTS <= bound
    if format_ == "gauntlet":  # each for itself they are no such thing
        assert alone / TOURNAMENTS > bound


def test_only_what_stands_together_is_called_stronger() -> None:
    world = World("a b c d", skills=(30.0, 4.0, 0.0, -0.5))
    summary = gathered(planned("a b c d"), world.blocks(np.random.default_rng(3), 12))
    assert any(one.startswith("a is stronger than b") for one in summary.sentences)
    assert any(
        one.startswith("It cannot be said yet whether c or d is") for one in summary.sentences
    )


def test_what_stands_only_by_itself_is_told_as_what_may_be_chance() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        found = gathered(planned("a b c"), World("a b c", skills=(2, 0, 0)).blocks(rng, 6))
        chance = [one for one in found.sentences if "may be chance among so many" in one]
        assert all(one.startswith("It cannot be said yet whether") for one in chance)
        if chance:
            return
    pytest.fail("every comparison that was shown stood among all")


def test_of_two_there_is_nothing_to_count_together() -> None:
    world = World("a b", skills=(20.0, 0.0))
    summary = gathered(planned("a b"), world.blocks(np.random.default_rng(3), 12))
    assert " is stronger than " in summary.sentences[0]
    assert not any("Surely" in one for one in summary.sentences)
