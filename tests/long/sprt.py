"""What the SPRT promises, measured: `python -m tests.long.sprt`, for docs/stopping.md.

Tests on outcomes of blocks as real bots had them, tilted to the difference in question. Exit code 0
if no test errs more often than it says, and no interval holds the truth less often, by more than
four standard errors.
"""

from __future__ import annotations

import argparse
import random
import sys
from math import sqrt
from typing import NamedTuple

import numpy as np
from tests.arena.statistics.outcomes import KINDS, drawn

from ronda_arena.statistics.sprt import Accepted, Hypotheses, Sprt, share

ERROR = 0.05
CASES = ((0.0, 20.0, 100_000), (0.0, 50.0, 100_000), (0.0, 50.0, 60), (0.0, 150.0, 100_000))
"""Hypotheses, and the most blocks."""


class Told(NamedTuple):
    """What so many simulated tournaments came to, as shares."""

    first: float
    """H0 was accepted."""
    second: float
    """H1 was."""
    blocks: float
    above: float
    """Estimates above the truth; a half of those that are equal."""
    held: float
    """Intervals that hold the truth."""
    plain_above: float
    """Plain shares of games won that are above the truth."""


def measured(kind: str, truth: float, asked: Hypotheses, most: int, runs: int, seed: int) -> Told:
    """Test so often on outcomes of this kind with this difference in Elo."""
    rng, sums = np.random.default_rng(seed), np.zeros(6)
    for _ in range(runs):
        test, seen = Sprt(asked), list[float]()
        while test.accepted is None and len(seen) < most:
            for won in drawn(kind, share(truth), rng, 1, min(500, most - len(seen)))[0]:
                seen.append(float(won))
                if test.add(seen[-1]):
                    break
        value, low, high, _ = test.estimate()
        assert value is not None
        assert low is not None
        assert high is not None
        sums += [
            test.accepted is Accepted.H0,
            test.accepted is Accepted.H1,
            test.blocks,
            (value > truth) + (value == truth) / 2,
            low <= truth <= high,
            sum(seen) / len(seen) > share(truth),
        ]
    return Told(*map(float, sums / runs))


def main() -> int:
    """Run what the command line asks for, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.sprt", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="simulated tests a row")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.runs} runs each, errors {ERROR:g} and {ERROR:g}")
    print("kind             elo0  elo1   most | truth     H0     H1 blocks  above   held  plain")
    bad = 0
    for kind in asked.kinds.split(","):
        for elo0, elo1, most in CASES:
            test = Hypotheses(elo0, elo1, ERROR, ERROR)
            for truth in (elo0, (elo0 + elo1) / 2, elo1, elo1 + 100):
                told = measured(kind, truth, test, most, asked.runs, asked.seed)
                limit = 4 * sqrt(ERROR * (1 - ERROR) / asked.runs)
                errors = told.second if truth == elo0 else told.first if truth >= elo1 else 0.0
                wrong = errors > ERROR + limit or told.held < 1 - ERROR - limit
                bad += wrong
                print(
                    f"{kind:16} {elo0:4g} {elo1:5g} {most:6} | {truth:5g} {told.first:6.3f} "
                    f"{told.second:6.3f} {told.blocks:6.0f} {told.above:6.3f} {told.held:6.3f} "
                    f"{told.plain_above:6.3f}{'  !' if wrong else ''}",
                    flush=True,
                )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
