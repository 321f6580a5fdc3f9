"""A tournament is played to its end with the code that it was begun with, wherever that is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.arena.tournament import plays
from tests.bots.plugins import bot_module, install

from ronda_arena.discovery import discover
from ronda_arena.report.summary import Timing, gather
from ronda_arena.tournament.codes import BotChangedError, check, noted
from ronda_arena.tournament.executors import Executor
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.results import Block, Game
from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import Registry

Make = Callable[[Contract, Registry], AbstractContextManager[Executor]]

WORDS = (
    r"mine@1\.0 is not what it was when .* began: the digest of its code was [0-9a-f]{16}, and is"
    r" now [0-9a-f]{16}\. Put that version back, or begin another tournament"
)


@pytest.fixture
def found(tmp_path: Path) -> Registry:
    """A bot of somebody else in the environment, beside ronda's own."""
    source = bot_module("1.0")
    install(tmp_path, "theirs", {"mine": "mine_bot:Bot"}, modules={"mine_bot": source})
    theirs = discover(path=[str(tmp_path)]).bots
    return Registry((*theirs, *discover().bots), ())


def contract(registry: Registry) -> Contract:
    with patch.object(plays, "registry", lambda: registry):
        made = plays.contract(bots=("mine", "greedy", "random"))
    return made._replace(plan=noted(made.plan, registry))


def change(folder: Path) -> None:
    """Let it play its last card in the place of its first."""
    file = folder / "mine_bot.py"
    file.write_text(file.read_text().replace("hand[0]", "hand[-1]"))


def test_the_plan_says_what_every_bot_is(found: Registry) -> None:
    told = contract(found).plan.code
    assert [identity for identity, _ in told] == sorted(contract(found).plan.roster)
    assert all(len(one) == 64 for _, one in told)


@pytest.mark.parametrize("make", [Here, lambda *given: Processes(*given, 1)])
def test_who_has_changed_under_its_version_is_not_seated(
    found: Registry, make: Make, tmp_path: Path
) -> None:
    begun = contract(found)
    check(begun.plan, {bot.identity: bot for bot in found.bots})
    change(tmp_path)
    with pytest.raises(BotChangedError, match=WORDS), make(begun, found):
        pytest.fail("it is seated")


def test_a_worker_of_this_machine_that_finds_other_code_says_so(
    found: Registry, tmp_path: Path
) -> None:
    made = Processes(contract(found), found, 1)
    change(tmp_path)
    with made as executor, pytest.raises(BotChangedError, match=WORDS):
        plays.every(executor, plays.tasks(range(2)))


def test_code_that_is_gone_is_no_code(found: Registry, tmp_path: Path) -> None:
    begun = contract(found)
    (tmp_path / "mine_bot.py").unlink()
    with pytest.raises(BotChangedError, match="is now none that can be read"), Here(begun, found):
        pytest.fail("it is seated")


def test_bots_of_one_code_are_told_in_the_report_whatever_they_are_called(tmp_path: Path) -> None:
    for name in ("mine", "yours", "theirs"):
        source = bot_module("1.0" if name != "theirs" else "1.1")
        bots = {name: f"{name}_bot:Bot"}
        install(tmp_path, name, bots, modules={f"{name}_bot": source})
    registry = Registry((*discover(path=[str(tmp_path)]).bots, *discover().bots), ())
    with patch.object(plays, "registry", lambda: registry):
        plan = plays.contract(bots=("yours", "theirs", "mine", "greedy")).plan
    game = Game(0, 0, 1, (3, 1), 0)
    blocks = [Block(0, (0, 1), (game, game))]
    for noted_plan, alike in ((plan, {}), (noted(plan, registry), {"mine@1.0", "yours@1.0"})):
        report = gather(
            noted_plan,
            blocks,
            verdict=None,
            state="finished",
            planned=1,
            placings=(),
            timing=Timing(0.0, 0, 0, ()),
        )
        told = "mine@1.0 and yours@1.0 are the same code under 2 names: one bot, though each"
        assert any(one.startswith(told) for one in report.sentences) == bool(alike)
        assert {row.bot for row in report.code if row.alike} == set(alike)
