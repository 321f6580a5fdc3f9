"""Ronda and tringa: the sets in three cards dealt, how they compare and what they pay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from ronda_core.cards import STEP
from ronda_core.rules import RONDA, TRINGA

# A set's strength, for comparing: rondas 1 to 10 by rank, then tringas 11 to 20. 0 is no set.
KINDS: Final = ("", *["ronda"] * 10, *["tringa"] * 10)
"""Kind by strength."""
POINTS: Final = (0, *[RONDA] * 10, *[TRINGA] * 10)
"""Points by strength."""

_T = TypeVar("_T")


def _strength(a: int, b: int, c: int) -> int:
    """Return the strength of the set in three ranks, as steps."""
    if a == b == c:
        return 11 + a
    if a in (b, c):
        return 1 + a
    return 1 + b if b == c else 0


def _by_card(by_step: Sequence[_T]) -> tuple[_T, ...]:
    """Return by card what is told by the step of its rank."""
    return tuple(by_step[step % 10] for step in STEP)


STRENGTH: Final = _by_card(
    [
        _by_card([_by_card([_strength(a, b, c) for c in range(10)]) for b in range(10)])
        for a in range(10)
    ]
)
"""Strength by three cards: `STRENGTH[a][b][c]`."""
