"""`ronda bots`: the bots that are installed, and what their authors need."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from ronda_cli import options
from ronda_cli import output as out
from ronda_cli.lazy import LazyGroup
from ronda_cli.look import look
from ronda_cli.text import name, one_line, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ronda_arena.worker.nursery import Nursery
    from ronda_bots.registry import BotInfo, Registry

Data = dict[str, Any]

_OURS: Final = "ronda"
_ENVIRONMENT: Final = "environment"
_ENABLED: Final = "enabled"

COMMANDS: Final = {
    "list": ("ronda_cli.bots:list_", "Show the bots that can be seated."),
    "new": ("ronda_cli.bots_new:new", "Make a package with a bot of your own."),
    "check": ("ronda_cli.bots_check:check", "Find out whether a bot is fit to play."),
    "debug": ("ronda_cli.bots_debug:debug", "Ask a bot again what it decided in a record."),
    "install": ("ronda_cli.bots_home:install", "Install a bot from its wheel."),
    "uninstall": ("ronda_cli.bots_home:uninstall", "Take an installed bot away."),
    "enable": ("ronda_cli.bots_home:enable", "Let a disabled bot play again."),
    "disable": ("ronda_cli.bots_home:disable", "Keep a bot, but seat it no more."),
    "quarantine": ("ronda_cli.bots_home:quarantine", "Put a failing bot aside, or release it."),
    "serve": ("ronda_cli.bots_serve:serve", "Offer one to a server, and play from here."),
}


@click.group(cls=LazyGroup, where=COMMANDS)
def bots() -> None:
    """Make, install, check, debug, list and offer bots."""


@click.command("list")
@click.option(
    "offered_by",
    "--server",
    metavar="HOST:PORT",
    envvar="RONDA_BOTS_LIST_SERVER",
    help="List what this server can seat, remote bots too, and not what is installed here.",
)
@options.bots_dir
@options.output()
@options.plain
def list_(offered_by: str | None, bots_dir: Path | None, output: str, plain: bool) -> None:
    """List the installed bots, or with --server those of a server.

    Beside its package stands where `ronda match` runs a bot: in this process (trusted), or as shut
    in as this machine can. One that `ronda bots install` has installed is shown with the name of
    its directory; one that is disabled or in quarantine says so, and stderr tells why. What cannot
    play is told on stderr, with the package that brought it; it stops nothing. A plugin that could
    not be asked is not asked again for ten minutes, unless it changes, something is installed or a
    command names it.
    """
    source = click.get_current_context().get_parameter_source("bots_dir")
    if offered_by is not None and source is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--bots-dir is for the bots of this machine, and --server for others"
        )
    found, notes = _installed(bots_dir) if offered_by is None else _offered(offered_by)
    bots = found["bots"]
    if output == "table":
        _tell(bots, plain)
    elif output == "json":
        out.line(out.as_json(found))
    for bot in bots if output == "jsonl" else ():
        out.line(out.as_json(bot))
    for note in notes:
        out.note(one_line(note))


def _installed(bots_dir: Path | None) -> tuple[dict[str, list[Data]], list[str]]:
    """Return the bots that are installed here, those that cannot play, and what to note of both."""
    from ronda_arena.code import code  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.spec import SHOWN_CODE  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.worker.nursery import Nursery  # noqa: PLC0415 -- not for `--help`

    with out.aside(), Nursery() as nursery:
        found = discover(nursery=nursery, home=bots_dir)
        every = _every(found)
        levels = _levels(every, nursery)
    states = {one.bot.identity: one.state for one in found.resting}
    bots = [
        {
            **_data(bot),
            "origin": _origin(bot),
            "state": states.get(bot.identity, _ENABLED),
            "isolation": levels[bot.identity],
            "code": code(bot)[:SHOWN_CODE],
        }
        for bot in every
    ]
    broken = [
        {"name": one.name, "distribution": one.distribution, "problem": one.problem}
        for one in found.broken
    ]
    notes = [f"{one.bot.identity} {one.reason}" for one in found.resting]
    notes += [
        f"cannot play: {name(one.name)} of {name(one.distribution)}: {one.problem}"
        for one in found.broken
    ]
    if not bots:
        notes.append("no bot is installed: is ronda itself? (pip install ronda)")
    return {"bots": bots, "broken": broken}, notes


def _offered(server: str) -> tuple[dict[str, list[Data]], list[str]]:
    """Return the bots that a server can seat, and what to note of them."""
    import asyncio  # noqa: PLC0415 -- only where a server is asked

    from ronda_cli.channel import target  # noqa: PLC0415 -- gRPC is heavy
    from ronda_cli.client import Client  # noqa: PLC0415 -- the same
    from ronda_cli.updates import RefusedError  # noqa: PLC0415 -- the same

    where = target(server)

    async def ask() -> list[Data]:
        client = Client(where)
        try:
            return await client.bots()
        except RefusedError as error:
            raise error.why.failure(where) from None
        finally:
            await client.close()

    bots = asyncio.run(ask())
    return {"bots": bots}, [] if bots else ["the server has no bot"]


def _data(bot: BotInfo) -> Data:
    fields = ("name", "version", "distribution", "distribution_version", "description")
    return {field: str(getattr(bot, field)) for field in fields}


def _every(found: Registry) -> list[BotInfo]:
    """Return the bots that can play and those that may not, by name and the oldest first."""
    from ronda_bots.registry import in_order  # noqa: PLC0415 -- not for `--help`

    return in_order([*found.bots, *(one.bot for one in found.resting)])


def _origin(bot: BotInfo) -> str:
    """Return where a bot comes from: ronda, the environment, or a directory of its own."""
    if bot.origin and bot.origin.installation:
        return Path(bot.origin.installation).name
    return _OURS if bot.bot_class is not None else _ENVIRONMENT


def _levels(bots: Sequence[BotInfo], nursery: Nursery) -> dict[str, str]:
    """Return where each bot is run; what this machine enforces is looked at only if it matters."""
    from ronda_arena.seating import probe  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.installed import OURS  # noqa: PLC0415 -- not for `--help`

    theirs = any(bot.distribution != OURS for bot in bots)
    level = probe(nursery).level.value if theirs else ""
    return {bot.identity: "trusted" if bot.distribution == OURS else level for bot in bots}


def _where(bot: Data) -> str:
    """Say where a bot is run, or why it is not."""
    if bot.get("state", _ENABLED) != _ENABLED:
        return str(bot["state"])
    if "isolation" in bot:
        return str(bot["isolation"])
    return "remote" if bot["remote"] else "on the server"


def _tell(bots: Sequence[Data], plain: bool) -> None:
    """Write a table, or where it has no room a block for each bot."""
    rows = []
    for bot in bots:
        data = {key: one_line(str(value), 200) for key, value in bot.items()}
        package = [
            name(data[key], otherwise="") for key in ("distribution", "distribution_version")
        ]
        if data.get("origin", _ENVIRONMENT) not in (_OURS, _ENVIRONMENT):
            package = [name(data["origin"], 80)]
        who = f"{name(data['name'])}@{name(data['version'])}"
        rows.append((who, " ".join(package).strip(), _where(bot), data["description"]))
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)][:3]
    shown = look(plain)
    for *facts, description in rows:
        if shown.plain:
            out.line("  ".join(fact for fact in (*facts, description) if fact))
            continue
        sized = zip(facts, widths, strict=True)
        start = "".join(fact + " " * (room - width(fact) + 2) for fact, room in sized)
        if not shown.screen:
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
