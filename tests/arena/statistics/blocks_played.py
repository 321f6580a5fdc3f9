"""What blocks of real bots came to, to simulate tests on: a margin, and how often it was seen.

From `benchmarks.strength`, one hand a match on duplicate deals, seed 7.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

COUNTER_CAREFUL: Final = (
    "-9.5:1 -8.5:1 -5:1 -4.5:3 -4:3 -3.5:6 -3:3 -2.5:8 -2:28 -1.5:11 -1:20 -0.5:22 0:236 0.5:39 "
    "1:26 1.5:12 2:30 2.5:18 3:11 3.5:3 4:2 4.5:7 5.5:4 6.5:1 7:3 7.5:1"
)
"""Two bots that mostly play alike, `cafe` at two: half of all blocks are 0, kurtosis 7."""

CAREFUL_GREEDY: Final = (
    "-8:1 -7.5:1 -6:2 -5:3 -4.5:8 -4:7 -3.5:11 -3:14 -2.5:19 -2:39 -1.5:38 -1:52 -0.5:74 0:147 "
    "0.5:100 1:107 1.5:109 2:114 2.5:105 3:99 3.5:88 4:77 4.5:66 5:50 5.5:30 6:32 6.5:31 7:22 "
    "7.5:9 8:16 8.5:8 9:10 9.5:2 10:3 10.5:3 11:1 11.5:1 12.5:1"
)
"""`playtash` at two: skewness 0.3, kurtosis 3.5."""

GAMBLER: Final = "-6:1 1:6"
"""Made up: who wins a little six times of seven and then loses it all. Skewness -2."""


class Margins:
    """Margins of blocks as they were seen, moved so that their mean is `mean` deviations."""

    def __init__(self, seen: str | None, mean: float) -> None:
        pairs = [pair.split(":") for pair in seen.split()] if seen else []
        self._values = np.array([float(value) for value, _ in pairs])
        self._shares = np.array([float(times) for _, times in pairs])
        if seen is None:
            self.mean = mean
            return
        self._shares /= self._shares.sum()
        centre = float(self._values @ self._shares)
        spread = float(np.sqrt((self._values - centre) ** 2 @ self._shares))
        self._values = (self._values - centre) / spread + mean
        self.mean = mean

    def draw(self, rng: np.random.Generator, blocks: int) -> Numbers:
        """Return the margins of so many blocks; normal ones if none were given."""
        if not len(self._values):
            return rng.normal(self.mean, 1.0, blocks)
        return rng.choice(self._values, blocks, p=self._shares)


KINDS: Final = {
    "normal": None,
    "counter-careful": COUNTER_CAREFUL,
    "careful-greedy": CAREFUL_GREEDY,
    "gambler": GAMBLER,
}
