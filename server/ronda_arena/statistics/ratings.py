"""How strong everyone is, and what each place at the table is worth, with how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ronda_arena.statistics import design, margins, wins
from ronda_arena.statistics.clustered import Fit
from ronda_arena.statistics.design import Design
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Evidence, Kinds
from ronda_arena.statistics.margins import NOTHING, Control


class Rating(NamedTuple):
    """How strong one is, above the mean of all that have played."""

    margin: Estimate
    elo: Estimate


_UNKNOWN = Estimate(None, None, None, 0)


class Strengths:
    """The models of one moment."""

    def __init__(self, evidence: Evidence) -> None:
        self.kinds = evidence.kinds()
        self.taken = margins.control(self.kinds)
        self._evidence = evidence
        self._design = design.of_entrants(evidence, self.kinds)
        self._fit = _margins(self._design, self.kinds, self.taken)

    def margins(self) -> list[Estimate]:
        """Return by how many points each entrant is above the mean of all that have played."""
        return self._by_entrant(_skills(self._design, self._fit))

    def ratings(self) -> list[Rating]:
        """Return how strong each entrant is."""
        elo = self._by_entrant(_skills(self._design, _wins(self._design, self.kinds), wins.ELO))
        return [Rating(*both) for both in zip(self.margins(), elo, strict=True)]

    def bots(self) -> dict[str, Rating]:
        """Return how strong each bot is, where a team's skill is the mean of its bots'."""
        own = design.of_bots(self._evidence, self.kinds)
        by_margin = _skills(own, _margins(own, self.kinds, self.taken))
        by_wins = _skills(own, _wins(own, self.kinds), wins.ELO)
        return {
            name: Rating(*both) for name, *both in zip(own.names, by_margin, by_wins, strict=True)
        }

    def met(self, first: int, second: int) -> int:
        """Return in how many blocks both of two entrants took part."""
        both = self._evidence.pairs.get((min(first, second), max(first, second)))
        return both.blocks if both else 0

    def differences(self, pairs: Sequence[tuple[int, int]], among: int = 1) -> list[Estimate]:
        """Return by how many points the first of each pair of entrants is stronger.

        It is made of all blocks in which either took part, as `met` says how many had both. The
        intervals of so many pairs as `among` hold all together as often as one alone does.
        """
        where = {name: at for at, name in enumerate(self._design.names)}
        entrants = self._evidence.entrants
        rows = np.zeros((len(pairs), self._design.size))
        blocks = []
        for row, (first, second) in zip(rows, pairs, strict=True):
            row[where[entrants[first].name]] += 1
            row[where[entrants[second].name]] -= 1
            scores = self._evidence.scores
            apart = scores[first].blocks + scores[second].blocks
            blocks.append(apart - self.met(first, second))
        if self._fit is None:
            return [Estimate(None, None, None, count) for count in blocks]
        return self._fit.estimates(rows, blocks, freedom=self._design.freedom, among=among)

    def places(self) -> list[Estimate]:
        """Return by how many points each place is ahead of the others, strength set aside.

        Luck is not taken off here: what a place brings to the reference is what it is worth.
        """
        plain = self._fit
        if self.taken.points:
            plain = _margins(self._design, self.kinds, NOTHING)
        blocks = [self._evidence.blocks] * self._design.count
        if plain is None:
            return [Estimate(None, None, None, count) for count in blocks]
        return plain.estimates(self._design.worths, blocks, freedom=self._design.freedom)

    def _by_entrant(self, told: Sequence[Estimate]) -> list[Estimate]:
        found = dict(zip(self._design.names, told, strict=True))
        return [found.get(entrant.name, _UNKNOWN) for entrant in self._evidence.entrants]


def _margins(own: Design, kinds: Kinds, taken: Control) -> Fit | None:
    return margins.fit(own, kinds, taken) if own.names else None


def _wins(own: Design, kinds: Kinds) -> Fit | None:
    return wins.fit(own, kinds.shares) if own.names else None


def _skills(own: Design, fit: Fit | None, scale: float = 1.0) -> list[Estimate]:
    if fit is None:
        return []
    return fit.estimates(own.skills, own.blocks, scale=scale, freedom=own.freedom)
