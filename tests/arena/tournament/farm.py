"""A Dask scheduler and workers, each a process of its own, that tests may kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.bots.plugins import ROOT

_SERVE: Final = ("-m", "ronda_arena.tournament.executors.dask_worker")


class Farm:
    """A scheduler on a port of its own, and its workers."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []
        self.scheduler = self._start("scheduler")
        self.address = heard(self.scheduler)
        self.workers: list[subprocess.Popen[str]] = []

    def ensure(self, count: int) -> None:
        """See to it that so many workers are there."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        self.work(count - len(self.workers))

    def work(self, count: int, before: str = "", path: str = "") -> None:
        """Start so many workers; `before` is what each does first, in Python."""
        started = [
            self._start("worker", "--scheduler", self.address, before=before, path=path)
            for _ in range(count)
        ]
        for worker in started:
            heard(worker)
        self.workers += started

    def restart(self) -> None:
        """Kill the scheduler, and start another on its port; its workers have ended with it."""
        self.scheduler.send_signal(signal.SIGKILL)
        self.scheduler.wait()
        for worker in self.workers:
            worker.wait(30)
        self.workers.clear()
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start("scheduler", "--port", port)
        assert heard(self.scheduler) == self.address

    def close(self) -> None:
        """End everybody."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.communicate()

    def _start(self, *arguments: str, before: str = "", path: str = "") -> subprocess.Popen[str]:
        command = list(_SERVE)
        if before:
            run = f"{before}; from {_SERVE[1]} import main; main()"
            command = ["-c", run]
        folders = [path, *sys.path] if path else sys.path
        process = subprocess.Popen(
            [sys.executable, *command, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
            text=True,
        )
        self._processes.append(process)
        return process


def heard(process: subprocess.Popen[str]) -> str:
    """Return the address that a process says when it is ready."""
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address.startswith("tcp://127.0.0.1:")
    return address


@contextmanager
def farm(workers: int = 0) -> Iterator[Farm]:
    """Yield a scheduler with so many workers."""
    made = Farm()
    try:
        made.work(workers)
        yield made
    finally:
        made.close()
