"""What a tournament came to, at the terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ronda_cli import output as out
from ronda_cli import tables, text
from ronda_cli.look import look

if TYPE_CHECKING:
    from ronda_arena.report.summary import Summary
    from ronda_arena.tournament.run import Standing, Waited
    from ronda_arena.tournament.spec import Plan
    from ronda_arena.tournament.tasks import Broken, Task

_MOST_WAITED: Final = 4
"""Games that are named where they do not end."""
_ASCII: Final = str.maketrans({"\u00b1": "+-", "\u2212": "-", "\u2013": "-", "\u2026": "..."})
"""For a terminal that knows no other letters."""


def tell(summary: Summary, output: str, plain: bool) -> None:
    """Write what it came to, in the form that was asked for."""
    from ronda_arena.report import csv  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.report.summary import to_json  # noqa: PLC0415 -- not for `--help`

    if output == "json":
        out.line(out.as_json(to_json(summary)))
    elif output == "csv":
        out.line(csv.ratings(summary).rstrip("\r\n"))
    elif output == "jsonl":
        ratings = to_json(summary)["ratings"]
        assert isinstance(ratings, list)
        for row in ratings:
            out.line(out.as_json(row))
    else:
        for line in _lines(summary, plain):
            out.line(line)


def how_far(standing: Standing) -> str:
    """Say how far a run has come that was interrupted."""
    of = f" of {standing.planned:,}" if standing.planned else ""
    return f"{standing.blocks:,}{of} blocks and {standing.games:,} games are over, and kept"


def stalled(plan: Plan, games: Sequence[Waited], seconds: float) -> str:
    """Say which bots are waited for, in which games and how long, and what to do about them."""
    advice = "play it in another folder with a --clock"
    if plan.isolation == "trusted":
        advice += " and without --isolation=trusted"
    elif plan.clock is not None:
        advice = "every bot has a clock, so this is no bot's doing"
    waited = f"no game has ended for {seconds:g} s"
    if not games:
        return f"{waited}; nothing is being played"
    told = "; ".join(_under_way(plan, one) for one in games[:_MOST_WAITED])
    more = len(games) - _MOST_WAITED
    others = f"; and {more} more" if more > 0 else ""
    bots = _waited_for(plan, games)
    return (
        f"{waited}. Waited for is {' or '.join(map(text.name, bots))}. Not over are"
        f" {told}{others}. Where one of these bots hangs, {advice}"
    )


def _waited_for(plan: Plan, games: Sequence[Waited]) -> list[str]:
    """Return the bots that most of these games have: where one hangs, it hangs in all of its own.

    With one worker or with games of two bots that is everybody in them.
    """
    counts = Counter(name for one in games for name in _seated(plan, one.task))
    most = max(counts.values())
    return [name for name, times in counts.items() if times == most]


def _seated(plan: Plan, task: Task) -> list[str]:
    entrants = [plan.entrants[at] for at in task.entrants]
    return list(dict.fromkeys(name for one in entrants for name in one.members))


def _under_way(plan: Plan, one: Waited) -> str:
    bots = ", ".join(map(text.name, _seated(plan, one.task)))
    since = out.duration(one.seconds)
    return f"{place(one.task.block, one.task.rotation)} ({bots}; for {since})"


def broken(plan: Plan, task: Task, fault: Broken, shown: Sequence[str]) -> str:
    """Say who broke where and why, and with what command it is shown when the records are there."""
    where = place(task.block, task.rotation)
    who = f"{text.name(fault.bot)} in seat {fault.seat}"
    does = f"forfeits {where}" if fault.forfeits else f"breaks when {where} is over"
    took = "" if fault.seconds is None else f", after {fault.seconds:.3f} s"
    at = f", at {fault.place}" if fault.place else ""
    advice = f"; {fault.advice}" if fault.advice else ""
    told = f"{who} {does}: {fault.cause.value}: {fault.detail}{took}{at}{advice}"
    if fault.forfeits:
        game = f"{plan.id}-{task.block}-{task.rotation}"
        told += f"; when the run has ended: {out.command(*shown, '--game', game)}"
    return text.one_line(told)


def place(block: int, rotation: int) -> str:
    """Name a game as its record does: blocks and rotations are counted from 0."""
    return f"block {block}, rotation {rotation}"


def _lines(summary: Summary, plain: bool) -> Iterator[str]:
    from ronda_arena.report import names, reading  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.report import tables as rows  # noqa: PLC0415 -- not for `--help`

    shown = look(plain)
    for sentence in summary.sentences:
        yield _folded(sentence, shown.width)
    told = _tables(summary, names.shown)
    short = not shown.plain and not all(tables.fit(table, shown.width) for table in told)
    if short:
        brief = names.without_versions(_everybody(summary))
        told = _tables(summary, lambda name: brief[name])
    if note := reading.looked_at(summary):
        yield _folded(note, shown.width)
    for table in told:
        yield ""
        yield from tables.lines(
            table, shown.width, left=rows.LEFT, spare=rows.SPARE, plain=shown.plain
        )
    if short and any(brief[name] != names.shown(name) for name in brief):
        yield ""
        yield _folded("Names stand without versions where that says who it is.", shown.width)
    left = len(reading.paired(summary)) - reading.MOST_PAIRS
    if left > 0:
        yield ""
        yield _folded(
            f"The table of pairs leaves out {left}: they are in report.json.", shown.width
        )


def _tables(summary: Summary, called: Callable[[str], str]) -> list[list[dict[str, str]]]:
    """Return what there is to show, with what stands for each name."""
    from ronda_arena.report import tables as rows  # noqa: PLC0415 -- not for `--help`

    told = (
        rows.placings(summary, called),
        rows.ratings(summary, called),
        rows.pairs(summary, called),
        rows.positions(summary),
        rows.faults(summary, called),
    )
    return [safe(table) for table in told if table]


def _everybody(summary: Summary) -> set[str]:
    bots = {row.bot for row in summary.faults}
    return bots | {row.entrant for row in summary.ratings}


def _folded(sentence: str, width: int) -> str:
    """Return a sentence in lines, none of which ends between a number and its sign of per cent."""
    tied = sentence.replace(" %", "\u00a0%")
    return textwrap.fill(tied, width, break_on_hyphens=False).replace("\u00a0%", " %")


def safe(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return rows in which no name steers the terminal."""
    ascii_ = not look().unicode
    return [
        {head: _typed(text.one_line(cell, 200), ascii_) for head, cell in row.items()}
        for row in rows
    ]


def _typed(cell: str, ascii_: bool) -> str:
    return cell.translate(_ASCII) if ascii_ else cell
