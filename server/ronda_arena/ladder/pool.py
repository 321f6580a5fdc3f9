"""What the next pairing is chosen from: an entry for each bot, and for each pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt


class Pool:
    """Everybody, by number, and every pair."""

    def __init__(self) -> None:
        self.count = 0
        self.seated = 0
        """Blocks that were seated, all in all."""
        self.mean: npt.NDArray[np.float64] = np.zeros(0)
        self.variance: npt.NDArray[np.float64] = np.zeros(0)
        self.pinned: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.enabled: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.remote: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        """It plays elsewhere."""
        self.owner: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.code: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """The same number for the same code, whoever owns it; below 0: nobody knows."""
        self.playing: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """Blocks that it is in at the moment."""
        self.last: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        """`seated` when it was seated the last time, or came."""
        self.ahead: npt.NDArray[np.float64] = np.zeros(0)
        """Blocks that it was seated for beyond an equal share of all."""
        self.met: npt.NDArray[np.int64] = np.zeros((0, 0), np.int64)
        """Blocks of a pair, those that are being played among them."""
        self.now: npt.NDArray[np.int64] = np.zeros((0, 0), np.int64)
        """Blocks that a pair is in at the moment."""
        self.suspects: list[tuple[int, int]] = []
        """Pairs of which more is to be known, in the order in which they came up."""

    def grow(self) -> None:
        """Make room for one more."""
        if self.count == len(self.mean):
            for name, was in vars(self).items():
                if isinstance(was, np.ndarray):
                    wide = np.zeros((max(8, 2 * self.count),) * was.ndim, was.dtype)
                    wide[(slice(self.count),) * was.ndim] = was
                    setattr(self, name, wide)
        self.code[self.count] = -1 - self.count
        self.count += 1

    def seat(self, entrants: Sequence[int], change: int) -> None:
        """Count a block that begins, or with -1 one that ends, for those in it."""
        for bot in entrants:
            self.playing[bot] += change
        for bot, other in permutations(entrants, 2):
            self.now[bot, other] += change
            self.met[bot, other] += max(change, 0)
        if change < 0:
            return
        self.seated += 1
        playing = self.enabled[: self.count]
        self.ahead[: self.count][playing] -= len(entrants) / max(1, int(playing.sum()))
        for bot in entrants:
            self.last[bot] = self.seated
            self.ahead[bot] += 1

    def full(self, most: Mapping[int, int]) -> npt.NDArray[np.bool_]:
        """Say who is in as many blocks as it may be in at once, of those for whom that is told."""
        found = np.zeros(self.count, np.bool_)
        for bot, blocks in most.items():
            found[bot] = self.playing[bot] >= blocks
        return found

    def room(self, seats: int, at_once: int) -> int:
        """Return about how many blocks there is room for, if a bot is in so many at once."""
        playing = self.playing[: self.count][self.enabled[: self.count]]
        return int((at_once - playing).sum()) // seats

    def forget(self, entrants: Sequence[int]) -> None:
        """Take back that these have met: nothing came of it."""
        for bot, other in permutations(entrants, 2):
            self.met[bot, other] -= 1
