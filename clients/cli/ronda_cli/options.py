"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from ronda_cli.output import OUTPUT_FORMATS

_F = TypeVar("_F", bound=Callable[..., Any])


class Folder(click.Path):
    """A folder to write to, which has a name: an empty one would be the one at hand."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Refuse an empty name."""
        if not os.fspath(value):
            self.fail("name a folder; . is the one where you are", param, ctx)
        return super().convert(value, param, ctx)


plain: Final = click.option(
    "--plain",
    is_flag=True,
    help="Sentences only: no boxes, colours or redrawing (also ACCESSIBLE=1).",
)

server: Final = click.option(
    "--server",
    metavar="HOST:PORT",
    envvar="RONDA_SERVER",
    help="The server. Bare: with TLS unless it is this machine; or https://..., http://... .",
)

ladder: Final = click.option(
    "--ladder", metavar="NAME", default="", help="Which ladder of a server  [default: its first]"
)

token_file: Final = click.option(
    "--token-file",
    type=click.Path(dir_okay=False),
    envvar="RONDA_TOKEN_FILE",
    help="The file that holds the token of your seat.",
)

database: Final = click.option(
    "--database",
    metavar="URL",
    envvar="RONDA_DATABASE",
    help="Where matches are kept: a file, or a URL such as sqlite:///ronda.db.",
)

own_database: Final = click.option(
    "--database",
    metavar="URL",
    envvar="RONDA_DATABASE",
    default="ronda.db",
    show_default=True,
    help="Where matches are kept: a file, or a URL such as sqlite:///ronda.db.",
)
"""Of a service that makes its database itself where there is none."""


stall: Final = click.option(
    "--stall",
    type=click.FloatRange(1),
    default=900.0,
    show_default=True,
    metavar="SECONDS",
    help="End, and say where it hangs, when no game has ended for so long.",
)

bots_dir: Final = click.option(
    "--bots-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="RONDA_BOTS_DIR",
    show_default="the user's data",
    help="Where bots are kept that `ronda bots install` has installed.",
)


def bots_dir_again() -> list[str]:
    """Return --bots-dir as it was given, for the command that goes on.

    What the environment or the file of settings says they will say again.
    """
    context = click.get_current_context()
    if context.get_parameter_source("bots_dir") is not ParameterSource.COMMANDLINE:
        return []
    return ["--bots-dir", str(context.params["bots_dir"])]


def output(*formats: str) -> Callable[[_F], _F]:
    """Return the option `-o`, with the formats that a command knows."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(formats or OUTPUT_FORMATS),
        default="table",
        show_default=True,
        envvar="RONDA_OUTPUT",
        help="How to write the result.",
    )
