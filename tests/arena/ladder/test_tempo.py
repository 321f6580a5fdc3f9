"""A bot that takes long has a part of the workers, and the others have the rest."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Self

import pytest
from tests.arena.ladder.games import BOTS, Clock, Drawn, ladder_plan, registry
from tests.bots.tables import info

from ronda_arena.ladder.run import Run
from ronda_arena.ladder.standings import Ladder
from ronda_arena.ladder.store import Store, claim
from ronda_arena.tournament.executors import Executor
from ronda_arena.tournament.executors.chunks import Chunks
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.play import table
from ronda_arena.tournament.tasks import Contract, Played, Task, Thought
from ronda_bots.greedy import Greedy
from ronda_bots.registry import Registry

QUICK = 0.2
"""Seconds that a game takes a bot that is not said to take longer."""
_OPEN = "RONDA_TEST_OPENS"


class Snail(Greedy):
    """One that is said to take long."""

    version = "1.0.0"


class Twin(Greedy):
    version = "1.0.0"


class Pending(Greedy):
    """Does not play before somebody holds the other end of a pipe."""

    version = "1.0.0"

    def play(self, view: Any) -> Any:
        """Wait for that."""
        with Path(os.environ[_OPEN]).open():
            return super().play(view)


class Over(Exception):  # noqa: N818 -- the time of a simulation is
    pass


class Simulated:
    """Workers that play real games, whose length is said: one game at a time each."""

    def __init__(
        self,
        contract: Contract,
        bots: Registry,
        width: int,
        seconds: Mapping[str, float],
        until: float,
    ) -> None:
        self.width = width
        self._contract, self._bots = contract, bots
        self._seconds, self._until = seconds, until
        self._open = ExitStack()
        self.now = 0.0

    def __enter__(self) -> Self:
        self._play = self._open.enter_context(table(self._contract, self._bots))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        """Yield games as they end, until the time is over."""
        chunks, busy, number = Chunks(tasks), list[tuple[float, int, Task]](), 0
        while True:
            while len(busy) < self.width and (chunk := chunks.take(1)):
                number += 1
                heappush(busy, (self.now + self._takes(chunk[0]), number, chunk[0]))
            if not busy:
                return
            self.now, _, task = heappop(busy)
            if self.now > self._until:
                raise Over
            yield [self._ended(task)]

    def _of(self, task: Task) -> dict[str, float]:
        names = [self._contract.plan.entrants[at].name for at in task.entrants]
        return {name: self._seconds.get(name.partition("@")[0], QUICK) for name in names}

    def _takes(self, task: Task) -> float:
        return sum(self._of(task).values())

    def _ended(self, task: Task) -> Played:
        thoughts = tuple(Thought(bot, 1, took, took) for bot, took in self._of(task).items())
        return self._play(task)._replace(thoughts=thoughts, seconds=self._takes(task))


POOL = registry([*BOTS.bots, info(Snail), info(Twin)])


def others_in(store: Store, width: int, until: float, slow: Mapping[str, float]) -> list[int]:
    """Return the games of the slow, and of the others, of those who play for so long."""
    running = Run(store, lambda: POOL, now=Clock())

    def make(contract: Contract, bots: Registry) -> Executor:
        return Simulated(contract, bots, width, slow, until)

    with pytest.raises(Over):
        running.play(make)
    games = {bot.name: bot.games for bot in running.ladder.bots}
    taken = [games.pop(name, 0) for name in slow] if slow else [0]
    return [sum(taken), sum(games.values()) - sum(taken)]


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("slow", [{"snail": 4.0}, {"snail": 8.0, "twin": 4.0}])
def test_the_others_play_on_beside_slow_ones_and_these_play_too(
    width: int, slow: dict[str, float], tmp_path: Path
) -> None:
    counts = []
    for name, asked in (("without", {}), ("with", slow)):
        with claim(tmp_path / name, Drawn()) as folder:
            store = folder.begin(ladder_plan())
            counts.append(others_in(store, width, 60.0, asked))
    (_, without), (taken, beside) = counts
    assert taken >= 4
    assert beside > 0.25 * without


def test_where_all_take_as_long_nobody_is_slow(tmp_path: Path) -> None:
    alike = {bot.name: 2.0 for bot in POOL.bots}
    with claim(tmp_path, Drawn()) as folder:
        running = Run(folder.begin(ladder_plan()), lambda: POOL, now=Clock())
        with pytest.raises(Over):
            running.play(lambda of, bots: Simulated(of, bots, 2, alike, 200.0))
        blocks = [bot.blocks for bot in running.ladder.bots]
        assert sum(blocks) >= 2 * (200 / 4 * 2 / 2 - 3)
        assert min(blocks) > 0.5 * max(blocks)


def test_games_of_quick_bots_end_while_one_that_hangs_has_its_first_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two real workers: nothing is let go on before the others have played."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv(_OPEN, str(pipe))
    pool = registry([*BOTS.bots, info(Pending)])
    seen: list[int] = []

    def tell(ladder: Ladder) -> None:
        hangs = ladder.find("pending@1.0.0")
        if hangs is not None and ladder.games >= 30 and not seen:
            seen.append(hangs.games)
            ends.append(os.open(pipe, os.O_RDWR))

    ends = list[int]()
    with claim(tmp_path / "l", Drawn()) as folder:
        running = Run(folder.begin(ladder_plan()), lambda: pool, now=Clock(), tell=tell)
        running.play(lambda of, bots: Processes(of, bots, 2), 60)
    os.close(*ends)
    assert seen == [0]
    assert running.ladder.games >= 60
