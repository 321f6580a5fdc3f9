"""How far off a ladder's ratings are, beside what their sigmas say: its anchors show it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ronda_arena.ladder.ratings import PRIOR, Rating, rate


class Unpinned:
    """Where the anchors would stand if they were rated as everybody else is."""

    def __init__(self) -> None:
        self.misfit = 0.0
        """How far they are from where they are pinned: the root of the mean square.

        What anchors are worth is known, so as far off as they are the others may be too. A part of
        that is the chance that their own sigmas tell of; it is left in, because three anchors say
        little of how large it is.
        """
        self._pins: dict[int, float] = {}
        self._ratings: dict[int, Rating] = {}

    def add(
        self,
        entrants: Sequence[int],
        places: Sequence[int],
        before: Sequence[Rating],
        pinned: Sequence[bool],
    ) -> None:
        """Take in a block: each anchor in it is rated among the others as if nobody knew it."""
        if not any(pinned):
            return
        for at, bot in enumerate(entrants):
            if pinned[at]:
                table = [*before[:at], self._ratings.get(bot, PRIOR), *before[at + 1 :]]
                others = [to != at for to in range(len(table))]
                self._ratings[bot] = rate(table, places, others)[at]
                self._pins[bot] = before[at].mean
        off = [(one.mean - self._pins[bot]) ** 2 for bot, one in self._ratings.items()]
        self.misfit = math.sqrt(sum(off) / len(off))
