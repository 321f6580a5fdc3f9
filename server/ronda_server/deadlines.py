"""When a match waits no longer, and what follows then."""

from __future__ import annotations

from typing import Final

from ronda_core.hand import Phase
from ronda_core.match import Cause
from ronda_server.game import Decision, Game, forfeit

PATIENCE_MICROS: Final = 24 * 3_600_000_000
"""How long anything is waited for where no clock says so: a guest, a decision."""
READY_MICROS: Final = 60_000_000
"""How long a seat that has committed to its entropy may take to give it."""


def due(game: Game) -> int:
    """Return when something happens by itself, in microseconds since 1970; 0: never."""
    if game.over:
        return 0
    if game.match:
        return game.deadline or game.opened_at + PATIENCE_MICROS
    return game.filled_at + READY_MICROS if game.full else game.created + PATIENCE_MICROS


def lateness(game: Game) -> Decision:
    """Return what follows when nothing has come in time."""
    hand = game.match.hand if game.match else None
    if hand is None:
        if not game.full:
            return "cancelled", {}
        absent = next(at for at, seat in enumerate(game.seats) if not seat.ready)
        return forfeit(absent, Cause.NO_SHOW)
    if hand.phase is Phase.DECLARE:
        return "answered", {"seat": game.waits_for[0], "declares": False}
    return forfeit(hand.turn, Cause.TIME)
