"""Real ladders with bots of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from tests.bots.tables import info

from ronda_arena.ladder.plan import LadderPlan, made
from ronda_arena.ladder.rows import pairs, reviews, standings
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.standings import Ladder
from ronda_arena.ladder.store import Store
from ronda_bots.careful import Careful
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_bots.registry import BotInfo, Registry, assemble
from ronda_core.rules import settings

RANDOM, GREEDY, CAREFUL = (info(one) for one in (Random, Greedy, Careful))
BOTS = assemble([RANDOM, GREEDY, CAREFUL], [])


class Drawn:
    """Secrets that are the same in every run."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self, size: int) -> bytes:
        self._next += 1
        return (self._next.to_bytes(4, "big") * 8)[:size]


class Clock:
    """A time that goes on by a second whenever it is asked."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now


def ladder_plan(rules: str = "arabic", players: int = 2, hands: int = 0) -> LadderPlan:
    table = settings(rules, players, None, hands)
    return made("ladder", table, anchors=[f"{RANDOM.identity}=18"])


def run(store: Store, bots: Registry = BOTS, **asked: Any) -> Run:
    return Run(store, lambda: bots, **{"now": Clock(), **asked})


def refolded(store: Store) -> Ladder:
    ladder = Ladder(store.plan)
    for fact in store.facts():
        ladder.take(fact)
    return ladder


def told(ladder: Ladder) -> bytes:
    """Return everything that a ladder tells, to the last bit."""
    state = [
        (bot.rating, bot.quarantined, bot.faults, bot.recent, bot.void, bot.blocks)
        for bot in ladder.bots
    ]
    pool = ladder.pool
    arrays = [array.tobytes() for array in vars(pool).values() if hasattr(array, "tobytes")]
    return msgspec.json.encode(
        (standings(ladder), pairs(ladder), reviews(ladder), state, arrays, pool.suspects)
    )


def registry(bots: Sequence[BotInfo]) -> Registry:
    return assemble(list(bots), [])
