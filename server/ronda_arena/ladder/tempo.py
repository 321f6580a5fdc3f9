"""Who takes long, as far as this run has seen, so that the others need not wait for it.

It is kept in memory and written down nowhere: standings say nothing of it. A bot takes of a game
what its own decisions took, and an equal part of the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ronda_arena.ladder.pool import Pool
from ronda_arena.tournament.tasks import Played

SLOW_TIMES: Final = 4.0
"""A bot is slow that takes so many times as long as half of the bots do."""
SLOW_SECONDS: Final = 0.1
"""And at least so long a game: less holds nobody up."""
_MEMORY: Final = 8
"""Games over which it is reckoned."""


class Tempo:
    """What a game takes each bot, and how much of the workers the slow ones may have.

    At once they have no more than half of the workers, and where there is one, no more than half
    of its time. Who is new has one block at a time, until a game of it is over.
    """

    def __init__(self) -> None:
        self.width = 1
        """Games that are played at the same time."""
        self._games: Counter[int] = Counter()
        self._seconds: npt.NDArray[np.float64] = np.zeros(0)
        self._slow: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._owed = 0.0
        """Seconds that the others are to have before a slow one, where there is one worker."""

    def take(self, entrants: Sequence[int], names: Sequence[str], played: Played) -> None:
        """Take in how long a game was, of bots with these names."""
        if played.game is None:
            return
        own = [sum(one.seconds for one in played.thoughts if one.bot == name) for name in names]
        rest = max(0.0, played.seconds - sum(own)) / len(own)
        self._owed += played.seconds if self._any_slow(entrants) else -played.seconds
        self._owed = max(0.0, self._owed)
        for bot, seconds in zip(entrants, own, strict=True):
            self._fit(bot + 1)
            self._games[bot] += 1
            before = self._seconds[bot] if self._games[bot] > 1 else 0.0
            weight = min(self._games[bot], _MEMORY)
            self._seconds[bot] = before + (seconds + rest - before) / weight

    def judge(self, pool: Pool) -> None:
        """Say anew who is slow: anchors play for the others, so what is usual is not theirs.

        Nor is that of those who play elsewhere; who is new counts as quick.
        """
        self._fit(pool.count)
        seconds = self._seconds[: pool.count]
        playing = pool.enabled[: pool.count] & ~pool.remote[: pool.count]
        usual = seconds[playing & ~pool.pinned[: pool.count]]
        usual = np.sort(np.nan_to_num(usual))
        self._slow[:] = False
        if len(usual):
            most = max(SLOW_SECONDS, SLOW_TIMES * float(usual[(len(usual) - 1) // 2]))
            self._slow[: pool.count] = seconds > most

    def may_be_slow(self, entrants: Sequence[int]) -> bool:
        """Say whether a game of these takes long, or may: of one of them none is over yet."""
        return self._any_slow(entrants) or any(not self._games[bot] for bot in entrants)

    def _any_slow(self, entrants: Sequence[int]) -> bool:
        return any(bot < len(self._slow) and self._slow[bot] for bot in entrants)

    def resting(
        self, pool: Pool, slow: int, hosted: Mapping[int, int] | None = None
    ) -> npt.NDArray[np.bool_]:
        """Say who may not be seated now, while `slow` blocks take long, or may.

        `hosted` are the blocks of bots that are played elsewhere, where they hold up nobody.
        """
        self._fit(pool.count)
        here = pool.playing[: pool.count].copy()
        for bot, blocks in (hosted or {}).items():
            here[bot] -= blocks
        rests = np.isnan(self._seconds[: pool.count]) & (here > 0)
        if slow >= max(1, self.width // 2) or (self.width == 1 and self._owed > 0):
            rests |= self._slow[: pool.count]
        return rests

    def forgive(self) -> None:
        """Let slow ones play: nobody else can."""
        self._owed = 0.0

    def _fit(self, count: int) -> None:
        """Make room for so many bots."""
        had = len(self._seconds)
        if had < count:
            seconds, slow = np.full(2 * count, np.nan), np.zeros(2 * count, np.bool_)
            seconds[:had], slow[:had] = self._seconds, self._slow
            self._seconds, self._slow = seconds, slow
