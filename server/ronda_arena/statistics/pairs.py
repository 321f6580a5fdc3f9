"""How two entrants fared against each other, from the games that both played and no others."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from ronda_arena.statistics.clustered import estimate, quantile, ratio
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Evidence, Kinds, added
from ronda_arena.statistics.margins import ROUNDING, Control, sharpened


class Meeting(NamedTuple):
    """How the first of two entrants fared against the second."""

    margin: Estimate
    """Points that the first is ahead."""
    los: float | None
    """Likelihood of superiority: how likely it is that the first is ahead in the long run, if
    before the games nothing was known of either. None where the margin has no interval."""


def margins(
    evidence: Evidence, kinds: Kinds, taken: Control, among: int = 1
) -> dict[tuple[int, int], Estimate]:
    """Return by how many points the first of two is ahead of the second, for all that met.

    The intervals of so many pairs as `among` hold all together as often as one alone does.
    """
    return {pair: met.margin for pair, met in meetings(evidence, kinds, taken, among).items()}


def meetings(
    evidence: Evidence, kinds: Kinds, taken: Control, among: int = 1
) -> dict[tuple[int, int], Meeting]:
    """Return how the first of two fared against the second, for all that met."""
    count = evidence.sides
    least = (count - 1) / count  # of what an entrant is ahead of the others: of the whole table
    moments = sharpened(kinds, taken)
    size = len(evidence.entrants)
    found = np.zeros((6, size * size))
    for i, j in combinations(range(count), 2):
        one, other = kinds.entrants[:, i], kinds.entrants[:, j]
        sign = np.where(one < other, 1.0, -1.0)
        at = np.minimum(one, other) * size + np.maximum(one, other)
        lead = sign * least * (moments.sums[:, i] - moments.sums[:, j])
        product = moments.products
        spread = least**2 * (product[:, i, i] - 2 * product[:, i, j] + product[:, j, j])
        found += [
            added(at, what, size * size)
            for what in (
                lead,
                spread,
                kinds.clusters * kinds.games,
                kinds.clusters * kinds.games**2,
                lead * kinds.games,
                kinds.clusters,
            )
        ]
    total, square, games, sizes, mixed, clusters = found
    told = {}
    for (first, second), score in sorted(evidence.pairs.items()):
        at_pair = first * size + second
        mean = total[at_pair] / games[at_pair]
        around = square[at_pair] - 2 * mean * mixed[at_pair] + mean**2 * sizes[at_pair]
        value, variance = ratio(total[at_pair], games[at_pair], around, clusters[at_pair])
        rounding = 2 * ROUNDING * kinds.point**2 / games[at_pair]
        variance = max(variance, rounding)
        freedom = np.array(max(1.0, clusters[at_pair] - 1))
        error = float(np.sqrt(variance))
        margin = estimate(float(value), float(quantile(freedom, among)) * error, score.blocks)
        # The same t as of the interval: its end at zero is a LOS of 97.5 %.
        los = float(stdtr(freedom, value / error)) if margin.known else None
        told[first, second] = Meeting(margin, los)
    return told
