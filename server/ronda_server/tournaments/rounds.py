"""What the rounds of a Swiss or a knockout came to, and what bots took to think, as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ronda.v1 import tournament_pb2

_Pb = tournament_pb2

_BY: Final = {
    "margin": _Pb.KnockoutTie.BY_MARGIN,
    "games": _Pb.KnockoutTie.BY_GAMES,
    "list": _Pb.KnockoutTie.BY_LIST,
}


def course(
    told: Mapping[str, Any] | None, place: Mapping[str, int]
) -> tournament_pb2.TournamentCourse | None:
    """Return the course that a report tells; None where there are no rounds."""
    if told is None:
        return None
    return _Pb.TournamentCourse(
        rounds=told["rounds"],
        played=told["played"],
        standings=[
            _Pb.SwissStanding(
                entrant=place[row["entrant"]],
                points=row["points"],
                buchholz=row["buchholz"],
                margin=row["margin"],
                byes=row["byes"],
            )
            for row in told["standings"]
        ],
        brackets=[
            _Pb.KnockoutRound(
                ties=[_tie(tie, place) for tie in round_["ties"]],
                byes=[place[name] for name in round_["byes"]],
            )
            for round_ in told["brackets"]
        ],
    )


def _tie(told: Mapping[str, Any], place: Mapping[str, int]) -> tournament_pb2.KnockoutTie:
    return _Pb.KnockoutTie(
        entrants=[place[name] for name in told["entrants"]],
        margins=told["margins"],
        won=told["won"],
        extra_blocks=told["extra"],
        winner=place[told["winner"]],
        by=_BY[told["by"]],
    )


def thoughts(row: Mapping[str, Any]) -> tournament_pb2.BotThoughts:
    """Return what the decisions of a bot took."""
    return _Pb.BotThoughts(
        bot=row["bot"],
        decisions=row["decisions"],
        mean_seconds=row["mean"],
        longest_seconds=row["longest"],
        counts=row["counts"],
    )
