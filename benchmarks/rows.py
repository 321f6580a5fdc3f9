"""A row of the table: one ratio, with what it must be and what it is out for."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """A measured ratio: median of several runs, with its least and greatest."""

    row: str
    value: float
    low: float
    high: float
    unit: str
    must: str
    aim: str
    passed: bool
    detail: str


def at_least(
    row: str, ratios: Sequence[float], unit: str, must: float, aim: float, detail: str
) -> Row:
    """Return a row that is better the greater it is."""
    value = statistics.median(ratios)
    bounds = (min(ratios), max(ratios))
    return Row(row, value, *bounds, unit, f">= {must:g}", f">= {aim:g}", value >= must, detail)


def at_most(
    row: str, ratios: Sequence[float], unit: str, must: float, aim: float, detail: str
) -> Row:
    """Return a row that is better the smaller it is."""
    value = statistics.median(ratios)
    bounds = (min(ratios), max(ratios))
    return Row(row, value, *bounds, unit, f"<= {must:g}", f"<= {aim:g}", value <= must, detail)


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    table = Table(title="Ronda, ratios to references in the same run")
    for column in ("row", "median", "spread", "must", "aim", "", "detail"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            row.row,
            f"{row.value:.2f} {row.unit}",
            f"{row.low:.2f}-{row.high:.2f}",
            row.must,
            row.aim,
            "ok" if row.passed else "MISSED",
            row.detail,
        )
    Console(width=150).print(table)


def as_json(rows: Sequence[Row]) -> str:
    """Return the rows as JSON."""
    return json.dumps([asdict(row) for row in rows], indent=1)
