"""What a tournament's folder tells: its last report, and the games of blocks that are over.

All of it reads the disk: it is called beside the loop.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ronda_arena.tournament import records
from ronda_arena.tournament.entrants import seats
from ronda_arena.tournament.results import Game
from ronda_arena.tournament.store import Folder

REPORT: Final = "report.json"

Report = dict[str, Any]
"""As `ronda_arena.report.summary.to_json` says it."""


class Listed(NamedTuple):
    """A game of a block that is over."""

    block: int
    entrants: tuple[int, ...]
    seats: tuple[str, ...]
    game: Game
    record: str

    def __repr__(self) -> str:
        return f"<Listed: block {self.block}, rotation {self.game.rotation}>"


def report(folder: Path) -> Report | None:
    """Return the last report that was written; None where none was."""
    try:
        data = (folder / REPORT).read_bytes()
    except FileNotFoundError:
        return None
    told: Report = msgspec.json.decode(data)
    return told


def games(
    folder: Path, after: tuple[int, int], end: int, count: int, *, opened: bool
) -> list[Listed]:
    """Return games of the blocks before `end`, which are whole, in schedule order.

    At most `count` after a block and rotation; `opened` where nothing more is dealt from the
    master.
    """
    with Folder(folder) as held:
        kept = held.find()
        if kept is None:
            return []
        plan, master = kept.plan, kept.contract.master if opened else None
        return [
            Listed(
                task.block,
                task.entrants,
                seats([plan.entrants[at] for at in task.entrants], task.rotation, plan.players),
                game,
                records.told(record, master),
            )
            for task, game, record in kept.listed(after, end, count)
        ]
