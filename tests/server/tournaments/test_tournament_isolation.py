"""Bots of strangers in hosted tournaments: in a sandbox, rated, and blamed for what they do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.bots.plugins import install
from tests.server.tournaments.callers import STATE, caller

from ronda.v1 import match_pb2
from ronda_arena.discovery import discover
from ronda_arena.isolation import Level
from ronda_arena.seating import Isolated, probe
from ronda_arena.worker.nursery import Nursery
from ronda_bots.registry import Registry

SOURCE = """
import os

class Sound:
    version = "1.0.0"
    def __init__(self, seat, rng):
        pass
    def play(self, view):
        return view.hand[0]

class Leaves(Sound):
    def play(self, view):
        os._exit(0)
"""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Workers, on a machine that can shut them in."""
    with Nursery() as made:
        report = probe(made)
        if report.level is not Level.SANDBOX:
            pytest.skip(f"no sandbox here: {report.problem}")
        yield made


@pytest.fixture(scope="module")
def plugins(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """Two bots of a stranger, installed as anybody's are, and ronda's own."""
    folder = tmp_path_factory.mktemp("plugins")
    points = {name.lower(): f"strange:{name}" for name in ("Sound", "Leaves")}
    install(folder, "strange", points, modules={"strange": SOURCE})
    found = discover([str(folder)], nursery)
    return Registry((*found.bots, discover(names=["greedy"]).find("greedy")), ())


@pytest.fixture
def seating(nursery: Nursery) -> Isolated:
    """Return how a server runs bots; it looks at the machine first, before any loop runs."""
    return Isolated(nursery)


async def test_what_is_rated_runs_in_sandboxes_and_a_bots_fault_is_told_as_its_own(
    start: Any, seating: Isolated, plugins: Registry
) -> None:
    client = await start(plugins, seating)
    ann = await caller(client)
    made = await ann.create(entrants=["sound", "leaves", "greedy"], blocks=2, rated=True)
    await ann.watched(made.id)
    over = await ann.get(made.id)
    assert (over.state, over.spec.rated) == (STATE.STATE_FINISHED, True)
    records = [json.loads(game.record) for game in await ann.games(made.id)]
    assert len(records) == 12
    assert all(record["isolation"] == ["sandbox", "sandbox"] for record in records)
    assert all(record["rated"] for record in records)
    standings = await ann.standings(made.id)
    told = {row.bot: [(one.cause, one.games) for one in row.counts] for row in standings.faults}
    assert told["leaves@1.0.0"] == [(match_pb2.Fault.CAUSE_CRASH, 8)]
    assert told["sound@1.0.0"] == told["greedy@1.0.0"] == []
    faulty = [game for game in await ann.games(made.id) if game.HasField("fault")]
    assert all(game.seats[game.fault.seat] == "leaves@1.0.0" for game in faulty)
    assert len(faulty) == 8
