"""Rows of text: a table where it has room, else a block for each row. Nothing is cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ronda_cli.text import width as cells


def lines(
    rows: Sequence[Mapping[str, str]], width: int, *, left: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the lines of a table. Columns in which nothing stands are left out.

    Numbers stand to the right; the columns in `left` to the left.
    """
    columns = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    widths = {name: max(cells(name), *(cells(row[name]) for row in rows)) for name in columns}
    if sum(widths.values()) + 2 * (len(columns) - 1) > width:
        yield from _blocks(rows, columns)
        return
    for row in ({name: name for name in columns}, *rows):
        fields = [_fill(row[name], widths[name], name in left) for name in columns]
        yield "  ".join(fields).rstrip()


def _blocks(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> Iterator[str]:
    label = max(map(cells, columns), default=0)
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name in columns:
            if row[name]:
                yield f"{_fill(name, label, True)}  {row[name]}"


def _fill(field: str, width: int, left: bool) -> str:
    space = " " * (width - cells(field))
    return field + space if left else space + field
