"""Rows of text: a table where it has room, else a block for each row. No number is cut.

In plain output every row is told by itself, a line a column: nothing there stands under anything.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ronda_cli.text import fit as fitted
from ronda_cli.text import width as cells
from ronda_cli.text import wrapped

Rows = Sequence[Mapping[str, str]]

_WORTH_MISSING: Final = 60
"""Columns of a terminal from which on a table that misses something reads better than blocks."""


def lines(
    rows: Rows,
    width: int,
    *,
    left: Sequence[str] = (),
    spare: Sequence[str] = (),
    plain: bool = False,
) -> Iterator[str]:
    """Yield the lines of a table. Columns in which nothing stands are left out.

    Numbers stand to the right; the columns in `left` to the left. Where there is no room for all,
    those in `spare` are left out one after the other, and the last line says so.
    """
    columns = _filled(rows)
    if plain:
        yield from _plainly(rows, columns, width)
        return
    kept, missed = _kept(rows, columns, width, spare)
    if _width(rows, kept) > width:
        yield from _blocks(rows, columns, width)
        return
    widths = {name: _column(rows, name) for name in kept}
    for row in ({name: name for name in kept}, *rows):
        fields = [_fill(row[name], widths[name], name in left) for name in kept]
        yield "  ".join(fields).rstrip()
    if missed:
        yield from wrapped(f"Left out for want of room: {'; '.join(missed)}.", width, below="")


def fit(rows: Rows, width: int, *, spare: Sequence[str] = ()) -> bool:
    """Return whether there is room for a table with all of its columns, but for those in `spare`.

    Where those would not be left out, nothing fits without them.
    """
    kept, _ = _kept(rows, _filled(rows), width, spare)
    return _width(rows, kept) <= width


def _filled(rows: Rows) -> list[str]:
    return [name for name in rows[0] if any(row[name] for row in rows)] if rows else []


def _kept(
    rows: Rows, columns: Sequence[str], width: int, spare: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the columns for which there is room, and those that had to give way."""
    kept, missed = list(columns), list[str]()
    if width < _WORTH_MISSING:
        return kept, missed
    for name in spare:
        if _width(rows, kept) <= width:
            break
        if name in kept:
            kept.remove(name)
            missed.append(name)
    return kept, missed


def _width(rows: Rows, columns: Sequence[str]) -> int:
    return sum(_column(rows, name) for name in columns) + 2 * (len(columns) - 1)


def _column(rows: Rows, name: str) -> int:
    return max(cells(name), *(cells(row[name]) for row in rows))


def _plainly(rows: Rows, columns: Sequence[str], width: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name in columns:
            if row[name]:
                told = f"{name}: {row[name]}"
                yield from textwrap.wrap(
                    told, width, break_long_words=False, break_on_hyphens=False
                )


def _blocks(rows: Rows, columns: Sequence[str], width: int) -> Iterator[str]:
    """Yield each row by itself; what has no room beside its head stands below it, a name cut."""
    label = max(map(cells, columns), default=0)
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name in columns:
            if row[name] and label + 2 + cells(row[name]) <= width:
                yield f"{_fill(name, label, True)}  {row[name]}"
            elif row[name]:
                yield fitted(name, width)
                yield f"  {fitted(row[name], width - 2)}"


def _fill(field: str, width: int, left: bool) -> str:
    space = " " * (width - cells(field))
    return field + space if left else space + field
