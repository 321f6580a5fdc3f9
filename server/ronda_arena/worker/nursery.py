"""Starts workers and buries them, by way of one template process.

Calls come from any thread: each is one question to the template and its answer. A template that
is gone is replaced by the next start; its workers went with it, which is no fault of their bots.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from ronda_arena.isolation import Level, Limits, WorkerLostError
from ronda_arena.worker import wire
from ronda_arena.worker.child import HASH_SEED

_KEPT_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_ENDING_MILLISECONDS: Final = 100
_BOOT: Final = """\
import gc, sys
gc.disable()
sys.path[:] = sys.argv[2:]
from ronda_arena.worker.template import main
main(int(sys.argv[1]), [{limits}])
"""


@dataclass(frozen=True, slots=True)
class Cradle:
    """What a worker is started with."""

    level: Level
    reads: tuple[str, ...] = ()
    """Files and folders that it may read, beside Python and the system's libraries."""
    listed: tuple[str, ...] = ()
    """Folders of which it may see the names."""


class Remains(NamedTuple):
    """What is known of a worker that is no more."""

    status: int | None
    """Its exit status, or minus the signal that ended it; None if it was running until now."""
    cpu_seconds: float
    memory: int
    """Kibibytes, at most."""
    log: bytes
    """The beginning and the end of what it printed: for its bot's owner alone."""
    excess: str
    """Of what it took too much, so that it was ended; empty: of nothing."""

    def __repr__(self) -> str:
        return f"Remains(status={self.status})"


class Nursery:
    """The workers of this process."""

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008 -- it is frozen
        hash_seed: int = 0,
    ) -> None:
        """Start nothing yet.

        `hash_seed` is what the order of sets and the module `random` follow in its workers: a bot
        that decides otherwise under another takes chance from elsewhere than it was given.
        """
        self.limits = limits
        self._hash_seed = hash_seed
        self.landlock_abi = 0
        self.problem = ""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket
        self._generation = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the template, if it does not run; done by the first spawn at the latest."""
        with self._lock:
            self._ready()

    @property
    def pid(self) -> int:
        """The number of the template's process; 0 while there is none."""
        return self._process.pid if self._process else 0

    def spawn(self, cradle: Cradle) -> tuple[int, int, socket.socket]:
        """Start a worker; return the template's generation, the worker's number and its socket."""
        mine, its = socket.socketpair()
        try:
            order = ("spawn", cradle.level, cradle.reads, cradle.listed)
            with self._lock:
                self._ready()
                answer = self._ask(order, its)
                return self._generation, _number(answer), mine
        except BaseException:
            mine.close()
            raise
        finally:
            its.close()

    def bury(self, generation: int, pid: int, *, ending: bool = False) -> Remains:
        """End a worker and all that it has started; `WorkerLostError` if the template is gone.

        `ending`: it has hung up, so it is given a moment to end by itself. There is one between its
        socket's end and its own, which decides nothing; nobody else waits for it.
        """
        if ending:
            _let_end(pid)
        with self._lock:
            if self._process is None or generation != self._generation:
                raise WorkerLostError("the workers' template has ended")
            return Remains(*self._ask(("bury", pid)))

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            self._end()

    def _ready(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._end()
        mine, its = socket.socketpair()
        with its:
            path = [folder for folder in sys.path if folder]
            boot = _BOOT.format(limits=", ".join(map(repr, astuple(self.limits))))
            # Not -I: a fixed hash seed makes bots repeatable, and it is an environment variable.
            flags = "-sSPBu"
            self._process = subprocess.Popen(  # noqa: S603 -- our own Python, our own words
                [sys.executable, flags, "-c", boot, str(its.fileno()), *path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None,
                cwd="/",
                env=_environment() | {HASH_SEED: str(self._hash_seed)},
                pass_fds=[its.fileno()],
                process_group=0,
            )
        mine.settimeout(self.limits.template_seconds)
        self._control = mine
        self._generation += 1
        self.landlock_abi, self.problem = self._reply()

    def _ask(self, order: Sequence[Any], passed: socket.socket | None = None) -> Any:
        try:
            fds = [passed.fileno()] if passed else []
            data = wire.pack_order(order)
            sent = socket.send_fds(self._control, [data], fds)
            self._control.sendall(data[sent:])
        except OSError as problem:
            self._end()
            raise WorkerLostError("the workers' template has ended") from problem
        return self._reply()

    def _reply(self) -> Any:
        try:
            told = wire.read_order(self._control, b"")
        except OSError:  # it does not come in time, too
            told = None
        if told is None:
            self._end()
            raise WorkerLostError("the workers' template has ended")
        return told

    def _end(self) -> None:
        if self._process is None:
            return
        self._control.close()  # it ends its workers, and goes
        self._process.send_signal(signal.SIGCONT)  # also where somebody has stopped it
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def _number(answer: int | str) -> int:
    """Return the number of a worker, or raise what the template says instead of one."""
    if isinstance(answer, int):
        return answer
    raise WorkerLostError(f"no worker can be started: {answer}")


def _let_end(pid: int) -> None:
    """Give a process a moment to end; it need not be a child of this one, and is not reaped."""
    watch = select.poll()
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # no Linux, or one that lets nobody: it has the whole moment
        watch.poll(_ENDING_MILLISECONDS)
        return
    try:
        watch.register(handle, select.POLLIN)
        watch.poll(_ENDING_MILLISECONDS)
    finally:
        os.close(handle)


def _environment() -> dict[str, str]:
    fixed = {
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "1",  # else each thread of a bot takes 64 MiB of its address space
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": "/usr/bin:/bin",
    }
    return fixed | {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}


def close_quietly(sock: socket.socket) -> None:
    """Close a socket at which another thread may be waiting, and wake that thread."""
    with suppress(OSError):  # the other end is gone already
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
