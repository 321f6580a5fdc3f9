"""`ronda bots install` and what follows: bots kept apart from the environment of ronda."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ronda_cli import options
from ronda_cli import output as out
from ronda_cli.output import ExitCode, Failure
from ronda_cli.text import name, one_line

if TYPE_CHECKING:
    from ronda_arena.home.shelf import Installation, KeptBot

_BY_HAND: Final = "by hand"


@click.command()
@click.argument(
    "wheels",
    nargs=-1,
    required=True,
    metavar="WHEEL...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@options.bots_dir
def install(wheels: tuple[Path, ...], bots_dir: Path | None) -> None:
    """Install a bot from its wheel, into a directory of its own.

    After the bot's wheel come those of what it requires, beside Python and ronda; nothing is
    fetched. All of it is looked at before anything is written, and nothing of it is run but, in a
    sandbox, the import of its bots, which are asked for their versions. Several versions of a bot
    can be installed at once, to be seated as name@version; name alone is the newest that may play.
    """
    from ronda_arena.discovery import asking  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.home.archive import WheelError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.home.install import install as put  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.isolation import IsolationError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.worker.nursery import Nursery  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.about import UnfitError  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.installed import installed  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.local import now  # noqa: PLC0415 -- not for `--help`

    home = _home(bots_dir)
    taken = [plugin.name for plugin in installed()[0] if plugin.is_ours]
    try:
        with _told(), Nursery() as nursery:
            done = put(home, wheels, asking(nursery), now=now, taken=taken)
            unshut = nursery.problem
    except WheelError as problem:
        raise Failure(str(problem), ExitCode.REFUSED) from None
    except UnfitError as problem:
        raise Failure(f"{wheels[0].name} is not installed: {problem}", ExitCode.REFUSED) from None
    except IsolationError as problem:
        raise Failure(str(problem), ExitCode.REFUSED) from None
    for bot in done.installation.note.bots:
        out.line(name(bot.identity))
    if done.new and unshut:
        out.note(f"its bots were imported without a sandbox: {unshut}")
    where = done.installation.place
    out.note(f"{'installed' if done.new else 'installed already'} in {where}")


@click.command()
@click.argument("bot", metavar="BOT")
@options.bots_dir
def uninstall(bot: str, bots_dir: Path | None) -> None:
    """Take an installed bot away, with all that its wheel brought.

    BOT is a bot as name or name@version, or the name of a directory in the home of bots.
    """
    from ronda_arena.home.install import uninstall as take  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.home.shelf import installations  # noqa: PLC0415 -- not for `--help`

    home = _home(bots_dir)
    there, damaged = installations(home)
    folder = bot
    if bot not in [*(one.place.name for one in there), *(one.place.name for one in damaged)]:
        folder = _named(home, bot)[0].place.name
    with _told():
        went = take(home, folder)
    for identity in went:
        out.line(name(identity))
    out.note(f"uninstalled {home / folder}")


@click.command()
@click.argument("bot", metavar="BOT")
@options.bots_dir
def enable(bot: str, bots_dir: Path | None) -> None:
    """Let a disabled bot play again; one in quarantine is released by `quarantine`."""
    _switch(bot, bots_dir, enabled=True)


@click.command()
@click.argument("bot", metavar="BOT")
@options.bots_dir
def disable(bot: str, bots_dir: Path | None) -> None:
    """Keep a bot installed, but seat it no more.

    Matches that it plays go on. A server takes notice when it starts.
    """
    _switch(bot, bots_dir, enabled=False)


@click.command()
@click.argument("bot", metavar="BOT")
@click.option("--release", is_flag=True, help="Let it play again.")
@click.option("--reason", default=_BY_HAND, show_default=True, help="Why it may not play.")
@options.bots_dir
def quarantine(bot: str, release: bool, reason: str, bots_dir: Path | None) -> None:
    """Put a bot aside that fails too often, with the reason; or release it."""
    from ronda_arena.home import standing  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.home.faults import Quarantine  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.local import now  # noqa: PLC0415 -- not for `--help`

    home = _home(bots_dir)
    _, found = _named(home, bot)
    put = None if release else Quarantine(now(), one_line(reason, 200))
    with _told():
        standing.quarantine(home, found.identity, put)
    out.note(f"{name(found.identity)} is {'released' if release else 'in quarantine'}")


def _switch(bot: str, bots_dir: Path | None, *, enabled: bool) -> None:
    from ronda_arena.home import standing  # noqa: PLC0415 -- not for `--help`

    home = _home(bots_dir)
    _, found = _named(home, bot)
    with _told():
        standing.enable(home, found.identity, enabled=enabled)
        rest = standing.standings(home).get(found.identity, standing.Standing())
    out.note(f"{name(found.identity)} is {'enabled' if enabled else 'disabled'}")
    if enabled and (reason := rest.reason(found.identity)):
        out.note(one_line(f"{found.identity} {reason}"))


def _home(bots_dir: Path | None) -> Path:
    from ronda_arena.home.shelf import home  # noqa: PLC0415 -- not for `--help`

    return bots_dir or home()


def _named(home: Path, wanted: str) -> tuple[Installation, KeptBot]:
    """Return the one bot that a name, or name@version, can mean."""
    from ronda_arena.home.shelf import installations  # noqa: PLC0415 -- not for `--help`

    every = [(one, bot) for one in installations(home)[0] for bot in one.note.bots]
    found = [(one, bot) for one, bot in every if wanted in (bot.name, bot.identity)]
    if not found:
        raise Failure(f"no bot {one_line(wanted, 60)!r} is kept in {home} (see `ronda bots list`)")
    if len(found) > 1:
        raise Failure(f"which of them: {_or([bot.identity for _, bot in found])}?")
    return found[0]


def _or(names: Sequence[str]) -> str:
    return " or ".join(sorted(names))


@contextmanager
def _told() -> Iterator[None]:
    """Say in a line what was not done in the home of bots."""
    from ronda_arena.home.shelf import HomeError  # noqa: PLC0415 -- not for `--help`

    try:
        yield
    except HomeError as problem:
        raise Failure(str(problem), ExitCode.REFUSED) from None
