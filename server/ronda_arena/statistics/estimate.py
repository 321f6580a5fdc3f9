"""A number that is never told without how sure it is, and of how much it was made."""

from __future__ import annotations

from typing import Final, NamedTuple

DIGITS: Final = 6
"""Kept in JSON: sums in another order may differ in what comes after."""


class Estimate(NamedTuple):
    """A value with its 95 % interval; None where there is not enough to say."""

    value: float | None
    low: float | None
    high: float | None
    blocks: int
    """How many blocks it is made of."""

    @property
    def known(self) -> bool:
        """Say whether it has an interval, without which it is not told."""
        return self.value is not None and self.low is not None and self.high is not None

    def to_json(self) -> dict[str, object]:
        """Return it as JSON data: null where there is not enough to say."""
        return {
            "value": _rounded(self.value if self.known else None),
            "low": _rounded(self.low),
            "high": _rounded(self.high),
            "blocks": self.blocks,
        }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, DIGITS) + 0.0  # and no -0.0
