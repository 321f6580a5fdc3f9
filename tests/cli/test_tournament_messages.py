"""What a server tells of a tournament is, there and back, what the arena says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from ronda.v1 import tournament_pb2
from ronda_arena.discovery import discover
from ronda_arena.report.summary import to_json
from ronda_arena.tournament import spec as specs
from ronda_arena.tournament.deliver import summary
from ronda_arena.tournament.entrants import Entrant, games_of_each
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.run import Run
from ronda_arena.tournament.store import Folder
from ronda_arena.tournament.tasks import Contract
from ronda_cli import output as out
from ronda_cli import tournament_client, tournament_served
from ronda_core.fair import seeded_master
from ronda_server.tournaments import messages
from ronda_server.tournaments.book import Row

LOCAL = {"plan", "progress", "timing", "commitment", "ronda", "plan_digest", "code", "helped"}
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
    sent = messages.reported(told, plan, state, 9, pairs=True).SerializeToString()
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
    timing, timed = told["timing"], again["timing"]
    assert isinstance(timing, dict)
    assert isinstance(timed, dict)
    assert timed["thoughts"] == timing["thoughts"]
    assert bool(timed["thoughts"]) == play
    if case == "swiss":
        assert told["placings"]
        assert told["course"]["standings"]  # type: ignore[index] # JSON data
    if case == "teams":
        assert told["bots"]
        assert told["course"]["brackets"]  # type: ignore[index] # JSON data
    if case == "a stop rule":
        assert told["state"] == "stopped"
        assert told["verdict"]
    assert again["plan"]["entrants"] == names  # type: ignore[index] # JSON data


def test_how_far_it_is_and_why_it_is_halted_are_told_on_the_way(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def far(**told: Any) -> tournament_client.Far:
        message = tournament_pb2.TournamentProgress(blocks=20, planned_blocks=50, games=40, **told)
        return tournament_client._far(message)

    states = tournament_pb2.Tournament
    running = far(
        planned_games=100,
        games_per_second=2.5,
        remaining=Duration(seconds=24),
        state=states.STATE_RUNNING,
    )
    assert tournament_served._how_far(running) == (
        "20 of 50 blocks (40 of 100 games, 2.5 a second, 24 s left)"
    )
    assert tournament_served._how_far(far(lost_games=2)) == (
        "20 of 50 blocks (40 games, 2 lost and played again)"
    )
    halted = far(state=states.STATE_HALTED, problem=states.PROBLEM_BOT_MISSING)
    shown, state = out.Progress("blocks"), ""
    for news in (running, halted, halted, running):
        state = tournament_served._tell_state(shown, "t-1", news, state)
    why = "one of its bots is not installed any more"
    assert capfd.readouterr().err.splitlines() == [
        f"t-1 is halted ({why}); the server tries again by itself",
        "t-1 is running",
    ]


@pytest.mark.parametrize(
    ("bots", "players", "each"),
    [
        (("a", "b"), 2, 2),
        (("a", "b", "c"), 3, 3),
        (("a", "b", "c"), 4, 2),
        (("a+b", "b+c"), 4, 4),
        (("a+b", "b+c", "c"), 4, 4),
        (("a+b", "b", "c"), 4, 0),
    ],
)
def test_games_are_planned_where_every_block_has_as_many(
    bots: tuple[str, ...], players: int, each: int
) -> None:
    entrants = [Entrant(tuple(bot.split("+"))) for bot in bots]
    assert games_of_each(entrants, players) == each
