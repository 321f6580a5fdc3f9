"""`ronda ladder watch`: a ladder that a server plays, live."""

from __future__ import annotations

import click

from ronda_cli import options


@click.command()
@options.server
@options.ladder
@options.output("table", "json", "jsonl")
@options.plain
def watch(server: str | None, ladder: str, output: str, plain: bool) -> None:
    """Follow a ladder of a server until you leave: a live table, or elsewhere a line now and then.

    As json and jsonl every change is a line. A lost connection is taken up again. Ctrl-C leaves;
    the server plays on.
    """
    from ronda_cli import ladder_served  # noqa: PLC0415 -- not for `--help`

    ladder_served.watch(server, ladder, output, plain)
