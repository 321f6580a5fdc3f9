"""The detector as a function: for whoever has planted a leak and wants to see it found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from tests.hidden.campaign import findings
from tests.hidden.harness import in_simulated_time
from tests.hidden.plan import Plan, plan, plan_of_sets, plan_with_bots
from tests.hidden.spies import bundled
from tests.hidden.store import forget
from tests.hidden.twins import Tally

SCENARIOS: Final = 32
"""What takes about two seconds where there is no leak."""

_MOST: Final = 10
_SHORT: Final = 24
_VERY_SHORT: Final = 10
"""Decisions of most runs: where much is hidden, most leaks show."""
_SCHEDULE: Final = (
    ("play", "cafe", 3),
    ("sets", "pagat", 4),
    ("play", "playtash", 2),
    ("bots", "cafe", 4),
    ("play", "pagat", 2),
    ("sets", "playtash", 4),
    ("play", "arabic", 2),
    ("play", "pagat", 4),
    ("dealt", "pagat", 3),
    ("long", "cafe", 2),
    ("sets", "cafe", 3),
    ("play", "playtash", 4),
    ("sets", "cafe", 4),
    ("bots", "pagat", 2),
    ("play", "cafe", 4),
    ("sets", "pagat", 3),
    ("play", "pagat", 3),
)
"""What is run, in this order and then again: matches of persons, of several hands, full of sets,
with bots, and dealt by the server itself, which can be scanned but have no twin."""


def leaks(scenarios: int = SCENARIOS, seed: int = 1) -> list[str]:
    """Return descriptions of what a viewer can tell and may not: at most ten, or none.

    Every scenario is one run on a server of its own, scanned, and a twin of it for each viewer. The
    server's code is used as it is now, whatever of it has been patched, and the search ends with
    the first scenario that finds something.
    """
    forget()
    tally = Tally()
    try:
        for number in range(scenarios):
            found = list(islice(_findings(number, seed, tally), _MOST))
            if found:
                return found
    finally:
        forget()
    return []


def _findings(number: int, seed: int, tally: Tally) -> Iterator[str]:
    return findings(_plan(number, seed), in_simulated_time, tally)


def _plan(number: int, seed: int) -> Plan:
    kind, rules, players = _SCHEDULE[number % len(_SCHEDULE)]
    name = f"detect/{seed}/{number}"
    if kind == "bots":
        return plan_with_bots(name, rules, players, tuple(bot.identity for bot in bundled().bots))
    if kind == "sets":
        return plan_of_sets(name, rules, players)
    made = plan(name, rules, players)
    if kind == "long":
        return replace(made, steps=90)
    steps = min(made.steps, _SHORT) if number % 3 == 0 else made.steps % _VERY_SHORT
    return replace(made, steps=steps, dealt_by_server=kind == "dealt")
