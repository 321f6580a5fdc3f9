"""How far a bot is kept from everything but its view, and what this machine can enforce of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

ALLOWED: Final = (
    "a sandboxed bot reads its own package and what this one requires, and writes nothing"
    " (docs/isolation.md); --isolation process does without"
)
"""For the author of a bot that was refused something."""


class Level(StrEnum):
    """How a bot is run, from the weakest to the strongest."""

    TRUSTED = "trusted"
    """In this process. It can do whatever this process can."""
    PROCESS = "process"
    """In a process of its own, with limits: crashes, hangs and floods end there."""
    SANDBOX = "sandbox"
    """And without files, network, other processes or signals: for code of strangers."""

    @property
    def strength(self) -> int:
        """Its place in the row."""
        return _ROW.index(self)

    def weaker(self, other: Level) -> bool:
        """Return whether this is less than `other`."""
        return self.strength < other.strength


_ROW = tuple(Level)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a bot must not be able to do, and whether it could."""

    name: str
    held: bool
    """It could not."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class IsolationReport:
    """What a probe with canaries found that this machine enforces."""

    level: Level
    """The strongest level that holds."""
    checks: tuple[Check, ...]
    landlock_abi: int
    """0: the kernel has no Landlock."""
    problem: str = ""
    """Why it is less than `sandbox`; empty where it is not."""

    def to_json(self) -> dict[str, object]:
        """Return it as JSON data."""
        return {
            "level": self.level.value,
            "landlock_abi": self.landlock_abi,
            "problem": self.problem,
            "checks": [
                {"name": check.name, "held": check.held, "detail": check.detail}
                for check in self.checks
            ],
        }


@dataclass(frozen=True, slots=True)
class Limits:
    """What one worker may use."""

    memory: int = 512 << 20
    """Bytes of address space."""
    file_size: int = 1 << 20
    open_files: int = 64
    threads: int = 64
    """More than so many, and it is ended: no limit of the kernel counts them for one process."""
    log_kept: int = 2048
    """Bytes of its output that are kept: the first half and the last."""
    log_most: int = 1 << 20
    """Bytes of output after which it is ended."""
    start_seconds: float = 10.0
    """For importing and making the bot, which no clock counts."""
    template_seconds: float = 30.0
    """For the template to do what it is asked; then it is replaced, and its workers are lost."""
    last_words_seconds: float = 1.0
    """For taking in how the match ended."""


class IsolationError(Exception):
    """A bot may not be run as it would be run here."""


class WorkerLostError(Exception):
    """A worker was lost by no fault of its bot: what was played has to be played again."""
