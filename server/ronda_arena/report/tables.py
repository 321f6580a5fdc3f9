"""Rows of text for a terminal: each maps the head of a column to what stands under it.

Names come as they may be shown; numbers come with their interval and of how much they are made.
"""

from __future__ import annotations

from typing import Final

from ronda_arena.report import names, reading, words
from ronda_arena.report.summary import PairRow, Summary
from ronda_arena.statistics.estimate import Estimate

Row = dict[str, str]

LEFT: Final = ("entrant", "first", "second", "place", "bot")
"""Columns of words, which stand to the left."""


def ratings(summary: Summary) -> list[Row]:
    """Return a row for each entrant, the strongest first."""
    return [
        {
            "": words.count(rank),
            "entrant": names.shown(row.entrant),
            **_told(f"points a {summary.unit}", row.margin, words.points),
            **_told("Elo", row.elo, words.elo),
            "blocks": words.count(row.blocks),
            "games": words.count(row.games),
            "won": words.count(row.won),
            "drawn": words.count(row.drawn),
            "lost": words.count(row.lost),
            "faults": words.count(row.faults),
        }
        for rank, row in enumerate(summary.ratings, 1)
    ]


def pairs(summary: Summary) -> list[Row]:
    """Return a row for each two that met."""
    return [
        {
            "first": names.shown(row.first),
            "second": names.shown(row.second),
            **_told(f"points a {summary.unit}", row.margin, words.points),
            "blocks": words.count(row.margin.blocks),
            "won": words.count(row.won),
            "drawn": words.count(row.drawn),
            "lost": words.count(row.lost),
        }
        for row in summary.pairs
    ]


def cross(summary: Summary) -> list[Row]:
    """Return who beat whom as a square: a column for each entrant, numbered as its row."""
    met = reading.meetings(summary)
    everyone = [row.entrant for row in summary.ratings]
    return [
        {
            "": words.count(rank),
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
            **_told(f"points a {summary.unit}", row.margin, words.points),
            **_told("wins", row.share, words.share),
            "blocks": words.count(row.margin.blocks),
        }
        for row in summary.positions
    ]


def faults(summary: Summary) -> list[Row]:
    """Return a row for each bot with faults, the most often faulty first."""
    return [
        {
            "bot": names.shown(row.bot),
            "games": words.count(row.games),
            "faults": words.count(sum(row.causes.values())),
            **{
                told: words.count(many) if (many := row.causes.get(cause, 0)) else ""
                for cause, told in words.CAUSES.items()
            },
        }
        for row in reading.faulty(summary)
    ]


def _told(head: str, estimate: Estimate, form: words.Form) -> Row:
    value = words.value(estimate, form)
    return {head: value, f"{head}, 95 %": words.interval(estimate, form)}


def _cell(row: PairRow | None) -> str:
    if row is None:
        return ""
    value = words.value(row.margin, words.points)
    interval = words.interval(row.margin, words.points)
    return f"{value} ({interval}; {row.margin.blocks})" if interval else value
