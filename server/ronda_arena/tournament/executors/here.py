"""Games played in this process, one after the other."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from ronda_arena.tournament.executors.chunks import Losses
from ronda_arena.tournament.play import Play, table
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_bots.registry import Registry

_SECONDS: Final = 0.2
"""Of games that are yielded together, so that they are committed together."""


class Here:
    """Plays in this process; bots that are not trusted have workers of their own."""

    width: Final = 1

    def __init__(self, contract: Contract, registry: Registry) -> None:
        """Start nothing yet."""
        self._contract = contract
        self._registry = registry
        self._open = ExitStack()
        self._play: Play

    def __enter__(self) -> Self:
        """Open the table; see `play.table` for what it raises."""
        self._play = self._open.enter_context(table(self._contract, self._registry))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all bots."""
        self._open.close()

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        """Yield what came of the tasks, a fifth of a second's games at a time."""
        losses = Losses()
        done: list[Played] = []
        until = time.monotonic() + _SECONDS
        for task in tasks:
            done.append(self._play(task))
            if time.monotonic() >= until:
                yield done
                losses.over(done)
                done, until = [], time.monotonic() + _SECONDS
        if done:
            yield done
            losses.over(done)
