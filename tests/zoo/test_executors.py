"""Hostile bots in tournaments: each ends its own games, wherever these are played, and no other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from tests.arena.tournament import plays
from tests.zoo.keeper import Zoo

from ronda_arena.tournament.executors import Executor
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.spec import of, plan
from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import Registry
from ronda_core.match import Cause

pytestmark = pytest.mark.outside  # it needs Landlock and libseccomp: more than Python


CAUSES = {"hangs": Cause.TIME, "aborts": Cause.CRASH}


@pytest.mark.parametrize("make", [Here, lambda *given: Processes(*given, 2)])
def test_hostile_bots_end_their_own_games_alone(
    zoo: Zoo, make: Callable[[Contract, Registry], AbstractContextManager[Executor]]
) -> None:
    registry = Registry((*zoo.bots.values(), plays.registry().find("greedy")), ())
    asked = {
        "bots": ("hangs", "aborts", "greedy"),
        "rules": "cafe",
        "hands": 1,
        "seed": 3,
        "clock": "0.2+0.2",
        "isolation": "sandbox",
    }
    made = plan(of(asked), lambda name: registry.find(name).identity, lambda: "")
    with make(Contract(made, plays.MASTER), registry) as executor:
        played = plays.told(plays.every(executor, plays.tasks(range(3))))
    assert len(played) == 6
    for game, record, _ in played.values():
        assert record["isolation"] == ["sandbox", "sandbox"]
        guilty = record["seats"][game.fault.seat].partition("@")[0]
        assert CAUSES[guilty] is game.fault.cause
    assert {game.fault.cause for game, _, _ in played.values()} == set(CAUSES.values())
