"""The executor of a driver whose games are of both kinds: with remote bots, and without.

Games with one are asked of the server, which hosts them; all others are played by another executor,
on a thread of its own. Each kind has its own room, and the feed is read a bounded way ahead, so
neither waits for the other. On a ladder bots come and go: those that are remote without anything
that is played having to end, and where others do, whoever plays next goes on with what is hosted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Final, Self

from ronda_arena.clock import Clock
from ronda_arena.tournament.executors import Executor
from ronda_arena.tournament.executors.chunks import Losses
from ronda_arena.tournament.play import result
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_core.record import read
from ronda_server.tables.told import Hosted, Wanted, wanted

_HOSTED: Final = 256
"""Games that the server has at once; it begins them as there is room."""
_OTHERS: Final = 64
"""Games that wait for the other executor."""
_AHEAD: Final = 1024
"""Games of a kind that are kept back while the other kind is looked for."""
_LEAVE_SECONDS: Final = 1.0
_DECISIONS: Final = 2000
"""Of a hosted game: more than any has."""


def longest(clock: str | None) -> float:
    """Return the seconds that a hosted game may take: its bots may use all their time.

    Others may too, but then their games are over by it before long.
    """
    return _DECISIONS * Clock.parse(clock).per_decision if clock else 0.0


class AtTables:
    """Plays at the tables of a server what `others` cannot."""

    def __init__(self, others: Executor, contract: Contract, ask: Callable[[Wanted], None]) -> None:
        """Start nothing yet. `ask` hands a game to the server; its answers are for `hear`."""
        self.width = others.width
        self._contract = contract
        self._ask = ask
        self._told: SimpleQueue[_Word] = SimpleQueue()
        self._others = _Others(others, self._told.put)
        self._woken = False
        self._leaves = False
        self._waiting: deque[tuple[Task, Wanted]] = deque()
        self._hosted: dict[str, tuple[Task, Wanted]] = {}
        self._elsewhere: set[tuple[object, ...]] = set()

    def __enter__(self) -> Self:
        """Start nothing: the other executor begins with its first game."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the other executor. What the server hosts goes on there until it says otherwise."""
        self._others.close()

    def hear(self, hosted: Hosted) -> None:
        """Take an answer of the server, on any thread."""
        self._told.put(hosted)

    def wake(self) -> None:
        """Yield soon, if only nothing, on any thread: there may be more to play."""
        self._told.put(None)

    def renew(self, contract: Contract) -> None:
        """Ask for games under another contract from now on: more bots may be remote."""
        self._contract = contract

    def leave(self) -> None:
        """Play what the other executor has, and leave what is hosted to the next."""
        self._leaves = True

    def go_on(self, before: AtTables) -> None:
        """Take over what is hosted; nothing of `before` is being played by then."""
        self._waiting.extend(before._waiting)
        self._hosted.update(before._hosted)
        with suppress(Empty):  # that was all of it
            while True:
                told = before._told.get_nowait()
                if isinstance(told, Hosted):
                    self._told.put(told)

    def forget(self, blocks: Sequence[str]) -> None:
        """Wait no more for games of these blocks of a ladder."""
        void = set(blocks)
        self._waiting = deque(one for one in self._waiting if _block(one[0]) not in void)
        for match_id in [name for name, (task, _) in self._hosted.items() if _block(task) in void]:
            del self._hosted[match_id]

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        """Yield what came of the tasks, whichever are over."""
        losses = Losses()
        try:
            while True:
                self._fill(tasks)
                if not (self._elsewhere or (self._hosted and not self._leaves)):
                    return
                played, hosted = self._some()
                if played or self._woken:
                    self._woken = False
                    yield played
                losses.over(hosted)
        finally:
            self._others.clear()
            self._elsewhere.clear()
            if not self._leaves:
                self._waiting.clear()
                self._hosted.clear()

    def _fill(self, tasks: Iterator[Task]) -> None:
        """Hand out as much as there is room for."""
        while self._waiting and len(self._hosted) < _HOSTED:
            self._host(*self._waiting.popleft())
        while (
            (len(self._hosted) < _HOSTED or len(self._others) < _OTHERS)
            and len(self._waiting) < _AHEAD
            and len(self._others) < _AHEAD
        ):
            task = next(tasks, None)
            if task is None:
                return
            if self._contract.plan.paired(task.entrants):
                self._elsewhere.add(_key(task))
                self._others.add(task)
                continue
            one = wanted(self._contract, task)
            if len(self._hosted) < _HOSTED:
                self._host(task, one)
            else:
                self._waiting.append((task, one))

    def _host(self, task: Task, one: Wanted) -> None:
        self._hosted[one.match_id] = task, one
        self._ask(one)

    def _some(self) -> tuple[list[Played], list[Played]]:
        """Return what is over, after at least one word; and which of it was hosted."""
        played: list[Played] = []
        hosted: list[Played] = []
        told = self._told.get()
        while True:
            if isinstance(told, BaseException):
                raise told
            if told is None:
                self._woken = True
            elif isinstance(told, Hosted):
                one = self._hosted.pop(told.match_id, None)
                if one:
                    hosted.append(self._over(*one, told))
            else:
                for some in told:
                    key = _key(some.task)
                    if key in self._elsewhere:
                        self._elsewhere.remove(key)
                        played.append(some)
            try:
                told = self._told.get_nowait()
            except Empty:
                return played + hosted, hosted

    def _over(self, task: Task, one: Wanted, told: Hosted) -> Played:
        if told.record is None:
            return Played(task, None, None, told.lost or "", seconds=told.seconds)
        game = result(read(told.record), one.dealt, self._contract.plan)
        return Played(task, game, told.record, None, told.thoughts, told.seconds)


_Word = Hosted | Sequence[Played] | BaseException | None
"""None: look whether there is more to play."""


def _block(task: Task) -> str:
    return task.deal.id if task.deal else ""


def _key(task: Task) -> tuple[object, ...]:
    return _block(task), task.block, task.rotation, task.attempt


class _Others:
    """Another executor on a thread of its own, and what waits for it: a feed that never ends."""

    def __init__(
        self, executor: Executor, told: Callable[[Sequence[Played] | BaseException], None]
    ) -> None:
        self._executor = executor
        self._told = told
        self._tasks: deque[Task] = deque()
        self._news = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Task:
        try:
            return self._tasks.popleft()
        except IndexError:
            raise StopIteration from None  # for now

    def add(self, task: Task) -> None:
        """Let a game be played."""
        self._tasks.append(task)
        self._news.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="others", daemon=True)
            self._thread.start()

    def clear(self) -> None:
        """Forget what waits."""
        self._tasks.clear()

    def close(self) -> None:
        """End it; nobody waits for what is being played."""
        self._closed.set()
        self.clear()
        self._news.set()
        if self._thread:
            self._thread.join(_LEAVE_SECONDS)

    def _run(self) -> None:
        try:
            with self._executor as executor:
                while not self._closed.is_set():
                    self._news.wait()
                    self._news.clear()
                    for some in executor.play(self):
                        self._told(some)
                        if self._closed.is_set():
                            return
        except BaseException as problem:  # noqa: BLE001 -- raised again by who plays
            self._told(problem)
