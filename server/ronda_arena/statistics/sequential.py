"""Of two entrants, is one stronger? A test that may stop early and still errs as rarely as it says.

It takes one number a block, the first entrant's mean margin, in the order of the schedule. It
looks at a few counts of blocks that are fixed beforehand, decides once, and never again. What it
tells afterwards allows for the looks: the estimate is too high as often as too low, and the
interval holds the truth 95 times in 100, which the plain mean and its interval do not when a test
stopped because they looked good.

The variance is not known, so t is taken to the Z that is as rare: the significance level approach
(C. Jennison and B. W. Turnbull, Group Sequential Methods, 2000, chapter 11; where to stop is in
`boundaries`). The estimate and the interval are those of the stage-wise ordering (the same book,
chapter 8; A. A. Tsiatis, G. L. Rosner and C. R. Mehta, "Exact confidence intervals following a
group sequential test", Biometrics 40, 1984).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import copysign, inf, sqrt
from typing import Final, NamedTuple

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from ronda_arena.statistics.boundaries import above, boundaries
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.intervals import CONFIDENCE
from ronda_arena.statistics.margins import ROUNDING
from ronda_arena.statistics.moments import Moments

MOST_LOOKS: Final = 20
FIRST_LOOK: Final = 10
"""Blocks: a variance from fewer says little."""


class Finding(Enum):
    """What a test may come to."""

    FIRST = "first"
    """The first entrant is stronger."""
    SECOND = "second"
    NEITHER = "neither"
    """All blocks were looked at, and no difference was shown. It may still be there."""


class Decision(NamedTuple):
    """What a test came to, once and for all."""

    finding: Finding
    blocks: int
    """After how many blocks."""


def looks(blocks: int) -> tuple[int, ...]:
    """Return after how many of at most so many blocks the test looks: evenly, last at the end."""
    count = max(1, min(MOST_LOOKS, blocks // FIRST_LOOK))
    return tuple(-(-blocks * at // count) for at in range(1, count + 1))


class Sequential:
    """A group sequential test of at most so many blocks, with this chance of a false alarm."""

    __slots__ = ("_bounds", "_looks", "_numbers", "_passed", "_shares", "_told", "decision")

    def __init__(self, blocks: int, alpha: float) -> None:
        if blocks < 1 or not 0 < alpha < 1:
            raise ValueError("a test needs blocks, and a chance of error between 0 and 1")
        self._looks = looks(blocks)
        self._shares = tuple(count / blocks for count in self._looks)
        self._bounds = boundaries(self._shares, alpha)
        self._numbers = Moments()
        self._told = 0
        """Numbers that favour one or the other."""
        self._passed: list[_Passed] = []
        self.decision: Decision | None = None

    def add(self, margin: float) -> bool:
        """Take the number of the next block of the schedule; say whether it is decided.

        What comes after the decision counts for nothing.
        """
        if self.decision is None:
            self._numbers.add(margin)
            self._told += margin != 0
            if self._numbers.count == self._looks[len(self._passed)]:
                self._decide()
        return self.decision is not None

    def _decide(self) -> None:
        look, count, z = len(self._passed), self._numbers.count, self._z()
        # Numbers are never taken to be rarer than so many tosses of a coin that fall alike, however
        # alike they are: where there are few, or few that are not 0, the variance says little.
        bound = self._bounds[look] if 0.5**self._told <= ndtr(-self._bounds[look]) else inf
        if abs(z) >= bound and bound < inf:
            self.decision = Decision(Finding.FIRST if z > 0 else Finding.SECOND, count)
        elif look + 1 == len(self._looks):
            self.decision = Decision(Finding.NEITHER, count)
        else:
            self._passed.append(_Passed(count - 1, sqrt(self._shares[look]), _t(bound, count - 1)))

    def _z(self) -> float:
        """Return the Z that is as rare among equals as the t of these numbers."""
        seen = self._numbers
        error = seen.error()
        if error is None or not seen.mean:
            return 0.0
        return _z(seen.mean / error, seen.count - 1) if error else copysign(inf, seen.mean)

    def estimate(self) -> Estimate:
        """Return the first entrant's margin, median-unbiased, with its 95 % interval.

        They are the margins of which what was seen is the middle and the two ends. Only of a test
        that is decided: while it goes on, every number is one that it might have stopped at.
        """
        seen = self._numbers
        if self.decision is None:
            raise ValueError("this test goes on")
        error = seen.error()
        if error is None:
            return Estimate(seen.mean, None, None, seen.count)
        # Where all were the same, only what rounding leaves in doubt is known of their spread.
        error = error or sqrt(ROUNDING / seen.count)
        shares = self._shares[: len(self._passed) + 1]
        root = sqrt(shares[-1])

        def rank(drift: float) -> float:
            at = drift * root
            value = at + _z(seen.mean / error - at, seen.count - 1)
            return above(shares, [look.between(drift) for look in self._passed], drift, value)

        low, middle, high = (
            error * root * _where(rank, level, seen.mean / error / root, 1 / root)
            for level in ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2)
        )
        return Estimate(middle, low, high, seen.count)


class _Passed(NamedTuple):
    """A look after which a test went on."""

    freedom: int
    root: float
    """Of the share of information that was in."""
    bound: float
    """The t at which it would have stopped."""

    def between(self, drift: float) -> tuple[float, float]:
        """Return where Z had to be, if this is the drift, to be as rare as where t had to be.

        Without a drift it is the boundary itself. Where a drift carries t to its boundary, half of
        the tests stop there, though with few blocks t has further to go than Z.
        """
        at = drift * self.root
        return at + _z(-self.bound - at, self.freedom), at + _z(self.bound - at, self.freedom)


def _z(t: float, freedom: int) -> float:
    """Return the normal number with as much above it as Student's t has above `t`."""
    z = -float(ndtri(stdtr(freedom, -abs(t))))
    return z if t > 0 else -z


def _t(z: float, freedom: int) -> float:
    """Return Student's t for a normal number: the inverse of `_z`, for positive numbers."""
    return inf if z == inf else -float(stdtrit(freedom, ndtr(-z)))


def _where(rank: Callable[[float], float], level: float, start: float, step: float) -> float:
    """Return where a rising function comes to `level`."""
    low = high = start
    while rank(low) > level:
        low, step = low - step, 2 * step
    while rank(high) < level:
        high, step = high + step, 2 * step
    return float(brentq(lambda drift: rank(drift) - level, low, high, xtol=1e-9))
