"""A summary as it is read: what comes first, how much of it, and who met whom either way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from math import ceil
from typing import Final, cast

from ronda_arena.report import words
from ronda_arena.report.summary import FaultRow, PairRow, Step, Summary, ThoughtRow
from ronda_arena.statistics.estimate import Estimate

MOST_FOLLOWED: Final = 8
"""Entrants whose progress is told."""

MOST_PAIRED: Final = 8
"""Entrants of which the terminal shows all pairs."""
MOST_PAIRS: Final = 40
"""Rows of pairs on the terminal."""

_PLACES: Final = ("deals first", "plays first", "plays second")


def looked_at(summary: Summary) -> str:
    """Return what there is to know of ratings and pairs where a sequential test was looked at."""
    if summary.verdict is None or summary.verdict.rule not in ("sequential", "sprt"):
        return ""
    return (
        "Ratings and pairs are told of the blocks as they were played, without allowing for the "
        "looks of the stop rule: it stops where the two happen to be far apart, so on the whole "
        "these differences are too great and their intervals too sure. The estimate of the "
        "verdict allows for it."
    )


def place(position: int) -> str:
    """Return what a place at the table is called."""
    return _PLACES[position]


def rank(at: int, margin: Estimate) -> str:
    """Return the rank of the row of this place, from 0; a dash where nothing is known of it."""
    return words.count(at + 1) if margin.known else "-"


def meetings(summary: Summary) -> dict[tuple[str, str], PairRow]:
    """Return how each entrant fared against each other that it met, by their names."""
    turned = {(row.second, row.first): _turned(row) for row in summary.pairs}
    return turned | {(row.first, row.second): row for row in summary.pairs}


def paired(summary: Summary) -> tuple[PairRow, ...]:
    """Return the pairs that are worth a table of their own, the stronger first.

    Of a gauntlet each challenger against all others: that is what it was played for. Of other
    formats all pairs, where there are few, but more than the ratings tell already.
    """
    met = meetings(summary)
    order = [row.entrant for row in summary.ratings]
    if summary.plan.get("format") == "gauntlet":
        challengers = set(summary.entrants[: cast("int", summary.plan["challengers"])])
        those = product(
            [name for name in order if name in challengers],
            [name for name in order if name not in challengers],
        )
        return tuple(met[pair] for pair in those if pair in met)
    return all_pairs(summary) if 2 < len(order) <= MOST_PAIRED else ()


def all_pairs(summary: Summary) -> tuple[PairRow, ...]:
    """Return all two that met, by the order of the ratings, the stronger first."""
    met = meetings(summary)
    order = [row.entrant for row in summary.ratings]
    return tuple(met[pair] for pair in combinations(order, 2) if pair in met)


def left_out(summary: Summary) -> int:
    """Return how many pairs the terminal does not show; of two the ratings tell what there is."""
    if len(summary.ratings) < 3:
        return 0
    return len(summary.pairs) - min(MOST_PAIRS, len(paired(summary)))


def sure_lead(margin: Estimate) -> float:
    """Return a margin whose interval leaves out zero; zero for any other: it could be either."""
    if margin.value is None or margin.low is None or margin.high is None:
        return 0.0
    return margin.value if margin.low > 0 or margin.high < 0 else 0.0


def faulty(summary: Summary) -> tuple[FaultRow, ...]:
    """Return who had faults, the most often faulty first."""
    rows = [row for row in summary.faults if sum(row.causes.values())]
    return tuple(sorted(rows, key=lambda row: (-sum(row.causes.values()), row.bot)))


def slowest(summary: Summary) -> tuple[ThoughtRow, ...]:
    """Return what bots' decisions took, of the slowest first."""
    return tuple(sorted(summary.timing.thoughts, key=lambda row: (-row.mean, row.bot)))


def followed(summary: Summary) -> tuple[int, ...]:
    """Return whose progress is told, the strongest first, as places in the plan."""
    if not summary.progress:
        return ()
    place_of = {name: at for at, name in enumerate(summary.entrants)}
    return tuple(place_of[row.entrant] for row in summary.ratings[:MOST_FOLLOWED])


def thinned(steps: Sequence[Step], most: int) -> tuple[Step, ...]:
    """Return at most so many steps, evenly spaced, the last among them."""
    every = max(1, ceil(len(steps) / most))
    return tuple(reversed(steps[::-1][::every]))


def _turned(row: PairRow) -> PairRow:
    value, low, high, blocks = row.margin
    margin = Estimate(_minus(value), _minus(high), _minus(low), blocks)
    return replace(
        row,
        first=row.second,
        second=row.first,
        margin=margin,
        won=row.lost,
        lost=row.won,
        los=None if row.los is None else 1 - row.los,
    )


def _minus(number: float | None) -> float | None:
    return None if number is None else -number
