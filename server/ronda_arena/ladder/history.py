"""What a bot's rating has been: a bounded number of points, however long the bot has played.

A fold of what blocks did to it, so the log alone gives the same points as those that were kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from ronda_arena.ladder.standings import Change

MOST: Final = 128
"""Points that are kept of a bot."""
_WIDTH: Final = 6


class Point(NamedTuple):
    """A bot's rating after one of its blocks."""

    at: int
    blocks: int
    """Of the bot, up to there."""
    games: int
    mean: float
    sigma: float
    misfit: float
    """How far off ratings of the ladder were then, as its anchors showed."""


def point(change: Change) -> Point:
    """Return what a block came to for one bot."""
    return Point(change.at, change.blocks, change.games, *change.after, change.misfit)


class History:
    """Every so many blocks of one bot, and its last: half of them go where there are too many."""

    def __init__(self) -> None:
        self._every = 1
        self._values = array("d")  # a point in ten times less than as objects

    def add(self, one: Point) -> None:
        """Take in what its next block came to."""
        values = self._values
        if values and values[1 - _WIDTH] % self._every:
            del values[-_WIDTH:]  # it stood there as the last
        values.extend(one)
        if len(values) > MOST * _WIDTH:
            self._every *= 2
            kept = [old for old in self.points() if old.blocks % self._every == 0 or old == one]
            self._values = array("d", (value for old in kept for value in old))

    def points(self) -> Iterator[Point]:
        """Yield its points, the oldest first."""
        values = self._values
        for at in range(0, len(values), _WIDTH):
            when, blocks, games, *known = values[at : at + _WIDTH]
            yield Point(int(when), int(blocks), int(games), *known)
