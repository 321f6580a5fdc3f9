"""What margins do not say of entrants that break games off: wins say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ronda_arena.report import words

if TYPE_CHECKING:  # the summary has these sentences made, so it knows this room
    from ronda_arena.report.summary import RatingRow

MOST: Final = 3
"""Entrants that are told of."""


def sentences(ratings: Sequence[RatingRow]) -> Iterator[str]:
    """Yield who stands above others in points and is surely below them in wins, for its faults.

    What a game that was broken off would still have cost is in no margin. `ratings` come in the
    order of points.
    """
    told = 0
    for at, row in enumerate(ratings):
        better = [other.entrant for other in ratings[at + 1 :] if _surely_wins_more(other, row)]
        if not row.faults or not better or told == MOST:
            continue
        told += 1
        names = ", ".join(better[:MOST]) + (" and others" if len(better) > MOST else "")
        stand = "stand" if len(better) > 1 else "stands"
        yield (
            f"Points flatter {row.entrant}: it broke off {words.counted(row.faults, 'game')} of"
            f" {words.count(row.games)}, and what these would still have cost is in no margin. In"
            f" wins it is surely behind {names}, which {stand} below it in points: go by the wins."
        )


def _surely_wins_more(one: RatingRow, other: RatingRow) -> bool:
    low, high = one.elo.low, other.elo.high
    return low is not None and high is not None and low > high
