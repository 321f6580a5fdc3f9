"""What statistics and reports know of the games: blocks whose last game is over.

The block is the unit of evidence. Its games share their deals, so they are never counted as
independent: a block gives one margin for each of its entrants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ronda_arena.tournament.entrants import side
from ronda_core.match import Cause


class Blame(NamedTuple):
    """Whose fault ended a game."""

    seat: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Game:
    """How one game of a block ended."""

    rotation: int
    dealer: int
    """The seat that dealt the first hand; in a paired block the same in every rotation."""
    hands: int
    """Hands that were dealt."""
    scores: tuple[int, ...]
    """Points by side."""
    winner: int | None
    """A side; None: a draw."""
    fault: Blame | None = None
    luck: tuple[int, ...] | None = None
    """Points by side that the reference bot makes in all seats on the same hands, and on those that
    would have come until each side had dealt equally often; None where nobody looked."""


@dataclass(frozen=True, slots=True)
class Block:
    """One deal, or one match's worth of them, in every rotation of the seats.

    One that is not paired has as many deals as games, and they are as independent as blocks are.
    """

    number: int
    entrants: tuple[int, ...]
    """Places in the list of entrants, in the order in which they sit in rotation 0."""
    games: tuple[Game, ...]
    """By rotation: all of them."""
    paired: bool = True
    """Every rotation was dealt the same decks. Not so where a remote bot or a person took part:
    they could remember."""
    walkover: float = 0.0
    """Points that who forfeits every game of the block is behind by in each, at least; of one that
    is not paired, who forfeits any."""


def ahead(points: Sequence[int]) -> tuple[float, ...]:
    """Return by how much each side is ahead of the mean of the others; it sums to zero."""
    total, others = sum(points), len(points) - 1
    return tuple(mine - (total - mine) / others for mine in points)


def margins(block: Block) -> tuple[tuple[float, ...], ...]:
    """Return by how much each entrant is ahead in each game: by rotation, then by entrant.

    Who forfeits must not gain by it: its margin is the worse of what it had and of its worst
    margin in a game of the block that nobody forfeited; where there is none, a walkover takes its
    place. So it does beside them where the games have deals of their own: there a game says nothing
    of another one, and who had more luck than usual in one could else have it twice by leaving the
    next. What it loses by that the others share.
    """
    count = len(block.entrants)
    played = [_by_entrant(ahead(game.scores), game.rotation, count) for game in block.games]
    told = []
    for game, margin in zip(block.games, played, strict=True):
        if game.fault is None:
            told.append(margin)
            continue
        guilty = guilty_entrant(game, count)
        faultless = [
            other[guilty] for at, other in zip(block.games, played, strict=True) if at.fault is None
        ]
        if not block.paired or not faultless:
            faultless.append(-block.walkover)
        worst = min(margin[guilty], *faultless)
        share = (margin[guilty] - worst) / (count - 1)
        told.append(tuple(worst if at == guilty else one + share for at, one in enumerate(margin)))
    return tuple(told)


def guilty_entrant(game: Game, count: int) -> int:
    """Return the place in the block of the entrant whose fault ended a game."""
    assert game.fault is not None
    at_side = game.fault.seat % count  # at four seats partners sit opposite each other
    return next(at for at in range(count) if side(at, game.rotation, count) == at_side)


def shares(game: Game, count: int) -> tuple[float, ...]:
    """Return what each entrant has of the win: 1 of one's own, an equal part of a draw.

    Of three a draw is between those with the most points. Who forfeits has no part of a win, and
    the others have equal ones: of three neither has beaten the other, since when a game is broken
    off is for the one to choose who breaks it off.
    """
    if game.fault is not None:
        guilty = game.fault.seat % count  # at four seats partners sit opposite each other
        by_side = [float(at != guilty) / (count - 1) for at in range(count)]
    elif game.winner is not None:
        by_side = [float(at == game.winner) for at in range(count)]
    else:
        best = max(game.scores)
        leading = [score == best for score in game.scores]
        by_side = [float(leads) / sum(leading) for leads in leading]
    return _by_entrant(by_side, game.rotation, count)


def position(entrant: int, game: Game, count: int) -> int:
    """Return where an entrant sat: 0 is the side of the first dealer, 1 plays first, and so on."""
    return (side(entrant, game.rotation, count) - game.dealer) % count


def _by_entrant(by_side: Sequence[float], rotation: int, count: int) -> tuple[float, ...]:
    return tuple(by_side[side(at, rotation, count)] for at in range(count))
