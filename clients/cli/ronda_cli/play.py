"""`ronda play`: a person in a seat, at a table here or on a server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ronda_core.rules import RulesError, Settings, settings

from ronda_cli import options, output
from ronda_cli.asking import LeftError
from ronda_cli.look import Look, look
from ronda_cli.output import Interrupted
from ronda_cli.stage import Paper, Screen, finale

if TYPE_CHECKING:
    from ronda_cli.seat import Wish

_DEFAULT_BOT = "careful"
_LOCAL_ONLY = {"seed": "a server takes no seed"}


@click.command()
@click.option("--bots", metavar="A,B", help="Who sits in the other seats.  [default: careful]")
@click.option("--rules", default="playtash", show_default=True, help="The preset.")
@click.option("--players", type=click.IntRange(2, 4), help="Seats, yours among them.")
@click.option("--target", type=click.IntRange(0), help="Points that win.")
@click.option("--hands", type=click.IntRange(1), help="Play so many hands instead.")
@click.option("--seed", type=int, help="Deal the same cards again (not on a server).")
@click.option("--name", default="", help="Your name for others (on a server).")
@options.server
@click.option("--match", metavar="ID", help="Take an open seat, or go on in yours, on a server.")
@options.token_file
@click.option(
    "--pace",
    type=click.FloatRange(0, 10),
    default=0.6,
    show_default=True,
    help="Seconds to look at each play of the bots here.",
)
@options.plain
@click.pass_context
def play(ctx: click.Context, plain: bool, **given: object) -> None:
    """Take a seat against bots, here or on a server.

    Without --server the game runs in this process. With it a match is made there, with bots in
    the other seats; with --match you take an open seat of one. A card is named by its text or its
    number in your hand; q leaves.
    """
    del given
    asked = {
        name for name in ctx.params if ctx.get_parameter_source(name) in _EXPLICIT
    }
    shown = look(plain)
    if ctx.params["server"]:
        _there(ctx, asked, shown)
    else:
        _here(ctx, asked, shown)
