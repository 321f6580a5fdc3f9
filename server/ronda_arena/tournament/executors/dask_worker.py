"""Processes for games on Dask: a worker as `ronda tournament worker` runs it, and a scheduler.

Both speak pickle: whoever reaches one of them runs code there. So they listen on loopback unless
they are told otherwise, and then belong into a network of their own, or behind Dask's TLS.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import dask
from distributed import Scheduler, Worker

from ronda_arena.tournament.executors import ExecutorError
from ronda_arena.tournament.executors.dask import installed_bots, offers, tables

LOOPBACK: Final = "127.0.0.1"
_LEAVE_SECONDS: Final = 2.0

_CALM: Final = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1 s",
    "distributed.admin.system-monitor.interval": "5 s",
    "distributed.admin.system-monitor.gil.enabled": False,
}
"""Dask looks at itself all the time: a hundred and fifty times a second, in the midst of games."""


def serve_worker(
    scheduler: str,
    *,
    host: str = LOOPBACK,
    patience: float = 60.0,
    home: Path | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Play for a scheduler until it ends, or until SIGTERM or SIGINT.

    `home` is where bots are kept beside the environment; None: in the usual place. `ready` is
    called with the worker's address when it is there. `ExecutorError` if no scheduler answers for
    `patience` seconds.
    """
    tables.home = home
    offered = dict.fromkeys(offers(installed_bots(home)), 1.0)  # before there is an event loop
    with tempfile.TemporaryDirectory(prefix="ronda-dask-") as scratch, _quietly():
        failing = f"no worker can join {scheduler}"
        asyncio.run(_serve(_worker, failing, ready, scheduler, host, patience, offered, scratch))


def serve_scheduler(
    *, host: str = LOOPBACK, port: int = 0, ready: Callable[[str], None] = lambda _: None
) -> None:
    """Be a scheduler until SIGTERM or SIGINT; `ready` is called with its address."""
    with _quietly():
        failing = f"no scheduler can be started on {host}, port {port}"
        asyncio.run(_serve(_scheduler, failing, ready, host, port))


@contextmanager
def scheduler(port: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a scheduler as a process, on loopback: for tests and trials. Yield its address too."""
    command = [sys.executable, "-m", __name__, "scheduler", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- ours
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise ExecutorError(f"no scheduler can be started on port {port}")
            yield address, process
        finally:
            process.kill()


def _worker(
    scheduler: str, host: str, patience: float, offered: dict[str, float], scratch: str
) -> Worker:
    return Worker(
        scheduler,
        host=host,
        nthreads=1,
        resources=offered,
        death_timeout=patience,
        dashboard_address=f"{host}:0",
        local_directory=scratch,
        memory_limit=0,  # no limit: its bots have limits of their own
    )


def _scheduler(host: str, port: int) -> Scheduler:
    return Scheduler(host=host, port=port, dashboard=False, dashboard_address=f"{host}:0")


async def _serve(
    make: Callable[..., Any], failing: str, ready: Callable[[str], None], *arguments: object
) -> None:
    """Run a server of Dask until it ends or a signal comes."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    made = make(*arguments)
    signalled = asyncio.ensure_future(told.wait())
    starting = asyncio.ensure_future(made.start())
    await asyncio.wait({signalled, starting}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        return
    try:
        starting.result()
    except (OSError, TimeoutError, RuntimeError) as problem:
        cause = problem.__cause__ or problem
        why = "nobody answers there" if isinstance(cause, TimeoutError) else str(cause)
        raise ExecutorError(f"{failing}: {why}") from problem
    ready(made.address)
    ended = asyncio.ensure_future(made.finished())
    await asyncio.wait({signalled, ended}, return_when=asyncio.FIRST_COMPLETED)
    if not ended.done():
        options = {"executor_wait": False} if isinstance(made, Worker) else {}
        await made.close(timeout=_LEAVE_SECONDS, **options)


@contextmanager
def _quietly() -> Iterator[None]:
    """Log what is wrong and not how it goes, and measure less of oneself."""
    logging.getLogger("distributed").setLevel(logging.WARNING)
    logging.getLogger("distributed.diskutils").setLevel(logging.CRITICAL)  # its folder goes with it
    with dask.config.set(_CALM):
        yield


def main(arguments: Sequence[str] | None = None) -> None:
    """Run either, saying its address when it is ready: for tests and trials."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("scheduler", "worker"))
    parser.add_argument("--port", type=int, default=0, help="of a scheduler")
    parser.add_argument("--scheduler", help="of a worker")
    told = parser.parse_args(arguments)

    def ready(address: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()

    if told.what == "scheduler":
        serve_scheduler(port=told.port, ready=ready)
    else:
        serve_worker(told.scheduler, ready=ready)


if __name__ == "__main__":
    main()
