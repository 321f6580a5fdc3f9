"""Mean and variance of numbers that are taken one at a time and not kept."""

from __future__ import annotations

from math import sqrt


class Moments:
    """How many numbers there were, their mean, and how far it may be off.

    Source: B. P. Welford, "Note on a method for calculating corrected sums of squares and
    products", Technometrics 4 (1962).
    """

    __slots__ = ("_squares", "count", "mean")

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0

    def add(self, number: float) -> None:
        """Count one number."""
        self.count += 1
        off = number - self.mean
        self.mean += off / self.count
        self._squares += off * (number - self.mean)

    def error(self) -> float | None:
        """Return the standard error of the mean; None with fewer than two numbers."""
        if self.count < 2:
            return None
        return sqrt(self._squares / (self.count - 1) / self.count)
