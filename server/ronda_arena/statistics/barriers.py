"""A Brownian motion between two barriers: by when it has hit which, and where it is if neither.

It begins at 0, has variance 1 a unit of time and a drift. Both laws are sums over the images of
the start in the two barriers (D. Siegmund, Sequential Analysis, 1985, chapter 3; W. Feller, An
Introduction to Probability Theory II, chapter X). Far images count for nothing, so a few are
enough; they are summed as logarithms, because what is large and what is small come in products.
"""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

_Array = NDArray[np.float64]

_REACH: Final = 9.0
"""Standard deviations beyond which an image counts for nothing."""


class Barriers(NamedTuple):
    """Where a path ends: at the lower below 0, or the upper above it."""

    lower: float
    upper: float

    @property
    def turned(self) -> Barriers:
        """The same as seen upside down."""
        return Barriers(-self.upper, -self.lower)

    @property
    def width(self) -> float:
        """How far they are apart."""
        return self.upper - self.lower


def hit_upper(barriers: Barriers, drift: float, time: float) -> float:
    """Return how likely it is that the upper barrier is hit by then, and before the lower."""
    if time <= 0:
        return 0.0
    turns = 2 * barriers.width * _images(barriers, time)
    way = np.abs(barriers.upper + turns)
    first = log_ndtr((drift * time - way) / sqrt(time))
    second = 2 * drift * way + log_ndtr((-drift * time - way) / sqrt(time))
    worth = drift * (barriers.upper - way) + np.logaddexp(first, second)
    return _within(float(np.sum(np.sign(barriers.upper + turns) * np.exp(worth))))


def hit_lower(barriers: Barriers, drift: float, time: float) -> float:
    """Return how likely it is that the lower barrier is hit by then, and before the upper."""
    return hit_upper(barriers.turned, -drift, time)


def between(barriers: Barriers, drift: float, time: float, above: float) -> float:
    """Return how likely it is that by then none is hit and the path is above a place."""
    above = max(above, barriers.lower)
    if above >= barriers.upper:
        return 0.0
    turns = 2 * barriers.width * _images(barriers, time)
    straight = _mass(turns, drift, time, above, barriers.upper)
    mirrored = _mass(2 * barriers.upper + turns, drift, time, above, barriers.upper)
    return _within(float(np.sum(straight) - np.sum(mirrored)))


def _images(barriers: Barriers, time: float) -> _Array:
    most = int(_REACH * sqrt(time) / (2 * barriers.width)) + 2
    return np.arange(-most, most + 1, dtype=np.float64)


def _mass(start: _Array, drift: float, time: float, low: float, high: float) -> _Array:
    """Return what a path from `start` counts for that ends between two places."""
    one = (low - start - drift * time) / sqrt(time)
    other = (high - start - drift * time) / sqrt(time)
    swapped = one > 0  # where both are far up, the same from below is more exact
    less = log_ndtr(np.where(swapped, -other, one))
    more = log_ndtr(np.where(swapped, -one, other))
    found: _Array = np.exp(drift * start + more) * -np.expm1(less - more)
    return found


def _within(chance: float) -> float:
    return min(1.0, max(0.0, chance))
