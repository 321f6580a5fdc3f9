"""How good a bot is: OpenSkill's Plackett-Luce over the placings of whole blocks.

A block is one update, whatever its number of games: they share their deals. The model is that of
Weng and Lin (2011), from the package openskill, but for the step in the variance: by its default
intervals shrink too slowly, and with the whole of it they hold less often than they say.
`docs/ladder.md` says how often these do, as measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from openskill.models import PlackettLuce

PRIOR_MEAN: Final = 25.0
PRIOR_SIGMA: Final = 25.0 / 3
BETA: Final = 25.0 / 6
"""How much a block depends on luck."""
PINNED_SIGMA: Final = 0.5
"""Of anchors, for ever."""
NEW_VERSION: Final = 4.0
"""The doubt that a new version adds to that of the one before."""
A_DAY_AWAY: Final = 0.5
"""The doubt that a day of absence adds: the others may have changed. The mean does not move."""
_DRIFT: Final = 0.02
"""The doubt that every block adds, so that a rating never stands still for good."""
NORMAL_95: Final = 1.959963984540054
_DAY: Final = 86_400


class Rating(NamedTuple):
    """What is thought of a bot's strength."""

    mean: float
    sigma: float

    @property
    def conservative(self) -> float:
        """Return what it is worth almost surely."""
        return self.mean - 3 * self.sigma


PRIOR: Final = Rating(PRIOR_MEAN, PRIOR_SIGMA)


def _step(*_about: Any) -> float:
    """Return the part of the step in the variance that is taken, found by simulation."""
    return 0.7


_MODEL: Final = PlackettLuce(mu=PRIOR_MEAN, sigma=PRIOR_SIGMA, beta=BETA, gamma=_step, tau=_DRIFT)


def rate(
    before: Sequence[Rating], places: Sequence[int], pinned: Sequence[bool]
) -> tuple[Rating, ...]:
    """Return the ratings after a block; who is `pinned` keeps its own.

    `places` count from 0; equal ones are a draw.
    """
    teams = [[_MODEL.create_rating([one.mean, one.sigma])] for one in before]
    after = _MODEL.rate(teams, ranks=[float(place) for place in places])
    return tuple(
        one if stays else Rating(found.mu, found.sigma)
        for one, (found,), stays in zip(before, after, pinned, strict=True)
    )


def new_version(before: Rating) -> Rating:
    """Return where a bot starts whose older version has been rated."""
    return Rating(before.mean, _doubted(before.sigma, NEW_VERSION))


def away(before: Rating, seconds: int) -> Rating:
    """Return what is thought of a bot after so long an absence."""
    return Rating(before.mean, _doubted(before.sigma, A_DAY_AWAY * math.sqrt(seconds / _DAY)))


def chance(table: Sequence[Rating], first: int, second: int) -> float:
    """Return how likely one of a table is placed before another, as the model sees it."""
    scale = math.sqrt(sum(BETA**2 + one.sigma**2 for one in table))
    return 1 / (1 + math.exp((table[second].mean - table[first].mean) / scale))


def _doubted(sigma: float, more: float) -> float:
    return min(PRIOR_SIGMA, math.hypot(sigma, more)) if sigma < PRIOR_SIGMA else sigma
