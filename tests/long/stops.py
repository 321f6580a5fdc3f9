"""What stop rules promise, measured: `python -m tests.long.stops`, for docs/stopping.md.

Sequential tests on normal margins and on such as real blocks had, and precisions on the same.
Exit code 0 if every share of the sequential tests is within four standard errors of what it has to
be; margins as lopsided as a gambler's, and precisions, are told and not judged.
"""

from __future__ import annotations

import argparse
import random
import sys
from math import sqrt
from typing import NamedTuple

import numpy as np
from tests.arena.statistics.blocks_made import block
from tests.arena.statistics.blocks_played import KINDS, Margins
from tests.arena.tournament.plans import plan

from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.statistics.sequential import Finding, Sequential
from ronda_arena.tournament.stops import PrecisionStop

ALPHA = 0.05
POINTS = 1000
"""That a standard deviation is worth where blocks are made: scores are whole numbers."""


class Told(NamedTuple):
    """What so many simulated tournaments came to."""

    first: float
    second: float
    above: float
    """Estimates above the truth; a half of those that are equal."""
    held: float
    """Intervals that hold the truth."""
    blocks: float
    """Played, as a share of the most."""
    naive_above: float
    naive_held: float
    """Of the plain means of stopped tests, and of their plain intervals."""


def sequential(kind: str, drift: float, blocks: int, runs: int, seed: int) -> Told:
    """Test so often; `drift` is the Z that all blocks together would have on average."""
    margins = Margins(KINDS[kind], drift / sqrt(blocks))
    rng, truth = np.random.default_rng(seed), margins.mean
    sums = np.zeros(7)
    for _ in range(runs):
        test = Sequential(blocks, ALPHA)
        drawn = margins.draw(rng, blocks)
        for margin in drawn:
            if test.add(float(margin)):
                break
        assert test.decision is not None
        decision, told = test.decision, test.estimate()
        seen = drawn[: decision.blocks]
        mean, half = float(seen.mean()), 1.96 * float(seen.std(ddof=1)) / sqrt(len(seen))
        sums += [
            decision.finding is Finding.FIRST,
            decision.finding is Finding.SECOND,
            _above(told, truth),
            _holds(told, truth),
            decision.blocks / blocks,
            mean > truth,
            abs(mean - truth) <= half,
        ]
    return Told(*map(float, sums / runs))


def precision(kind: str, needed: int, runs: int, seed: int) -> tuple[float, float]:
    """Return how many intervals hold the truth, and the mean blocks, where `needed` are enough."""
    within = POINTS * 1.96 / sqrt(needed) / 2  # of two each is ahead of the mean by half a lead
    asked = plan(2, blocks=100_000, hands=1, stop={"precision": within})
    rng, margins = np.random.default_rng(seed), Margins(KINDS[kind], 0.3)
    held = blocks = 0
    for _ in range(runs):
        rule, evidence = PrecisionStop(asked, within), Evidence(asked.entrants, 2, 1)
        while not rule.stopped:
            lead = round(POINTS * float(margins.draw(rng, 1)[0]))
            one = block(evidence.blocks, lead)
            rule.add(one)
            evidence.add(one)
        held += _holds(Strengths(evidence).margins()[0], POINTS * margins.mean / 2)
        blocks += evidence.blocks
    return held / runs, blocks / runs


def main() -> int:
    """Run what the command line asks for, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.stops", description=__doc__)
    parser.add_argument("--runs", type=int, default=4000, help="simulated tests a row")
    parser.add_argument("--blocks", default="60,200", help="the most, of sequential tests")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.runs} runs each")
    print("kind             most  drift  first second  above   held blocks | plain: above   held")
    bad = 0
    for blocks in map(int, asked.blocks.split(",")):
        for kind in KINDS:
            for drift in (0.0, 1.5, 3.24, 6.0, 12.0):
                told = sequential(kind, drift, blocks, asked.runs, asked.seed)
                wrong = _off(told.above, 0.5, asked.runs) or _off(told.held, 0.95, asked.runs)
                wrong |= not drift and _off(told.first + told.second, ALPHA, asked.runs)
                bad += wrong and kind != "gambler"
                print(
                    f"{kind:16} {blocks:5} {drift:5.2f} {told.first:6.4f} {told.second:6.4f} "
                    f"{told.above:6.4f} {told.held:6.4f} {told.blocks:6.3f} | "
                    f"{told.naive_above:12.4f} {told.naive_held:6.4f}{'  !' if wrong else ''}",
                    flush=True,
                )
    print("kind             needed   held  blocks")
    for kind in KINDS:
        for needed in (20, 60, 200):
            held, mean = precision(kind, needed, asked.runs // 5, asked.seed)
            print(f"{kind:16} {needed:6} {held:6.4f} {mean:7.1f}", flush=True)
    return 1 if bad else 0


def _above(told: Estimate, truth: float) -> float:
    assert told.value is not None
    return float(told.value > truth) + (told.value == truth) / 2


def _holds(told: Estimate, truth: float) -> bool:
    assert told.low is not None
    assert told.high is not None
    return told.low <= truth <= told.high


def _off(share: float, wanted: float, runs: int) -> bool:
    return abs(share - wanted) > 4 * sqrt(wanted * (1 - wanted) / runs)


if __name__ == "__main__":
    sys.exit(main())
