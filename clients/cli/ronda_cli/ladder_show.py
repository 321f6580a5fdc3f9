"""`ronda ladder show`: how a ladder stands, from its log alone, also while it is played."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ronda_cli import ladder_told, options
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_arena.ladder.standings import Change, Ladder
    from ronda_arena.ladder.store import Store

_HISTORY: Final = 1000


@click.command()
@click.argument("which", metavar="[DIR|BOT]", required=False)
@options.server
@options.ladder
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
    help="How many blocks of it; of a server, points of its history.",
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
    which: str | None,
    server: str | None,
    ladder: str,
    bot: str | None,
    last: int,
    pairs: bool,
    review: bool,
    records: str | None,
    commitments: str | None,
    output: str,
    plain: bool,
) -> None:
    """Tell how the ladder in the folder DIR stands, or with --server one of a server.

    With --server and the name of a BOT it tells of that one, and what its rating has been.

    A rating is told with the interval that holds 95 % of what is thought possible, and with what
    it is worth almost surely, by which bots are ranked. --review lists pairs that did worse or
    better with each other than their ratings say: it is for somebody to look at, not a verdict.
    """
    asked = (bot is not None, pairs, review, records is not None, commitments is not None)
    if sum(asked) > 1:
        raise click.UsageError("one of --bot, --pairs, --review, --records and --commitments")
    if which is not None and Path(which).is_dir():
        _of_a_folder(which, bot, last, pairs, review, records, commitments, output, plain)
        return
    if not server:
        what = f"there is no folder {which}" if which else "name the folder of a ladder"
        raise click.UsageError(f"{what}, or give --server for one of a server")
    if any(asked[1:]) or (which and bot):
        raise click.UsageError("of a server its standings are told, and one bot: see `--help`")
    from ronda_cli import ladder_served  # noqa: PLC0415 -- not for `--help`

    ladder_served.show(server, ladder, which or bot or "", last, output, plain)


def _of_a_folder(
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
    from ronda_arena.database import StoreError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.ladder import rows, store  # noqa: PLC0415 -- not for `--help`

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
                ladder_told.tell(_history(kept, bot, last), output, plain)
                return
            ladder = _folded(kept)
            if pairs:
                ladder_told.tell([one.to_json() for one in rows.pairs(ladder)], output, plain)
            elif review:
                ladder_told.tell(rows.reviews(ladder), output, plain, f"nobody: {rows.REVIEW_RULE}")
            else:
                ladder_told.standings(_about(ladder), rows.standings(ladder), output, plain)
    except StoreError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None


def _about(ladder: Ladder) -> dict[str, Any]:
    """Return what is told of a ladder beside its bots."""
    plan = ladder.plan
    return {
        "id": plan.id,
        "rules": plan.rules,
        "players": plan.players,
        "target": plan.target,
        "length": plan.length,
        "blocks": ladder.blocks,
        "games": ladder.games,
        "void": ladder.void,
    }


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


def _write(file: str, lines: Iterable[str]) -> None:
    from ronda_cli.sink import Sink  # noqa: PLC0415 -- where asked

    with Sink(file) as to:
        for line in lines:
            to.write(line)
