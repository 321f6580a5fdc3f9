"""The long run: as many twins as wanted, on all cores; `python -m tests.hidden.long --twins N`."""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from tests.hidden.campaign import findings
from tests.hidden.harness import in_simulated_time, on_loopback
from tests.hidden.plan import GROUPS, Plan, plan, plan_of_answers, plan_of_sets, plan_with_bots
from tests.hidden.spies import bundled
from tests.hidden.twins import Tally

_CHUNK = 100


class Job(NamedTuple):
    """Some twins of one preset and seat count."""

    rules: str
    players: int
    seed: str
    twins: int
    over_grpc: bool


class Done(NamedTuple):
    """What came of a job."""

    job: Job
    tally: Tally
    found: list[str]


def work(job: Job) -> Done:
    """Do one job."""
    tally = Tally()
    found: list[str] = []
    perform = on_loopback if job.over_grpc else in_simulated_time
    for number in itertools.count():
        if tally["twin"] >= job.twins or found:
            return Done(job, tally, found)
        found = list(findings(_plan(job, number), perform, tally))
    raise AssertionError


def _plan(job: Job, number: int) -> Plan:
    seed = f"{job.seed}/{number}"
    if number % 8 == 3 and not job.over_grpc:
        bots = tuple(bot.identity for bot in bundled().bots)
        return plan_with_bots(seed, job.rules, job.players, bots)
    if number % 8 == 6:
        return plan_of_sets(seed, job.rules, job.players)
    if number % 8 == 7:
        return plan_of_answers(seed, job.rules, job.players)
    return plan(seed, job.rules, job.players)


def jobs(twins: int, over_grpc: int, seed: str) -> Iterator[Job]:
    """Yield jobs, every preset and seat count in turn."""
    for at in range(0, over_grpc, _CHUNK):
        for rules, players in GROUPS:
            name = f"{seed}/grpc/{rules}/{players}/{at}"
            yield Job(rules, players, name, min(_CHUNK, over_grpc - at), over_grpc=True)
    for at in range(0, twins, _CHUNK):
        for rules, players in GROUPS:
            name = f"{seed}/{rules}/{players}/{at}"
            yield Job(rules, players, name, min(_CHUNK, twins - at), over_grpc=False)


def main() -> int:
    """Run the twins that were asked for; 1 if a viewer can tell any of them apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--twins", type=int, default=5000, help="of each preset and seat count")
    parser.add_argument("--over-grpc", type=int, default=50, help="the same, over real gRPC")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", default="long")
    asked = parser.parse_args()
    began = told = time.monotonic()
    tallies: dict[str, Tally] = {}
    problems: list[str] = []
    spawn = multiprocessing.get_context("spawn")  # gRPC's threads do not survive a fork
    with spawn.Pool(asked.workers) as pool:
        everything = jobs(asked.twins, asked.over_grpc, asked.seed)
        for done in pool.imap_unordered(work, everything):
            name = f"{done.job.rules}/{done.job.players}{' over gRPC' * done.job.over_grpc}"
            tallies.setdefault(name, Tally()).update(done.tally)
            problems += done.found
            for problem in done.found:
                print(problem, flush=True)
            if time.monotonic() - told > 10:
                told = time.monotonic()
                made = sum(tally["twin"] for tally in tallies.values())
                print(f"{made} twins, {made / (told - began):.0f} a second", file=sys.stderr)
    for name in sorted(tallies):
        print(f"{name}: {tallies[name]}")
    total, seconds = Tally(), time.monotonic() - began
    for tally in tallies.values():
        total.update(tally)
    print(f"all: {total}; {seconds:.0f} s; {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
