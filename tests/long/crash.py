"""A thousand kill -9, every crash point twice, an error at every statement: `make crash`.

Exit code 0 if nothing acknowledged was lost or doubled, else 1.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from pathlib import Path

import structlog
from tests.crash.campaign import Campaign
from tests.crash.crashes import Crashes
from tests.crash.failures import WAYS, errors_everywhere
from tests.crash.inside import quick_folder
from tests.crash.judge import Report
from tests.crash.scenarios import SCENARIOS

from ronda_arena.discovery import discover
from ronda_bots.registry import Registry
from ronda_server import driving, hosting

_SEGMENT = 40
"""Kills on one database: what clients remember of it is held in memory until it is judged."""


def main() -> int:
    """Run what the command line asks for, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="kill -9 of the real server")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random moments")
    parser.add_argument("--no-points", action="store_true", help="leave out what runs in process")
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    faults = _kills(asked.kills, asked.seed)
    if not asked.no_points:
        structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
        hosting._RETRY_SECONDS = 0.001  # type: ignore[misc] # storage is back at once here
        driving._RETRY_SECONDS = 0.001  # type: ignore[misc] # the same
        hosting._GRACE_MICROS = 0  # type: ignore[misc] # logs are compared with their times
        registry = discover()
        faults += _points(registry) + _errors(registry)
    for fault in faults[:50]:
        print(f"FAULT {fault}")
    print("nothing was lost or doubled" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


def _kills(kills: int, seed: int) -> list[str]:
    total = Report()
    for segment in itertools.count():
        if total.stops >= kills:
            break
        with tempfile.TemporaryDirectory() as folder:
            campaign = Campaign(Path(folder), seed + segment)
            report = asyncio.run(campaign.run(min(_SEGMENT, kills - total.stops)))
        total.add(report)
        print(f"{time.strftime('%H:%M:%S')} {total}", flush=True)
    return total.faults


def _points(registry: Registry) -> list[str]:
    """Crash at every point of every scenario, and at every point of every recovery again."""
    faults: list[str] = []
    for name, scenario in SCENARIOS.items():
        with quick_folder() as folder:
            crashes = Crashes(registry, scenario, folder)
            for picture in crashes.shoot():
                crashes.recover_twice(picture)
        print(f"{time.strftime('%H:%M:%S')} {name}: {crashes.tally}", flush=True)
        faults += crashes.tally.report.faults
    return faults


def _errors(registry: Registry) -> list[str]:
    """Let every statement of every scenario fail, in every way."""
    faults: list[str] = []
    for name, scenario in SCENARIOS.items():
        for way, (count, done) in WAYS.items():
            with quick_folder() as folder:
                places, report = errors_everywhere(folder, registry, scenario, count, done=done)
            print(
                f"{time.strftime('%H:%M:%S')} {name}, {way}: {places} places, {report}", flush=True
            )
            faults += report.faults
    return faults


if __name__ == "__main__":
    sys.exit(main())
