"""`ronda bots serve`: an installed bot, offered to a server from this machine."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ronda_cli import options
from ronda_cli import output as out
from ronda_cli.channel import Target, read_token, target
from ronda_cli.output import Failure, Interrupted
from ronda_cli.text import one_line

if TYPE_CHECKING:
    from ronda_cli.serving import Served

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_NAMES: Final = "a bot's name has 1 to 64 letters, digits, - and _"


@click.command("serve")
@click.argument("bot", metavar="NAME")
@options.server
@options.bots_dir
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False),
    required=True,
    envvar="RONDA_KEY_FILE",
    help="The file that holds your API key.",
)
@click.option(
    "--as",
    "offered",
    metavar="OTHER",
    show_default="its own",
    help="The name to play under; those of the server's own bots are taken.",
)
@click.option(
    "--seats",
    type=click.IntRange(1, 256),
    default=16,
    show_default=True,
    help="Seats to play at once.",
)
@click.option(
    "--matches",
    type=click.IntRange(1),
    show_default="no end",
    help="Leave when so many seats are played to their end.",
)
def serve(
    bot: str,
    server: str | None,
    bots_dir: Path | None,
    key_file: str,
    offered: str | None,
    seats: int,
    matches: int | None,
) -> None:
    """Offer an installed bot to a server, and play there from here.

    A lost connection is taken up again, and every match goes on. What happens is told on stderr.
    Ctrl-C leaves, and says how to come back.
    """
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.registry import BotNotFoundError  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.serving import Served  # noqa: PLC0415 -- a heavy import

    where = target(server)
    if offered is not None and not _NAME.fullmatch(offered):
        raise Failure(f"{_NAMES}: --as {one_line(offered, 60)!r}")
    key = read_token(Path(key_file), "key")
    with out.aside():
        try:
            found = discover(names=[bot], home=bots_dir).find(bot)
        except BotNotFoundError as problem:
            raise Failure(one_line(str(problem))) from None
        if found.origin and found.origin.installation:
            raise Failure(
                f"{one_line(found.identity)} is installed apart from ronda, to be run on this"
                " machine: to offer it, install its package into an environment of its own"
            )
        served = Served(found, offered or found.name, seats, out.note, matches or 0)
        try:
            left = asyncio.run(_until_stopped(served, where, key))
        except KeyboardInterrupt:
            left = True
    if left:
        again = ["ronda", "bots", "serve", bot, "--server", where.given, "--key-file", key_file]
        again += ["--as", offered] if offered else []
        raise Interrupted(out.command(*again, "--seats", str(seats)))


async def _until_stopped(served: Served, where: Target, key: str) -> bool:
    """Serve; True if a signal has ended it."""
    task = asyncio.ensure_future(served.serve(where, key))
    stopped = asyncio.Event()

    def stop() -> None:
        stopped.set()
        task.cancel()

    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped.is_set():
            raise
    return stopped.is_set()
