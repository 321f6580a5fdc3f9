"""A ladder of very many games that is killed again and again: `make ladder`.

`python -m tests.long.ladder [--games 1000000] [--sandbox]` plays one-hand games by the real
command: first with `kill -9` of its driver and workers, then in ten lives that are left alone,
each of which tells how fast it was and how much memory its driver took. Exit code 0 if the
log, the chain and the records agree.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.ladders import Tally, counted, disturbed, judge, lived

_LIVES = 10
_PROVEN = 20_000
"""Records that are proven, about."""


def main() -> int:
    """Run what the command line asks for, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.ladder", description=__doc__)
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--sandbox", action="store_true", help="every bot, ronda's own too")
    parser.add_argument("--bots", default="random,greedy,careful")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the kills")
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    level = "sandbox" if asked.sandbox else "trusted"
    flags = (
        "--hands=1",
        f"--bots={asked.bots}",
        f"--isolation={level}",
        "--executor=local",
        f"--workers={asked.workers}",
    )
    tally = Tally()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        disturbed(folder, flags, asked.kills, random.Random(asked.seed), tally)
        print(f"{counted(folder)} games, {tally.kills} kills", flush=True)
        for part in range(1, _LIVES + 1):
            games = asked.games * part // _LIVES
            life = lived(folder, flags, games, tally)
            each = life.seconds / max(1, life.games) * 1e3
            print(
                f"{time.strftime('%H:%M:%S')} {games} games: {each:.2f} ms a game, start included;"
                f" its driver held {life.memory / 1e6:.0f} MB",
                flush=True,
            )
        judge(folder, tally, every=max(1, asked.games // _PROVEN))
        disk = sum(path.stat().st_size for path in folder.iterdir())
    print(
        f"{tally.blocks} blocks count, {tally.lost} were lost with a process;"
        f" {tally.proven} records proven; {disk / asked.games:.0f} bytes a game kept;"
        f" {len(tally.faults)} faults"
    )
    for fault in tally.faults[:50]:
        print(f"FAULT {fault}")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
