"""A process that plays bots of the zoo until somebody kills it: `python -m tests.zoo.host`.

It says a line for each step of each match. Its workers, and whatever these leave, can be told by
the token in their command line, which they have from the template.
"""

from __future__ import annotations

import signal
import sys

from tests.zoo.keeper import Keeper, open_zoo

from ronda_arena.isolation import Level, Limits
from ronda_arena.worker.nursery import Nursery

_LIMITS = Limits(last_words_seconds=0.2)
_BOTS = ("daemonises", "secretive", "busy-threads", "forks", "ignores-signals", "fork-bomb")


def main(level: Level, token: str) -> None:
    """Play for ever."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.path.append(token)
    with open_zoo() as zoo, Nursery(_LIMITS) as nursery:
        print(zoo.folder, flush=True)
        host = Keeper(zoo, level, nursery, nursery)
        while True:
            for name in _BOTS:
                host.play(name, on_step=lambda *_: print("step", flush=True))
                zoo.tidy()


if __name__ == "__main__":
    main(Level(sys.argv[1]), sys.argv[2])
