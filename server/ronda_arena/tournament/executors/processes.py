"""Games played by worker processes of this machine.

Each worker has a pipe of its own, and nothing that it shares with another: one that is killed
loses what it had, whatever it was doing, and no more. (`ProcessPoolExecutor` gives up all its
workers when one dies, and waits for ever for a result of which one has sent only half.)

Nobody outlives the driver: a worker ends when the pipe ends by which `multiprocessing` lets it
know its parent, and its bots end with it. That is no signal for the parent's death, which comes
when the thread ends that has started the worker. What Ctrl-C at a terminal sends to all of them is
for the driver to judge.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Final, Self

from ronda_arena.isolation import IsolationError
from ronda_arena.tournament.codes import check
from ronda_arena.tournament.executors import ExecutorError
from ronda_arena.tournament.executors.chunks import Chunks, Losses, Pace, alone, fault_words
from ronda_arena.tournament.play import table
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_arena.worker import confine
from ronda_bots.registry import BotNotFoundError, Registry

_SECONDS: Final = 0.25
"""Of games of a chunk."""
_DEPTH: Final = 2
"""Chunks that a worker has: one that it plays, and one that it finds when that is done."""
_LAST_SECONDS: Final = 1.0
"""For the end of a process whose connection has ended."""

_CONTEXT: Final = multiprocessing.get_context("spawn")


class Processes:
    """Plays in workers of this machine, each with a table and a nursery of its own."""

    def __init__(self, contract: Contract, registry: Registry, workers: int) -> None:
        """Start nothing yet. `BotNotFoundError` if a bot of the plan is not installed as it was."""
        if workers < 1:
            raise ValueError("somebody has to play: at least one worker")
        self._contract = contract
        self._registry = Registry(tuple(map(registry.find, contract.plan.installed)), ())
        check(contract.plan, {bot.identity: bot for bot in self._registry.bots})
        self._count = workers
        self._workers: list[_Worker] = []
        self._pace = Pace(_SECONDS)
        self._chunks = 0

    def __enter__(self) -> Self:
        """Start the workers; what is wrong with one is told by `play`."""
        try:
            for _ in range(self._count):
                self._workers.append(self._start())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the workers at once."""
        self._end()

    @property
    def width(self) -> int:
        """How many workers there are."""
        return self._count

    @property
    def pids(self) -> tuple[int, ...]:
        """The numbers of the workers' processes."""
        return tuple(worker.pid for worker in self._workers)

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        """Yield what came of the tasks, a chunk at a time, as they are done.

        `BotNotFoundError`, `IsolationError` as `play.table` raises them in a worker.
        """
        losses = Losses()
        chunks = Chunks(tasks)
        for worker in self._workers:
            worker.abandon()
        while True:
            gone = self._hand_out(chunks)
            if not any(worker.is_awaited for worker in self._workers):
                return
            waiting = {worker.link: worker for worker in self._workers if worker.chunks}
            for link in [] if gone else connection.wait(list(waiting)):
                assert isinstance(link, Connection)
                worker = waiting[link]
                try:
                    done, seconds = worker.receive()
                except (EOFError, OSError):
                    gone.append(worker)
                    continue
                if done:
                    if not alone(one.task for one in done):
                        self._pace.took(len(done), seconds)
                    yield done
                    losses.over(done)
            for worker in gone:
                why = worker.remains()
                lost = self._replace(worker, why)
                if lost:
                    yield lost
                losses.lost(why)

    def _hand_out(self, chunks: Chunks) -> list[_Worker]:
        """Give every worker as much as it may have; return those that are gone."""
        gone: list[_Worker] = []
        for depth in range(1, _DEPTH + 1):  # first one for everybody
            for worker in self._workers:
                if worker in gone or len(worker.chunks) >= depth or worker.is_alone:
                    continue
                chunk = chunks.take(self._pace.size)
                if not chunk:
                    return gone
                self._chunks += 1
                if not worker.send(self._chunks, chunk):
                    gone.append(worker)
        return gone

    def _replace(self, worker: _Worker, why: str) -> list[Played]:
        """Put another in the place of a worker that is gone; return what it had as lost."""
        worker.end()
        self._workers[self._workers.index(worker)] = self._start()
        tasks = (task for chunk in worker.chunks.values() for task in chunk)
        return [Played(task, None, None, why) for task in tasks]

    def _start(self) -> _Worker:
        return _Worker(self._contract, self._registry)

    def _end(self) -> None:
        while self._workers:
            self._workers.pop().end()


