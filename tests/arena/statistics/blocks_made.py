"""Blocks of two entrants at two seats that come to a wanted margin, without anybody playing."""

from __future__ import annotations

from ronda_arena.tournament.entrants import side
from ronda_arena.tournament.results import Block, Game


def block(number: int, lead: int, first: int = 0) -> Block:
    """Return a block that entrant 0 wins by `lead` points in both games; `first` sits first."""
    entrants = (first, 1 - first)
    games = []
    for rotation in range(2):
        at = side(entrants.index(0), rotation, 2)
        scores = (lead, 0) if at == 0 else (0, lead)
        ahead = at if lead > 0 else 1 - at
        games.append(Game(rotation, number % 2, 1, scores, ahead if lead else None))
    return Block(number, entrants, tuple(games))
