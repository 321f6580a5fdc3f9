"""Rows of text for a terminal: each maps the head of a column to what stands under it.

Names come as they may be shown; numbers come with their interval and of how much they are made.
"""

from __future__ import annotations

from typing import Final

from ronda_arena.report import names, reading, winner, words
from ronda_arena.report.summary import PairRow, Summary
from ronda_arena.statistics.estimate import Estimate

Row = dict[str, str]

SPARE: Final = (
    *("W-D-L", "Elo, 95 %", "wins, 95 %", "games won", "extra blocks", "games", "LOS"),
    *reversed(words.CAUSES.values()),
)
"""Columns that can be missed where there is no room for all, those first that are missed least."""

LEFT: Final = ("entrant", "first", "second", "place", "bot", "round", "encounter", "went on")
"""Columns of words, which stand to the left."""


def ratings(summary: Summary, called: names.Called = names.shown) -> list[Row]:
    """Return a row for each entrant, the strongest first."""
    return [
        {
            "#": reading.rank(at, row.margin),
            "entrant": called(row.entrant),
            f"points a {summary.unit}, 95 %": _told(row.margin, words.points),
            "Elo, 95 %": _told(row.elo, words.elo),
            "blocks": words.count(row.blocks),
            "W-D-L": words.record(row.won, row.drawn, row.lost),
            "faults": words.count(row.faults) if row.faults else "",
        }
        for at, row in enumerate(summary.ratings)
    ]


def placings(summary: Summary, called: names.Called = names.shown) -> list[Row]:
    """Return how a Swiss stands, or every encounter of a knockout; nothing in other formats."""
    if summary.course is None:
        return []
    if summary.course.standings:
        return [
            {
                "place": words.count(at),
                "entrant": called(row.entrant),
                "points": winner.number(row.points),
                "Buchholz": winner.number(row.buchholz),
                "margin": winner.signed(row.margin),
                "byes": words.count(row.byes) if row.byes else "",
            }
            for at, row in enumerate(summary.course.standings, 1)
        ]
    return [
        {
            "round": line.round,
            "encounter": " - ".join(line.entrants) if line.won else f"{line.winner} (bye)",
            "margins": line.margins,
            "games won": line.won,
            "extra blocks": line.extra,
            "went on": line.winner,
        }
        for line in winner.lines(summary.course, called)
    ]


def bots(summary: Summary, called: names.Called = names.shown) -> list[Row]:
    """Return a row for each bot of mixed teams, the strongest first."""
    return [
        {
            "#": reading.rank(at, row.margin),
            "bot": called(row.bot),
            f"points a {summary.unit}, 95 %": _told(row.margin, words.points),
            "Elo, 95 %": _told(row.elo, words.elo),
            "blocks": words.count(row.margin.blocks),
        }
        for at, row in enumerate(summary.bots)
    ]


def pairs(
    summary: Summary, called: names.Called = names.shown, *, every: bool = False
) -> list[Row]:
    """Return a row for each two that a reader compares, at most `reading.MOST_PAIRS`; or all."""
    shown = reading.paired(summary)[: reading.MOST_PAIRS]
    return [
        {
            "first": called(row.first),
            "second": called(row.second),
            f"points a {summary.unit}, 95 %": _told(row.margin, words.points),
            "blocks": words.count(row.margin.blocks),
            "LOS": words.los(row.los),
            "W-D-L": words.record(row.won, row.drawn, row.lost),
        }
        for row in (reading.all_pairs(summary) if every else shown)
    ]


def cross(summary: Summary) -> list[Row]:
    """Return who beat whom as a square: a column for each entrant, numbered as its row."""
    met = reading.meetings(summary)
    everyone = [row.entrant for row in summary.ratings]
    return [
        {
            "#": words.count(rank),
            "entrant": names.shown(name),
            **{
                words.count(column): _cell(met.get((name, other)))
                for column, other in enumerate(everyone, 1)
            },
        }
        for rank, name in enumerate(everyone, 1)
    ]


def positions(summary: Summary) -> list[Row]:
    """Return a row for each place at the table, in playing order."""
    return [
        {
            "place": reading.place(row.position),
            f"points a {summary.unit}, 95 %": _told(row.margin, words.points),
            "wins, 95 %": _told(row.share, words.share),
            "blocks": words.count(row.margin.blocks),
        }
        for row in summary.positions
    ]


def faults(summary: Summary, called: names.Called = names.shown) -> list[Row]:
    """Return a row for each bot with faults, the most often faulty first."""
    return [
        {
            "bot": called(row.bot),
            "games": words.count(row.games),
            "faults": words.count(sum(row.causes.values())),
            **{
                told: words.count(many) if (many := row.causes.get(cause, 0)) else ""
                for cause, told in words.CAUSES.items()
            },
        }
        for row in reading.faulty(summary)
    ]


def _told(estimate: Estimate, form: words.Form) -> str:
    value = words.value(estimate, form)
    interval = words.interval(estimate, form).replace(" to ", "..")
    return f"{value} ({interval})" if interval else value


def _cell(row: PairRow | None) -> str:
    if row is None:
        return ""
    return f"{_told(row.margin, words.points)} {words.counted(row.margin.blocks, 'block')}"
