"""`ronda tournament worker`: play the games of others' tournaments, over Dask."""

from __future__ import annotations

from pathlib import Path

import click

from ronda_cli import options
from ronda_cli import output as out
from ronda_cli.output import ExitCode, Failure


@click.command()
@click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    required=True,
    envvar="RONDA_SCHEDULER",
    help="Dask's scheduler.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to be reached at. Whoever reaches it runs code here.",
)
@click.option(
    "--patience",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Give up when the scheduler does not answer for so long.",
)
@options.bots_dir
@options.plain
def worker(
    scheduler: str,
    host: str,
    patience: float,
    bots_dir: Path | None,
    plain: bool,  # noqa: ARG001 -- it says sentences only
) -> None:
    """Play games for `ronda tournament run --executor dask`, one after the other.

    It has the bots that are installed here when it starts, those that `ronda bots install` keeps
    among them, and ends with the scheduler or on SIGTERM.
    """
    try:
        from ronda_arena.tournament.executors import ExecutorError  # noqa: PLC0415 -- heavy
        from ronda_arena.tournament.executors.dask_worker import serve_worker  # noqa: PLC0415 -- an extra
    except ImportError as missing:
        raise Failure(str(missing), ExitCode.USAGE) from None
    try:
        serve_worker(
            scheduler,
            host=host,
            patience=patience,
            home=bots_dir,
            ready=lambda address: out.note(f"plays for {scheduler} on {address}"),
        )
    except ExecutorError as problem:
        raise Failure(str(problem), ExitCode.UNREACHABLE) from None
