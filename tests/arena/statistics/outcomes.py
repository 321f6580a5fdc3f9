"""Parts of its games that one of two wins in a block, to simulate tests on without a game."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

OUTCOMES: Final = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

KINDS: Final = {
    "careful-greedy": (39, 18, 622, 74, 247),
    "counter-careful": (34, 24, 843, 41, 58),
    "even": (1, 2, 4, 2, 1),
}
"""How often each was seen: of real bots, one hand a match, seed 7; the last is made up."""


def chances(kind: str, won: float) -> NDArray[np.float64]:
    """Return how likely each outcome is, if it is as it was seen but for the mean."""
    seen = np.array(KINDS[kind], dtype=np.float64)

    def tilted(by: float) -> NDArray[np.float64]:
        weights = seen * np.exp(by * OUTCOMES)
        found: NDArray[np.float64] = weights / weights.sum()
        return found

    return tilted(brentq(lambda by: float(tilted(by) @ OUTCOMES) - won, -60, 60))


def drawn(
    kind: str, won: float, rng: np.random.Generator, runs: int, blocks: int
) -> NDArray[np.float64]:
    """Return the outcomes of so many tournaments of so many blocks."""
    return rng.choice(OUTCOMES, (runs, blocks), p=chances(kind, won))
