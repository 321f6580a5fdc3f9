"""Numbers for a spreadsheet: RFC 4180, in full, with empty fields where there is not enough to say.

A spreadsheet takes a field that begins as a formula for one, and runs it. Names come from
strangers: one that begins so has an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

from ronda_arena.report import names, reading, words
from ronda_arena.report.summary import Summary
from ronda_arena.statistics.estimate import DIGITS, Estimate

_FORMULA: Final = ("=", "+", "-", "@")


def ratings(summary: Summary) -> str:
    """Return a line for each entrant, the strongest first, below a line of heads.

    Who is not known has no rank.
    """
    heads = ("rank", "entrant", *_heads("margin"), *_heads("elo"))
    counts = ("blocks", "games", "won", "drawn", "lost", "faults")
    return written(
        (*heads, *counts),
        (
            (
                *(
                    rank if row.margin.known else "",
                    name_field(row.entrant),
                    *_fields(row.margin),
                    *_fields(row.elo),
                ),
                *(getattr(row, count) for count in counts),
            )
            for rank, row in enumerate(summary.ratings, 1)
        ),
    )


def pairs(summary: Summary) -> str:
    """Return a line for each two that met, below a line of heads."""
    return written(
        ("first", "second", *_heads("margin"), "won", "drawn", "lost", "los"),
        (
            (
                *(name_field(row.first), name_field(row.second)),
                *(*_fields(row.margin), row.won, row.drawn, row.lost),
                "" if row.los is None else round(row.los, DIGITS),
            )
            for row in summary.pairs
        ),
    )


def bots(summary: Summary) -> str:
    """Return a line for each bot of mixed teams, the strongest first, below a line of heads."""
    return written(
        ("rank", "bot", *_heads("margin"), *_heads("elo")),
        (
            (
                rank if row.margin.known else "",
                name_field(row.bot),
                *_fields(row.margin),
                *_fields(row.elo),
            )
            for rank, row in enumerate(summary.bots, 1)
        ),
    )


def positions(summary: Summary) -> str:
    """Return a line for each place at the table, in playing order, below a line of heads."""
    return written(
        ("position", "place", *_heads("margin"), *_heads("share")),
        (
            (
                row.position,
                reading.place(row.position),
                *_fields(row.margin),
                *_fields(row.share),
            )
            for row in summary.positions
        ),
    )


def faults(summary: Summary) -> str:
    """Return a line for each bot, with its games lost by its own fault, below a line of heads."""
    causes = [cause.value for cause in words.CAUSES]
    return written(
        ("bot", "games", "faults", *causes),
        (
            (
                name_field(row.bot),
                row.games,
                sum(row.causes.values()),
                *(row.causes.get(cause, 0) for cause in causes),
            )
            for row in summary.faults
        ),
    )


def written(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows below their heads."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(heads)
    writer.writerows(rows)
    return out.getvalue()


def _heads(of: str) -> tuple[str, ...]:
    return of, f"{of}_low", f"{of}_high", f"{of}_blocks"


def _fields(estimate: Estimate) -> tuple[object, ...]:
    if not estimate.known:
        return "", "", "", estimate.blocks
    numbers = (estimate.value, estimate.low, estimate.high)
    return (*(number and round(number, DIGITS) + 0.0 for number in numbers), estimate.blocks)


def name_field(raw: str) -> str:
    """Return a stranger's name as a field that no spreadsheet runs."""
    name = names.shown(raw)
    return f"'{name}" if name.startswith(_FORMULA) else name
