"""Tables of what a tournament came to: for a terminal, for a spreadsheet, and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ronda_cli import tables, text
from ronda_cli.look import Look, look

if TYPE_CHECKING:
    from ronda_arena.report.summary import Summary

NAMES: Final = ("ratings", "pairs", "bots", "seats", "faults")
"""What `--table` asks for."""

_DATA: Final = {"seats": "positions"}
"""What a table is called in the report as data, where it has another name there."""
_CUTS: Final = (48, 40, 32, 24)
"""Cells to which long names are cut where tables have no room for them, before columns go."""
_SHORT: Final = (24, 16, 12)
"""To which they are cut when columns have gone, where there would be no table else."""
_NOTHING: Final = {
    "pairs": "No block of two entrants is over yet.",
    "bots": "No bot was in a team of two different ones: the ratings are those of bots.",
    "seats": "No block is over yet.",
    "faults": "No bot lost a game by a fault of its own.",
}
_ASCII: Final = str.maketrans({"\u00b1": "+-", "\u2212": "-", "\u2013": "-", "\u2026": ".."})
"""For a terminal that knows no other letters."""

Make = Callable[[Callable[[str], str]], list[dict[str, str]]]
"""Makes a table, with what stands for each name."""


def data(summary: Summary, table: str | None) -> dict[str, object]:
    """Return the report as data, or one table of it."""
    from ronda_arena.report.summary import to_json  # noqa: PLC0415 -- not for `--help`

    whole = to_json(summary)
    return {table: whole[_DATA.get(table, table)]} if table else whole


def rows(summary: Summary, table: str) -> list[Any]:
    """Return the rows of a table, as data."""
    found = data(summary, table)[table]
    assert isinstance(found, list)
    return found


def csv(summary: Summary, table: str) -> str:
    """Return a table for a spreadsheet."""
    from ronda_arena.report import csv as made  # noqa: PLC0415 -- not for `--help`

    return {
        "ratings": made.ratings,
        "pairs": made.pairs,
        "bots": made.bots,
        "seats": made.positions,
        "faults": made.faults,
    }[table](summary)


def one(summary: Summary, table: str, shown: Look) -> Iterator[str]:
    """Yield the lines of one table, with all of its rows."""
    from ronda_arena.report import tables as made  # noqa: PLC0415 -- not for `--help`

    makes: dict[str, Make] = {
        "ratings": partial(made.ratings, summary),
        "pairs": partial(made.pairs, summary, every=True),
        "bots": partial(made.bots, summary),
        "seats": lambda _: made.positions(summary),
        "faults": partial(made.faults, summary),
    }
    make = makes[table]
    if not make(str):
        yield _folded(_NOTHING.get(table, "Nothing yet."), shown.width)
        return
    yield from _tables(summary, [make], shown)


def every(summary: Summary, shown: Look) -> Iterator[str]:
    """Yield what there is to say, and the tables of what it rests on."""
    from ronda_arena.report import reading  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.report import tables as made  # noqa: PLC0415 -- not for `--help`

    makes: list[Make] = [
        partial(made.placings, summary),
        partial(made.ratings, summary),
        partial(made.bots, summary),
        partial(made.pairs, summary),
        lambda _: made.positions(summary),
        partial(made.faults, summary),
    ]
    for sentence in summary.sentences:
        yield _folded(sentence, shown.width)
    if note := reading.looked_at(summary):
        yield _folded(note, shown.width)
    if summary.sentences:
        yield ""
    yield from _tables(summary, [make for make in makes if make(str)], shown)
    left = reading.left_out(summary)
    if left:
        yield ""
        what = f"{left:,} pairs are left out here" if left > 1 else "1 pair is left out here"
        yield _folded(f"{what}: ronda tournament show --table pairs tells all.", shown.width)


def _tables(summary: Summary, makes: Sequence[Make], shown: Look) -> Iterator[str]:
    """Yield tables with names as long as there is room for, and say what was done to them."""
    from ronda_arena.report import names  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.report import tables as made  # noqa: PLC0415 -- not for `--help`

    everybody = _everybody(summary)
    bare = {name: name for name in everybody}
    whole = [safe(make(names.shown)) for make in makes]
    short = not shown.plain and not all(tables.fit(table, shown.width) for table in whole)
    if short:
        bare = names.without_versions(everybody)
    cut = False
    for at, (make, table) in enumerate(zip(makes, whole, strict=True)):
        if at:
            yield ""
        told = table
        if short:
            brief = _shorter(make, bare, shown.width)
            told = safe(make(brief.__getitem__))
            cut = cut or told != safe(make(bare.__getitem__))
        yield from tables.lines(
            told, shown.width, left=made.LEFT, spare=made.SPARE, plain=shown.plain
        )
    if short and any(bare[name] != names.shown(name) for name in bare):
        yield ""
        yield _folded("Names stand without versions where that says who it is.", shown.width)
    if cut:
        yield ""
        yield _folded("Long names are cut: -o json and -o csv have them whole.", shown.width)


def _everybody(summary: Summary) -> list[str]:
    """Return every name that stands in a table."""
    bots = {row.bot for row in summary.bots} | {row.bot for row in summary.faults}
    return sorted({*bots, *(row.entrant for row in summary.ratings), *summary.placings})


def _shorter(make: Make, bare: Mapping[str, str], width: int) -> dict[str, str]:
    """Return names as long as a table has room for; `bare` are without versions.

    A long name gives way before any column does, a short one after all that can.
    """
    from ronda_arena.report import names  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.report import tables as made  # noqa: PLC0415 -- not for `--help`

    def cut(cells: int) -> dict[str, str]:
        return dict(zip(bare, names.labels(list(bare.values()), cells), strict=True))

    tries = [(cells, ()) for cells in (names.LONGEST, *_CUTS)]
    for cells, spare in (*tries, *((cells, made.SPARE) for cells in _SHORT)):
        brief = cut(cells)
        if tables.fit(safe(make(brief.__getitem__)), width, spare=spare):
            return brief
    return cut(_CUTS[-1])


def _folded(sentence: str, width: int) -> str:
    """Return a sentence in lines, none of which ends between a number and its sign of per cent.

    Words wider than a line are broken. What counts is cells: some letters take two.
    """
    lines, line = list[str](), ""
    for word in sentence.replace(" %", "\u00a0%").split(" "):
        longer = f"{line} {word}" if line else word
        if text.width(longer) <= width:
            line = longer
            continue
        lines += [line] if line else []
        *whole, line = _broken(word, width)
        lines += whole
    return "\n".join([*lines, line]).replace("\u00a0%", " %")


def _broken(word: str, width: int) -> list[str]:
    parts = [""]
    for letter in word:
        if text.width(parts[-1] + letter) > width:
            parts.append("")
        parts[-1] += letter
    return parts


def safe(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return rows in which no name steers the terminal."""
    ascii_ = not look().unicode
    return [
        {head: _typed(text.one_line(cell, 200), ascii_) for head, cell in row.items()}
        for row in rows
    ]


def _typed(cell: str, ascii_: bool) -> str:
    return cell.translate(_ASCII) if ascii_ else cell
