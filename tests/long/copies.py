"""How often a ladder's intervals hold what is known: copies of the anchors find their places.

`python -m tests.long.copies [--table cafe-3 ...] [--ladders 4] [--blocks 300] [--hands 1]` plays
ladders of real games, in which every anchor has copies under other names that are rated as
everybody is. Their strength is that of the anchor, which is pinned. It tells how often the interval
of a copy held it, and how often the sigma alone would have; `--copies 0,0,9` asks for so many
copies of `random`, `greedy` and `careful`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.bots.tables import BUILT_IN, TABLES, info, named

from ronda_arena.ladder.plan import made
from ronda_arena.ladder.ratings import NORMAL_95
from ronda_arena.ladder.rows import row
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.standings import Ladder
from ronda_arena.ladder.store import claim
from ronda_arena.tournament.executors.here import Here
from ronda_bots.registry import assemble
from ronda_core.rules import settings

_PARTS: Final = (0.25, 1.0)
"""Of a ladder's blocks, when it is looked at."""


def main() -> int:
    """Play what the command line asks for, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.copies", description=__doc__)
    parser.add_argument("--table", nargs="*", default=[named(table) for table in TABLES])
    parser.add_argument("--ladders", type=int, default=4)
    parser.add_argument("--blocks", type=int, default=300, help="blocks a bot")
    parser.add_argument("--hands", type=int, default=1, help="0: whole matches")
    parser.add_argument("--copies", default="3,3,3")
    asked = parser.parse_args()
    copies = [int(many) for many in asked.copies.split(",")]
    for rules, players in TABLES:
        if named((rules, players)) not in asked.table:
            continue
        tried = [_Tally() for _ in _PARTS]
        for _ in range(asked.ladders):
            ladders = played(rules, players, asked.hands, copies, asked.blocks)
            for ladder, tally in zip(ladders, tried, strict=True):
                tally.count(ladder)
        for part, tally in zip(_PARTS, tried, strict=True):
            print(f"{rules} {players}: {part * asked.blocks:.0f} blocks a bot: {tally}", flush=True)
    return 0


class _Tally:
    """How often the intervals of copies held what is known."""

    def __init__(self) -> None:
        self._of = self._held = self._alone = 0
        self._halves = 0.0
        self._off: dict[str, list[float]] = {}

    def count(self, ladder: Ladder) -> None:
        pins = {bot.name: bot.rating.mean for bot in ladder.bots if bot.pinned}
        for bot in ladder.bots:
            if bot.pinned:
                continue
            kind = bot.name.rstrip("0123456789")
            told, truth = row(ladder, bot), pins[kind]
            self._of += 1
            self._held += told.low <= truth <= told.high
            self._alone += abs(bot.rating.mean - truth) <= NORMAL_95 * bot.rating.sigma
            self._halves += (told.high - told.low) / 2
            self._off.setdefault(kind, []).append(bot.rating.mean - truth)

    def __str__(self) -> str:
        off = ", ".join(f"{kind} {sum(of) / len(of):+.2f}" for kind, of in self._off.items())
        return (
            f"{self._held} of {self._of} held, by sigma alone {self._alone};"
            f" +-{self._halves / self._of:.2f}; copies are off by {off}"
        )


def played(
    rules: str, players: int, hands: int, copies: Sequence[int], blocks: int
) -> Iterator[Ladder]:
    """Yield one ladder of real games at some moments of it."""
    table = settings(rules, players, None, hands if rules != "arabic" else 0)
    bots = [info(one) for one in BUILT_IN]
    for one, many in zip(BUILT_IN, copies, strict=True):
        bots += [info(one, f"{one.__name__.lower()}{at}") for at in range(many)]
    registry = assemble(bots, [])
    anchors = [info(one).name for one in BUILT_IN]
    known = {bot.name: bot.identity for bot in bots}
    plan = made("copies", table, isolation="trusted", anchors=anchors, identity=known.__getitem__)
    with tempfile.TemporaryDirectory() as folder, claim(Path(folder)) as held:
        run = Run(held.begin(plan), lambda: registry)
        for part in _PARTS:
            seated = round(part * blocks * len(bots) / plan.seats)
            run.play(Here, seated * plan.games)
            yield run.ladder


if __name__ == "__main__":
    sys.exit(main())
