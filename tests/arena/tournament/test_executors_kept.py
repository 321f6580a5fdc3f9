"""Bots that are kept beside the environment, in executors: what seals them goes with them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.arena.home.wheels import NOW, ask, wheel
from tests.arena.tournament import plays

from ronda_arena.discovery import discover
from ronda_arena.home.install import install
from ronda_arena.isolation import IsolationError
from ronda_arena.tournament.executors import Executor
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import Registry

Make = Callable[[Contract, Registry], AbstractContextManager[Executor]]


@pytest.fixture
def kept(tmp_path: Path) -> Registry:
    """Two versions of a bot, beside ronda's own."""
    for version in ("1.0", "2.0"):
        file = wheel(tmp_path / "given", version=version)
        install(tmp_path / "home", [file], ask, now=lambda: NOW)
    return discover(home=tmp_path / "home", names=["mine"])


def contract(registry: Registry) -> Contract:
    with patch.object(plays, "registry", lambda: registry):
        return plays.contract(bots=("mine@1.0", "mine@2.0", "greedy"))


def test_a_seal_is_the_same_in_another_process(kept: Registry) -> None:
    there: Registry = pickle.loads(pickle.dumps(kept))
    assert there == kept
    origins = [bot.origin for bot in there.bots if bot.name == "mine"]
    assert [bool(one and one.seal and one.installation) for one in origins] == [True, True]


@pytest.mark.parametrize("make", [Here, lambda *given: Processes(*given, 2)])
def test_what_changes_while_a_tournament_is_played_is_not_played_any_more(
    kept: Registry, make: Make
) -> None:
    with make(contract(kept), kept) as executor:
        played = plays.told(plays.every(executor, plays.tasks(range(3))))
        assert all(game.fault is None for game, _, _ in played.values())
        origin = kept.find("mine@2.0").origin
        assert origin is not None
        file = Path(origin.installation, "bot/mine.py")
        file.chmod(0o644)
        file.write_text("raise SystemExit")
        words = r"mine@2\.0 is not run: bot/mine.py has changed since it was installed"
        with pytest.raises(IsolationError, match=words):
            plays.every(executor, plays.tasks(range(3, 6)))
