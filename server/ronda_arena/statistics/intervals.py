"""How sure a result is: 95 % intervals for shares and for means, from the standard library.

The normal quantile comes from `statistics.NormalDist`; Student's t has none there, so it is found
from the closed form of its distribution for whole degrees of freedom. `ronda match` is short, and
importing scipy would take longer than many a match.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import cos, pi, sin, sqrt, tan
from statistics import NormalDist
from typing import Final, NamedTuple

CONFIDENCE: Final = 0.95

_NORMAL: Final = NormalDist()


class Interval(NamedTuple):
    """Where the true value lies, with the usual confidence."""

    low: float
    high: float


def wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the score interval of a share; None without trials.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927). Unlike the textbook interval it is never empty and never leaves 0 to 1.
    """
    if not trials:
        return None
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    # At the ends the formula gives 0 and 1 but for rounding.
    low = (centre - spread) / scale if successes else 0.0
    high = (centre + spread) / scale if successes < trials else 1.0
    return Interval(low, high)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of independent values, and how far off it may be."""

    count: int
    value: float | None
    """None without values."""
    half_width: float | None
    """Of the interval around it; None with fewer than two values."""

    def __str__(self) -> str:
        if self.value is None:
            return "too few"
        if self.half_width is None:
            return f"{self.value:+.2f} (too few)"
        return f"{self.value:+.2f} ± {self.half_width:.2f}"

    @property
    def interval(self) -> Interval | None:
        """Where the true mean lies; None with fewer than two values."""
        if self.value is None or self.half_width is None:
            return None
        return Interval(self.value - self.half_width, self.value + self.half_width)

    def to_json(self) -> dict[str, object]:
        """Return it as JSON data: low and high are null where they are not known."""
        interval = self.interval
        return {
            "count": self.count,
            "value": None if self.value is None else round(self.value, 6),
            "low": None if interval is None else round(interval.low, 6),
            "high": None if interval is None else round(interval.high, 6),
        }


class Tally:
    """Whole numbers, summed exactly and not kept: their order never shows in the mean."""

    __slots__ = ("_count", "_scale", "_squares", "_total")

    def __init__(self, scale: int = 1) -> None:
        self._count = self._total = self._squares = 0
        self._scale = scale
        """What every number is a multiple of: 2 where halves are counted."""

    def add(self, value: int) -> None:
        """Count one value."""
        self._count += 1
        self._total += value
        self._squares += value * value

    def mean(self, confidence: float = CONFIDENCE) -> Mean:
        """Return the mean with its t interval.

        Source: Student, "The probable error of a mean", Biometrika 6 (1908).
        """
        n = self._count
        if not n:
            return Mean(0, None, None)
        value = self._total / (n * self._scale)
        if n == 1:
            return Mean(1, value, None)
        variance = (n * self._squares - self._total**2) / (n * (n - 1) * self._scale**2)
        return Mean(n, value, student(n - 1, confidence) * sqrt(variance / n))


@lru_cache(maxsize=1024)
def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return t such that Student's t with whole `freedom` lies within ±t at `confidence`."""
    if freedom > 100:
        return _student_of_many(freedom, _NORMAL.inv_cdf((1 + confidence) / 2))
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return tan((low + high) / 2) * sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """Return P(|T| < tan(angle) sqrt(freedom)).

    Source: M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    square = cos(angle) ** 2
    odd = freedom % 2
    term = cos(angle) if odd else 1.0
    total = 0.0
    for at in range(odd + 1, freedom, 2):
        total += term
        term *= square * at / (at + 1)
    if odd:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total


def _student_of_many(freedom: int, z: float) -> float:
    """Return Student's quantile from the normal one, exact to 1e-9 past 100 degrees of freedom.

    Source: Abramowitz and Stegun, 26.7.5.
    """
    n = freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
