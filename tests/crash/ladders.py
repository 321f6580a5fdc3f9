"""A ladder whose driver and workers are killed, and what its log must say all the same.

The real command plays it and is killed with -9 at random moments; a life that is left alone tells
how fast it is and how much memory it takes as the ladder grows.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.crash.families import family_of, kill, survivors

from ronda_arena.ladder import rows
from ronda_arena.ladder.facts import Over, Seated, Void
from ronda_arena.ladder.standings import Ladder
from ronda_arena.ladder.store import Folder, Store
from ronda_core.commitments import CANCELLED, FINISHED, Commitments, read_entry
from ronda_core.record import read
from ronda_core.verify import verify

_PAGE = resource.getpagesize()


class Life(NamedTuple):
    """What one life of the command did."""

    games: int
    """That it added."""
    seconds: float
    memory: int
    """Bytes that its driver held at the end, as far as they were looked at."""


@dataclass
class Tally:
    """What was done, and what was wrong."""

    kills: int = 0
    blocks: int = 0
    lost: int = 0
    proven: int = 0
    faults: list[str] = field(default_factory=list)


def lived(folder: Path, flags: tuple[str, ...], games: int, tally: Tally) -> Life:
    """Play a ladder on to so many games in one life that nobody disturbs."""
    before = counted(folder)
    began = time.monotonic()
    driver = _started(folder, flags, games)
    memory = 0
    while (told := _until(driver, 1.0)) is None:
        memory = _resident(driver.pid) or memory
    if driver.returncode:
        tally.faults.append(f"a run ended with {driver.returncode}: {told[-300:]}")
    return Life(counted(folder) - before, time.monotonic() - began, memory)


def disturbed(
    folder: Path, flags: tuple[str, ...], kills: int, of: random.Random, tally: Tally
) -> None:
    """Play a ladder for as long as it takes to kill its driver or its workers `kills` times."""
    while tally.kills < kills:
        driver = _started(folder, flags, None)
        while (told := _until(driver, of.uniform(0.5, 4.0))) is None:
            tally.kills += 1
            family = list(family_of(driver.pid))
            if tally.kills < kills and len(family) > 1 and of.random() < 0.4:
                kill(of.choice(family[1:]))  # a worker, or what a worker has started
                continue
            kill(driver.pid)
            driver.communicate()
            tally.faults += survivors(family)
            break
        if told is not None:
            tally.faults.append(f"a run ended with {driver.returncode}: {told[-300:]}")
            return


def counted(folder: Path) -> int:
    """Return how many games a ladder has."""
    with Folder(folder) as held:
        store = held.find()
        if store is None:
            return 0
        return sum(len(fact.games) for fact in store.facts() if isinstance(fact, Over))


def judge(folder: Path, tally: Tally, *, every: int = 1) -> None:
    """Hold a ladder's log, chain and records against each other; prove one of `every` records."""
    with Folder(folder) as held:
        store = held.find()
        assert store is not None
        finished, lost = _log(store, tally)
        tally.blocks, tally.lost = len(finished), len(lost)
        _chain(store, finished, lost, tally)
        games = 0
        for games, line in enumerate(store.records(), 1):
            if games % every == 0:
                tally.proven += 1
                if not verify(read(line)).proven:
                    tally.faults.append("a record that is not proven")
        if games != len(finished) * store.plan.games:
            tally.faults.append(f"{games} records of {len(finished)} blocks")


def _log(store: Store, tally: Tally) -> tuple[set[str], set[str]]:
    """Return the blocks that count and those that were lost, by the log."""
    one, other = Ladder(store.plan), Ladder(store.plan)
    seated: set[str] = set()
    ended: dict[str, bool] = {}
    for fact in store.facts():
        one.take(fact)
        if isinstance(fact, Seated):
            if fact.block in seated:
                tally.faults.append("a block was seated twice")
            seated.add(fact.block)
        if isinstance(fact, Over | Void):
            if fact.block in ended or fact.block not in seated:
                tally.faults.append("a block ended twice, or was never seated")
            ended[fact.block] = isinstance(fact, Over)
    for fact in store.facts():
        other.take(fact)
    if rows.standings(one) != rows.standings(other):
        tally.faults.append("two readings of the log come to other standings")
    if seated != set(ended):
        tally.faults.append("a block that was seated has not ended")
    over = {block for block, whole in ended.items() if whole}
    return over, set(ended) - over


def _chain(store: Store, finished: set[str], lost: set[str], tally: Tally) -> None:
    """See that the public chain holds, and tells of every block how it ended, as the log does."""
    chain = Commitments()
    told: dict[str, set[str]] = {FINISHED: set(), CANCELLED: set()}
    for line in store.commitments():
        entry = read_entry(line)
        chain.append(entry)
        if entry.ending:
            told[entry.ending].add(entry.scope)
    if (told[FINISHED], told[CANCELLED]) != (finished, lost):
        tally.faults.append("the chain tells other endings than the log")


def _started(folder: Path, flags: tuple[str, ...], games: int | None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ronda_cli", "ladder", "run", f"--dir={folder}", *flags]
    if games is not None:
        command.append(f"--games={games}")
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _until(driver: subprocess.Popen[bytes], seconds: float | None) -> str | None:
    """Return what the command has said if it ends in time, else None."""
    try:
        return driver.communicate(timeout=seconds)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:  # it has ended meanwhile
        return 0
