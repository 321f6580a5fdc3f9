"""Strength in wins: the model of Bradley and Terry, for two sides or three, on the scale of Elo.

A side wins with odds that are the exponential of its skill and the worth of its place (R. A.
Bradley and M. E. Terry, Biometrika 39, 1952; of three sides it is the first choice of R. L.
Plackett and R. D. Luce). A draw counts as equal parts of a win. 400 points of Elo are odds of ten.

The prior is a Gaussian around zero, 800 points wide: who wins every game is very strong, and not
infinitely so.
"""

from __future__ import annotations

from math import log
from typing import Final, NamedTuple

import numpy as np

from ronda_arena.statistics.clustered import Fit, inverse
from ronda_arena.statistics.design import Design, shift
from ronda_arena.statistics.evidence import Floats, Moments
from ronda_arena.statistics.margins import residual_scatter

ELO: Final = 400 / log(10)
"""Points for a unit of the logarithm of odds."""

PRIOR_WIDTH: Final = 800.0
"""Of the prior, in points."""

WEAK: Final = 1.0
"""Information of two even games: as much says nothing of how much blocks differ."""

_ROUNDS: Final = 200
_CLOSE: Final = 1e-12
"""Of the logarithm of the likelihood: less is not told apart."""


class _Expected(NamedTuple):
    wins: Floats
    """By kind: of one cluster, less an equal part of each game."""
    information: Floats
    worth: float
    """The logarithm of the likelihood and the prior."""


def fit(design: Design, shares: Moments) -> Fit:
    """Return the most likely skills and places, by Newton's method."""
    sums = shares.sums @ design.spread
    precision = (PRIOR_WIDTH / ELO) ** -2
    values = np.zeros(design.size)
    total = design.gather(sums)
    now = _expect(design, total, values, precision)
    for _ in range(_ROUNDS):
        gain = total - design.gather(design.clusters[:, None] * now.wins) - precision * values
        step = _bread(design, now.information, precision) @ gain
        told_apart = _CLOSE * max(1.0, abs(now.worth))
        last = float(gain @ step) <= told_apart  # what is left to gain drowns in rounding
        length = 1.0
        while True:
            then = _expect(design, total, values + length * step, precision)
            if last or then.worth >= now.worth - told_apart:
                break
            length /= 2
        values, now = values + length * step, then
        if last:
            break
    return Fit(
        values,
        _bread(design, now.information, precision),
        design.index,
        now.information,
        residual_scatter(
            sums,
            design.spread.T @ shares.products @ design.spread,
            now.wins,
            design.clusters,
        ),
        design.clusters,
        np.full(design.size, precision),
        weak=WEAK,
        games=design.places.sum(axis=1),
    )


def _bread(design: Design, information: Floats, precision: float) -> Floats:
    whole = design.gather_square(design.clusters[:, None, None] * information)
    return inverse(whole + precision * np.eye(design.size))


def _expect(design: Design, total: Floats, values: Floats, precision: float) -> _Expected:
    count = design.count
    told = design.at(values)
    wins = np.zeros((len(told), 2 * count))
    weights = []
    worth = float(total @ values) - precision / 2 * float(values @ values)
    for place in range(count):
        turn = shift(count, place)
        odds = told[:, :count] + told[:, count:] @ turn.T
        most = odds.max(axis=1)
        parts = np.exp(odds - most[:, None])
        whole = parts.sum(axis=1)
        chance = parts / whole[:, None]
        games = design.places[:, place]
        worth += float((design.clusters * games) @ (odds.mean(axis=1) - most - np.log(whole)))
        wins[:, :count] += games[:, None] * (chance - 1 / count)
        wins[:, count:] += games[:, None] * (chance - 1 / count) @ turn
        weights.append(chance[:, :, None] * np.eye(count) - chance[:, :, None] * chance[:, None, :])
    return _Expected(wins @ design.spread, design.information(weights), worth)
