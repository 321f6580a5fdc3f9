"""How sure a fit is when the games of a block are not independent.

The covariance is a sandwich of block by block residuals (K.-Y. Liang and S. L. Zeger,
"Longitudinal data analysis using generalized linear models", Biometrika 73, 1986), with the
correction that makes it unbiased where the model's own covariance holds, and with the degrees of
freedom that follow from it (R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for
linear regression with multi-stage samples", Survey Methodology 28, 2002; J. E. Pustejovsky and
E. Tipton, JBES 36, 2018). Both need only sums over blocks of one kind: where X is the design of a
block, M the bread and A = X'X, X'(I - XMX')^(-1/2) is (I - AM)^(-1/2) X'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Floats, Whole, added
from ronda_arena.statistics.intervals import CONFIDENCE

_FULL = 1 - 1e-9
"""A cluster with more leverage than this would decide a parameter alone."""

_MANY = 300
"""Kinds of clusters, as of 25 entrants who all meet."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Parameters of a model, and what is needed to say how sure any sum of them is."""

    values: Floats
    bread: Floats
    """The inverse of the information, the prior's included."""
    index: Whole
    """By kind of cluster: the parameters that its clusters know of."""
    information: Floats
    """By kind: that of one cluster, in these parameters."""
    scatter: Floats
    """By kind: the sum over its clusters of the outer products of residual scores."""
    clusters: Floats
    prior: Floats
    """What the prior adds to the scores' variance, by parameter."""
    least: float = 0.0
    """Variance that an observation has at the least: what rounding alone leaves in doubt."""
    weak: float = 0.0
    """Information, for each squared unit of a sum of parameters, below which the model's own
    variance counts as well: with few surprises their spread says nothing. 0: never."""
    games: Floats | None = None
    """By kind: how many games a cluster has, where the model says how much a game may vary. Then
    no interval is wider than if all games of a cluster went the same way; None: nobody knows."""

    def spread(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the variance of each sum of parameters, a row each, and its degrees of freedom."""
        local = self.bread[self.index[:, :, None], self.index[:, None, :]]
        adjust = _adjustment(self.information, local)
        turned = self.information @ adjust.swapaxes(1, 2)
        own, lever = adjust @ turned, turned.swapaxes(1, 2) @ local @ turned
        size = len(self.values)
        where = self.index[:, :, None] * size + self.index[:, None, :]
        meat = added(where, adjust @ self.scatter @ adjust.swapaxes(1, 2), size * size)
        weights = sums @ self.bread
        data = np.maximum(_square(weights, meat.reshape(size, size)), 0)
        if self.least:
            known = added(where, self.clusters[:, None, None] * self.information, size * size)
            rounding = self.least * _square(weights, known.reshape(size, size))
            data = np.maximum(data, rounding)
        total = data + weights**2 @ self.prior
        if self.weak:
            alone = np.sum(sums * weights, axis=1)
            known = np.sum(sums**2, axis=1) / alone
            total += self.weak / (known + self.weak) * np.maximum(alone - total, 0)
        freedom = [self._freedom(weight[self.index], own, lever, turned) for weight in weights]
        certain = data <= 1e-9 * total  # by the prior or the model, which estimate nothing
        share = np.where(certain, 1, data) / np.where(certain, 1, total)
        return total, np.where(certain, np.inf, np.array(freedom) / share**2)

    def _most(self, sums: Floats, games: Floats) -> Floats:
        """Return the variance of each sum of parameters if the games of a cluster were all one.

        The variance of a sum of games is at most their number times the sum of their variances.
        """
        size = len(self.values)
        where = self.index[:, :, None] * size + self.index[:, None, :]
        times = (self.clusters * games)[:, None, None]
        meat = added(where, times * self.information, size * size).reshape(size, size)
        weights = sums @ self.bread
        return _square(weights, meat) + weights**2 @ self.prior

    def _freedom(self, weight: Floats, own: Floats, lever: Floats, turned: Floats) -> float:
        """Return Satterthwaite's degrees of freedom, were the model's own covariance true.

        What different kinds have in common, less than one degree of freedom, is left out where
        there are very many.
        """
        alone, shared = _square(weight, own), _square(weight, lever)
        first = float(self.clusters @ (alone - shared))
        second = float(self.clusters @ (alone**2 - 2 * alone * shared))
        if len(weight) > _MANY:
            second += float(np.sum((self.clusters * shared) ** 2))
        else:
            told = (turned @ weight[:, :, None])[:, :, 0] * np.sqrt(self.clusters)[:, None]
            rows, size = len(weight), len(self.values)
            where = np.arange(rows)[:, None] * size + self.index
            known = added(where, told, rows * size).reshape(rows, size)
            second += float(np.sum((known @ self.bread @ known.T) ** 2))
        return max(1.0, first * first / second) if second > 0 else 1.0

    def estimates(
        self,
        sums: Floats,
        blocks: list[int],
        *,
        scale: float = 1.0,
        freedom: float = np.inf,
        among: int = 1,
    ) -> list[Estimate]:
        """Return each sum of parameters with its interval.

        `freedom` is what there is at most; below one nothing is told, nor of fewer than two blocks.
        The intervals of so many as `among` hold all together as often as one alone does.
        """
        if freedom < 1:
            return [Estimate(None, None, None, count) for count in blocks]
        variances, freedoms = self.spread(sums)
        halves = quantile(np.minimum(freedoms, freedom), among) * np.sqrt(variances)
        if self.games is not None:
            most = quantile(np.array(np.inf), among) * np.sqrt(self._most(sums, self.games))
            halves = np.minimum(halves, most)
        return [
            estimate(float(value) * scale, float(half) * scale, count)
            for value, half, count in zip(sums @ self.values, halves, blocks, strict=True)
        ]


def _square(vectors: Floats, matrices: Floats) -> Floats:
    """Return v'Mv for each vector: of one matrix for all, or each of its own."""
    if matrices.ndim == 2:
        squares: Floats = np.einsum("ki,ki->k", vectors @ matrices, vectors)
    else:
        outer = vectors[:, :, None] * vectors[:, None, :]
        squares = np.einsum("kij,kij->k", outer, matrices)
    return squares


def estimate(value: float, half: float, blocks: int) -> Estimate:
    """Return a value with its interval, or that there are too few blocks for one."""
    if blocks < 2 or not np.isfinite(half):
        return Estimate(None, None, None, blocks)
    return Estimate(value, value - half, value + half, blocks)


def quantile(freedom: Floats, among: int = 1) -> Floats:
    """Return Student's t at each of these degrees of freedom, whole or not.

    `among` is of how many intervals all are to hold (C. E. Bonferroni, 1936).
    """
    level = 1 - (1 - CONFIDENCE) / 2 / among
    many = ~(freedom < 1e9)
    return np.where(many, ndtri(level), stdtrit(np.where(many, 1.0, freedom), level))


def ratio(total: float, size: float, squares: float, clusters: float) -> tuple[float, float]:
    """Return a mean over games and its variance: cluster sums over cluster sizes.

    `squares` is the sum over clusters of (cluster sum - mean x cluster size) squared.
    """
    if clusters < 2:
        return total / size, np.inf
    return total / size, clusters / (clusters - 1) * max(0.0, squares) / size**2


def inverse(information: Floats) -> Floats:
    """Return the bread: the covariance, were all games independent."""
    return np.linalg.inv(information).astype(np.float64)


def _adjustment(information: Floats, bread: Floats) -> Floats:
    """Return (I - AM)^(-1/2) for each kind."""
    values, vectors = np.linalg.eigh(information)
    root = (vectors * np.sqrt(np.clip(values, 0, None))[:, None, :]) @ vectors.swapaxes(1, 2)
    lever, turn = np.linalg.eigh(root @ bread @ root)
    lever = np.clip(lever, 0, _FULL)
    grown: Floats = np.where(
        lever > 1e-12, (1 / np.sqrt(1 - lever) - 1) / np.maximum(lever, 1e-12), 0.5
    )
    middle = (turn * grown[:, None, :]) @ turn.swapaxes(1, 2)
    adjusted: Floats = np.eye(information.shape[1]) + root @ middle @ root @ bread
    return adjusted
