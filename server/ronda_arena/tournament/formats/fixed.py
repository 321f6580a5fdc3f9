"""Formats whose pairings are known from the start: round robin, gauntlet and a given list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import comb

from ronda_arena.tournament.formats import Encounter, Pairing, Round, table_size
from ronda_arena.tournament.spec import Plan


class Fixed:
    """One round of pairings that no result changes."""

    depends = False

    def __init__(self, plan: Plan) -> None:
        pairings, size = _pairings(plan)
        self._round = Round(pairings, size, plan.blocks)

    @property
    def planned(self) -> int:
        """How many blocks there will be."""
        return self._round.size * self._round.blocks

    def next(self, played: Sequence[Sequence[Encounter]]) -> Round | None:
        """Return the one round, once."""
        return None if played else self._round

    def placings(self, played: Sequence[Sequence[Encounter]]) -> tuple[int, ...]:  # noqa: ARG002 -- a Format's
        """Return nothing: the ratings say it."""
        return ()

    def course(self, played: Sequence[Sequence[Encounter]]) -> None:
        """Return nothing: there is one round, and the ratings tell it."""


def _pairings(plan: Plan) -> tuple[Callable[[], Iterator[Pairing]], int]:
    """Return what yields the pairings, and how many there are."""
    entrants, table = len(plan.entrants), table_size(plan)
    if plan.format == "list":
        return lambda: iter(plan.pairings), len(plan.pairings)
    if plan.format == "gauntlet":
        # A table has one challenger: challengers meet all others, and not each other.
        others = range(plan.challengers, entrants)
        size = plan.challengers * comb(len(others), table - 1)
        return lambda: (
            (challenger, *rest)
            for challenger in range(plan.challengers)
            for rest in combinations(others, table - 1)
        ), size
    return lambda: combinations(range(entrants), table), comb(entrants, table)
