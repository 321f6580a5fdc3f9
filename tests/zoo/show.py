"""Play the whole zoo and print the table: `python -m tests.zoo.show`.

The table in the tree has three columns of outcomes: `process` as root, `process` as a user without
rights, and `sandbox` as either. `--json` prints what came of every bot, for whoever compares.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Final

from tests.zoo.keeper import keeper, open_zoo

from ronda_arena.isolation import Level

GOLDEN: Final = Path(__file__).with_name("golden.txt")
COLUMNS: Final = ("process, root", "process, user", "sandbox")
EITHER: Final = "leak or held"
"""What the machine decides: which calls its kernel has, and what it lets its users do."""
OR: Final = " / "
"""Between outcomes of which one is as good as the other."""


def main() -> int:
    """Play, and print or write what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.show", description=__doc__)
    parser.add_argument("--level", choices=["process", "sandbox"])
    parser.add_argument("--json", action="store_true", help="what came of every bot, with its log")
    parser.add_argument("bots", nargs="*")
    asked = parser.parse_args()
    levels = [Level(asked.level)] if asked.level else [Level.PROCESS, Level.SANDBOX]
    outcomes = {level.value: play(level, asked.bots) for level in levels}
    if asked.json:
        json.dump(outcomes, sys.stdout)
        return 0
    for name in next(iter(outcomes.values())):
        print(f"{name:32}", *(f"{told[name][0]:24}" for told in outcomes.values()))
    return 0


def play(level: Level, names: list[str]) -> dict[str, tuple[str, str]]:
    """Return what came of each bot, and what its log says; of all of them if none is named."""
    outcomes = {}
    with open_zoo() as zoo, keeper(zoo, level) as host:
        for name in names or zoo.names():
            outcome = host.play(name)
            changed = zoo.seen() != zoo.before
            zoo.tidy()
            seen = ", changed files" if changed and level is Level.SANDBOX else ""
            outcomes[name] = (f"{outcome}{seen}", outcome.told)
    return outcomes


def golden() -> dict[str, dict[str, str]]:
    """Return what is expected of each bot, by column."""
    lines = GOLDEN.read_text("utf-8").splitlines()[1:]
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines if line]
    return {row[0]: dict(zip(COLUMNS, row[1:], strict=True)) for row in rows}


def column(level: Level) -> str:
    """Return which column of the table holds for this process."""
    if level is Level.SANDBOX:
        return COLUMNS[2]
    return COLUMNS[0] if os.getuid() == 0 else COLUMNS[1]


def fits(expected: str, seen: str) -> bool:
    """Return whether an outcome is what the table says, or one of several."""
    return any(
        seen in (one, one.replace(EITHER, "leak"), one.replace(EITHER, "held"))
        for one in expected.split(OR)
    )


if __name__ == "__main__":
    sys.exit(main())
