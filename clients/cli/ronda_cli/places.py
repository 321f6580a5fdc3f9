"""Where games are played, as the flags of a command say it."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ronda_cli import output as out
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_arena.tournament.executors import Executor
    from ronda_arena.tournament.tasks import Contract
    from ronda_bots.registry import Registry

_F = TypeVar("_F", bound=Callable[..., Any])

_PATIENCE_SECONDS: Final = 600.0
"""For a scheduler of Dask that does not answer."""
_EXECUTORS: Final = ("in-process", "local", "dask")

_OPTIONS: Final = (
    click.option(
        "--executor", type=click.Choice(_EXECUTORS), help="Where games are played  [default: local]"
    ),
    click.option(
        "--workers",
        type=click.IntRange(1, 256),
        help="Processes of the local executor  [default: one a core]",
    ),
    click.option("--scheduler", metavar="tcp://HOST:PORT", help="Of the executor dask."),
)


def asked(command: _F) -> _F:
    """Give a command the options that say where its games are played."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Place:
    """Where the games are played, as the flags say it."""

    def __init__(
        self, kind: str, workers: int, scheduler: str, patience: float, words: list[str]
    ) -> None:
        self._kind = kind
        self._workers = workers
        self._scheduler = scheduler
        self._patience = patience
        self.words = words
        """The same as flags, for the command that goes on."""

    def make(self, contract: Contract, registry: Registry) -> Executor:
        """Return the executor."""
        if self._kind == "in-process":
            from ronda_arena.tournament.executors.here import Here  # noqa: PLC0415 -- where asked

            return Here(contract, registry)
        if self._kind == "dask":
            try:
                from ronda_arena.tournament.executors.dask import Dask  # noqa: PLC0415 -- an extra
            except ImportError as missing:
                raise Failure(str(missing), ExitCode.USAGE) from None
            return Dask(self._scheduler, contract, registry, patience=self._patience, note=out.note)
        from ronda_arena.tournament.executors.processes import Processes  # noqa: PLC0415 -- where asked

        return Processes(contract, registry, self._workers)


def place_of(
    executor: str | None, workers: int | None, scheduler: str | None, stall: float
) -> Place:
    """Return where games are played, or say which flags exclude each other.

    `stall`: seconds without a game after which nothing is waited for, a scheduler neither.
    """
    words = [
        f"--{name}={value}"
        for name, value in (("executor", executor), ("workers", workers), ("scheduler", scheduler))
        if value is not None
    ]
    if executor is None and scheduler:
        executor = "dask"
    if (executor == "dask") != bool(scheduler):
        raise click.UsageError("--executor dask and --scheduler belong together")
    if workers is not None and executor in ("dask", "in-process"):
        raise click.UsageError("--workers belong to the executor local")
    if executor == "dask" and find_spec("distributed") is None:
        raise Failure(
            "games on Dask need the extra dask: pip install 'ronda[dask]'", ExitCode.USAGE
        )
    count = workers or len(os.sched_getaffinity(0))
    if executor is None:
        executor = "local" if count > 1 else "in-process"
    return Place(executor, count, scheduler or "", min(stall, _PATIENCE_SECONDS), words)
