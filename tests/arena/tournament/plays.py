"""Contracts, tasks and processes that the tests of executors share."""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.bots.tables import info

from ronda_arena.discovery import discover
from ronda_arena.tournament.executors import Executor
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.spec import of, plan
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_bots.greedy import Greedy
from ronda_bots.registry import Registry
from ronda_core.fair import seeded_master
from ronda_core.rules import PRESETS

MASTER = seeded_master(5)
WAIT_SECONDS = 20.0


@cache
def registry() -> Registry:
    """Return the bots that come with ronda, and a few of tests."""
    return Registry((*discover().bots, info(Deadly), info(Torn)), ())


class Deadly(Greedy):
    """Ends the process in which it plays."""

    version = "1.0.0"

    def play(self, view: Any) -> Any:
        """End it, as a machine does that has no more memory."""
        os.kill(os.getpid(), signal.SIGKILL)


class Torn(Greedy):
    """Ends the process in which it plays in the midst of what that says next."""

    version = "1.0.0"

    def play(self, view: Any) -> Any:
        """Let the process say half of it."""

        def half(link: Any, told: bytes) -> None:
            os.write(link.fileno(), bytes(told)[: len(told) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

        Connection._send = half  # type: ignore[attr-defined] # where its bytes go out
        return super().play(view)


def contract(rules: str = "playtash", players: int = 2, **spec: Any) -> Contract:
    """Return a contract of short games."""
    hands = 1 if PRESETS[rules].targets else 0
    asked: dict[str, Any] = {
        "bots": ("random", "greedy", "careful"),
        "rules": rules,
        "players": players,
        "hands": hands,
        "seed": 5,
    }
    made = plan(of(asked | spec), lambda name: registry().find(name).identity, lambda: "x")
    return Contract(made, MASTER)


def tasks(blocks: Iterable[int], players: int = 2) -> Iterator[Task]:
    """Yield the tasks of these blocks, of three entrants in turns."""
    count = 3 if players == 3 else 2
    for block in blocks:
        for rotation in range(count):
            yield Task(block, tuple((block + at) % 3 for at in range(count)), rotation)


def told(played: Iterable[Played]) -> dict[Task, Any]:
    """Return what came of each task, without times; fail where one came twice."""
    found: dict[Task, Any] = {}
    for one in played:
        assert one.task not in found
        assert one.lost is None, one.lost
        assert one.record is not None
        record = json.loads(one.record)
        del record["start"], record["end"]
        decisions = [(thought.bot, thought.decisions) for thought in one.thoughts]
        found[one.task] = (one.game, record, decisions)
    return found


def here(made: Contract, wanted: Sequence[Task]) -> dict[Task, Any]:
    """Return what comes of the tasks when they are played in this process."""
    with Here(made, registry()) as executor:
        return told(every(executor, wanted))


def every(executor: Executor, wanted: Iterable[Task]) -> list[Played]:
    """Return all that comes of the tasks."""
    return [played for chunk in executor.play(iter(wanted)) for played in chunk]


def descendants(pid: int) -> set[int]:
    """Return the numbers of all processes below one."""
    found: set[int] = set()
    with suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text("ascii").split():
                found |= {int(child), *descendants(int(child))}
    return found


def await_end(pids: Collection[int]) -> None:
    """Wait until all of these processes have ended; fail where that does not come."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            ready, _, _ = select.select([handle], [], [], WAIT_SECONDS)
            assert ready, f"process {pid} is still there"
        finally:
            os.close(handle)
