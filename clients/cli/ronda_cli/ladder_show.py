"""`ronda ladder show`: how a ladder stands, from its log alone, also while it is played."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ronda_cli import options
from ronda_cli import output as out
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_arena.ladder.rows import Row
    from ronda_arena.ladder.standings import Change, Ladder
    from ronda_arena.ladder.store import Store

_HISTORY: Final = 1000
_COLUMNS: Final = ("bot", "owner", "state", "note", "first", "second", "kind", "measured_by")


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True))
@click.option(
    "--bot",
    metavar="BOT[@VERSION]",
    help="Tell what its last blocks did to one bot, or to all versions of one.",
)
@click.option(
    "--last",
    type=click.IntRange(1, _HISTORY),
    default=20,
    show_default=True,
    help="How many blocks of it.",
)
@click.option(
    "--pairs", is_flag=True, help="Tell how bots fared against each other, the oddest first."
)
@click.option("--review", is_flag=True, help="Tell which pairs somebody should look at.")
@click.option(
    "--records",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the records of all blocks that are over, for `ronda verify`; - is stdout.",
)
@click.option(
    "--commitments",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the public list of commitments; - is stdout.",
)
@options.output("table", "json", "jsonl", "csv")
@options.plain
def show(
    folder: str,
    bot: str | None,
    last: int,
    pairs: bool,
    review: bool,
    records: str | None,
    commitments: str | None,
    output: str,
    plain: bool,
) -> None:
    """Tell how the ladder in FOLDER stands.

    A rating is told with the interval that holds 95 % of what is thought possible, and with what
    it is worth almost surely, by which bots are ranked. --review lists pairs that did worse or
    better with each other than their ratings say: it is for somebody to look at, not a verdict.
    """
    from ronda_arena.database import StoreError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.ladder import rows, store  # noqa: PLC0415 -- not for `--help`

    if sum((bot is not None, pairs, review, records is not None, commitments is not None)) > 1:
        raise click.UsageError("one of --bot, --pairs, --review, --records and --commitments")
    try:
        with store.Folder(Path(folder)) as held:
            kept = held.find()
            if kept is None:
                raise Failure(f"there is no ladder in {folder}", ExitCode.USAGE)
            if records or commitments:
                _write(
                    records or commitments or "", kept.records() if records else kept.commitments()
                )
                return
            if bot is not None:
                _tell(_history(kept, bot, last), output, plain)
                return
            ladder = _folded(kept)
            if pairs:
                _tell([one.to_json() for one in rows.pairs(ladder)], output, plain)
            elif review:
                _tell(rows.reviews(ladder), output, plain, f"nobody: {rows.REVIEW_RULE}")
            else:
                _standings(ladder, rows.standings(ladder), output, plain)
    except StoreError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None


def _folded(kept: Store) -> Ladder:
    from ronda_arena.ladder.standings import Ladder  # noqa: PLC0415 -- not for `--help`

    ladder = Ladder(kept.plan)
    for fact in kept.facts():
        ladder.take(fact)
    return ladder


def _history(kept: Store, wanted: str, last: int) -> list[dict[str, Any]]:
    """Return what the last blocks did to a bot, or to all versions of a name, the oldest first."""
    from ronda_arena.ladder.standings import Ladder  # noqa: PLC0415 -- not for `--help`

    changes: deque[tuple[int, Change]] = deque(maxlen=last)

    def told(number: int, change: Change) -> None:
        if wanted in (ladder.bots[number].identity, ladder.bots[number].name):
            changes.append((number, change))

    ladder = Ladder(kept.plan, told)
    for fact in kept.facts():
        ladder.take(fact)
    if not any(wanted in (bot.identity, bot.name) for bot in ladder.bots):
        raise Failure(_never(wanted, [bot.identity for bot in ladder.bots]), ExitCode.USAGE)
    return [
        {
            "bot": ladder.bots[number].identity,
            "block": one.block,
            "at": one.at,
            "opponents": [ladder.bots[other].identity for other in one.opponents],
            "place": one.place + 1,
            "margin": round(one.margin, 6),
            "faults": one.faults,
            "rating": round(one.after.mean, 6),
            "sigma": round(one.after.sigma, 6),
        }
        for number, one in changes
    ]


def _never(wanted: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 -- not for every start

    near = get_close_matches(wanted, [*known, *(one.partition("@")[0] for one in known)], 2)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{wanted} has never been on this ladder{hint}"


def _standings(ladder: Ladder, found: Sequence[Row], output: str, plain: bool) -> None:
    data = [one.to_json() for one in found]
    if output == "json":
        out.line(
            out.as_json(
                {
                    "id": ladder.plan.id,
                    "rules": ladder.plan.rules,
                    "players": ladder.plan.players,
                    "target": ladder.plan.target,
                    "length": ladder.plan.length,
                    "blocks": ladder.blocks,
                    "games": ladder.games,
                    "void": ladder.void,
                    "standings": data,
                }
            )
        )
    elif output == "table":
        _table([_shown(rank, one) for rank, one in enumerate(found, 1)], plain)
        for one in found:
            if one.note:
                out.note(f"{one.bot} is in quarantine: it {one.note}")
            if one.changed:
                often = "once" if one.changed == 1 else f"{one.changed} times"
                out.note(f"{one.bot} is not what it was: its code has changed {often}")
            if one.alike and one.bot < min(one.alike):
                names = ", ".join(one.alike)
                out.note(f"{one.bot} is the same code as {names}: they never meet")
    else:
        _tell(data, output, plain)


def _shown(rank: int, one: Row) -> dict[str, str]:
    # An anchor's rating is a definition and has no interval; so the words say.
    interval = "pinned" if one.state == "anchor" else f"{one.low:.1f} to {one.high:.1f}"
    return {
        "": "" if one.provisional else str(rank),
        "bot": one.bot,
        "rating": f"{one.rating:.1f}",
        "95 %": interval,
        "at least": f"{one.conservative:.1f}",
        "games": str(one.games),
        "won": f"{one.won / one.games:.0%}" if one.games else "",
        "faults": ", ".join(f"{count} {cause}" for cause, count in one.faults.items()),
        "met": str(one.opponents),
        "state": f"{one.state}, provisional" if one.provisional else one.state,
    }


def _tell(data: Sequence[Mapping[str, Any]], output: str, plain: bool, nothing: str = "") -> None:
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
        _table([{head: _text(value) for head, value in one.items()} for one in data], plain)
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


def _table(rows: Sequence[Mapping[str, str]], plain: bool) -> None:
    from ronda_cli import tables  # noqa: PLC0415 -- where asked
    from ronda_cli.look import look  # noqa: PLC0415 -- where asked
    from ronda_cli.tournament_told import safe  # noqa: PLC0415 -- where asked

    shown = look(plain)
    for line in tables.lines(safe(rows), shown.width, left=_COLUMNS, plain=shown.plain):
        out.line(line)


def _write(file: str, lines: Iterable[str]) -> None:
    from ronda_cli.sink import Sink  # noqa: PLC0415 -- where asked

    with Sink(file) as to:
        for line in lines:
            to.write(line)
