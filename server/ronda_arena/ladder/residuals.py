"""Who does better or worse against somebody than both ratings say: for review, never a verdict.

Two things are looked at in every block. Its margins, against a strength in points that is kept for
every bot beside its rating; and who came before whom, against the chance that the ratings gave.
What is left over, in units of its own spread, is summed for every ordered pair that met: how the
first fared where the second sat too. Among honest bots such a sum over the root of its count is
normal, so a great one is noticed without any model of how somebody would cheat.

Memory is a few numbers a pair, whatever the number of games.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ronda_arena.ladder.ratings import Rating, chance

_T = TypeVar("_T", np.int64, np.float64)

THRESHOLD: Final = 5.0
"""Standard errors, of both bots, from which on a pair is to be looked at."""
EFFECT: Final = 0.2
"""Standard deviations a meeting that it must be too: no two styles are quite additive, and after
enough blocks every trifle is far beyond chance."""
SUSPECT: Final = 3.5
"""Standard errors from which on a pair is given extra blocks, so that it is known sooner."""
LEAST: Final = 12
"""Meetings below which nothing is said."""
_RAREST: Final = 0.02
"""Chance below which none is believed: one upset would be as odd as a hundred blocks."""
_FIRST_DOUBT: Final = 4.0
"""Of a strength that nothing is known of, in variances of a block's margin."""
_SETTLED: Final = 0.25
"""Doubt of a block's expected margin below which its surprise is counted."""
_LEARNT: Final = 100
"""Margins after which their spread is known well enough to count in it."""


class Excess(NamedTuple):
    """What is left over where the first of two sat with the second."""

    meetings: int
    wins: float
    """Sum over blocks, in standard deviations of who comes before whom."""
    counted: int
    """Meetings of which the margin was expected well enough to count its surprise."""
    margin: float
    """Sum over these, in standard deviations of a block's margin."""

    def plus(self, other: Excess) -> Excess:
        """Return both together."""
        return Excess(
            self.meetings + other.meetings,
            self.wins + other.wins,
            self.counted + other.counted,
            self.margin + other.margin,
        )

    @property
    def scores(self) -> tuple[float, float]:
        """Return how many standard errors each sum is from nothing: margins, then wins."""
        return _score(self.margin, self.counted), _score(self.wins, self.meetings)

    @property
    def effects(self) -> tuple[float, float]:
        """Return each sum a meeting."""
        return self.margin / max(1, self.counted), self.wins / max(1, self.meetings)


def _score(total: float, count: int) -> float:
    return total / math.sqrt(count) if count >= LEAST else 0.0


class Review(NamedTuple):
    """Two that somebody should look at: bots, or owners with all their bots."""

    first: str
    second: str
    kind: str
    """`lifts`: the first does worse with the second, who does better, than their ratings say;
    `together`: both do better where both sit."""
    meetings: int
    first_score: float
    """Standard errors; below zero it loses more than expected."""
    second_score: float
    effect: float
    """Standard deviations a meeting, the smaller of both."""
    measured_by: str
    """`margin` or `wins`."""


def review(first: str, second: str, one: Excess, other: Excess) -> Review | None:
    """Return what there is to look at in how the first fared with the second, and the other way."""
    for kind, sign in (("lifts", -1), ("together", 1)):
        for at, what in enumerate(("margin", "wins")):
            a, b = one.scores[at], other.scores[at]
            effect = min(abs(one.effects[at]), abs(other.effects[at]))
            if sign * a >= THRESHOLD and b >= THRESHOLD and effect >= EFFECT:
                return Review(first, second, kind, one.meetings, a, b, effect, what)
    return None


def suspicious(one: Excess, other: Excess) -> bool:
    """Say whether extra blocks of two would tell something."""
    return any(
        min(abs(a), abs(b)) >= SUSPECT for a, b in zip(one.scores, other.scores, strict=True)
    )


