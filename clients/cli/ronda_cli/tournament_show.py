"""`ronda tournament show`: what a tournament has come to, also while it is played."""

from __future__ import annotations

from pathlib import Path

import click

from ronda_cli import options
from ronda_cli.output import ExitCode, Failure


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True))
@options.output("table", "json", "jsonl", "csv")
@options.plain
def show(folder: str, output: str, plain: bool) -> None:
    """Tell how the tournament in FOLDER stands.

    It may be played at the same time: what is told is what was on disk a moment ago.
    """
    from ronda_arena.tournament.deliver import summary  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.run import Run  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.store import Folder, StoreError  # noqa: PLC0415 -- not for `--help`
    from ronda_cli import tournament_told  # noqa: PLC0415 -- not for `--help`

    try:
        with Folder(Path(folder)) as held:
            store = held.find()
            if store is None:
                raise Failure(f"there is no tournament in {folder}", ExitCode.USAGE)
            tournament_told.tell(summary(store, Run(store)), output, plain)
    except StoreError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None
