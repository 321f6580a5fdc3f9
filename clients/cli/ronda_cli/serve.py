"""`ronda serve`: the game service in this process."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ronda_cli import options, output
from ronda_cli.output import Failure

if TYPE_CHECKING:
    from ronda_server.config import Config


@click.command()
@click.option("--listen", default="127.0.0.1:50051", show_default=True, help="For players (gRPC).")
@click.option(
    "--metrics-listen", default="127.0.0.1:9464", show_default=True, help="For Prometheus."
)
@click.option(
    "--health-listen", default="127.0.0.1:50052", show_default=True, help="For health probes."
)
@click.option(
    "--admin-listen",
    default="",
    show_default="none",
    help="For `ronda admin`; this machine only.",
)
@options.own_database
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False),
    show_default="the database's path and .key",
    help="The server's own key.",
)
@click.option(
    "--admin-key-file",
    type=click.Path(dir_okay=False),
    show_default="the database's path and .admin-key",
    help="The key of `ronda admin`.",
)
@click.option("--allow-plaintext", is_flag=True, help="Listen beyond this machine without TLS.")
@click.option(
    "--max-matches",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Matches held at once.",
)
@click.option(
    "--max-workers",
    type=click.IntRange(0),
    default=256,
    show_default=True,
    help="Processes of bots at once.",
)
@click.option(
    "--max-streams",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    help="Calls and streams at once on a connection.",
)
@click.option(
    "--max-account-bots",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Remote bots of one account connected at once.",
)
@click.option(
    "--max-bots",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    help="Remote bots connected at once.",
)
@click.option(
    "--max-bot-seats",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    help="Seats of a remote bot at once.",
)
@click.option(
    "--max-bot-names",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Names of remote bots an account can have.",
)
@click.option(
    "--max-tournaments",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Tournaments open at once.",
)
@click.option(
    "--max-account-tournaments",
    type=click.IntRange(0),
    default=4,
    show_default=True,
    help="Tournaments of an account open at once.",
)
@click.option(
    "--max-tournament-games",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="Games that a tournament may come to.",
)
@click.option(
    "--tournaments-at-once",
    type=click.IntRange(0, 256),
    default=2,
    show_default=True,
    help="Tournaments played at once; the others wait.",
)
@click.option(
    "--tournament-workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Processes that play each tournament.",
)
@click.option(
    "--ladder",
    "ladders",
    multiple=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Play the ladder that this TOML file describes. May be given again.",
)
@click.option(
    "--hosted-games",
    type=click.IntRange(1, 1000),
    default=64,
    show_default=True,
    help="Games with remote bots at once, of tournaments and ladders.",
)
@click.option(
    "--hosted-workers",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="Processes of bots in all of these games.",
)
@click.option(
    "--bot-absence",
    type=click.FloatRange(0, 600),
    default=60.0,
    show_default=True,
    help="Seconds that games, and ladders, wait for a remote bot.",
)
@click.option(
    "--bot-delay",
    type=click.FloatRange(0, 60),
    default=0.0,
    show_default=True,
    help="Seconds each decision of a bot waits, remote ones too.",
)
@click.option(
    "--isolation",
    type=click.Choice(["process", "sandbox"]),
    default="sandbox",
    show_default=True,
    help="How installed bots are run.",
)
@options.bots_dir
@click.option(
    "--drain-seconds",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Time to finish when stopped.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What is logged: this and what is worse.",
)
def serve(**given: object) -> None:
    """Run the game service until it is told to stop.

    When it is ready, one line of JSON on stdout names the addresses in use; port 0 takes a free
    one. Logs go to stderr.
    """
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 -- a heavy import

    from ronda_server import app  # noqa: PLC0415 -- a heavy import
    from ronda_server.config import Config  # noqa: PLC0415 -- a heavy import

    config = Config(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type] # as click has checked them
    data = sys.stdout

    def ready(addresses: dict[str, str]) -> None:
        with redirect_stdout(data):
            output.line(output.as_json(addresses))

    try:
        _look_for_folders(config)
        with output.aside():
            app.run(config, ready)
    except ValueError as error:
        raise Failure(_wrong(str(error), config.admin_listen)) from None
    except OSError as error:
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        raise Failure(f"the service cannot start: {where}{error.strerror or error}") from None
    except SQLAlchemyError as error:
        reason = getattr(error, "orig", None) or error
        raise Failure(f"the database {config.database} cannot be used: {reason}") from None


def _wrong(problem: str, admin_listen: str) -> str:
    """Return what is wrong with a configuration, in terms of flags."""
    if "plaintext" not in problem:
        return problem
    address = problem.partition(" ")[0]
    if address == admin_listen:
        return f"--admin-listen {address} is not loopback, and there is no TLS yet: use 127.0.0.1"
    return (
        f"other machines can reach {address}, and there is no TLS yet: listen on 127.0.0.1, or put"
        " something that speaks TLS in front and give --allow-plaintext"
    )


def _look_for_folders(config: Config) -> None:
    """Refuse files whose folder is not there, by the flag that names them."""
    from ronda_server.database import sqlite_path  # noqa: PLC0415 -- a heavy import

    files = {"--database": sqlite_path(config.database)}
    if config.key_file:
        files["--key-file"] = Path(config.key_file)
    if config.admin_key_file:
        files["--admin-key-file"] = Path(config.admin_key_file)
    for flag, file in files.items():
        if not file.absolute().parent.is_dir():
            raise Failure(f"{flag} {file}: there is no folder {file.absolute().parent}")
