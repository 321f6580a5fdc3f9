"""Swiss: in every round those meet who have done equally well and have not met before.

An encounter gives a point to who was ahead over all of its games, half of one each for a draw, and
at three seats half of one to the second. Who has no table has a bye, once before anybody has two,
and it counts a point. The order is by points, then by the points of those that one has met
(Buchholz), then by margin, then by the list of entrants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Final

from ronda_arena.tournament.formats import Encounter, Pairing, Round, table_size
from ronda_arena.tournament.formats.course import Course, Standing, rounds_to_one
from ronda_arena.tournament.spec import Plan

_NEAR: Final = 16
"""Places in the order within which partners are looked for first."""


class Swiss:
    """A round is drawn from the standings after the one before."""

    depends = True

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._count = len(plan.entrants)
        self._table = table_size(plan)
        self._rounds = plan.rounds or rounds_to_one(self._count, self._table)

    @property
    def planned(self) -> int:
        """How many blocks there will be."""
        return self._rounds * (self._count // self._table) * self._plan.blocks

    def next(self, played: Sequence[Sequence[Encounter]]) -> Round | None:
        """Return the next round, drawn from the standings."""
        if len(played) >= self._rounds:
            return None
        standings = _Standings(self._count, played)
        order = standings.order()
        resting = _resting(order, standings.byes, self._count % self._table)
        playing = [entrant for entrant in order if entrant not in resting]
        draw = _triples if self._table == 3 else _pairs
        pairings = draw(playing, standings.met)
        return Round(partial(iter, pairings), len(pairings), self._plan.blocks)

    def placings(self, played: Sequence[Sequence[Encounter]]) -> tuple[int, ...]:
        """Return the entrants from the first to the last."""
        return tuple(_Standings(self._count, played).order()) if played else ()

    def course(self, played: Sequence[Sequence[Encounter]]) -> Course:
        """Return the standings, the first first; empty before the first round is over."""
        told = _Standings(self._count, played)
        buchholz = told.buchholz()
        standings = (
            Standing(
                entrant=self._plan.entrants[at].name,
                points=told.points[at],
                buchholz=buchholz[at],
                margin=told.margins[at],
                byes=told.byes[at],
            )
            for at in self.placings(played)
        )
        return Course(self._rounds, len(played), standings=tuple(standings))


class _Standings:
    """What the rounds so far came to."""

    def __init__(self, count: int, played: Sequence[Sequence[Encounter]]) -> None:
        self._count = count
        self.points = [0.0] * count
        self.margins = [0.0] * count
        self.byes = [0] * count
        self.met: Counter[frozenset[int]] = Counter()
        for encounters in played:
            seated = set()
            for one in encounters:
                seated |= set(one.pairing)
                for entrant, margin, points in zip(
                    one.pairing, one.margins, _points(one.margins), strict=True
                ):
                    self.points[entrant] += points
                    self.margins[entrant] += margin
                self.met.update(map(frozenset, combinations(one.pairing, 2)))
            for entrant in set(range(count)) - seated:
                self.points[entrant] += 1
                self.byes[entrant] += 1

    def buchholz(self) -> list[float]:
        """Return the points of those that each entrant has met."""
        told = [0.0] * self._count
        for pair, times in self.met.items():
            first, second = pair
            told[first] += times * self.points[second]
            told[second] += times * self.points[first]
        return told

    def order(self) -> list[int]:
        """Return the entrants from the first to the last."""
        buchholz = self.buchholz()
        return sorted(
            range(self._count),
            key=lambda at: (-self.points[at], -buchholz[at], -self.margins[at], at),
        )


def _points(margins: Sequence[float]) -> list[float]:
    """Return what an encounter gives each: the mean of the points of the places it shares."""
    prizes = [1.0, 0.0] if len(margins) == 2 else [1.0, 0.5, 0.0]
    order = sorted(margins, reverse=True)
    told = []
    for margin in margins:
        first = order.index(margin)
        shared = prizes[first : first + order.count(margin)]
        told.append(sum(shared) / len(shared))
    return told


def _resting(order: Sequence[int], byes: Sequence[int], count: int) -> set[int]:
    """Return who has no table: the last in the order among those with the fewest byes."""
    place = {entrant: at for at, entrant in enumerate(order)}
    return set(sorted(order, key=lambda entrant: (byes[entrant], -place[entrant]))[:count])


def _pairs(order: Sequence[int], met: Counter[frozenset[int]]) -> list[Pairing]:
    """Pair neighbours in the order, as few as can be for the second time.

    A matching of least cost, by networkx: a second meeting costs more than any distance.
    """
    for near in (_NEAR, len(order)):
        found = _matching(order, met, near)
        again = sum(met[frozenset(pair)] for pair in found)
        if 2 * len(found) == len(order) and not again:
            break
    return found


def _matching(order: Sequence[int], met: Counter[frozenset[int]], near: int) -> list[Pairing]:
    import networkx as nx  # noqa: PLC0415 -- heavy, and only Swiss wants it

    again = len(order) ** 3 + 1
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(order)))
    for first, second in combinations(range(len(order)), 2):
        if second - first <= near:
            cost = (second - first) ** 2 + again * met[frozenset((order[first], order[second]))]
            graph.add_edge(first, second, weight=-cost)
    chosen = nx.max_weight_matching(graph, maxcardinality=True)
    return [(order[first], order[second]) for first, second in sorted(map(_sorted, chosen))]


def _sorted(pair: tuple[int, int]) -> tuple[int, int]:
    return min(pair), max(pair)


def _triples(order: Sequence[int], met: Counter[frozenset[int]]) -> list[Pairing]:
    """Seat threes from the top down: the first with those two near it that it has met least."""
    left = list(order)
    tables: list[Pairing] = []
    while left:
        first = left[0]
        best = min(_choices(left), key=lambda two: _cost(first, two, left, met))
        tables.append((first, *best))
        left = [entrant for entrant in left if entrant not in tables[-1]]
    return tables


def _choices(left: Sequence[int]) -> Iterator[tuple[int, int]]:
    yield from combinations(left[1 : 1 + _NEAR], 2)


def _cost(
    first: int, two: tuple[int, int], left: Sequence[int], met: Counter[frozenset[int]]
) -> tuple[int, int]:
    again = sum(met[frozenset(pair)] for pair in combinations((first, *two), 2))
    return again, sum(left.index(one) ** 2 for one in two)
