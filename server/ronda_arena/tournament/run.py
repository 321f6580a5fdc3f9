"""A tournament from where it stands to its end: schedule, executor, store, and when to stop."""

from __future__ import annotations

import faulthandler
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import takewhile
from typing import Final, NamedTuple

from ronda_arena.tournament.executors import Executor, ExecutorError
from ronda_arena.tournament.formats import tasks
from ronda_arena.tournament.formats.choice import format_of
from ronda_arena.tournament.ledger import Ledger
from ronda_arena.tournament.results import Game
from ronda_arena.tournament.stops import stop_rule
from ronda_arena.tournament.store import Store
from ronda_arena.tournament.tasks import Broken, Played, Task
from ronda_arena.tournament.watch import Watch
from ronda_core.match import Cause

MOST_ATTEMPTS: Final = 20
"""At one game, before the machine is taken to be unfit."""

_GRACE_SECONDS: Final = 5.0
"""For who is told that it hangs, before what every thread does is printed."""
_STDERR: Final = 2
"""The descriptor: whatever has taken the place of `sys.stderr` may have none."""


class Standing(NamedTuple):
    """How far a run has come."""

    blocks: int
    """That count: whole, and all before them too."""
    planned: int | None
    """None where that depends on results."""
    games: int
    """That are over, all in all."""
    lost: int
    """That were lost by no fault of a bot since this run began; they are played again."""
    twice: int = 0
    """Results that were known when they came, since this run began: they count once."""
    rule: str = ""
    """How near the stop rule is to a decision, in a few words; empty where it tells none."""


class Waited(NamedTuple):
    """A game that is waited for."""

    task: Task
    seconds: float
    """Since it was handed out to be played."""


Tell = Callable[[Standing], None]
Stalled = Callable[[Sequence[Waited]], None]
"""Called in a thread of its own with the games that are under way, the first begun first."""

Blame = Callable[[Task, Broken], None]


class Run:
    """One tournament that is played, or goes on."""

    def __init__(
        self,
        store: Store,
        *,
        tell: Tell = lambda _: None,
        patience: float | None = None,
        stalled: Stalled = lambda _: None,
        blame: Blame = lambda _, __: None,
        stop_on_fault: bool = False,
    ) -> None:
        """Read how it stands.

        `tell` is told after each few games. Where no game ends for `patience` seconds, `stalled` is
        told what is waited for. If it does not end the process, or cannot be called, that happens a
        moment later: what every thread does is printed then. `blame` is told of each kind of fault
        of each bot once. With `stop_on_fault` it stops after the block in which a bot has one.
        """
        self._store = store
        self._tell = tell
        self._patience = patience
        self._stalled = stalled
        self._blame = blame
        self._told: set[tuple[str, Cause, str]] = set()
        self._watch: Watch | None = None
        self._stop_on_fault = stop_on_fault
        self._faulty: dict[int, int] = {}
        self.halted: int | None = None
        """The block after which it stopped, because of a bot's fault in it."""
        self._under_way: dict[tuple[int, int], tuple[Task, float]] = {}
        self._games = 0
        self._lost = 0
        self._twice = 0
        self._again: deque[Task] = deque()
        self._attempts = store.attempts()
        self._format = format_of(store.plan)
        self.ledger = Ledger(store.plan, self._format, stop_rule(store.plan))
        for task, game in store.games():
            self._games += 1
            self.ledger.take(task, game)

    @property
    def standing(self) -> Standing:
        """How far it has come."""
        return Standing(
            self.ledger.blocks,
            self._format.planned,
            self._games,
            self._lost,
            self._twice,
            self.ledger.so_far,
        )

    def play(self, executor: Executor) -> None:
        """Play what is left. Whatever ends it, what the store has is kept and not played again."""
        with ExitStack() as stack:
            if self._patience is not None:
                stack.callback(faulthandler.cancel_dump_traceback_later)
                watch = Watch(self._patience, lambda: self._stalled(self._waited()))
                self._watch = stack.enter_context(watch)
            while not self._ends:
                self._play(executor, self._left())
                while self._again and not self._ends:
                    self._play(executor, self._lost_ones())

    def _play(self, executor: Executor, left: Iterator[Task]) -> None:
        self._under_way.clear()
        self._wait()
        with closing(executor.play(self._noted(left))) as results:
            for some in results:
                self._wait()
                for one in some:
                    self._under_way.pop((one.task.block, one.task.rotation), None)
                    self._tell_broken(one)
                new = self._store.add(some)
                self._twice += len(some) - len(new)
                for one in new:
                    if one.game is None:
                        self._once_more(one.task, one.lost or "")
                    else:
                        self._games += 1
                        self.ledger.take(one.task, one.game)
                        self._look_for_fault(one.task, one.game)
                self._tell(self.standing)
                if self._ends:
                    return

    @property
    def _ends(self) -> bool:
        return self.ledger.over or self.halted is not None

    def _look_for_fault(self, task: Task, game: Game) -> None:
        """Halt where a block is over in which a bot had a fault, if that is asked for."""
        if not self._stop_on_fault:
            return
        if game.fault is not None:
            self._faulty[task.block] = self._store.plan.games_of(task.entrants)
        if task.block in self._faulty and self.halted is None:
            done = takewhile(lambda one: one[0] == task.block, self._store.done(task.block))
            if sum(1 for _ in done) == self._faulty[task.block]:
                self.halted = task.block

    def _tell_broken(self, played: Played) -> None:
        """Tell what is new of all who played: each of them tells what is new to it."""
        for broken in played.broken:
            kind = broken.bot, broken.cause, broken.detail
            if kind not in self._told:
                self._told.add(kind)
                self._blame(played.task, broken)

    def _noted(self, left: Iterator[Task]) -> Iterator[Task]:
        """Yield the tasks again, and keep in mind that they are under way."""
        for task in left:
            self._under_way[task.block, task.rotation] = task, time.monotonic()
            yield task

    def _waited(self) -> list[Waited]:
        """Return the games that are under way, the first begun first."""
        now = time.monotonic()
        return [Waited(task, now - begun) for task, begun in [*self._under_way.values()]]

    def _left(self) -> Iterator[Task]:
        """Yield the games of the round at hand that are not over, those that were lost first.

        Both the schedule and the store are in order, so it takes no room to compare them.
        """
        ledger = self.ledger
        assert ledger.round is not None
        done = self._store.done(ledger.first)
        next_done = next(done, None)
        for task in tasks(self._store.plan, ledger.round, ledger.first):
            yield from self._lost_ones()
            place = task.block, task.rotation
            if place == next_done:
                next_done = next(done, None)
                continue
            yield task._replace(attempt=self._attempts.get(place, 0))

    def _lost_ones(self) -> Iterator[Task]:
        while self._again:
            yield self._again.popleft()

    def _once_more(self, task: Task, why: str) -> None:
        """Let a game be played again that was lost by no fault of a bot."""
        self._lost += 1
        if task.attempt + 1 >= MOST_ATTEMPTS:
            raise ExecutorError(
                f"block {task.block}, rotation {task.rotation} was lost {MOST_ATTEMPTS} times by no"
                f" fault of a bot, the last time so: {why}"
            )
        self._again.append(task._replace(attempt=task.attempt + 1))

    def _wait(self) -> None:
        if self._patience is not None and self._watch is not None:
            self._watch.heard()
            last = self._patience + _GRACE_SECONDS
            faulthandler.dump_traceback_later(last, exit=True, file=_STDERR)
