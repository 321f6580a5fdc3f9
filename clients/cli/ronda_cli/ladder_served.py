"""Ladders of a server, told and followed from here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from ronda_cli import ladder_told
from ronda_cli import output as out
from ronda_cli.channel import Target, target
from ronda_cli.follow import Patience, insist, unbroken
from ronda_cli.ladder_client import Alive, LadderClient
from ronda_cli.ladder_live import Shows, shows
from ronda_cli.output import Interrupted, TerminatedError
from ronda_cli.updates import RefusedError

T = TypeVar("T")

_WAITED: Final = 120.0
"""Seconds for a server that still reads what has been played."""


def show(server: str, ladder: str, bot: str, last: int, output: str, plain: bool) -> None:
    """Tell how a ladder of a server stands, or one bot of it and what its rating has been."""
    where = target(server)
    if not bot:
        stands = _ask(where, ladder, lambda client: client.standings())
        ladder_told.standings(stands.about.data, stands.rows, output, plain)
        return
    one = _ask(where, ladder, lambda client: client.one(bot))
    history = one.history[-last:]
    if output == "json":
        row = one.row.to_json()
        told = {"ladder": one.about.data, "standing": row, "history": list(history)}
        out.line(out.as_json(told))
    elif output == "table":
        for line in ladder_told.lines([one.row], plain, first=one.rank):
            out.line(line)
        ladder_told.notes([one.row])
        if history:
            out.line()
            ladder_told.tell([_shown(point) for point in history], output, plain)
    else:
        ladder_told.tell(history, output, plain)


def watch(server: str | None, ladder: str, output: str, plain: bool) -> None:
    """Follow a ladder until somebody leaves."""
    where = target(server)
    words = ["--ladder", ladder] if ladder else []
    again = out.command("ronda", "ladder", "watch", "--server", where.given, *words)
    try:
        with shows(output, plain) as stage:
            _ask(where, ladder, lambda client: _follow(client, stage))
    except TerminatedError:
        raise
    except KeyboardInterrupt:
        raise Interrupted(again) from None


async def _follow(client: LadderClient, stage: Shows) -> None:
    streams = unbroken(
        lambda: client.watch(stage.sequence), client.target, stage.say, Patience(seconds=_WAITED)
    )
    async with contextlib.aclosing(streams):
        async for news in streams:
            if not isinstance(news, Alive):
                stage.take(news)


def _shown(point: Mapping[str, Any]) -> dict[str, Any]:
    when = datetime.fromtimestamp(point["at"], UTC)
    return {
        "time": f"{when:%Y-%m-%d %H:%M} UTC",
        "blocks": point["blocks"],
        "games": point["games"],
        "rating": point["rating"],
        "95 %": f"{point['low']:.2f} to {point['high']:.2f}",
    }


def _ask(where: Target, ladder: str, call: Callable[[LadderClient], Awaitable[T]]) -> T:
    """Return what a server answers."""

    async def ask() -> T:
        client = LadderClient(where, ladder)
        try:
            return await insist(lambda: call(client), where, out.note, Patience(seconds=_WAITED))
        finally:
            await client.close()

    try:
        return asyncio.run(ask())
    except RefusedError as error:
        raise error.why.failure(where) from None
