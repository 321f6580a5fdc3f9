"""The detector as a function: for whoever has planted a leak and wants to see it found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from tests.hidden.campaign import findings
from tests.hidden.harness import in_simulated_time
from tests.hidden.plan import Plan, plan, plan_of_sets, plan_with_bots
from tests.hidden.store import store
from tests.hidden.twins import Tally

SCENARIOS: Final = 24
"""What takes about two seconds where there is no leak."""

_MOST: Final = 10
_ORDER: Final = (
    ("cafe", 3),
    ("pagat", 4),
    ("playtash", 2),
    ("pagat", 2),
    ("cafe", 4),
    ("playtash", 4),
    ("arabic", 2),
    ("pagat", 3),
    ("cafe", 2),
)
_BOTS: Final = ("careful", "greedy", "random")


def leaks(scenarios: int = SCENARIOS, seed: int = 1) -> list[str]:
    """Return descriptions of what a viewer can tell and may not, at most ten; none if none is found.

    Every scenario is one run on a server of its own, scanned, and a twin of it for each viewer. The
    server's code is used as it is now, whatever of it has been patched, and the search ends with
    the first scenario that finds something.
    """
    store(anew=True)
    tally = Tally()
    for number in range(scenarios):
        found = list(islice(_findings(number, seed, tally), _MOST))
        if found:
            return found
    return []


def _findings(number: int, seed: int, tally: Tally) -> Iterator[str]:
    return findings(_plan(number, seed), in_simulated_time, tally)


def _plan(number: int, seed: int) -> Plan:
    """Return what is run: matches of persons, and now and then bots or the server's own deals."""
    rules, players = _ORDER[number % len(_ORDER)]
    name = f"detect/{seed}/{number}"
    if number % 7 == 4:
        return plan_with_bots(name, rules, players, _BOTS)
    if number % 5 == 1 and rules != "arabic":
        return plan_of_sets(name, rules, players)
    made = plan(name, rules, players)
    return replace(made, dealt_by_server=True) if number % 11 == 5 else made
