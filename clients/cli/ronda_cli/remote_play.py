"""A person in a seat of a server's match: how the seat is taken, kept and left."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from ronda_cli import output
from ronda_cli.asking import LeftError
from ronda_cli.channel import Target, keep_token, read_token, target, token_path
from ronda_cli.client import Client, new_request_id
from ronda_cli.follow import Patience, Place, insist
from ronda_cli.look import Look
from ronda_cli.output import Failure, Interrupted
from ronda_cli.picture import Picture
from ronda_cli.remote import Sitting
from ronda_cli.stage import Paper, Screen, Stage, finale
from ronda_cli.updates import RefusedError
from ronda_core.rules import Settings


class Wanted(NamedTuple):
    """The seat that a person asks for."""

    server: str
    match: str | None
    """None: a new match."""
    name: str
    token_file: str | None
    table: Settings
    """Of a new match."""
    bots: Sequence[str]
    """In the other seats of a new match."""


class Seated(NamedTuple):
    """A seat that is taken."""

    where: Target
    place: Place
    token: str

    def __repr__(self) -> str:
        return f"Seated({self.place.match_id!r})"


def play_there(wanted: Wanted, shown: Look, pace: float) -> None:
    """Take the seat, play the match to its end, or say how to come back."""
    seated = asyncio.run(_take_seat(wanted, target(wanted.server)))
    file = ["--token-file", wanted.token_file] if wanted.token_file else []
    match_id = seated.place.match_id
    again = output.command("ronda", "play", "--server", wanted.server, "--match", match_id, *file)
    output.note(f"You sit in match {match_id}; should you leave, come back with: {again}")
    try:
        with ExitStack() as stack:
            screen = shown.screen
            stage = stack.enter_context(Screen().open(cursor=True)) if screen else Paper()
            final = asyncio.run(_play(seated, stage, pace))
    except LeftError:
        output.leave_line()
        output.note(f"You have left; the match goes on. Come back with: {again}")
        return
    except output.TerminatedError:
        raise
    except KeyboardInterrupt:
        raise Interrupted(again) from None
    if shown.screen and final:
        finale(final, shown)


async def _take_seat(wanted: Wanted, where: Target) -> Seated:
    client = Client(where)
    try:
        return await _seat(wanted, where, client)
    except RefusedError as error:
        raise error.why.failure(where) from None
    finally:
        await client.close()


async def _seat(wanted: Wanted, where: Target, client: Client) -> Seated:
    match_id = wanted.match
    given = Path(wanted.token_file) if wanted.token_file else None
    if match_id is None:
        if given and given.exists():
            raise Failure(f"{given} exists: it may be the key to another seat; name a new file")
        table = wanted.table
        create_id = new_request_id()
        match_id = await insist(
            lambda: client.create(
                table.preset.name, table.target, table.length, wanted.bots, create_id
            ),
            where,
            output.note,
            _brief(),
        )
    file = given or token_path(match_id)
    if file.exists():
        return Seated(where, Place(match_id), read_token(file))
    join_id = new_request_id()
    seat = await insist(
        lambda: client.join(match_id, wanted.name, join_id), where, output.note, _brief()
    )
    keep_token(file, seat.token)
    return Seated(where, Place(match_id), seat.token)


def _brief() -> Patience:
    """Return the patience of who has not sat down yet."""
    return Patience(seconds=2.0, longest=0.5)


async def _play(seated: Seated, stage: Stage, pace: float) -> Picture | None:
    client = Client(seated.where, seated.token)
    try:
        known = await client.find(seated.place.match_id)
        sitting = Sitting(client, seated.place, stage, pace=pace)
        await sitting.sit(known)
    except RefusedError as error:
        raise error.why.failure(seated.where) from None
    finally:
        await client.close()
    return sitting.picture
