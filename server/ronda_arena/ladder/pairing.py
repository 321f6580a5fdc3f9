"""Who meets next: a function of how things stand and of a secret draw.

What a block is expected to tell is how much less doubt it leaves, summed over the bots in it. That
is what pairs are drawn by, within what fairness asks: who has waited too long comes first, pairs
that have met least are seen to, nobody meets one opponent for ever, nobody is in more than so many
blocks at once nor waits for one opponent, an owner has one bot at a table, and so has one code
whoever owns it, anchors play no more than others, and who is suspected of playing for another meets
that one some more.

It takes a time that depends on the number of bots alone, and not on the games before.
"""

from __future__ import annotations

import hmac
import random
from typing import Final

import numpy as np
import numpy.typing as npt

from ronda_arena.ladder.pool import Pool
from ronda_arena.ladder.ratings import BETA
from ronda_arena.ladder.standings import Ladder

AT_ONCE: Final = 8
"""Blocks that a bot is in at once, at most."""
OVERDUE: Final = 3.0
"""Times the usual wait after which a bot comes first."""
_COVERAGE: Final = 0.25
"""The share of blocks that go to those who have met least."""
_EXTRA: Final = 0.1
"""The share of blocks that go to pairs that look odd, as long as there are any."""
_LABEL: Final = b"ronda-ladder/1/pairing"

_Mask = npt.NDArray[np.bool_]
_Weights = npt.NDArray[np.float64]


def next_pairing(
    ladder: Ladder, secret: bytes, at_once: int = AT_ONCE, resting: _Mask | None = None
) -> tuple[tuple[int, ...], str] | None:
    """Return who plays the next block, and the block in whose place it is, if any.

    Those who are `resting` are not seated. None where nobody can be seated now. What is known to
    everybody says nothing of the draw.
    """
    pool = ladder.pool
    for block, entrants in ladder.lost:
        if resting is not None and resting[list(entrants)].any():
            continue
        if all(ladder.bots[bot].enabled and pool.playing[bot] < at_once for bot in entrants):
            return entrants, block
    chosen = choose(pool, ladder.plan.seats, draw(secret, pool.seated), at_once, resting)
    return None if chosen is None else (chosen, "")


def draw(secret: bytes, number: int) -> random.Random:
    """Return what the block of this number is drawn with."""
    data = len(_LABEL).to_bytes(2, "big") + _LABEL + number.to_bytes(8, "big")
    return random.Random(int.from_bytes(hmac.digest(secret, data, "sha256"), "big"))


def choose(
    pool: Pool,
    seats: int,
    chance: random.Random,
    at_once: int = AT_ONCE,
    resting: _Mask | None = None,
) -> tuple[int, ...] | None:
    """Return who sits at the next table, in order; None where nobody can be seated now."""
    free = pool.enabled[: pool.count] & (pool.playing[: pool.count] < at_once)
    if resting is not None:
        free &= ~resting
    if int(free.sum()) < seats:
        return None
    extra = chance.random() < _EXTRA
    coverage = chance.random() < _COVERAGE
    table = _suspects(pool, free, chance, at_once) if extra else []
    first = free.copy()
    while len(table) < seats:
        if not table:
            if not first.any():
                return None
            table = [_first(pool, seats, first, chance)]
            first[table[0]] = False
        found = _opponent(pool, table, free, chance, coverage, at_once)
        if found is None:
            table = []
        else:
            table.append(found)
    chance.shuffle(table)
    return tuple(table)


def gain(pool: Pool, one: int) -> _Weights:
    """Return how much variance a block of a bot with each of the others is expected to take off."""
    count = pool.count
    variance = pool.variance[:count]
    scale = 2 * BETA**2 + variance + variance[one]
    off = (pool.mean[:count] - pool.mean[one]) / np.sqrt(scale)
    even = 1 / (2 + np.exp(off) + np.exp(-off))  # p (1 - p)
    told: _Weights = even / scale * (variance**2 + variance[one] ** 2)
    return told


def _first(pool: Pool, seats: int, free: _Mask, chance: random.Random) -> int:
    """Return who has waited too long, else one drawn by doubt: half of them evenly."""
    count = pool.count
    waited = np.where(free, pool.seated - pool.last[:count], -1)
    usual = int(pool.enabled[:count].sum()) / seats
    longest = int(waited.argmax())
    if waited[longest] > OVERDUE * usual:
        return longest
    movable = free & ~pool.pinned[:count]
    if not movable.any():
        return _drawn(free.astype(np.float64), chance)
    weights = np.where(movable, pool.variance[:count], 0.0)
    even = movable / movable.sum()
    return _drawn(even + weights / weights.sum(), chance)


def _opponent(
    pool: Pool,
    table: list[int],
    free: _Mask,
    chance: random.Random,
    coverage: bool,
    at_once: int,
) -> int | None:
    """Return who sits down with those at the table, or None if nobody may."""
    count = pool.count
    may = free.copy()
    for bot in table:
        may &= pool.owner[:count] != pool.owner[bot]
        may &= pool.code[:count] != pool.code[bot]
        may &= pool.now[bot, :count] < max(1, at_once // 2)
    may[table] = False
    if not may.any():
        return None
    # An anchor that has had its share rests, unless nobody else is there.
    rested = may & ~(pool.pinned[:count] & (pool.ahead[:count] > 0))
    may = rested if rested.any() else may
    met = pool.met[table, :count].sum(axis=0)
    if coverage:
        return _drawn((may & (met == met[may].min())).astype(np.float64), chance)
    told = np.sum([gain(pool, bot) for bot in table], axis=0)
    weights = np.where(may, told / np.sqrt(1 + met), 0.0)
    return _drawn(weights if weights.sum() > 0 else may.astype(np.float64), chance)


def _suspects(pool: Pool, free: _Mask, chance: random.Random, at_once: int) -> list[int]:
    """Return a pair of which more is to be known, if there is one that may play."""
    found = [
        (one, two)
        for one, two in pool.suspects
        if free[one]
        and free[two]
        and pool.owner[one] != pool.owner[two]
        and pool.code[one] != pool.code[two]
        and pool.now[one, two] < max(1, at_once // 2)
    ]
    return list(found[int(chance.random() * len(found))]) if found else []


def _drawn(weights: _Weights, chance: random.Random) -> int:
    """Return a place, drawn by weight."""
    sums = np.cumsum(weights)
    at = int(np.searchsorted(sums, chance.random() * sums[-1], side="right"))
    return min(at, int(np.flatnonzero(weights)[-1]))
