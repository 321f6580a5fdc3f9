"""`ronda ladder`: bots that play for ever, and how they stand."""

from __future__ import annotations

from typing import Final

import click

from ronda_cli.lazy import LazyGroup

COMMANDS: Final = {
    "run": ("ronda_cli.ladder_run:run", "Let bots play on this machine until you stop it."),
    "show": ("ronda_cli.ladder_show:show", "Tell how one stands, here or on a server."),
    "watch": ("ronda_cli.ladder_watch:watch", "Follow one that a server plays, live."),
}


@click.group(cls=LazyGroup, where=COMMANDS)
def ladder() -> None:
    """Let bots play for ever, and rank them by what that shows."""
