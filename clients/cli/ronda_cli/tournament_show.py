"""`ronda tournament show`: what a tournament has come to, also while it is played."""

from __future__ import annotations

from pathlib import Path

import click

from ronda_cli import options, tournament_tables
from ronda_cli.output import ExitCode, Failure


@click.command()
@click.argument("which", metavar="[DIR|ID]", required=False)
@options.server
@click.option(
    "--records",
    type=click.Path(dir_okay=False),
    help="Of a server: write the records that it tells by now to this file.",
)
@click.option(
    "--table",
    type=click.Choice(tournament_tables.NAMES),
    help="Tell one table, with all of its rows, in any output; jsonl and csv tell ratings else.",
)
@options.output("table", "json", "jsonl", "csv")
@options.plain
def show(
    which: str | None,
    server: str | None,
    records: str | None,
    table: str | None,
    output: str,
    plain: bool,
) -> None:
    """Tell how the tournament in the folder DIR stands, or with --server the one of this ID.

    It may be played at the same time: what is told is what was on disk a moment ago. With --server
    alone the tournaments of the server are listed, the newest first.
    """
    if which is None or not Path(which).is_dir():
        _of_a_server(which, server, records, table, output, plain)
    elif records is not None:
        raise click.UsageError(f"the records are in {Path(which) / 'records.jsonl'}")
    else:
        _of_a_folder(which, table, output, plain)


def _of_a_server(
    which: str | None,
    server: str | None,
    records: str | None,
    table: str | None,
    output: str,
    plain: bool,
) -> None:
    from ronda_cli import tournament_served  # noqa: PLC0415 -- not for `--help`

    if not server:
        what = f"there is no folder {which}" if which else "name the folder of a tournament"
        raise click.UsageError(f"{what}, or give --server for those of a server")
    if which is None:
        if table is not None:
            raise click.UsageError("--table is of one tournament: name its ID")
        tournament_served.show_all(server, output, plain)
    else:
        tournament_served.show(server, which, records, output, plain, table=table)


def _of_a_folder(folder: str, table: str | None, output: str, plain: bool) -> None:
    from ronda_arena.tournament.deliver import summary  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.run import Run  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.store import Folder, StoreError  # noqa: PLC0415 -- not for `--help`
    from ronda_cli import tournament_told  # noqa: PLC0415 -- not for `--help`

    try:
        with Folder(Path(folder)) as held:
            store = held.find()
            if store is None:
                raise Failure(f"there is no tournament in {folder}", ExitCode.USAGE)
            tournament_told.tell(summary(store, Run(store)), output, plain, table)
    except StoreError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None
