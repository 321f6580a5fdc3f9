"""`ronda play`: a person in a seat, at a table here or on a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ronda_cli import options, output, text, wishes
from ronda_cli.asking import LeftError
from ronda_cli.look import Look, look
from ronda_cli.stage import Paper, Screen, Stage, finale

_TABLE = ("bots", "rules", "players", "target", "hands")


@click.command()
@click.option("--bots", metavar="A,B", help="Who sits in the other seats.  [default: careful]")
@wishes.rules
@wishes.players
@wishes.target
@wishes.hands
@click.option("--seed", type=int, help="Deal the same cards again (not on a server).")
@click.option("--name", default="", help="Your name for the others (on a server).")
@options.server
@click.option("--match", metavar="ID", help="Take an open seat, or go on in yours, on a server.")
@options.token_file
@wishes.pace
@options.bots_dir
@options.plain
def play(
    bots: str | None,
    rules: str,
    players: int | None,
    target: int | None,
    hands: int | None,
    seed: int | None,
    name: str,
    server: str | None,
    match: str | None,
    token_file: str | None,
    pace: float,
    bots_dir: Path | None,
    plain: bool,
) -> None:
    """Take a seat against bots, here or on a server.

    Without --server the game runs in this process. With it a match is made there, with bots in
    the other seats; with --match you take an open seat of one. Name a card by its text or by its
    number in your hand; q and Enter leave, and so does the end of the input.
    """
    shown = look(plain)
    pace = pace if shown.screen else 0.0
    if match and not server:
        raise click.UsageError("--match is on a server: name it with --server")
    if match and (written := wishes.given(_TABLE)):
        raise click.UsageError(f"--{written[0]} is settled already in a --match")
    if len(name) > text.NAME_CELLS or name != text.printable(name):
        raise click.UsageError("--name has at most 40 letters, none of them hidden or a control")
    others = wishes.opponents(bots, players)
    table = wishes.wished(rules, len(others) + 1, target, hands)
    if not server:
        from ronda_cli import local  # noqa: PLC0415 -- a server needs no bots here

        seated = local.find_bots(others, home=bots_dir)
        again = ["--bots", ",".join(others), "--rules", rules]
        again += [
            word
            for flag, value in (("--target", target), ("--hands", hands), ("--seed", seed))
            if value is not None
            for word in (flag, str(value))
        ]
        again += options.bots_dir_again()
        with _stage(shown, output.command("ronda", "play", *again)) as stage:
            final = local.play_here(table, seated, stage, seed=seed, pace=pace)
        if shown.screen:
            finale(final, shown)
        return
    if seed is not None:
        raise click.UsageError("--seed is for games here: a server deals what nobody can know")
    from ronda_cli import remote_play  # noqa: PLC0415 -- grpc is a heavy import

    seat = remote_play.Wanted(server, match, name, token_file, table, others)
    remote_play.play_there(seat, shown, pace)


@contextmanager
def _stage(shown: Look, again: str) -> Iterator[Stage]:
    """Give a stage, and say a word to who leaves it: how to play such a game `again`."""
    try:
        if shown.screen:
            with Screen().open(cursor=True) as screen:
                yield screen
        else:
            yield Paper()
    except LeftError:
        output.leave_line()
        output.note(f"You have left; nothing is lost but the game. Another one: {again}")
        raise click.exceptions.Exit(0) from None
