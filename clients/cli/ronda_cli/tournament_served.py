"""Tournaments of a server: made, followed, told and ended from here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ronda_cli import output as out
from ronda_cli import tables, tournament_told
from ronda_cli.channel import Target, read_token, target
from ronda_cli.client import new_request_id
from ronda_cli.follow import Patience, insist, unbroken
from ronda_cli.look import look
from ronda_cli.output import ExitCode, Failure, Interrupted, TerminatedError
from ronda_cli.text import one_line
from ronda_cli.tournament_client import Alive, Ends, Far, Stands, TournamentClient
from ronda_cli.updates import RefusedError

if TYPE_CHECKING:
    from ronda_arena.tournament.spec import Spec

T = TypeVar("T")

_LISTED: Final = 50
_HALTED: Final = {
    "bot_missing": "one of its bots is not installed any more",
    "isolation": "the server cannot run its bots as it has to",
    "workers": "games are lost one after the other, by no fault of a bot",
    "storage": "what is played cannot be stored",
}
"""Why a tournament is halted, by the name of the problem."""


def create(server: str, key_file: str | None, wanted: Spec, output: str, plain: bool) -> None:
    """Let a server play a tournament, and follow it."""
    if wanted.seed is not None:
        raise click.UsageError("--seed is for what is played here: a server deals from its secret")
    if wanted.isolation != "auto" or not wanted.luck:
        raise click.UsageError("--isolation and --no-luck are for what is played here, with --out")
    if wanted.owners:
        raise click.UsageError("--owner is for what is played here, with --out")
    request_id = new_request_id()
    where, key = target(server), _key(key_file)
    patience = Patience()

    async def make(client: TournamentClient) -> dict[str, Any]:
        return await insist(lambda: client.create(wanted, request_id), where, out.note, patience)

    made = _ask(where, key, make)
    promised = f"{made['id']} is dealt from a secret with the commitment {made['commitment']}"
    watch(server, made["id"], output, plain, first=promised)


def watch(
    server: str | None, tournament: str, output: str, plain: bool, *, first: str = ""
) -> None:
    """Follow a tournament to its end, and tell what it came to; say something first."""
    where = target(server)
    again = out.command("ronda", "tournament", "watch", tournament, "--server", where.given)
    try:
        if first:
            out.note(first)
        _ask(where, "", lambda client: _follow(client, tournament))
    except TerminatedError:
        raise
    except KeyboardInterrupt:
        raise Interrupted(again) from None
    stands = _ask(where, "", lambda client: client.standing(tournament))
    tournament_told.tell(stands.summary, output, plain)


def show(
    server: str,
    tournament: str,
    records: str | None,
    output: str,
    plain: bool,
    *,
    table: str | None = None,
) -> None:
    """Tell how a tournament of a server stands, or one table of it."""
    where = target(server)

    async def ask(client: TournamentClient) -> Stands:
        stands = await client.standing(tournament)
        if records is not None:
            await _write(client, tournament, Path(records))
        return stands

    far, summary = _ask(where, "", ask)
    if far.state in ("waiting", "running", "halted"):
        out.note(f"{tournament} is {_state(far)}: {_how_far(far)}")
    tournament_told.tell(summary, output, plain, table)


def show_all(server: str, output: str, plain: bool) -> None:
    """List the newest tournaments of a server."""
    found = _ask(target(server), "", lambda client: client.listed(_LISTED))
    if output == "json":
        out.line(out.as_json({"tournaments": found}))
    elif output == "jsonl":
        for one in found:
            out.line(out.as_json(one))
    elif output == "csv":
        raise click.UsageError("a list of tournaments is told as table, json or jsonl")
    else:
        columns = ("id", "state", "format", "rules", "players", "blocks", "games")
        rows = [{head: str(one[head]) for head in columns} for one in found]
        shown, left = look(plain), ("id", "state", "format", "rules")
        for line in tables.lines(rows, shown.width, left=left, plain=shown.plain):
            out.line(line)


def cancel(server: str | None, tournament: str, key_file: str | None) -> None:
    """End a tournament."""
    where, key, request_id = target(server), _key(key_file), new_request_id()
    told = _ask(where, key, lambda client: client.cancel(tournament, request_id))
    out.note(f"{told['id']} is cancelled after {told['blocks']} blocks")


async def _write(client: TournamentClient, tournament: str, path: Path) -> None:
    count = 0
    try:
        with path.open("wb") as file:
            async for record in client.records(tournament):
                file.write(record + b"\n")
                count += 1
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror or error}"
        raise Failure(why, ExitCode.USAGE) from None
    out.note(f"{count} records are in {path}")


async def _follow(client: TournamentClient, tournament: str) -> None:
    """Tell how far it is until it is over, over any number of streams."""
    progress = out.Progress("blocks")
    after, state = 0, ""
    streams = unbroken(lambda: client.watch(tournament, after), client.target, out.note, Patience())
    try:
        async with contextlib.aclosing(streams):
            async for news in streams:
                if isinstance(news, Ends):
                    if news.why != "draining":
                        return
                elif not isinstance(news, Alive):
                    after = _tell(progress, news, after)
                    state = _tell_state(progress, tournament, news, state)
    finally:
        progress.close()


def _tell(progress: out.Progress, news: Far | Stands, after: int) -> int:
    """Tell how far it is; return the number of the last standings that were seen."""
    far = news.far if isinstance(news, Stands) else news
    progress.step(far.blocks, far.planned, f" ({_games(far)})")
    return far.sequence if isinstance(news, Stands) else after


def _tell_state(progress: out.Progress, tournament: str, news: Far | Stands, before: str) -> str:
    """Say it when a tournament is halted, and when it goes on; return where it stands."""
    far = news.far if isinstance(news, Stands) else news
    if isinstance(news, Stands) or far.state == before:  # standings do not say why
        return before
    if far.state == "halted" or before == "halted":
        progress.close()
        out.note(f"{tournament} is {_state(far)}")
    return far.state


def _state(far: Far) -> str:
    if far.state != "halted":
        return far.state
    why = _HALTED.get(far.problem, far.problem or "it cannot be played for now")
    return f"halted ({why}); the server tries again by itself"


def _how_far(far: Far) -> str:
    of = f" of {far.planned}" if far.planned else ""
    return f"{far.blocks}{of} blocks ({_games(far)})"


def _games(far: Far) -> str:
    """Say how many games are over, how fast it goes and how long it will take."""
    of = f" of {far.planned_games}" if far.planned_games else ""
    lost = f", {far.lost} lost and played again" if far.lost else ""
    pace = f", {far.games_a_second:.3g} a second" if far.games_a_second else ""
    left = "" if far.left is None else f", {out.duration(far.left)} left"
    return f"{far.games}{of} games{lost}{pace}{left}"


def _key(key_file: str | None) -> str:
    if not key_file:
        raise click.UsageError("name the file of your API key: --key-file")
    return read_token(Path(key_file), "key")


def _ask(where: Target, key: str, call: Callable[[TournamentClient], Awaitable[T]]) -> T:
    """Return what a server answers."""

    async def ask() -> T:
        client = TournamentClient(where, key)
        try:
            return await call(client)
        finally:
            await client.close()

    try:
        return asyncio.run(ask())
    except RefusedError as error:
        why = error.why
        if why.reason == "BAD_TOKEN":
            text = "the key is not one of this server, or the tournament is another account's"
            raise Failure(f"{text}: check --key-file", ExitCode.REFUSED) from None
        if why.reason == "BOT_NOT_FOUND":
            text = "the server has no such bot, or not in this version"
            again = out.command("ronda", "bots", "list", "--server", where.given)
            raise Failure(f"{one_line(text)}: see {again}", ExitCode.REFUSED) from None
        raise why.failure(where) from None