class Residuals:
    """What is left over so far, by pair."""

    def __init__(self) -> None:
        self._strength: list[float] = []
        self._doubt: list[float] = []
        """Of the strength, in variances of a block's margin."""
        self._spread = 0.0
        """The variance of a block's margin around what is expected."""
        self._seen = 0
        self._meetings: npt.NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self._wins: npt.NDArray[np.float64] = np.zeros((0, 0))
        self._counted: npt.NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self._margin: npt.NDArray[np.float64] = np.zeros((0, 0))

    def join(self, before: int | None) -> None:
        """Take in the next bot, which starts where that of the number `before` stands."""
        count = len(self._strength)
        self._strength.append(0.0 if before is None else self._strength[before])
        self._doubt.append(_FIRST_DOUBT)
        if count == len(self._meetings):
            room = max(8, 2 * count)
            self._meetings = _grown(self._meetings, room)
            self._wins = _grown(self._wins, room)
            self._counted = _grown(self._counted, room)
            self._margin = _grown(self._margin, room)

    def add(
        self,
        bots: Sequence[int],
        margins: Sequence[float],
        places: Sequence[int],
        ratings: Sequence[Rating],
        odd: bool = False,
    ) -> None:
        """Count a block; `ratings` are those before it.

        What is `odd` says nothing of strength: else what two give each other would be expected.
        """
        surprises = self._surprises(bots, margins, odd)
        for i, j in permutations(range(len(bots)), 2):
            expected = min(max(chance(ratings, i, j), _RAREST), 1 - _RAREST)
            got = 0.5 if places[i] == places[j] else float(places[i] < places[j])
            a, b = bots[i], bots[j]
            self._meetings[a, b] += 1
            self._wins[a, b] += (got - expected) / math.sqrt(expected * (1 - expected))
            if surprises is not None:
                self._counted[a, b] += 1
                self._margin[a, b] += surprises[i]

    def odd(self, bots: Sequence[int]) -> bool:
        """Say whether two of these look as if one played for the other."""
        return any(
            suspicious(self.of(one, two), self.of(two, one)) for one, two in combinations(bots, 2)
        )

    def of(self, first: int, second: int) -> Excess:
        """Return what is left over of the first where the second sat too."""
        at = first, second
        return Excess(
            int(self._meetings[at]),
            float(self._wins[at]),
            int(self._counted[at]),
            float(self._margin[at]),
        )

    def opponents(self, bot: int) -> list[int]:
        """Return whom a bot has met."""
        return [int(other) for other in np.flatnonzero(self._meetings[bot])]

    def met(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs that have met, each once, the lower number first."""
        for first, second in np.argwhere(np.triu(self._meetings, 1) > 0):
            yield int(first), int(second)

    def _surprises(
        self, bots: Sequence[int], margins: Sequence[float], odd: bool
    ) -> list[float] | None:
        """Return how far each margin is from what was expected, and learn from it.

        None while too little is known to expect anything.
        """
        others = len(bots) - 1
        strength = [self._strength[bot] for bot in bots]
        doubt = [self._doubt[bot] for bot in bots]
        total, doubts = sum(strength), sum(doubt)
        settled = self._seen >= _LEARNT
        spread = self._spread
        told = []
        for at, (bot, margin) in enumerate(zip(bots, margins, strict=True)):
            off = margin - (strength[at] - (total - strength[at]) / others)
            unsure = doubt[at] + (doubts - doubt[at]) / others**2
            settled = settled and unsure < _SETTLED
            told.append(off / math.sqrt(spread * (1 + unsure)) if spread else 0.0)
            if odd:
                continue
            step = doubt[at] / (1 + unsure)
            self._strength[bot] += step * off
            self._doubt[bot] -= step * doubt[at]
            self._seen += 1
            self._spread += (off * off / (1 + unsure) - self._spread) / self._seen
        return told if settled else None


def _grown(table: npt.NDArray[_T], room: int) -> npt.NDArray[_T]:
    grown = np.zeros((room, room), table.dtype)
    grown[: len(table), : len(table)] = table
    return grown
