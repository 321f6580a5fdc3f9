"""What a tournament came to, at the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ronda_cli import output as out
from ronda_cli import text
from ronda_cli.look import look

if TYPE_CHECKING:
    from ronda_arena.report.summary import Summary
    from ronda_arena.tournament.run import Standing, Waited
    from ronda_arena.tournament.spec import Plan
    from ronda_arena.tournament.tasks import Broken, Task

_MOST_WAITED: Final = 4
"""Games that are named where they do not end."""


def tell(summary: Summary, output: str, plain: bool, table: str | None = None) -> None:
    """Write what it came to, in the form that was asked for: all of it, or one table."""
    from ronda_cli import tournament_tables as all_tables  # noqa: PLC0415 -- not for `--help`

    if output == "json":
        out.line(out.as_json(all_tables.data(summary, table)))
    elif output == "csv":
        out.line(all_tables.csv(summary, table or "ratings").rstrip("\r\n"))
    elif output == "jsonl":
        for row in all_tables.rows(summary, table or "ratings"):
            out.line(out.as_json(row))
    else:
        shown = look(plain)
        told = all_tables.one(summary, table, shown) if table else all_tables.every(summary, shown)
        for line in told:
            out.line(line)


def how_far(standing: Standing) -> str:
    """Say how far a run has come that was interrupted."""
    of = f" of {standing.planned:,}" if standing.planned else ""
    blocks = f"{standing.blocks:,}{of} blocks" if of else text.counted(standing.blocks, "block")
    return f"{blocks} and {text.counted(standing.games, 'game')} are over, and kept"


def faults(summary: Summary) -> str:
    """Count in a line what bots lost by their own faults; empty where there is nothing."""
    guilty = [row for row in summary.faults if row.causes]
    told = [
        f"{text.name(row.bot)} {sum(row.causes.values())}"
        f" ({', '.join(f'{many} {cause}' for cause, many in row.causes.items())}"
        f"{f', {row.at_start} of them when it was made' if row.at_start else ''})"
        for row in guilty
    ]
    return text.one_line(f"games lost by a bot's own fault: {'; '.join(told)}") if told else ""


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
