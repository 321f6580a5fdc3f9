"""`ronda bots`: the bots that are installed, and what their authors need."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

import click

from ronda_cli import options
from ronda_cli import output as out
from ronda_cli.lazy import LazyGroup
from ronda_cli.look import look
from ronda_cli.text import name, one_line, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ronda_arena.worker.nursery import Nursery
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
    """Make, check, debug, list and offer bots."""


@click.command("list")
@options.output()
@options.plain
def list_(output: str, plain: bool) -> None:
    """List the installed bots.

    Beside its package stands where `ronda match` runs a bot: in this process (trusted), or as shut
    in as this machine can. What cannot play is told on stderr, with the package that brought it; it
    stops nothing.
    """
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.worker.nursery import Nursery  # noqa: PLC0415 -- not for `--help`

    with out.aside(), Nursery() as nursery:
        found = discover(nursery=nursery)
        levels = _levels(found.bots, nursery)
    if output == "table":
        _tell(found.bots, levels, plain)
    else:
        data = [{**_data(bot), "isolation": levels[bot.identity]} for bot in found.bots]
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


def _levels(bots: Sequence[BotInfo], nursery: Nursery) -> dict[str, str]:
    """Return where each bot is run; what this machine enforces is looked at only if it matters."""
    from ronda_arena.seating import probe  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.installed import OURS  # noqa: PLC0415 -- not for `--help`

    theirs = any(bot.distribution != OURS for bot in bots)
    level = probe(nursery).level.value if theirs else ""
    return {bot.identity: "trusted" if bot.distribution == OURS else level for bot in bots}


def _tell(bots: Sequence[BotInfo], levels: Mapping[str, str], plain: bool) -> None:
    """Write a table, or where it has no room a block for each bot."""
    rows = []
    for bot in bots:
        data = {key: one_line(value, 200) for key, value in _data(bot).items()}
        source = f"{name(data['distribution'])} {name(data['distribution_version'], otherwise='')}"
        who = f"{name(data['name'])}@{name(data['version'])}"
        rows.append((who, source.strip(), levels[bot.identity], data["description"]))
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)][:3]
    shown = look(plain)
    for *facts, description in rows:
        sized = zip(facts, widths, strict=True)
        start = "".join(fact + " " * (room - width(fact) + 2) for fact, room in sized)
        if plain or not shown.screen:
            out.line(f"{start}{description}".rstrip())
            continue
        rest = " " * len(start)
        if shown.width < 80:
            out.line("  ".join(facts))
            start = rest = "  "
        if description or start.strip():
            out.line(
                textwrap.fill(
                    description, shown.width, initial_indent=start, subsequent_indent=rest
                )
            )
