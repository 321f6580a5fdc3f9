"""The detector as a function: for whoever has planted a leak and wants to see it found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from tests.hidden.campaign import findings
from tests.hidden.harness import in_simulated_time
from tests.hidden.plan import Plan, plan, plan_of_answers, plan_of_sets, plan_with_bots
from tests.hidden.spies import bundled
from tests.hidden.store import forget
from tests.hidden.twins import Tally
from tests.referee.naive_rules import PRESETS

from ronda.v1 import match_pb2

SCENARIOS: Final = 30
"""What takes about two seconds where there is no leak."""

_MOST: Final = 10
_SHORT: Final = 10
"""Decisions of most runs: where much is hidden, most leaks show."""
_LONG: Final = 64
"""Decisions of a run into the second hand."""
_SCHEDULE: Final = (
    ("play", "cafe", 3),
    ("sets", "pagat", 4),
    ("answers", "cafe", 4),
    ("bots", "cafe", 4),
    ("dealt", "playtash", 2),
    ("sets", "playtash", 4),
    ("play", "arabic", 2),
    ("private", "pagat", 2),
    ("dealt", "cafe", 3),
    ("play", "pagat", 4),
    ("answers", "pagat", 3),
    ("restart", "cafe", 4),
    ("sets", "pagat", 3),
    ("rematch", "playtash", 2),
    ("dealt", "pagat", 4),
    ("bots", "pagat", 2),
    ("sets", "cafe", 4),
    ("play", "cafe", 2),
    ("rematch", "pagat", 3),
    ("play", "playtash", 4),
)
"""What is run, in this order and then again."""


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
    if kind == "answers":
        return plan_of_answers(name, rules, players)
    made = plan(name, rules, players)
    made = replace(made, steps=made.steps % _SHORT, neighbour=number % 2 == 0)
    if kind == "dealt":  # by the server itself: there is no twin of it, so it may be long
        setup = made.setup._replace(target=PRESETS[rules].targets[0], length=0)
        return replace(made, setup=setup, steps=_LONG, dealt_by_server=True, slow=True)
    if kind == "private":
        return replace(made, visibility=match_pb2.VISIBILITY_PRIVATE)
    if kind == "rematch":
        return replace(made, ending="rematch")
    if kind == "restart":
        return replace(made, steps=12 + number % 8, restart=8)
    return made
