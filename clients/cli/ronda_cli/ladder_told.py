"""How a ladder stands, at the terminal: the same of a folder and of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ronda_cli import output as out
from ronda_cli import text

if TYPE_CHECKING:
    from ronda_arena.ladder.rows import Row

_LEFT: Final = (
    "bot",
    "owner",
    "state",
    "note",
    "first",
    "second",
    "kind",
    "measured_by",
    "time",
)
_NAMED: Final = ("bot", "first", "second")
_SPARE: Final = ("met", "W-D-L", "at least", "last", "faults")
"""Columns that can be missed where there is no room for all, those first that are missed least."""
_NAMES: Final = (48, 32, 24, 16)
"""Cells to which long names are cut where there is no room for a table."""


def standings(about: Mapping[str, Any], found: Sequence[Row], output: str, plain: bool) -> None:
    """Write how all bots of a ladder stand, in the form that was asked for."""
    data = [one.to_json() for one in found]
    if output == "json":
        out.line(out.as_json({**about, "standings": data}))
    elif output == "table":
        if not found:
            out.note("nobody has been on it yet")
        for line in lines(found, plain):
            out.line(line)
        notes(found)
    else:
        tell(data, output, plain)


def lines(found: Sequence[Row], plain: bool, first: int = 1) -> Iterator[str]:
    """Yield the table of how bots stand, of which the first has this rank."""
    if not found:
        return iter(())
    return _lines([_shown(rank, one) for rank, one in enumerate(found, first)], plain)


def notes(found: Sequence[Row]) -> None:
    """Say of those that do not play why, and which are not what they seem."""
    for one in found:
        if one.note:
            out.note(text.one_line(f"{one.bot} {one.note}", 300))
        if one.changed:
            often = "once" if one.changed == 1 else f"{one.changed} times"
            out.note(f"{one.bot} is not what it was: its code has changed {often}")
        if one.alike and one.bot < min(one.alike):
            names = ", ".join(one.alike)
            out.note(f"{one.bot} is the same code as {names}: they never meet")


def _shown(rank: int, one: Row) -> dict[str, str]:
    from ronda_arena.report import words  # noqa: PLC0415 -- where asked

    # An anchor's rating is a definition and has no interval; so the words say.
    interval = "pinned" if one.state == "anchor" else f"{one.low:.1f} to {one.high:.1f}"
    return {
        "": "" if one.provisional else str(rank),
        "bot": one.bot,
        "rating": f"{one.rating:.1f}",
        "95 %": interval,
        "at least": f"{one.conservative:.1f}",
        "games": words.count(one.games),
        "W-D-L": words.record(one.won, one.drawn, one.lost) if one.games else "",
        "faults": ", ".join(f"{words.count(many)} {cause}" for cause, many in one.faults.items()),
        "met": words.count(one.opponents),
        "last": f"{datetime.fromtimestamp(one.last, UTC):%m-%d %H:%M}" if one.last else "never",
        "state": _state(one),
    }


def _state(one: Row) -> str:
    """Return the state; of one that plays, that it is provisional says all there is to say."""
    if not one.provisional:
        return one.state
    return "provisional" if one.state == "active" else f"{one.state}, provisional"


def tell(data: Sequence[Mapping[str, Any]], output: str, plain: bool, nothing: str = "") -> None:
    """Write rows of one kind in the form that was asked for."""
    if output == "json":
        out.line(out.as_json({"rows": list(data)}))
    elif output == "jsonl":
        for one in data:
            out.line(out.as_json(one))
    elif output == "csv":
        from ronda_arena.report.csv import written  # noqa: PLC0415 -- where asked

        heads = list(data[0]) if data else []
        fields = [[_field(value) for value in one.values()] for one in data]
        out.line(written(heads, fields).rstrip("\r\n"))
    elif data:
        cells = [{head: _text(value) for head, value in one.items()} for one in data]
        for line in _lines(cells, plain):
            out.line(line)
    else:
        out.note(nothing or "nothing yet")


def _field(value: object) -> object:
    """Return a value for a spreadsheet, which runs what looks like a formula."""
    from ronda_arena.report.csv import name_field  # noqa: PLC0415 -- where asked

    shown = _text(value)
    return (
        name_field(shown) if isinstance(value, str | list | tuple | dict) and shown else value or ""
    )


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{many} {what}" for what, many in value.items())
    return str(value)


def _lines(rows: Sequence[Mapping[str, str]], plain: bool) -> Iterator[str]:
    from ronda_cli import tables  # noqa: PLC0415 -- where asked
    from ronda_cli.look import look  # noqa: PLC0415 -- where asked
    from ronda_cli.tournament_tables import safe  # noqa: PLC0415 -- where asked

    shown, told = look(plain), safe(rows)
    for cells in () if shown.plain else _NAMES:
        if tables.fit(told, shown.width, spare=_SPARE):
            break
        told = safe([_cut(row, cells) for row in rows])
    return tables.lines(told, shown.width, left=_LEFT, spare=_SPARE, plain=shown.plain)


def _cut(row: Mapping[str, str], cells: int) -> dict[str, str]:
    """Return a row whose names are at most so wide; they keep their ends, where versions are."""
    from ronda_arena.report import names  # noqa: PLC0415 -- where asked

    return {
        head: names.shown(cell, cells) if head in _NAMED and cell else cell
        for head, cell in row.items()
    }
