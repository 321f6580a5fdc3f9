"""Games with one hostile bot each, beside honest ones on the same template: what harm is done."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.zoo.keeper import MASTER, Cage, Keeper, Zoo
from tests.zoo.show import fits, golden

from ronda_arena.clock import Clock
from ronda_arena.isolation import Level, WorkerLostError
from ronda_arena.table import play_match
from ronda_core.record import write
from ronda_core.rules import settings

_CLOCK: Final = Clock(60.0)
_ALONE: Final = ("thinks-on-others-time", "memory-bomb-in-play")
"""Take long for what they try; the table has them."""


@dataclass
class Harm:
    """What was seen of a run."""

    hostile: Counter[str] = field(default_factory=Counter)
    """How the matches with a hostile bot ended."""
    honest: int = 0
    """Matches that were played beside them."""
    faults: list[str] = field(default_factory=list)
    """What should not have been."""
    descriptors: list[int] = field(default_factory=list)
    """Open in this process, before and after."""
    memory: list[int] = field(default_factory=list)
    """Kibibytes of the template, before and after."""

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {how}" for how, count in sorted(self.hostile.items()))
        return (
            f"{self.hostile.total()} hostile matches ({ends}), {self.honest} honest ones beside"
            f" them, {len(self.faults)} faults; descriptors {self.descriptors},"
            f" KiB of the template {self.memory}"
        )


def run(zoo: Zoo, host: Keeper, names: Sequence[str]) -> Harm:
    """Play a match with each of `names` in a sandbox, and honest ones in another thread."""
    harm = Harm()
    table = golden()
    expected = _honest(zoo, host)
    host.start()
    before = zoo.seen()
    template = host.nursery.pid
    _measure(harm, template)
    over = threading.Event()

    def beside() -> None:
        while not over.is_set():
            try:
                seen = _honest(zoo, host)
            except WorkerLostError:
                harm.faults.append("an honest match was lost")
                continue
            harm.honest += 1
            if seen != expected:
                harm.faults.append(f"an honest match was played otherwise: {seen}")

    thread = threading.Thread(target=beside)
    thread.start()
    try:
        for name in names:
            outcome = host.play(name)._replace(survivors=())  # others' workers are there as well
            harm.hostile[outcome.ended] += 1
            if not fits(table[name]["sandbox"], str(outcome)):
                harm.faults.append(f"{name}: {outcome}")
    finally:
        over.set()
        thread.join()
    _measure(harm, template)
    if host.nursery.pid != template:
        harm.faults.append("the template was replaced")
    if zoo.seen() != before:
        harm.faults.append("files were changed")
    harm.faults += [f"process {pid} is left" for pid in host.left()]
    return harm


def harmful(zoo: Zoo) -> list[str]:
    """Return whom to play: all that attack or are broken, but for those that only take long."""
    return [name for name in zoo.names() if name not in _ALONE]


def _honest(zoo: Zoo, host: Keeper) -> str:
    """Play a match of two honest bots, and return its record."""
    cage = Cage(Level.SANDBOX, host.nursery)
    bot = zoo.bots["secretive"]
    rules = settings("cafe", 2, length=1)
    record = play_match(
        "honest",
        rules,
        (bot, bot),
        MASTER,
        now=lambda: "2026-01-01T00:00:00Z",
        seating=cage,
        clock=_CLOCK,
    )
    return write(record)


def _measure(harm: Harm, template: int) -> None:
    harm.descriptors.append(len(list(Path("/proc/self/fd").iterdir())))
    pages = int(Path(f"/proc/{template}/statm").read_text("ascii").split()[1])
    harm.memory.append(pages * os.sysconf("SC_PAGE_SIZE") >> 10)
