"""Of how many games a place at the table wins its part."""

from __future__ import annotations

import numpy as np

from ronda_arena.statistics.clustered import quantile, ratio
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Kinds


def shares(kinds: Kinds, blocks: int) -> list[Estimate]:
    """Return the share of the wins of each place.

    The interval is Wilson's, for as many games as would be worth the blocks if all were
    independent (E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small
    expected number of positive counts", Survey Methodology 24, 1998), so that it stays between
    0 and 1 and a place that never won is not sure to lose.
    """
    count = kinds.places.shape[1]
    clusters, size = float(kinds.clusters.sum()), kinds.games
    games = float(kinds.clusters @ size)
    if blocks < 2 or clusters < 2:
        return [Estimate(None, None, None, blocks)] * count
    bound = float(quantile(np.array(clusters - 1)))
    told = []
    for place in range(count):
        sums = kinds.shares.sums[:, count + place]
        squares = kinds.shares.products[:, count + place, count + place]
        over = float(sums.sum()) / games  # above an equal part
        around = squares - 2 * over * sums * size + kinds.clusters * (over * size) ** 2
        _, variance = ratio(0.0, games, float(around.sum()), clusters)
        share = min(1.0, max(0.0, 1 / count + over))
        told.append(_wilson(share, variance, clusters, bound, blocks))
    return told


def _wilson(share: float, variance: float, clusters: float, t: float, blocks: int) -> Estimate:
    """Return the interval of a share that has this variance."""
    alone = share * (1 - share)
    worth = alone / variance if variance > 1e-12 and alone > 0 else clusters
    centre = (share + t * t / (2 * worth)) / (1 + t * t / worth)
    half = t / (1 + t * t / worth) * (alone / worth + t * t / (4 * worth * worth)) ** 0.5
    low, high = max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))
    return Estimate(share, low, high, blocks)
