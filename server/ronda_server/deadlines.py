"""When a match waits no longer, and what follows then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ronda_arena.clock import CEILING_SECONDS
from ronda_core.hand import Phase
from ronda_core.match import Cause
from ronda_server.game import REMOTE, Decision, Game, forfeit

PATIENCE_MICROS: Final = 24 * 3_600_000_000
"""How long anything is waited for where no clock says so: a guest, a decision."""
CEILING_MICROS: Final = round(CEILING_SECONDS * 1e6)
"""How long a remote bot may take for a decision where no clock says so."""
READY_MICROS: Final = 60_000_000
"""How long a seat that has committed to its entropy may take to give it."""


def due(game: Game, handed: int = 0, granted: int = 0) -> int:
    """Return when something happens by itself, in microseconds since 1970; 0: never.

    The time of a remote bot begins when its decision could be `handed` to its stream: what it took
    to store what came before is not its own. A bot of the server has time until `granted`.
    """
    if game.result is not None:
        return 0
    if game.match is None:
        return game.filled_at + READY_MICROS if game.full else game.created + PATIENCE_MICROS
    hosted = False
    for seat in game.waits_for:
        isolation = game.seats[seat].isolation
        if isolation == REMOTE:
            return max(game.opened_at, handed) + (game.per_decision or CEILING_MICROS)
        hosted = hosted or isolation != ""
    due = game.opened_at + (game.per_decision or PATIENCE_MICROS)
    return max(due, granted) if hosted else due


def waits_for_remote(game: Game) -> int | None:
    """Return the first seat of a remote bot whose decision is open."""
    return next((seat for seat in game.waits_for if game.seats[seat].remote), None)


def lateness(game: Game, was_there: Callable[[int], bool]) -> Decision:
    """Return what follows when nothing has come in time.

    `was_there` says of a seat of a remote bot if the bot has been there since the match began.
    """
    hand = game.match.hand if game.match else None
    if hand is None:
        if not game.full:
            return "cancelled", {}
        absent = next(at for at, seat in enumerate(game.seats) if not seat.ready)
        return forfeit(absent, Cause.NO_SHOW)
    if (remote := waits_for_remote(game)) is not None:
        return forfeit(remote, Cause.TIME if was_there(remote) else Cause.NO_SHOW)
    if hand.phase is Phase.DECLARE:
        return "answered", {"seat": game.waits_for[0], "declares": False}
    return forfeit(hand.turn, Cause.TIME)
