"""Strength in points: a linear model of the margins of games, by least squares.

What a side makes above the mean of its table is its skill and the worth of its place, each above
the mean of the table. A difference of two skills is the points by which one beats the other.

The prior is a Gaussian around zero, ten standard deviations of a game wide: it moves nothing that
was played twice, and says how little is known of entrants that no chain of games connects.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import Final, NamedTuple

import numpy as np

from ronda_arena.statistics.clustered import Fit, inverse, quantile
from ronda_arena.statistics.design import Design
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Floats, Kinds, Moments

PRIOR_WIDTH: Final = 10.0
"""Of the prior, in standard deviations of a game."""

ROUNDING: Final = 1 / 12
"""The variance of what is cut off where points are whole: equal margins are not sure margins."""

FEWEST_FOR_LUCK: Final = 20
"""Clusters, less one for each kind, from which on it is measured how much luck counts."""


class Control(NamedTuple):
    """What is taken off the margins for each point that the reference makes on the same deals."""

    points: float
    """0: nothing, because nothing was measured, or it cancels within every block."""
    clusters: float
    """What it was measured on: clusters, less one for each kind."""


NOTHING: Final = Control(0.0, 0.0)
"""Margins as they were."""


def fit(design: Design, kinds: Kinds, taken: Control) -> Fit:
    """Return the least squares fit of the margins, with luck taken off."""
    count, margins = design.count, sharpened(kinds, taken)
    least = (count - 1) / count  # of what an entrant is ahead of the others: of the whole table
    sums = (margins.sums * least) @ design.spread
    products = design.spread.T @ (margins.products * least**2) @ design.spread
    centre = np.broadcast_to(np.eye(count) - 1 / count, (len(design.index), count, count))
    information = design.information([centre] * count)
    precision = PRIOR_WIDTH**-2
    clusters = design.clusters[:, None, None]
    bread = inverse(design.gather_square(clusters * information) + precision * np.eye(design.size))
    values = bread @ design.gather(sums)
    expected = np.einsum("kij,kj->ki", information, values[design.index])
    scatter = residual_scatter(sums, products, expected, design.clusters)
    if taken.points:
        scatter *= taken.clusters / (taken.clusters - 1)
    return Fit(
        values,
        bread,
        design.index,
        information,
        scatter,
        design.clusters,
        np.full(design.size, precision * _variance(kinds)),
        least=ROUNDING * kinds.point**2,
    )


def control(kinds: Kinds) -> Control:
    """Return how much of the reference's margin the bots' margins follow, block by block.

    Nothing where it does not show, by two standard errors. Where every rotation plays the same
    hands it cancels, and there is nothing to take off.
    """
    several = kinds.clusters > 1
    freedom = float(np.sum(kinds.clusters[several] - 1))
    luck = float(_within(kinds, kinds.luck.sums, kinds.luck.sums, kinds.luck.products).sum())
    both = float(_within(kinds, kinds.margins.sums, kinds.luck.sums, kinds.both).sum())
    own = _within(kinds, kinds.margins.sums, kinds.margins.sums, kinds.margins.products).sum()
    if freedom < FEWEST_FOR_LUCK or both**2 * freedom <= 4 * luck * float(own):
        return Control(0.0, freedom)
    return Control(both / luck, freedom)


def sharpened(kinds: Kinds, taken: Control) -> Moments:
    """Return the margins with luck taken off."""
    off = taken.points
    if not off:
        return kinds.margins
    return Moments(
        kinds.margins.sums - off * kinds.luck.sums,
        kinds.margins.products
        - off * (kinds.both + kinds.both.swapaxes(1, 2))
        + off**2 * kinds.luck.products,
    )


def residual_scatter(sums: Floats, products: Floats, expected: Floats, clusters: Floats) -> Floats:
    """Return the sum over clusters of the outer products of what was not expected of each."""
    cross = sums[:, :, None] * expected[:, None, :]
    square = expected[:, :, None] * expected[:, None, :]
    return products - cross - cross.swapaxes(1, 2) + clusters[:, None, None] * square


class Luck(NamedTuple):
    """Variances of one game's margin, in squared points."""

    plain: float
    rotated: float
    controlled: float | None
    freedom: float
    """Degrees of freedom of `rotated`."""
    games: float
    """Of a cluster."""

    def left(self, blocks: int) -> tuple[Estimate, Estimate]:
        """Return the share of `plain` that rotation leaves, and what control leaves with it.

        The intervals are those of ratios of variances on a logarithmic scale, for margins that are
        about normal: rotation compares what is between blocks with what is within, control takes
        off a squared correlation (R. A. Fisher, Metron 1, 1921).
        """
        if not self.plain or not self.rotated:
            return (Estimate(None, None, None, blocks),) * 2
        share, games = self.rotated / self.plain, self.games
        off = 0.0
        if games > 1:
            off = 2 / self.freedom * (1 + 1 / (games - 1)) * (1 - share / games) ** 2
        rotated = _ratio(share, off, blocks)
        if not self.controlled:
            return rotated, Estimate(None, None, None, blocks)
        followed = max(0.0, 1 - self.controlled / self.rotated)
        off += 4 * followed / self.freedom
        return rotated, _ratio(self.controlled / self.plain, off, blocks)


def _ratio(value: float, variance: float, blocks: int) -> Estimate:
    """Return a ratio with its interval, from the variance of its logarithm."""
    factor = exp(float(quantile(np.array(np.inf))) * sqrt(variance))
    return Estimate(value, value / factor, value * factor, blocks)


def luck(kinds: Kinds, taken: Control, *, measured: bool) -> Luck | None:
    """Return what rotation and control leave of the variance of a game's margin.

    Strength is set aside: variances are within the clusters of one kind. None where no kind has
    two clusters.
    """
    several = kinds.clusters > 1
    freedom = float(np.sum(kinds.clusters[several] - 1))
    if not freedom:
        return None
    count, clusters, size = kinds.places.shape[1], kinds.clusters, kinds.games
    own = _within(kinds, kinds.margins.sums, kinds.margins.sums, kinds.margins.products)
    off = sharpened(kinds, taken)
    less = _within(kinds, off.sums, off.sums, off.products)
    mean = np.einsum("ki,ki->k", *[kinds.margins.sums[:, :count]] * 2)
    around = kinds.squares - mean / (clusters * size)  # of single games around their kind's mean
    rotated = float(np.sum(own / size)) / (freedom * count)
    games = float(np.sum((clusters * size)[several]))
    shared = rotated * count * float(np.sum(several))
    plain = (float(np.sum(around[several])) + shared) / (games * count)
    lost = freedom / (freedom - 1) if taken.points else 1.0
    controlled = float(np.sum(less / size)) / (freedom * count) * lost
    return Luck(
        plain,
        rotated,
        controlled if measured else None,
        freedom * (count - 1),
        games / float(np.sum(clusters[several])),
    )


def _within(kinds: Kinds, left: Floats, right: Floats, products: Floats) -> Floats:
    """Return by kind the sum of products of entrants' entries around the kind's mean."""
    count = kinds.places.shape[1]
    means = np.einsum("ki,ki->k", left[:, :count], right[:, :count]) / kinds.clusters
    total = np.einsum("kii->k", products[:, :count, :count]) - means
    return np.where(kinds.clusters > 1, total, 0.0)


def _variance(kinds: Kinds) -> float:
    """Return the mean square of a game's points, as far as the prior needs to know."""
    count = kinds.places.shape[1]
    games = float(kinds.clusters @ kinds.games)
    return float(kinds.squares.sum()) * (count - 1) / count**2 / games if games else 0.0
