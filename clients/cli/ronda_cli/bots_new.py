"""`ronda bots new`: a package of one's own bot, from nothing."""

from __future__ import annotations

from pathlib import Path

import click

from ronda_cli import output as out
from ronda_cli.output import Failure
from ronda_cli.text import name as clean


@click.command()
@click.argument("name")
@click.option(
    "--in",
    "folder",
    type=click.Path(file_okay=False),
    default=".",
    show_default=True,
    help="Where to make the folder NAME.",
)
def new(name: str, folder: str) -> None:
    """Make a package with a bot called NAME: typed, tested, ready to install.

    What is there already is never overwritten.
    """
    from ronda_arena import starter  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.installed import installed  # noqa: PLC0415 -- not for `--help`

    where = Path(folder, name)
    try:
        starter.check_name(name)
        for plugin in installed()[0]:
            if plugin.name == name or plugin.distribution == starter.distribution_of(name):
                known = f"{clean(plugin.name)} of {clean(plugin.distribution)}"
                raise Failure(f"{name} is installed already ({known}): choose another name")
        if not Path(folder).is_dir():
            raise Failure(f"there is no folder {folder}: make it, or name another with --in")
        made = starter.make(name, where)
    except starter.StarterError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"{where} cannot be made: {error.strerror or error}") from None
    for file in made[:-2]:
        out.line(file)
    shown = str(where) if where.is_absolute() or where.parts[0] == ".." else f"./{where}"
    out.note("next:")
    out.note(f"  {out.command('pip', 'install', '-e', shown)}")
    out.note(f"  {out.command('ronda', 'match', name, 'greedy', '--games', '200')}")
