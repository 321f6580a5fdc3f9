"""A bot that remembers the deals of a block gains nothing: it never sees one twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.arena.tournament.plays import MASTER, every
from tests.bots.plugins import importable, install, install_built_in

from ronda_arena.discovery import discover
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.spec import of, plan
from ronda_arena.tournament.tasks import Contract, Task
from ronda_bots.registry import Registry

_ELEPHANT = '''
import os
seen = set()

class Bot:
    """Gives itself away when it knows a deal by the cards that lie on its first table."""
    version = "1"

    def __init__(self, seat, rng):
        self.first = True

    def play(self, view):
        deal = view.hand_number, len(view.plays) // 2, tuple(sorted(view.table)), view.dealer
        if self.first and len(view.plays) < 1:
            if deal in seen or os.environ.get("SEEN") == repr(deal):
                raise KeyError
            seen.add(deal)
            os.environ["SEEN"] = repr(deal)
        self.first = False
        return view.hand[0]
'''


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    site = tmp_path / "site"
    install(site, "elephants", {"elephant": "elephants:Bot"}, modules={"elephants": _ELEPHANT})
    install_built_in(site)
    with importable(site):
        yield discover([str(site)])


def faults(registry: Registry, isolation: str, workers: int = 0) -> int:
    asked = {"bots": ("elephant", "greedy"), "rules": "arabic", "seed": 1, "isolation": isolation}
    made = plan(of(asked), lambda name: registry.find(name).identity, lambda: "")
    contract = Contract(made, MASTER)
    executor = Processes(contract, registry, workers) if workers else Here(contract, registry)
    with executor as entered:
        played = every(entered, [Task(block, (0, 1), at) for block in range(6) for at in (0, 1)])
    assert len(played) == 12
    return sum(one.game.fault is not None for one in played if one.game)


def test_bots_of_a_tournament_never_know_a_deal_again(registry: Registry) -> None:
    assert faults(registry, "process") == 0
    assert faults(registry, "process", workers=2) == 0


def test_in_this_process_one_would(registry: Registry) -> None:
    assert faults(registry, "trusted") > 0
