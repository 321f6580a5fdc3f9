"""Play random hands on both referees until they differ, or as many as you like.

    python -m tests.fuzz_referees --hands 1000000

Prints how far it is and what the hands held; exits 1 with the shortest script that shows a
difference.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count

from tests.referee.duel import TABLES, DisagreementError, play_match, shortest

CHUNK = 500
"""Hands that a worker plays before it reports."""

Report = tuple[int, Counter[str], str]
"""Hands played, what they held, and the difference found, if any."""


def play_chunk(seed: int, chunk: int) -> Report:
    """Play the matches of one chunk: the same seed and chunk are the same matches."""
    rng = random.Random(f"{seed} {chunk}")
    rules, players = TABLES[chunk % len(TABLES)]
    hands = 0
    seen: Counter[str] = Counter()
    while hands < CHUNK:
        try:
            duel = play_match(rng, rules, players)
        except DisagreementError as error:
            return hands, seen, f"seed {seed}, chunk {chunk}: {shortest(error)}"
        hands += duel.referee.hand_number
        seen += duel.seen
        seen[f"{rules} {players} hands"] += duel.referee.hand_number
    return hands, seen, ""


def fuzz(hands: int, seed: int, workers: int) -> int:
    started = told = time.monotonic()
    played = 0
    seen: Counter[str] = Counter()
    chunks = count()
    with ProcessPoolExecutor(workers) as pool:
        pending: set[Future[Report]] = set()
        while played < hands:
            while len(pending) < 2 * workers:
                pending.add(pool.submit(play_chunk, seed, next(chunks)))
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                more, held, difference = future.result()
                played += more
                seen += held
                if difference:
                    pool.shutdown(cancel_futures=True)
                    print(f"after {played} hands the referees differ\n{difference}")
                    return 1
            now = time.monotonic()
            if now - told > 10:
                told = now
                print(f"{played:9} hands, {played / (now - started):.0f} a second", flush=True)
        pool.shutdown(cancel_futures=True)
    for what, times in sorted(seen.items()):
        print(f"{times:9} {what}")
    print(f"{played} hands in {time.monotonic() - started:.0f} s, seed {seed}: no difference")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_referees", description=__doc__)
    parser.add_argument("--hands", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, help="default: a new one, which is printed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"two referees, {options.hands} hands, seed {seed}", flush=True)
    return fuzz(options.hands, seed, options.workers)


if __name__ == "__main__":
    sys.exit(main())
