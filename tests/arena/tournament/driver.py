"""A process that plays in workers until somebody ends it.

It says a line when its workers are started and for each chunk, and `interrupted` when Ctrl-C has
reached it.
"""

from __future__ import annotations

import sys
from itertools import count

from tests.arena.tournament.plays import contract, registry, tasks

from ronda_arena.tournament.executors.processes import Processes


def main() -> int:
    """Play for ever; half of the bots in processes of their own."""
    try:
        with Processes(contract(isolation="process"), registry(), 2) as executor:
            print("ready", flush=True)
            for chunk in executor.play(tasks(count())):
                print(len(chunk), flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
