"""More blocks than a tournament was begun with: what comes of it, and where it is refused."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.arena.tournament.plans import TABLES, DiedError, Scripted, plan
from tests.arena.tournament.test_run import BOTS, NAMES, contract, made, result

from ronda_arena.tournament.formats import tasks
from ronda_arena.tournament.formats.choice import format_of
from ronda_arena.tournament.longer import longer
from ronda_arena.tournament.run import Run
from ronda_arena.tournament.spec import Plan, SpecError
from ronda_arena.tournament.store import claim
from ronda_arena.tournament.tasks import Task

FORMATS: dict[str, dict[str, Any]] = {
    "round robin": {},
    "gauntlet": {"format": "gauntlet", "challengers": 2},
    "list": {"format": "list"},
}


def schedule(of: Plan) -> list[Task]:
    first = format_of(of).next(())
    assert first is not None
    return list(tasks(of, first, 0))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_the_schedule_of_more_blocks_begins_with_that_of_fewer(
    rules: str, players: int, name: str
) -> None:
    asked = {"rules": rules, "players": players, **FORMATS[name]}
    if name == "list":
        table = 3 if players == 3 else 2
        asked["pairings"] = [[f"bot{(at + one) % 5}" for at in range(table)] for one in range(4)]
    few, many = plan(5, blocks=3, **asked), plan(5, blocks=8, **asked)
    assert schedule(few) == list(islice(schedule(many), len(schedule(few))))
    assert longer(few, 8, stopped=False, over=True) == many


@pytest.mark.parametrize("after", [0, 1, 5, 12, None])
def test_what_goes_on_has_the_games_of_what_was_asked_for_at_once(
    after: int | None, tmp_path: Path
) -> None:
    few, many = made({"rules": "arabic", "blocks": 2}), made({"rules": "arabic", "blocks": 5})
    with claim(tmp_path / "whole") as folder:
        at_once = folder.begin(contract(many))
        with Scripted(at_once.contract, BOTS) as executor:
            Run(at_once).play(executor)
        expected = result(at_once)
    with claim(tmp_path / "longer") as folder:
        begun = folder.begin(contract(few))
        with Scripted(begun.contract, BOTS, dies_after=after) as executor:
            try:
                Run(begun).play(executor)
            except DiedError:
                assert after is not None
    with claim(tmp_path / "longer") as folder:
        found = folder.find()
        assert found is not None
        folder.replace_plan(found, longer(found.plan, 5, stopped=False, over=after is None))
    with claim(tmp_path / "longer") as folder:  # it is kept: whoever dies now goes on to 5
        kept = folder.find()
        assert kept is not None
        assert kept.contract == contract(many)
        run = Run(kept)
        with Scripted(kept.contract, BOTS) as executor:
            run.play(executor)
        assert run.ledger.over
        assert result(kept) == expected


@pytest.mark.parametrize(
    ("asked", "how", "problem"),
    [
        ({"blocks": 20}, {}, "not made shorter"),
        ({"format": "swiss"}, {}, "rounds of a swiss"),
        ({"format": "knockout"}, {}, "rounds of a knockout"),
        ({"bots": NAMES[:2], "sequential": 0.05}, {}, "chance of error"),
        ({"bots": NAMES[:2], "sequential": 0.05}, {"stopped": True, "over": True}, "chance of"),
        ({"precision": 1}, {"stopped": True, "over": True}, "what is decided stands"),
        ({"seed": None}, {"over": True}, "tell the secret"),
    ],
)
def test_what_rests_on_the_number_of_blocks_is_not_made_longer(
    asked: dict[str, Any], how: dict[str, bool], problem: str
) -> None:
    begun = plan(**{"bots": NAMES, "blocks": 10, **asked})
    with pytest.raises(SpecError, match=problem) as refused:
        longer(begun, 15, **{"stopped": False, "over": False, **how})
    assert refused.value.field == "blocks"


@pytest.mark.parametrize(
    ("asked", "over"),
    [({"seed": None}, False), ({"precision": 1}, True), ({"seed": 3}, True)],
)
def test_what_does_not_is(asked: dict[str, Any], over: bool) -> None:
    begun = plan(**{"bots": NAMES, "blocks": 10, **asked})
    assert longer(begun, 15, stopped=False, over=over).blocks == 15
