"""`ronda tournament`: many bots, many deals, and what can be said of them."""

from __future__ import annotations

from typing import Final

import click

from ronda_cli.lazy import LazyGroup

COMMANDS: Final = {
    "run": ("ronda_cli.tournament_run:run", "Play one on this machine, on Dask or on a server."),
    "worker": ("ronda_cli.tournament_worker:worker", "Play games for others, over Dask."),
    "show": ("ronda_cli.tournament_show:show", "Tell how one stands."),
    "watch": ("ronda_cli.tournament_watch:watch", "Follow one of a server as it is played."),
    "cancel": ("ronda_cli.tournament_watch:cancel", "End one of yours on a server."),
}


@click.group(cls=LazyGroup, where=COMMANDS)
def tournament() -> None:
    """Let many bots meet on duplicate deals, and say what that shows."""