class _Worker:
    """A worker's process as the driver has it."""

    def __init__(self, contract: Contract, registry: Registry) -> None:
        self.chunks: dict[int, tuple[Task, ...]] = {}
        """What it was given and has not given back, in order."""
        self.link, its = _CONTEXT.Pipe()
        with its:
            self._process = _CONTEXT.Process(
                target=_work, args=(its, contract, registry), name="ronda-worker", daemon=True
            )
            try:
                with interrupts_held():
                    self._process.start()
            except OSError as problem:
                self.link.close()
                message = f"no worker can be started: {problem.strerror}"
                raise ExecutorError(message) from problem

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid or 0

    @property
    def is_awaited(self) -> bool:
        """Whether it has a chunk that is not abandoned."""
        return any(self.chunks.values())

    @property
    def is_alone(self) -> bool:
        """Whether nothing is to wait behind what it has."""
        return any(map(alone, self.chunks.values()))

    def send(self, number: int, chunk: tuple[Task, ...]) -> bool:
        """Give it a chunk; return whether it is still there. What it was given counts as begun."""
        self.chunks[number] = chunk
        try:
            self.link.send((number, chunk))
        except OSError:
            return False
        return True

    def receive(self) -> tuple[list[Played], float]:
        """Return what came of a chunk and the seconds it took; nothing of an abandoned one."""
        told = self.link.recv()
        if isinstance(told, Exception):
            raise told
        number, played, seconds = told
        return (played if self.chunks.pop(number) else []), seconds

    def abandon(self) -> None:
        """Forget what it plays: nobody waits for that any more."""
        self.chunks = dict.fromkeys(self.chunks, ())

    def end(self) -> None:
        """End it at once, if it runs."""
        self.link.close()
        self._process.kill()
        self._process.join()

    def remains(self) -> str:
        """Return what can be told of one that has hung up."""
        self._process.join(_LAST_SECONDS)
        status = self._process.exitcode
        if status is None:
            return "a worker closed its connection"
        if status < 0:
            return f"a worker was ended by {signal.Signals(-status).name}"
        return f"a worker ended with status {status}"


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Start a process that takes no SIGINT before it can say so itself."""
    resource_tracker.ensure_running()  # it would be started on the way, and let them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(link: Connection, contract: Contract, registry: Registry) -> None:
    """Play chunks until the driver hangs up: the life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=end_with_parent, daemon=True).start()
    confine.end_first()
    try:
        with table(contract, registry) as play:
            while (order := _receive(link)) is not None:
                number, chunk = order
                began = time.perf_counter()
                played = [play(task) for task in chunk]
                _send(link, (number, played, time.perf_counter() - began))
    except (BotNotFoundError, IsolationError) as refused:
        _send(link, refused)
    except Exception as fault:  # noqa: BLE001 -- a fault of ours: named where somebody reads it
        _send(link, ExecutorError(fault_words(fault)))


def _receive(link: Connection) -> tuple[int, tuple[Task, ...]] | None:
    """Return the next chunk and its number; None where the driver has hung up."""
    try:
        number, chunk = link.recv()
    except (EOFError, OSError):
        return None
    return number, chunk


def _send(link: Connection, told: object) -> None:
    with suppress(OSError):  # the driver has hung up, as the next receive will find
        link.send(told)


def end_with_parent() -> None:
    """Wait until the driver is gone, and go."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    sys.stderr.flush()
    os._exit(1)
