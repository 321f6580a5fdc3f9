"""Where a group sequential test stops, and how likely it is to: for a normal mean, looked at often.

The statistic of a test that is looked at again and again is a path: with a share t of all
information in, Z is normal around drift * sqrt(t) with variance 1, and what comes later adds to
what is there. A test goes on while |Z| stays below the boundary of every look. How it gets
there is integrated look by look over the Z of those paths that still go on.

Sources: P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on accumulating
data", JRSS A 132 (1969), for the recursion; K. K. G. Lan and D. L. DeMets, "Discrete sequential
boundaries for clinical trials", Biometrika 70 (1983), for spending an error over time;
C. Jennison and B. W. Turnbull, Group Sequential Methods (2000), chapters 7, 8 and 19.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf, pi, sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

_Array = NDArray[np.float64]

_REACH: Final = 8.0
"""Standard deviations around its mean where a path is followed: beyond are 1e-15 of all."""
_LEAST: Final = 1e-10
"""An error smaller than this is not spent yet but kept for the next look: no tail of real numbers
is known so far out."""
_NODES: Final = np.polynomial.legendre.leggauss(64)
_POINTS: Final = (_NODES[0] + 1) / 2, _NODES[1] / 2
"""Where to look between 0 and 1, and for how much it counts (Gauss and Legendre)."""
_FURTHEST: Final = 40.0


class _Going(NamedTuple):
    """The tests that go on after a look: how likely each Z is among all tests."""

    share: float
    """Of all information that is in."""
    points: _Array
    weights: _Array
    """Density times width: they sum to the probability of going on."""


def spent(share: float, alpha: float) -> float:
    """Return the error that each side may have spent when this share of information is in.

    As O'Brien and Fleming would: hardly anything early, so that all of it is left for the end.
    """
    return float(2 * ndtr(ndtri(alpha / 4) / sqrt(share)))


@lru_cache(maxsize=64)
def boundaries(shares: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """Return for looks at these shares of information the |Z| from which the test stops.

    Two-sided: of two that are equal one is called stronger with probability `alpha` over all
    looks. Infinite where there is nothing to spend yet.
    """
    found: list[float] = []
    going: _Going | None = None
    gone = 0.0
    for share in shares:
        due = spent(share, alpha) - gone
        bound = inf
        if due > _LEAST:
            bound = _bound(going, share, due)
            gone += due
        found.append(bound)
        going = _go_on(going, share, 0.0, -bound, bound)
    return tuple(found)


def crossing(shares: Sequence[float], bounds: Sequence[float], drift: float) -> list[float]:
    """Return for each look how likely it is to be the first where Z is at the upper boundary."""
    going: _Going | None = None
    found = []
    for share, bound in zip(shares, bounds, strict=True):
        found.append(_beyond(going, share, drift, bound))
        going = _go_on(going, share, drift, -bound, bound)
    return found


def above(
    shares: Sequence[float], between: Sequence[tuple[float, float]], drift: float, value: float
) -> float:
    """Return how likely an outcome is that speaks at least as much for a positive drift as this.

    What was seen is `value` as the Z of the last of these looks; at the looks before it, tests went
    on `between` two Z. Outcomes are ordered by stages: the upper boundary before anything later,
    the earlier the more; then by Z; the lower boundary is the other end (Jennison and Turnbull,
    8.4).
    """
    going: _Going | None = None
    total = 0.0
    for share, (low, high) in zip(shares[:-1], between, strict=True):
        total += _beyond(going, share, drift, high)
        going = _go_on(going, share, drift, low, high)
    return total + _beyond(going, shares[-1], drift, value)


def _bound(going: _Going | None, share: float, due: float) -> float:
    if going is None:
        return float(-ndtri(due))
    return float(brentq(lambda bound: _beyond(going, share, 0.0, bound) - due, 0.0, _FURTHEST))


def _beyond(going: _Going | None, share: float, drift: float, bound: float) -> float:
    """Return how likely it is that a test comes to the next look and has Z above `bound` there."""
    if bound == inf:
        return 0.0
    if going is None:
        return float(ndtr(drift * sqrt(share) - bound))
    middle, spread = _next(going, share, drift)
    return float(going.weights @ ndtr((middle - bound) / spread))


def _go_on(going: _Going | None, share: float, drift: float, low: float, high: float) -> _Going:
    centre = drift * sqrt(share)
    low, high = max(low, centre - _REACH), min(high, centre + _REACH)
    if low >= high:  # hardly any test goes on
        return _Going(share, np.zeros(1), np.zeros(1))
    points, widths = _POINTS[0] * (high - low) + low, _POINTS[1] * (high - low)
    if going is None:
        return _Going(share, points, widths * _density(points - centre))
    middle, spread = _next(going, share, drift)
    steps = _density((points[:, None] - middle) / spread) / spread
    return _Going(share, points, widths * (steps @ going.weights))


def _next(going: _Going, share: float, drift: float) -> tuple[_Array, float]:
    """Return mean and standard deviation of Z at the next look, for each Z at this one."""
    kept = going.share / share
    return going.points * sqrt(kept) + drift * (share - going.share) / sqrt(share), sqrt(1 - kept)


def _density(z: _Array) -> _Array:
    density: _Array = np.exp(-z * z / 2) / sqrt(2 * pi)
    return density
