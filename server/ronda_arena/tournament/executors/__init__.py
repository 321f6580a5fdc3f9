"""Where games are played: in this process, in workers on this machine, or on Dask.

All of them are one thing to the rest: tasks in, what came of them out, in any order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self

from ronda_arena.tournament.tasks import Played, Task


class ExecutorError(Exception):
    """Nobody can play here; says what is wrong and what to do."""


class Executor(Protocol):
    """Plays the games of one contract, for as long as it is entered."""

    @property
    def width(self) -> int:
        """How many games it plays at the same time, at least one."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all that was started; what is being played is lost, and nobody waits for it."""

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        """Yield what came of the tasks, some at a time, as they are done.

        Tasks are taken as there is room for them and never far ahead, so an endless iterator is
        as good as a short one; closing the generator gives up what is being played. Every task is
        yielded exactly once: as a game, or as lost when the worker that had it is gone. Who plays a
        task that is `alone` is given no other before that is over.
        `ExecutorError` where no worker can be had any more.
        """
