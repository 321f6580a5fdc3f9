"""How a match ended, as its row keeps it for lists."""

from __future__ import annotations

from typing import Any

from ronda_core.match import Cause, Fault, Finished, Outcome
from ronda_server import fold
from ronda_server.errors import LogError
from ronda_server.game import Game
from ronda_server.log import Lobby, MatchRow


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
