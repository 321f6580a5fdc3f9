"""Tournaments out of thin air: what is true of them is known, so it can be found again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.tournament.entrants import Entrant, rotations, side, sides
from ronda_arena.tournament.results import Blame, Block, Game
from ronda_core.match import Cause


def entrants(text: str) -> tuple[Entrant, ...]:
    """Return entrants as in ``a b a+b``."""
    return tuple(Entrant(tuple(name.split("+"))) for name in text.split())


@dataclass(frozen=True)
class World:
    """Bots of known strength, and how much luck there is."""

    names: str
    players: int = 2
    skills: Sequence[float] = ()
    """By entrant; none: all are equal."""
    places: Sequence[float] = ()
    deal: float = 6.0
    """Standard deviation of what a deal gives a seat; every rotation has the same deal."""
    style: float = 4.0
    """And of how much a deal suits an entrant: this makes the games of a block alike."""
    noise: float = 4.0
    forfeits: float = 0.0
    """How often a game ends by a fault, of anybody alike."""
    paired: bool = True
    entrants: tuple[Entrant, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entrants", entrants(self.names))

    def blocks(self, rng: np.random.Generator, each: int) -> Iterator[Block]:
        """Yield so many blocks of every pairing."""
        pairings = list(combinations(range(len(self.entrants)), sides(self.players)))
        for number, pairing in enumerate(pairings * each):
            yield self.block(rng, number, pairing)

    def played(self, rng: np.random.Generator, each: int) -> Evidence:
        """Return the evidence of so many blocks of every pairing."""
        evidence = Evidence(self.entrants, self.players, 1)
        for block in self.blocks(rng, each):
            evidence.add(block)
        return evidence

    def strengths(self, rng: np.random.Generator, each: int) -> Strengths:
        """Return what is found of the strengths in so many blocks of every pairing."""
        return Strengths(self.played(rng, each))

    def block(self, rng: np.random.Generator, number: int, pairing: tuple[int, ...]) -> Block:
        """Return one block of these entrants."""
        count = sides(self.players)
        games = []
        draw = _Draws(rng, self, count)
        for rotation in range(rotations([self.entrants[at] for at in pairing], self.players)):
            if rotation and not self.paired:
                draw = _Draws(rng, self, count)
            points = 20 + draw.deal + rng.normal(0, self.noise, count)
            for at, entrant in enumerate(pairing):
                own = side(at, rotation, count)
                points[own] += draw.style[at] + (self.skills[entrant] if self.skills else 0)
                if self.places:
                    points[own] += self.places[(own - draw.dealer) % count]
            scores = tuple(round(one) for one in points)
            guilty = rng.integers(self.players) if rng.random() < self.forfeits else None
            games.append(game(rotation, draw.dealer, scores, guilty))
        return Block(number, pairing, tuple(games), self.paired)


class _Draws:
    def __init__(self, rng: np.random.Generator, world: World, count: int) -> None:
        self.deal = rng.normal(0, world.deal, count)
        self.style = rng.normal(0, world.style, count)
        self.dealer = int(rng.integers(world.players))


def game(
    rotation: int,
    dealer: int,
    scores: tuple[int, ...],
    guilty: int | None = None,
    luck: tuple[int, ...] | None = None,
) -> Game:
    """Return a game that the most points win, or that a seat lost by its fault."""
    count = len(scores)
    among = [at for at in range(count) if guilty is None or at != guilty % count]
    best = [at for at in among if scores[at] == max(scores[one] for one in among)]
    winner = best[0] if len(best) == 1 else None
    fault = None if guilty is None else Blame(int(guilty), Cause.CRASH)
    return Game(rotation, dealer, 1, scores, winner, fault, luck)


def duel(*scores: tuple[int, int], number: int = 0, pairing: tuple[int, int] = (0, 1)) -> Block:
    """Return a block of two seats from what the entrants made, game by game."""
    games = [game(at, 0, one if at % 2 == 0 else (one[1], one[0])) for at, one in enumerate(scores)]
    return Block(number, pairing, tuple(games))


POOLS = {2: "a b c", 3: "a b c d", 4: "a b a+b b+c"}


@st.composite
def blocks(draw: st.DrawFn, players: int, most: int = 8) -> list[Block]:
    """Make any results at all."""
    pool, count = entrants(POOLS[players]), sides(players)
    told = []
    for number in range(draw(st.integers(0, most))):
        pairing = tuple(draw(st.permutations(range(len(pool))))[:count])
        paired, dealer = draw(st.booleans()), draw(st.integers(0, players - 1))
        games = []
        for rotation in range(rotations([pool[at] for at in pairing], players)):
            points = st.tuples(*[st.integers(0, 41)] * count)
            seat = st.none() | st.integers(0, players - 1)
            dealer = dealer if paired else draw(st.integers(0, players - 1))
            games.append(
                game(
                    rotation,
                    dealer,
                    draw(points),
                    draw(seat) if draw(st.booleans()) else None,
                    draw(st.none() | points),
                )
            )
        told.append(Block(number, pairing, tuple(games), paired))
    return told
