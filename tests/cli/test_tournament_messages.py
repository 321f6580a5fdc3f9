"""What a server tells of a tournament is, there and back, what the arena says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ronda.v1 import tournament_pb2
from ronda_arena.discovery import discover
from ronda_arena.report.summary import to_json
from ronda_arena.tournament import spec as specs
from ronda_arena.tournament.deliver import summary
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.run import Run
from ronda_arena.tournament.store import Folder
from ronda_arena.tournament.tasks import Contract
from ronda_cli import tournament_client
from ronda_core.fair import seeded_master
from ronda_server.tournaments import messages
from ronda_server.tournaments.book import Row

LOCAL = {
    "plan",
    "progress",
    "timing",
    "commitment",
    "course",
    "ronda",
    "plan_digest",
    "code",
    "helped",
}
"""What a server tells otherwise, or not at all."""

CASES: dict[str, dict[str, Any]] = {
    "swiss": {"format": "swiss", "blocks": 2, "bots": ["random", "greedy", "careful", "counter"]},
    "teams": {
        "format": "knockout",
        "players": 4,
        "blocks": 1,
        "bots": ["random+greedy", "careful", "greedy"],
    },
    "a stop rule": {
        "bots": ["random", "counter"],
        "blocks": 200,
        "hands": 1,
        "stop": {"sequential": 0.05},
    },
    "an SPRT": {
        "bots": ["random", "counter"],
        "blocks": 200,
        "hands": 1,
        "sprt": "0,50",
    },
    "an SPRT that goes on": {
        "bots": ["random", "greedy"],
        "blocks": 1,
        "sprt": [-5, 5, 0.1, 0.2],
        "play": False,
    },
    "nothing yet": {"bots": ["random", "greedy"], "blocks": 1, "play": False},
}


@pytest.mark.parametrize("case", CASES)
def test_a_summary_comes_back_as_it_was(case: str, tmp_path: Path) -> None:
    asked = {"hands": 2, **CASES[case]}
    play = asked.pop("play", True)
    registry = discover()
    plan = specs.plan(specs.of(asked), lambda name: registry.find(name).identity, lambda: "t-1")
    with Folder(tmp_path) as held:
        store = held.begin(Contract(plan, seeded_master(7)))
        run = Run(store)
        if play:
            with Here(store.contract, registry) as place:
                run.play(place)
        told = to_json(summary(store, run))
    names = [entrant.name for entrant in plan.entrants]
    row = Row(1, plan.id, "mine", "ann", "open", 1, None, "c" * 64, plan, None)
    state = str(told["state"])
    sent = messages.reported(told, names, state, 9, pairs=True).SerializeToString()
    back = tournament_client._summary(
        tournament_pb2.Standings.FromString(sent), messages.created(row)
    )
    again = to_json(back)
    if not play:  # said otherwise, of whatever state it is in
        assert again.pop("sentences")
        told.pop("sentences")
    shared = told.keys() - LOCAL
    assert {key: again[key] for key in shared & again.keys()} == {
        key: told[key] for key in shared & again.keys()
    }
    assert shared <= again.keys() | {"sentences"}
    if case == "swiss":
        assert told["placings"]
    if case == "teams":
        assert told["bots"]
    if case == "a stop rule":
        assert told["state"] == "stopped"
        assert told["verdict"]
    assert again["plan"]["entrants"] == names  # type: ignore[index] # JSON data
