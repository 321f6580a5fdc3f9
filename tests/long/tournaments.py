"""A thousand kill -9 in tournaments: `make tournaments`.

Exit code 0 if every report and record is that of an undisturbed run and nothing was left behind.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.crash.tournaments import (
    Tally,
    compare,
    disturbed,
    disturbed_on_dask,
    drawn,
    undisturbed,
)


def main() -> int:
    """Run what the command line asks for, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.tournaments", description=__doc__)
    parser.add_argument("--tournaments", type=int, default=100)
    parser.add_argument("--kills", type=int, default=10, help="of each")
    parser.add_argument("--dask", action="store_true", help="on Dask instead of here")
    parser.add_argument("--blocks", type=int, default=60, help="a pairing")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of all that is chance")
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    tally = Tally()
    for number in range(asked.tournaments):
        random_ = random.Random(f"{asked.seed} {number}")
        tournament = drawn(random_, asked.blocks)
        with tempfile.TemporaryDirectory() as folder:
            whole, broken = Path(folder, "whole"), Path(folder, "broken")
            undisturbed(tournament, whole)
            if asked.dask:
                disturbed_on_dask(tournament, broken, asked.kills, random_, tally)
            else:
                where = ("--executor=local", f"--workers={random_.randint(1, 3)}")
                disturbed(tournament, broken, where, asked.kills, random_, tally)
            compare(whole, broken, tally)
        print(f"{time.strftime('%H:%M:%S')} {tally}", flush=True)
    for fault in tally.faults[:50]:
        print(f"FAULT {fault}")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
