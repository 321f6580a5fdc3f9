"""`ronda bots`: the bots that are installed, and what their authors need."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

import click

from ronda_cli import options
from ronda_cli import output as out
from ronda_cli.lazy import LazyGroup
from ronda_cli.look import look
from ronda_cli.text import name, one_line

if TYPE_CHECKING:
    from ronda_bots.registry import BotInfo


COMMANDS: Final = {
    "list": ("ronda_cli.bots:list_", "Show the bots that can be seated."),
    "new": ("ronda_cli.bots_new:new", "Make a package with a bot of your own."),
    "check": ("ronda_cli.bots_check:check", "Find out whether a bot is fit to play."),
    "debug": ("ronda_cli.bots_debug:debug", "Ask a bot again what it decided in a record."),
    "serve": ("ronda_cli.bots_serve:serve", "Offer one to a server, and play from here."),
}


@click.group(cls=LazyGroup, where=COMMANDS)
def bots() -> None:
    """Make bots, check them, show which there are, or offer one to a server."""


@click.command("list")
@options.output()
@options.plain
def list_(output: str, plain: bool) -> None:
    """List the installed bots.

    What cannot play is told on stderr, with the package that brought it; it stops nothing.
    """
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`

    with out.aside():
        found = discover()
    if output == "table":
        for bot in found.bots:
            _tell(bot, plain)
    else:
        data = [_data(bot) for bot in found.bots]
        broken = [
            {"name": one.name, "distribution": one.distribution, "problem": one.problem}
            for one in found.broken
        ]
        if output == "json":
            out.line(out.as_json({"bots": data, "broken": broken}))
        for bot_data in data if output == "jsonl" else ():
            out.line(out.as_json(bot_data))
    for one in found.broken:
        culprit = f"{name(one.name)} of {name(one.distribution)}"
        out.note(one_line(f"cannot play: {culprit}: {one.problem}"))
    if not found.bots:
        out.note("no bot is installed: is ronda itself? (pip install ronda)")


def _data(bot: BotInfo) -> dict[str, str]:
    fields = ("name", "version", "distribution", "distribution_version", "description")
    return {field: str(getattr(bot, field)) for field in fields}


def _tell(bot: BotInfo, plain: bool) -> None:
    data = {key: one_line(value, 200) for key, value in _data(bot).items()}
    who = f"{name(data['name'])}@{name(data['version'])}"
    source = f"{name(data['distribution'])} {name(data['distribution_version'], otherwise='')}"
    shown = look(plain)
    if plain or not shown.screen:
        out.line(f"{who:<24}  {source.strip():<24}  {data['description']}".rstrip())
        return
    if shown.width < 80:
        out.line(f"{who}  {source}".rstrip())
        start = "  "
    else:
        start = f"{who:<20}  {source.strip():<18}  "
    rest = "  " if shown.width < 80 else " " * len(start)
    if data["description"] or start.strip():
        out.line(
            textwrap.fill(
                data["description"], shown.width, initial_indent=start, subsequent_indent=rest
            )
        )
