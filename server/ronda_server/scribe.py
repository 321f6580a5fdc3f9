"""The record of a hosted match, from its log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from ronda_core import fair
from ronda_core.record import FairRecord, Record, Scribe
from ronda_server import fold
from ronda_server.facts import Fact
from ronda_server.game import Game

_NOBODY: Final = "nobody"
"""Who sits in a seat that nobody had taken when the match was cancelled."""


def record_of(match_id: str, facts: list[Fact], commitment: str, master: bytes) -> Record:
    """Return the record of a match that is over."""
    steps = list(fold.replay(match_id, facts, commitment, master))
    game = steps[-1][0]
    scribe = _scribe(game)
    # The states of a replay are one object: a record wants each step as it was.
    for state, happened in fold.replay(match_id, facts, commitment, master):
        if state.match:
            scribe.take(state.match, [one.event for one in happened if one.event])
    return scribe.record(rfc3339(game.last_time))


def rfc3339(micros: int) -> str:
    """Return a time in microseconds since 1970 as RFC 3339 text."""
    return datetime.fromtimestamp(micros / 1e6, UTC).isoformat().replace("+00:00", "Z")


def _scribe(game: Game) -> Scribe:
    names = [seat.identity or _NOBODY for seat in game.seats]
    table = game.table
    if table:
        scope, entries = fold.dealt_for(game)
    else:
        scope, entries = (
            game.id,
            tuple(
                fair.Entry(name, seat.entropy) for name, seat in zip(names, game.seats, strict=True)
            ),
        )
    return Scribe(
        game.id,
        game.settings,
        names,
        start=rfc3339(game.started or game.created),
        fair=FairRecord(fair.SCHEME, scope, game.commitment, game.master, entries),
        isolation=[seat.isolation or "person" for seat in game.seats],
        clock={"per_decision": game.per_decision / 1e6} if game.per_decision else None,
        rated=table.rated if table else False,
        tournament=table.tournament if table else None,
        block=table.block if table else None,
        rotation=table.rotation if table else None,
    )
