"""Which of two hypotheses about the difference in Elo is true? The test that engines are made with.

It takes one number a block: the part of its games that the first entrant won, a draw as a half.
The games of a block share their deals, so a block is what engine testers call a pair, and its
number one of a few outcomes (five, where a block has two games: the pentanomial model). After
every block it compares how likely the outcomes so far are at best if their mean is that of one
hypothesis and if it is that of the other. The logarithm of the ratio, LLR, ends the test at the
bounds of A. Wald, "Sequential tests of statistical hypotheses", Ann. Math. Stat. 16 (1945).

Sources: M. Van den Bergh, "A practical introduction to the GSPRT" (the likelihood of a multinomial
with a given mean, and an outcome that has not come yet as if it had come a little); the
documentation of fastchess and of fishtest for how it is asked for. That the best fit for a mean is
a tilt of what was seen is A. B. Owen's, Empirical Likelihood (2001), chapter 2.

The estimate is median-unbiased, and the interval the matching one, by the order of stages: LLR is
taken for a Brownian motion between its bounds, which are moved by what a walk jumps beyond them (D.
Siegmund, Sequential Analysis, 1985, chapters 3 and 10).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import log, log10, sqrt
from typing import Final, NamedTuple

from scipy.optimize import brentq

from ronda_arena.statistics.barriers import Barriers, between, hit_lower, hit_upper
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.intervals import CONFIDENCE

UNSEEN: Final = 1e-3
"""How often an outcome counts that has not come: without, nobody who has won all could lose."""
OVERSHOOT: Final = 0.583
"""Standard deviations of a block by which a walk is beyond a barrier when it is seen there, on
average over the normal distribution (Siegmund, 10.2)."""
MOST_ELO: Final = 1200.0
"""Beyond that no differences are told apart."""
_EDGE: Final = 1e-12


class Accepted(Enum):
    """What a test may come to."""

    H0 = "H0"
    """The difference is `elo0` rather than `elo1`."""
    H1 = "H1"


class Hypotheses(NamedTuple):
    """What a test is to tell apart, and how often it may err."""

    elo0: float
    elo1: float
    alpha: float
    """The chance that H1 is accepted though the difference is `elo0`."""
    beta: float
    """The chance that H0 is accepted though the difference is `elo1`."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The LLR at which H0 is accepted, and that at which H1 is."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)


def share(elo: float) -> float:
    """Return the part of its games that one wins who is so many points of Elo ahead."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo(won: float) -> float:
    """Return by how many points of Elo one is ahead who wins this part, as far as they are told."""
    least = share(-MOST_ELO)
    won = min(1 - least, max(least, won))
    return 400 * log10(won / (1 - won))


class Sprt:
    """One test. Blocks are given in the order of the schedule; what it decides, it keeps."""

    __slots__ = ("_asked", "_blocks", "_counts", "accepted", "llr")

    def __init__(self, asked: Hypotheses) -> None:
        """Begin."""
        self._asked = asked
        self._counts = {0.0: 0, 1.0: 0}
        self._blocks = 0
        self.llr = 0.0
        self.accepted: Accepted | None = None

    @property
    def blocks(self) -> int:
        """How many it has looked at."""
        return self._blocks

    def add(self, won: float) -> bool:
        """Take the part of the next block that the first entrant won; say whether it is decided.

        What comes after the decision counts for nothing.
        """
        if self.accepted is None:
            self._counts[won] = self._counts.get(won, 0) + 1
            self._blocks += 1
            self.llr = _llr(self._weights(), share(self._asked.elo0), share(self._asked.elo1))
            lower, upper = self._asked.bounds
            if self.llr >= upper:
                self.accepted = Accepted.H1
            elif self.llr <= lower:
                self.accepted = Accepted.H0
        return self.accepted is not None

    def estimate(self) -> Estimate:
        """Return by how many Elo the first is ahead, median-unbiased, with its 95 % interval.

        Of a test that is decided, or whose last block is in: while it goes on, every number is one
        that it might have stopped at.
        """
        if self._blocks < 2:
            return Estimate(None, None, None, self._blocks)
        first, second = share(self._asked.elo0), share(self._asked.elo1)
        middle = (first + second) / 2
        spread = self._spread()
        won_in_all = sum(won * count for won, count in self._counts.items())
        there = (won_in_all - self._blocks * middle) / spread
        # LLR is as far beyond its bound as the walk is that it is taken for.
        bounds = self._asked.bounds
        scale = there / self.llr if there * self.llr > 0 else spread / (second - first)
        lower, upper = (bound * scale for bound in bounds)
        if self.accepted is Accepted.H1:
            upper = max(there, upper)
            lower -= OVERSHOOT
        elif self.accepted is Accepted.H0:
            lower = min(there, lower)
            upper += OVERSHOOT
        else:
            lower, upper = min(lower, there) - OVERSHOOT, max(upper, there) + OVERSHOOT
        rank = self._rank(Barriers(lower, upper), there, self._blocks)
        low, value, high = (
            elo(middle + spread * _where(rank, level))
            for level in ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2)
        )
        return Estimate(value, low, high, self._blocks)

    def _rank(self, barriers: Barriers, seen: float, blocks: int) -> Callable[[float], float]:
        """Return how likely an outcome is that says as much for the first, for each drift.

        The sooner the upper barrier is hit the more it says, and the sooner the lower the less.
        """
        before = blocks - 0.5  # of those that stop at this very block, half
        if self.accepted is Accepted.H1:
            return lambda drift: hit_upper(barriers, drift, before)
        if self.accepted is Accepted.H0:
            return lambda drift: 1 - hit_lower(barriers, drift, before)
        return lambda drift: (
            hit_upper(barriers, drift, blocks) + between(barriers, drift, blocks, seen)
        )

    def _weights(self) -> list[tuple[float, float]]:
        return [(won, count or UNSEEN) for won, count in sorted(self._counts.items())]

    def _spread(self) -> float:
        """Return the standard deviation of a block, as if one more were half won and half lost.

        However alike all blocks were, others may come.
        """
        seen = {**self._counts, 0.0: self._counts[0.0] + 0.5, 1.0: self._counts[1.0] + 0.5}
        total = self._blocks + 1
        mean = sum(won * count for won, count in seen.items()) / total
        squares = sum((won - mean) ** 2 * count for won, count in seen.items())
        return sqrt(squares / total)


def _llr(seen: list[tuple[float, float]], first: float, second: float) -> float:
    """Return the logarithm of how much likelier what was seen is, at best, with the second mean."""
    tilt0, tilt1 = _tilt(seen, first), _tilt(seen, second)
    return sum(
        weight * (log(1 + tilt0 * (won - first)) - log(1 + tilt1 * (won - second)))
        for won, weight in seen
    )


def _tilt(seen: list[tuple[float, float]], mean: float) -> float:
    """Return the t for which weights divided by 1 + t (won - mean) have this mean."""

    def off(tilt: float) -> float:
        return sum(weight * (won - mean) / (1 + tilt * (won - mean)) for won, weight in seen)

    low, high = -1 / (1 - mean), 1 / mean
    return float(brentq(off, low * (1 - _EDGE), high * (1 - _EDGE), xtol=1e-9, rtol=1e-9))


def _where(rank: Callable[[float], float], level: float) -> float:
    """Return the drift at which a rising function comes to `level`."""
    step = 0.25
    low, high = -step, step
    while rank(low) > level:
        low *= 2
    while rank(high) < level:
        high *= 2
    return float(brentq(lambda drift: rank(drift) - level, low, high, xtol=1e-9))
