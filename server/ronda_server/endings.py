"""How a match ended, as its row keeps it for lists."""

from __future__ import annotations

import sqlite3
from typing import Any

from ronda_core.commitments import ending_of
from ronda_core.match import Cause, Fault, Finished, Outcome
from ronda_server import commitments, fold
from ronda_server.errors import LogError
from ronda_server.game import Game
from ronda_server.log import Lobby, MatchRow
from ronda_server.statements import set_ended, set_running


def told(result: Finished) -> dict[str, Any]:
    """Return what is kept of an ending."""
    kept: dict[str, Any] = {
        "outcome": result.outcome.value,
        "winner": result.winner,
        "scores": result.scores,
    }
    if result.fault:
        kept["fault"] = [result.fault.seat, result.fault.cause.value]
    return kept


def ended_game(row: MatchRow, lobby: Lobby) -> Game:
    """Return a match that is over as a list shows it, without replaying a card.

    `LogError` if its rows do not say enough.
    """
    try:
        result = _result(row.result or {})
        end = row.ended or 0
        return fold.ended(row.id, lobby.facts, lobby.commitment, lobby.sequence, end, result)
    except Exception as problem:  # whatever a damaged row makes of it
        raise LogError(f"match {row.id} does not tell how it ended") from problem


def _result(kept: dict[str, Any]) -> Finished:
    fault = kept.get("fault")
    return Finished(
        Outcome(kept["outcome"]),
        kept["winner"],
        tuple(kept["scores"]),
        Fault(fault[0], Cause(fault[1])) if fault else None,
    )


def write_state(connection: sqlite3.Connection, game: Game) -> None:
    """Bring the row of a match up to its state; an end goes to the list of commitments too."""
    if game.result is None:
        set_running(connection, game.id)
        return
    set_ended(connection, game.id, game.state, game.last_time, told(game.result))
    if game.table:  # the promise is its tournament's
        return
    ending = ending_of(game.result.outcome)
    commitments.append(connection, game.id, game.commitment, ending)
