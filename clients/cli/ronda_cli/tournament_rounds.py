"""What the rounds of a Swiss or a knockout came to, and what bots took to think, off the wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ronda.v1 import tournament_pb2
from ronda_arena.report.summary import ThoughtRow
from ronda_arena.tournament.formats.course import Bracket, Course, Decided, Standing, Tie
from ronda_cli.text import name

_WIDE: Final = 300
_BY: Final[dict[int, Decided]] = {
    tournament_pb2.KnockoutTie.BY_MARGIN: "margin",
    tournament_pb2.KnockoutTie.BY_GAMES: "games",
}


def course(told: tournament_pb2.TournamentCourse, names: Sequence[str]) -> Course:
    """Return a course; entrants are places in `names`."""
    return Course(
        rounds=told.rounds,
        played=told.played,
        standings=tuple(
            Standing(_named(row.entrant, names), row.points, row.buchholz, row.margin, row.byes)
            for row in told.standings
        ),
        brackets=tuple(
            Bracket(
                tuple(_tie(tie, names) for tie in round_.ties),
                tuple(_named(at, names) for at in round_.byes),
            )
            for round_ in told.brackets
        ),
    )


def _tie(told: tournament_pb2.KnockoutTie, names: Sequence[str]) -> Tie:
    return Tie(
        entrants=tuple(_named(at, names) for at in told.entrants),
        margins=tuple(told.margins),
        won=tuple(told.won),
        extra=told.extra_blocks,
        winner=_named(told.winner, names),
        by=_BY.get(told.by, "list"),
    )


def _named(at: int, names: Sequence[str]) -> str:
    return names[at] if at < len(names) else ""


def thoughts(told: Iterable[tournament_pb2.BotThoughts]) -> tuple[ThoughtRow, ...]:
    """Return what the decisions of each bot took."""
    return tuple(
        ThoughtRow(
            name(row.bot, _WIDE),
            row.decisions,
            row.mean_seconds,
            row.longest_seconds,
            tuple(row.counts),
        )
        for row in told
    )
