"""`ronda tournament watch` and `cancel`: a tournament that a server plays."""

from __future__ import annotations

import click

from ronda_cli import options, tournament_wishes


@click.command()
@click.argument("tournament", metavar="ID")
@options.server
@options.output("table", "json", "jsonl", "csv")
@options.plain
def watch(tournament: str, server: str | None, output: str, plain: bool) -> None:
    """Follow a tournament of a server to its end, and tell what it came to.

    A lost connection is taken up again. Ctrl-C leaves; the server plays on.
    """
    from ronda_cli import tournament_served  # noqa: PLC0415 -- not for `--help`

    tournament_served.watch(server, tournament, output, plain)


@click.command()
@click.argument("tournament", metavar="ID")
@options.server
@tournament_wishes.key_file
def cancel(tournament: str, server: str | None, key_file: str | None) -> None:
    """End a tournament of your account at once; what is over is kept and told.

    Its secret is then told too: the records of its games can be proven.
    """
    from ronda_cli import tournament_served  # noqa: PLC0415 -- not for `--help`

    tournament_served.cancel(server, tournament, key_file)
