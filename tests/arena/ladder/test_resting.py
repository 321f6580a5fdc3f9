"""Who may not play where bots are kept does not play on a ladder, and it says why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.arena.ladder.games import (
    CAREFUL,
    GREEDY,
    RANDOM,
    Drawn,
    ladder_plan,
    refolded,
    run,
    told,
)
from tests.arena.tournament.plans import Scripted

from ronda_arena.ladder.facts import Left
from ronda_arena.ladder.rows import Row, standings
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.store import Store, claim
from ronda_bots.registry import BotInfo, Registry, RestingBot, assemble

ALL = (RANDOM, GREEDY, CAREFUL)
WHY = "is in quarantine since then: by hand; `ronda bots quarantine --release x` lets it play"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with claim(tmp_path / "ladder", Drawn()) as folder:
        yield folder.begin(ladder_plan())


class Home:
    """Where bots are kept; one of them may rest."""

    def __init__(self) -> None:
        self.resting: dict[str, tuple[str, str]] = {}
        self.gone: set[str] = set()

    def __call__(self) -> Registry:
        bots = [one for one in ALL if one.name not in {*self.resting, *self.gone}]
        resting = [RestingBot(_named(name), *state) for name, state in self.resting.items()]
        return assemble(bots, [], resting=resting)


def _named(name: str) -> BotInfo:
    return next(one for one in ALL if one.name == name)


def _row(ladder: Any, bot: BotInfo) -> Row:
    return next(row for row in standings(ladder) if row.bot == bot.identity)


def _played(store: Store, home: Home, games: int) -> Run:
    running = Run(store, home, now=run(store)._now)
    running.play(Scripted, running.ladder.games + games)
    assert told(refolded(store)) == told(running.ladder)
    return running


@pytest.mark.parametrize(
    ("state", "shown"), [("quarantined", "quarantined"), ("disabled", "inactive")]
)
def test_it_leaves_with_the_reason_and_comes_back_when_it_may(
    store: Store, state: str, shown: str
) -> None:
    home = Home()
    before = _row(_played(store, home, 20).ladder, CAREFUL)
    assert (before.state, before.note) == ("active", "")
    home.resting["careful"] = state, WHY
    running = _played(store, home, 20)
    row = _row(running.ladder, CAREFUL)
    assert (row.state, row.note, row.games) == (shown, WHY, before.games)
    assert row.high - row.low >= before.high - before.low
    # Another reason is another fact; the same one is not written down again.
    home.resting["careful"] = "disabled", "is disabled"
    assert _row(_played(store, home, 4).ladder, CAREFUL).note == "is disabled"
    _played(store, home, 4)
    left = [fact for fact in store.facts() if isinstance(fact, Left)]
    assert [fact.why for fact in left] == [*dict.fromkeys((WHY, "is disabled"))]
    since = running.ladder.find(CAREFUL.identity)
    assert since is not None
    assert since.since == left[0].at
    home.resting.clear()
    row = _row(_played(store, home, 20).ladder, CAREFUL)
    assert (row.state, row.note) == ("active", "")
    assert row.games > before.games


def test_what_is_taken_away_meanwhile_is_gone_and_nothing_is_said_of_it_any_more(
    store: Store,
) -> None:
    home = Home()
    _played(store, home, 10)
    home.resting["careful"] = "quarantined", WHY
    _played(store, home, 4)
    home.resting.clear()
    home.gone.add("careful")
    row = _row(_played(store, home, 4).ladder, CAREFUL)
    assert (row.state, row.note) == ("inactive", "")


def test_a_new_version_says_which_one_its_rating_started_from(store: Store) -> None:
    newer = replace(CAREFUL, version="2.0.0")
    running = Run(store, lambda: assemble([*ALL, newer], []), now=run(store)._now)
    running.play(Scripted, 20)
    assert _row(running.ladder, newer).predecessor == CAREFUL.identity
    assert _row(running.ladder, CAREFUL).predecessor == ""
