"""`ronda watch`: a match of a server, live."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import click

from ronda_cli import options, output, wishes
from ronda_cli.channel import Target, read_token, target
from ronda_cli.client import Client
from ronda_cli.follow import Place
from ronda_cli.look import look
from ronda_cli.output import Interrupted
from ronda_cli.picture import Picture
from ronda_cli.remote import Sitting
from ronda_cli.stage import Paper, Screen, Stage, finale
from ronda_cli.updates import RefusedError


@click.command()
@click.argument("match", metavar="MATCH")
@options.server
@options.token_file
@click.option(
    "--after", type=click.IntRange(0), default=0, help="Go on after the event of this number."
)
@wishes.pace
@options.plain
def watch(
    match: str,
    server: str | None,
    token_file: str | None,
    after: int,
    pace: float,
    plain: bool,
) -> None:
    """Follow a match of a server as it is played, to its end.

    With the token of a seat you see its hand; the stream of whoever plays there ends. A lost
    connection is taken up again where it broke; Ctrl-C leaves, and says how to go on later.
    """
    where = target(server)
    token = read_token(Path(token_file)) if token_file else ""
    place = Place(match, after)
    shown = look(plain)
    final = None
    try:
        with ExitStack() as stack:
            stage = stack.enter_context(Screen().open()) if shown.screen else Paper()
            wait = pace if shown.screen else 0.0
            final = asyncio.run(_watch(where, token, place, stage, wait))
    except output.TerminatedError:
        raise
    except KeyboardInterrupt:
        extra = ["--token-file", token_file] if token_file else []
        again = ["ronda", "watch", match, "--server", where.given, *extra]
        raise Interrupted(output.command(*again, "--after", str(place.sequence))) from None
    if shown.screen and final:
        finale(final, shown)


async def _watch(
    where: Target, token: str, place: Place, stage: Stage, pace: float
) -> Picture | None:
    client = Client(where, token)
    try:
        known = await client.find(place.match_id)
        sitting = Sitting(client, place, stage, pace=pace)
        await sitting.watch(known)
    except RefusedError as error:
        raise error.why.failure(where) from None
    finally:
        await client.close()
    return sitting.picture
