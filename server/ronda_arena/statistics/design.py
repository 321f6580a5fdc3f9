"""Who met whom at which place, as the design of a linear or logistic model.

A side has a skill and its place at the table, counted from the side that deals first, has a worth.
The skill of a side is that of its entrant; or, where bots are to be told apart that play in
several teams, the mean of its two bots' skills. A skill counts from the mean of the others at the
table, so three sides are treated as two are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ronda_arena.statistics.evidence import Evidence, Floats, Kinds, Whole, added


@dataclass(frozen=True, slots=True)
class Design:
    """The parameters of a model, skills first and then places, and where each kind has its own."""

    names: tuple[str, ...]
    """Whose skills are told: all that have played."""
    blocks: list[int]
    """In how many blocks each has played."""
    count: int
    """Sides at a table: also the number of places."""
    index: Whole
    """By kind: parameters, those of its sides first and then the places."""
    spread: Floats
    """From these to the skill of each side and the worth of each place."""
    places: Floats
    """By kind: in how many games of a cluster its first side had each place."""
    clusters: Floats

    @property
    def size(self) -> int:
        """Count the parameters."""
        return len(self.names) + self.count

    @property
    def freedom(self) -> float:
        """Count the clusters that are left when the skills are known."""
        return float(self.clusters.sum()) - (len(self.names) - 1)

    @property
    def skills(self) -> Floats:
        """Return the sums of parameters that tell each skill: what is above the mean of all."""
        size = len(self.names)
        centre = np.eye(size) - 1 / max(1, size)
        return np.hstack([centre, np.zeros((size, self.count))])

    @property
    def worths(self) -> Floats:
        """Return the sums of parameters that tell each place: what is above the mean of others."""
        one = np.eye(self.count) * self.count / (self.count - 1) - 1 / (self.count - 1)
        return np.hstack([np.zeros((self.count, len(self.names))), one])

    def at(self, values: Floats) -> Floats:
        """Return the skill of each side and the worth of each place, by kind."""
        return values[self.index] @ self.spread.T

    def information(self, weights: Sequence[Floats]) -> Floats:
        """Return X'WX of one cluster of each kind, from W of the game at each place."""
        count = self.count
        total = np.zeros((len(self.index), 2 * count, 2 * count))
        for place, weight in enumerate(weights):
            turn = shift(count, place)
            games = self.places[:, place, None, None]
            total[:, :count, :count] += games * weight
            total[:, :count, count:] += games * (weight @ turn)
            total[:, count:, :count] += games * (turn.T @ weight)
            total[:, count:, count:] += games * (turn.T @ weight @ turn)
        return self.spread.T @ total @ self.spread

    def gather(self, local: Floats) -> Floats:
        """Return a vector over all parameters from one of each kind, added up."""
        return added(self.index, local, self.size)

    def gather_square(self, local: Floats) -> Floats:
        """Return a matrix over all parameters from one of each kind, added up."""
        flat = self.index[:, :, None] * self.size + self.index[:, None, :]
        return added(flat, local, self.size**2).reshape(self.size, self.size)


@cache
def shift(count: int, place: int) -> Floats:
    """Return the matrix that seats sides at places, where the first has this place."""
    seated = np.roll(np.eye(count), place, axis=1)
    seated.setflags(write=False)
    return seated


def of_entrants(evidence: Evidence, kinds: Kinds) -> Design:
    """Return the design in which every entrant has a skill of its own."""
    played = [at for at, score in enumerate(evidence.scores) if score.blocks]
    where = np.zeros(len(evidence.entrants), dtype=np.int64)
    where[played] = range(len(played))
    sides = where[kinds.entrants]
    return _design(
        kinds,
        tuple(evidence.entrants[at].name for at in played),
        [evidence.scores[at].blocks for at in played],
        sides,
        np.eye(evidence.sides),
    )


def of_bots(evidence: Evidence, kinds: Kinds) -> Design:
    """Return the design in which the skill of a side is the mean of its bots' skills."""
    names = tuple(sorted(evidence.bot_games))
    where = {name: at for at, name in enumerate(names)}
    members = np.array(
        [
            [where.get(entrant.members[0], 0), where.get(entrant.members[-1], 0)]
            for entrant in evidence.entrants
        ],
        dtype=np.int64,
    )
    blocks = [evidence.bot_blocks[name] for name in names]
    sides = members[kinds.entrants].reshape(-1, 2 * evidence.sides)
    half = np.kron(np.eye(evidence.sides), np.array([[0.5, 0.5]]))
    return _design(kinds, names, blocks, sides, half)


def _design(
    kinds: Kinds, names: tuple[str, ...], blocks: list[int], sides: Whole, half: Floats
) -> Design:
    count = kinds.places.shape[1]
    places = np.broadcast_to(len(names) + np.arange(count), (len(sides), count))
    spread = np.block(
        [
            [half, np.zeros((count, count))],
            [np.zeros((count, half.shape[1])), np.eye(count)],
        ]
    )
    return Design(
        names, blocks, count, np.hstack([sides, places]), spread, kinds.places, kinds.clusters
    )
