"""`ronda replay export`: the record of a match of a server, for `replay`, `verify` and `debug`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ronda_cli import options, output
from ronda_cli.channel import Target, read_token, target
from ronda_cli.client import Client
from ronda_cli.output import ExitCode, Failure
from ronda_cli.updates import RefusedError


@click.command()
@click.argument("match", metavar="MATCH")
@options.server
@options.token_file
def export(match: str, server: str | None, token_file: str | None) -> None:
    """Write the record of a match that a server has played to its end: one line of JSON.

    Only a private match needs --token-file. The record is sealed, and refused with exit code 4, as
    long as the match, or another table with the same deals, is played.
    """
    where = target(server)
    token = read_token(Path(token_file)) if token_file else ""
    try:
        line = asyncio.run(_record(where, token, match)).decode()
    except UnicodeDecodeError:
        line = ""
    if not line.isprintable() or not line:  # it goes to a terminal as it is
        raise Failure(f"what {where.given} answered is no record", ExitCode.REFUSED)
    output.line(line)


async def _record(where: Target, token: str, match: str) -> bytes:
    client = Client(where, token)
    try:
        return await client.record(match)
    except RefusedError as error:
        raise error.why.failure(where) from None
    finally:
        await client.close()
