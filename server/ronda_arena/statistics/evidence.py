"""What is kept of the blocks: sums, from which every number is computed.

A cluster is what is independent of the rest: a block, or where its games were dealt different
decks, each of its games. Of a cluster two vectors are kept. One has, for each of its entrants and
then for each place at the table, the points by which it was ahead (of the mean of the others, added
up over the games), and the same of the reference's points, which are luck. The other has what each
had of the wins, less an equal part of every game. Clusters of one kind, the same entrants and the
same places, are summed: the vectors and their products with one another, as whole numbers, so that
the order of the blocks shows in no number that comes of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ronda_arena.tournament.entrants import Entrant, seats, side, sides
from ronda_arena.tournament.results import (
    Block,
    Game,
    ahead,
    guilty_entrant,
    margins,
    position,
    shares,
)
from ronda_core.match import Cause

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

MARGIN_SCALE: Final = 4
"""Margins are whole quarters of a point: of three, halves, and half of them where one forfeits."""
SHARE_SCALE: Final = 6
"""Shares of a win are whole sixths: halves and thirds."""


class Kind(NamedTuple):
    """What clusters have in common that are summed."""

    entrants: tuple[int, ...]
    places: tuple[int, ...]
    """The place of the first entrant in each game, sorted; the others follow in order."""


@dataclass(slots=True)
class Score:
    """Games from the view of one who took part in them, or of the first of two."""

    blocks: int = 0
    won: int = 0
    drawn: int = 0
    lost: int = 0
    faults: int = 0

    @property
    def games(self) -> int:
        """Count the games."""
        return self.won + self.drawn + self.lost


class Moments(NamedTuple):
    """Sums over the clusters of each kind: of a vector, and of its outer product with itself."""

    sums: Floats
    """By kind, then by entry: each entrant of the kind, then each place."""
    products: Floats


@dataclass(slots=True)
class Evidence:
    """All that is known of the games of a tournament."""

    entrants: Sequence[Entrant]
    players: int
    hands_a_game: int
    """By which margins are divided: where the number of hands is fixed, they are told a hand."""
    blocks: int = 0
    unpaired: int = 0
    """Blocks of which every game has deals of its own."""
    games: int = 0
    measured: int = 0
    """Games of which the reference's score is known."""
    scores: list[Score] = field(init=False)
    """By entrant."""
    pairs: dict[tuple[int, int], Score] = field(default_factory=dict)
    """By two entrants, the one that comes first in the list before the other."""
    bot_blocks: Counter[str] = field(default_factory=Counter)
    bot_games: Counter[str] = field(default_factory=Counter)
    faults: dict[str, Counter[Cause]] = field(default_factory=dict)
    at_start: Counter[str] = field(default_factory=Counter)
    """Faults of bots that could not be made: no card was dealt."""
    helped: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Games by the bot that broke them off and a bot of those that the record calls the winners."""
    _rows: dict[Kind, int] = field(default_factory=dict)
    _table: Whole = field(init=False)
    _products: tuple[tuple[int, int], ...] = field(init=False)
    _share_products: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        self.scores = [Score() for _ in self.entrants]
        told = 2 * (self.sides - 1)  # of a vector that sums to zero twice
        self._products = _upper(2 * told)
        self._share_products = _upper(told)
        width = 2 + 3 * told + len(self._products) + len(self._share_products)
        self._table = np.zeros((8, width), dtype=np.int64)

    @property
    def sides(self) -> int:
        """Say how many entrants meet at a table."""
        return sides(self.players)

    def add(self, block: Block) -> None:
        """Take a block in; its games are all over."""
        told = margins(block)
        won = [shares(game, self.sides) for game in block.games]
        self.blocks += 1
        self.games += len(block.games)
        self._count(block, won)
        if block.paired:
            self._sum(block, block.games, told, won)
        else:
            self.unpaired += 1
            for game, margin, share in zip(block.games, told, won, strict=True):
                self._sum(block, (game,), (margin,), (share,))

    def _sum(
        self,
        block: Block,
        games: Sequence[Game],
        told: Sequence[Sequence[float]],
        won: Sequence[Sequence[float]],
    ) -> None:
        count = self.sides
        places = [position(0, game, count) for game in games]
        lucks = [self._luck(game) for game in games]
        vector = _vector(told, places, MARGIN_SCALE) + _vector(lucks, places, MARGIN_SCALE)
        share = _vector(
            [[part - 1 / count for part in parts] for parts in won], places, SHARE_SCALE
        )
        squares = sum(round(MARGIN_SCALE * one) ** 2 for margin in told for one in margin)
        row = self._row(Kind(block.entrants, tuple(sorted(places))))
        self._table[row] += np.array(
            [
                1,
                squares,
                *vector,
                *share,
                *[vector[i] * vector[j] for i, j in self._products],
                *[share[i] * share[j] for i, j in self._share_products],
            ],
            dtype=np.int64,
        )

    def _luck(self, game: Game) -> Sequence[float]:
        if game.luck is None:
            return (0.0,) * self.sides
        self.measured += 1
        by_side = ahead(game.luck)
        return [by_side[side(at, game.rotation, self.sides)] for at in range(self.sides)]

    def _row(self, kind: Kind) -> int:
        row = self._rows.setdefault(kind, len(self._rows))
        if row == len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        return row

    def _count(self, block: Block, won: Sequence[Sequence[float]]) -> None:
        table = [self.entrants[at] for at in block.entrants]
        for bot in sorted({bot for entrant in table for bot in entrant.members}):
            self.bot_blocks[bot] += 1
            self.bot_games[bot] += len(block.games)
        pairs = []
        for (i, a), (j, b) in combinations(enumerate(block.entrants), 2):
            score = self.pairs.setdefault((min(a, b), max(a, b)), Score())
            score.blocks += 1
            pairs.append((i, j, score) if a < b else (j, i, score))
        for at in block.entrants:
            self.scores[at].blocks += 1
        for game, parts in zip(block.games, won, strict=True):
            guilty = None if game.fault is None else guilty_entrant(game, self.sides)
            if game.fault is not None and guilty is not None:
                self.scores[block.entrants[guilty]].faults += 1
                bot = seats(table, game.rotation, self.players)[game.fault.seat]
                self.faults.setdefault(bot, Counter())[game.fault.cause] += 1
                self.at_start[bot] += not game.hands
                self._help(bot, table, game)
            for at, part in zip(block.entrants, parts, strict=True):
                score = self.scores[at]
                score.won += part == 1
                score.drawn += 0 < part < 1
                score.lost += part == 0
            for i, j, score in pairs:
                lead = _lead(game, i, j, parts, guilty)
                score.won += lead > 0
                score.drawn += lead == 0
                score.lost += lead < 0

    def _help(self, bot: str, table: Sequence[Entrant], game: Game) -> None:
        """Count whom it helped that a bot broke off a game."""
        for at, entrant in enumerate(table):
            if side(at, game.rotation, self.sides) == game.winner:
                for member in entrant.members:
                    self.helped[bot, member] += member != bot

    def kinds(self) -> Kinds:
        """Return the sums as arrays, in an order that does not depend on that of the blocks."""
        order = sorted(self._rows)
        rows = self._table[[self._rows[kind] for kind in order]].astype(np.float64)
        told = 2 * (self.sides - 1)
        ends = np.cumsum([2, 2 * told, told, len(self._products), len(self._share_products)])
        head, vector, share, products, share_products, _ = np.split(rows, ends, axis=1)
        count = self.sides
        places = np.zeros((len(order), count))
        for at, kind in enumerate(order):
            for place in kind.places:
                places[at, place] += 1
        points = 1 / (MARGIN_SCALE * self.hands_a_game)
        full = _full(vector, products, self._products, count)
        sums, squares = full.sums * points, full.products * points**2
        return Kinds(
            entrants=np.array([kind.entrants for kind in order], dtype=np.int64).reshape(-1, count),
            places=places,
            clusters=head[:, 0],
            point=1 / self.hands_a_game,
            squares=head[:, 1] * points**2,
            margins=Moments(sums[:, : 2 * count], squares[:, : 2 * count, : 2 * count]),
            luck=Moments(sums[:, 2 * count :], squares[:, 2 * count :, 2 * count :]),
            both=squares[:, : 2 * count, 2 * count :],
            shares=_scaled(_full(share, share_products, self._share_products, count)),
        )


class Kinds(NamedTuple):
    """The sums of every kind of cluster, as arrays: margins are points a hand, or a game."""

    entrants: Whole
    """By kind: places in the list of entrants."""
    places: Floats
    """By kind and place: in how many games of a cluster its first entrant had it."""
    clusters: Floats
    point: float
    """What one point of a game is in the unit of margins."""
    squares: Floats
    """Of the margins of single games, over all entrants."""
    margins: Moments
    luck: Moments
    both: Floats
    """Products of margins, down, and of luck, across."""
    shares: Moments

    @property
    def games(self) -> Floats:
        """Count the games of one cluster of each kind."""
        games: Floats = self.places.sum(axis=1)
        return games


def added(where: Whole, what: Floats, size: int) -> Floats:
    """Return what belongs to each of `size` places, added up."""
    return np.bincount(where.ravel(), what.ravel(), minlength=size).astype(np.float64)


def _vector(rows: Sequence[Sequence[float]], places: Sequence[int], scale: int) -> list[int]:
    """Return the sums by entrant and by place, each without the last, which the others tell."""
    count = len(rows[0])
    by_entrant = [sum(row[at] for row in rows) for at in range(count - 1)]
    by_place = [
        sum(row[(at - place) % count] for row, place in zip(rows, places, strict=True))
        for at in range(count - 1)
    ]
    return [round(scale * one) for one in by_entrant + by_place]


def _full(
    vector: Floats, products: Floats, pairs: Sequence[tuple[int, int]], count: int
) -> Moments:
    """Return the sums with the entries that were left out."""
    size = vector.shape[1]
    square = np.zeros((len(vector), size, size))
    for at, (i, j) in enumerate(pairs):
        square[:, i, j] = square[:, j, i] = products[:, at]
    one = np.vstack([np.eye(count - 1), -np.ones(count - 1)])
    whole = np.kron(np.eye(size // (count - 1)), one)
    return Moments(vector @ whole.T, whole @ square @ whole.T)


def _scaled(moments: Moments) -> Moments:
    return Moments(moments.sums / SHARE_SCALE, moments.products / SHARE_SCALE**2)


def _upper(size: int) -> tuple[tuple[int, int], ...]:
    return tuple((i, j) for i in range(size) for j in range(i, size))


def _lead(game: Game, i: int, j: int, parts: Sequence[float], guilty: int | None) -> float:
    """Return what is positive if the first of two in a game ended ahead of the second.

    Of two that is the winner; of three the one with more points. Who forfeits is last, and of the
    two others neither is ahead.
    """
    if len(parts) == 2 or guilty is not None:
        return parts[i] - parts[j]
    return game.scores[side(i, game.rotation, 3)] - game.scores[side(j, game.rotation, 3)]
