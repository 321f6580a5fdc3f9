"""What executors share: how much is handed out at once, when to give up, and in which words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ronda_arena.tournament.executors import ExecutorError
from ronda_arena.tournament.tasks import Played, Task

_MOST: Final = 512
"""Tasks of a chunk: one must fit into the buffer of a socket, so that nobody waits to send it."""
_GROWTH: Final = 4
_TOO_MANY: Final = 10


class Pace:
    """How many tasks take so many seconds, from what was measured."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._size = 1

    @property
    def size(self) -> int:
        """Tasks of the next chunk: one while nothing is known."""
        return self._size

    def took(self, tasks: int, seconds: float) -> None:
        """Take in what a chunk took; half of it counts at once, so that one odd game is no jolt."""
        fits = self.seconds * tasks / max(seconds, 1e-6)
        wanted = (self._size + min(fits, self._size * _GROWTH)) / 2
        self._size = max(1, min(_MOST, round(wanted)))


class Chunks:
    """Tasks by the chunk, as there is room for them; one that is `alone` is a chunk of its own."""

    def __init__(self, tasks: Iterator[Task]) -> None:
        self._tasks = tasks
        self._next: Task | None = None

    def take(self, most: int) -> tuple[Task, ...]:
        """Return the next ones, so many at most; none where there are none just now.

        Where tasks end and then go on, a chunk ends, so that the next may go to somebody else.
        """
        chunk: list[Task] = []
        ends = 0
        while len(chunk) < most:
            task, self._next = self._next or next(self._tasks, None), None
            if task is None:
                ends += 1
                if chunk or ends > 1:
                    break
                continue
            if task.alone and chunk:
                self._next = task
                break
            chunk.append(task)
            if task.alone:
                break
        return tuple(chunk)


def alone(chunk: Iterable[Task]) -> bool:
    """Say whether nothing is to wait behind a chunk."""
    return any(task.alone for task in chunk)


class Losses:
    """Counts what is lost in a row, and gives up where nothing can be played any more."""

    def __init__(self) -> None:
        self._row = 0

    def over(self, played: Iterable[Played]) -> None:
        """Take in what came of some tasks; `ExecutorError` where it is only losses by now."""
        for one in played:
            if one.lost is None:
                self._row = 0
            else:
                self.lost(one.lost)

    def lost(self, why: str) -> None:
        """Take in a loss, of one game or of a worker."""
        self._row += 1
        if self._row >= _TOO_MANY:
            message = f"{self._row} losses in a row and no game was played; the last: {why}"
            raise ExecutorError(message)


def fault_words(fault: Exception) -> str:
    """Return what may be told of an error of ours: not its text, which could hold a card."""
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        place = f" in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}"
    return f"a game cannot be played: {type(fault).__name__}{place}. This is a fault of ronda"
