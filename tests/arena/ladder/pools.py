"""Pools of bots of known strength whose blocks nobody has to play."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from ronda_arena.ladder import pairing
from ronda_arena.ladder.facts import Fact, Joined, Over, Seated
from ronda_arena.ladder.plan import Anchor, LadderPlan
from ronda_arena.ladder.ratings import BETA
from ronda_arena.ladder.standings import Ladder
from ronda_arena.tournament.entrants import side
from ronda_arena.tournament.results import Blame, Game
from ronda_core.match import Cause

SECRET = bytes(32)
SPREAD = math.pi / math.sqrt(6)
"""Of one bot's score before it is scaled: Gumbel's, so that placings are those of the model."""

Twist = Callable[[Sequence[int], list[float]], None]
"""May change the scores of a block, in standard deviations, by place in the block."""


def plan(players: int = 2, anchors: Sequence[Anchor] = (), **other: object) -> LadderPlan:
    rules = {2: "playtash", 3: "cafe", 4: "playtash"}[players]
    return LadderPlan("ladder", rules, players, 0, 1, None, "auto", False, tuple(anchors))


class Pool:
    """A ladder, and what its bots are really worth."""

    def __init__(
        self,
        strengths: Sequence[float],
        players: int = 2,
        *,
        anchors: int = 0,
        seed: int = 0,
        owners: Sequence[str] = (),
        codes: Sequence[str] = (),
    ) -> None:
        self.random = random.Random(seed)
        self.strengths = list(strengths)
        pinned = [Anchor(f"bot{at}@1", strengths[at]) for at in range(anchors)]
        self.ladder = Ladder(plan(players, pinned))
        self.facts: list[Fact] = []
        self.time = 0
        self.twist: Twist = lambda bots, scores: None
        self.faulty: Callable[[int, float], bool] = lambda bot, ahead: False
        """Says of a bot and how far it is ahead in a game whether it stalls now."""
        for at in range(len(strengths)):
            owner = owners[at] if owners else f"owner{at}"
            self.take(Joined(f"bot{at}@1", owner, 0, codes[at] if codes else ""))

    def take(self, fact: Fact) -> None:
        self.facts.append(fact)
        self.ladder.take(fact)

    def play(self, blocks: int) -> None:
        for _ in range(blocks):
            found = pairing.next_pairing(self.ladder, SECRET)
            assert found is not None
            self.block(found[0])

    def block(self, bots: Sequence[int]) -> None:
        """Play one block."""
        self.time += 1
        name = f"b{self.time}"
        self.take(Seated(name, tuple(bots), self.time))
        count = len(bots)
        scale = math.sqrt(count) * BETA
        scores = [
            (self.strengths[bot] / scale - math.log(-math.log(self.random.random()))) / SPREAD
            for bot in bots
        ]
        self.twist(bots, scores)
        turns = self.ladder.plan.games
        games = tuple(self._game(turn, bots, scores) for turn in range(turns))
        self.take(Over(name, games, self.time))

    def _game(self, turn: int, bots: Sequence[int], scores: Sequence[float]) -> Game:
        count = len(bots)
        points = [0] * count
        for at, score in enumerate(scores):
            points[side(at, turn, count)] = round(100 * score)
        for at, bot in enumerate(bots):
            ahead = scores[at] - max(other for to, other in enumerate(scores) if to != at)
            if self.faulty(bot, ahead):
                seat = side(at, turn, count)
                best = max((value, -to) for to, value in enumerate(points) if to != seat)
                return Game(turn, 0, 1, tuple(points), -best[1], Blame(seat, Cause.TIME))
        best_score = max(points)
        first = points.index(best_score) if points.count(best_score) == 1 else None
        return Game(turn, 0, 1, tuple(points), first)
