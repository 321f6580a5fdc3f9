"""A run gives the same result whatever interrupts it, in whatever order its games end."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.arena.tournament.plans import DiedError, Scripted, plan
from tests.bots.tables import info

from ronda_arena.tournament.executors import ExecutorError
from ronda_arena.tournament.records import lines
from ronda_arena.tournament.results import Game
from ronda_arena.tournament.run import MOST_ATTEMPTS, Run
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.store import Store, claim
from ronda_arena.tournament.tasks import Contract
from ronda_bots.careful import Careful
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_bots.registry import assemble
from ronda_core.fair import seeded_master
from ronda_core.record import read
from ronda_core.verify import verify

BOTS = assemble([info(Random), info(Greedy), info(Careful)], [])
NAMES = tuple(bot.identity for bot in BOTS.bots)

PLANS = {
    "round robin": {"rules": "arabic", "blocks": 2},
    "three seats": {"rules": "cafe", "players": 3, "hands": 1, "blocks": 3},
    "mixed teams": {"bots": (f"{NAMES[0]}+{NAMES[1]}", NAMES[2]), "players": 4, "hands": 1},
    "swiss": {"rules": "arabic", "format": "swiss", "rounds": 3, "blocks": 2},
    "knockout": {"rules": "arabic", "format": "knockout", "blocks": 1},
}


def made(asked: dict[str, Any]) -> Plan:
    return plan(**{"bots": NAMES, "blocks": 2, **asked})


def contract(of: Plan) -> Contract:
    return Contract(of, seeded_master(1))


def result(store: Store) -> list[tuple[tuple[int, tuple[int, ...], int], Game, str]]:
    """Return everything but times and attempts."""
    records = [timeless(line) for _, line in store.records()]
    return [
        (task[:3], game, record)
        for (task, game), record in zip(store.games(), records, strict=True)
    ]


def timeless(line: str) -> str:
    record = read(line)
    return line.replace(record.start, "").replace(record.end, "")


def undisturbed(of: Plan, path: Path) -> list[Any]:
    with claim(path) as folder:
        store = folder.begin(contract(of))
        run = Run(store)
        with Scripted(store.contract, BOTS) as executor:
            run.play(executor)
        assert run.ledger.over
        return result(store)


@pytest.mark.parametrize("name", PLANS)
def test_it_goes_on_after_a_death_at_any_game(name: str, tmp_path: Path) -> None:
    of = made(PLANS[name])
    expected = undisturbed(of, tmp_path / "whole")
    with claim(tmp_path / "broken") as folder:
        folder.begin(contract(of))
    lives = 0
    for life in range(1, len(expected) + 2):
        with claim(tmp_path / "broken") as folder:
            store = folder.find()
            assert store is not None
            before = result(store)
            run = Run(store)
            lives += 1
            with Scripted(store.contract, BOTS, ahead=3, dies_after=1) as executor:
                try:
                    run.play(executor)
                except DiedError:
                    assert len(result(store)) == len(before) + 1 == life
                    continue
            assert run.ledger.over
            assert result(store) == expected
            break
    assert lives == len(expected)


@pytest.mark.parametrize("name", PLANS)
def test_the_order_of_the_games_and_lost_workers_change_nothing(name: str, tmp_path: Path) -> None:
    of = made(PLANS[name])
    expected = undisturbed(of, tmp_path / "whole")
    for seed in range(3):
        with claim(tmp_path / str(seed)) as folder:
            store = folder.begin(contract(of))
            run = Run(store)
            random_ = random.Random(seed)
            with Scripted(store.contract, BOTS, random_=random_, ahead=5, loses=0.3) as executor:
                run.play(executor)
            assert result(store) == expected
            assert run.standing.lost == store.lost() > 0


@pytest.mark.parametrize("name", PLANS)
def test_records_are_sealed_until_all_is_over_and_then_every_one_is_proven(
    name: str, tmp_path: Path
) -> None:
    of = made(PLANS[name])
    with claim(tmp_path) as folder:
        store = folder.begin(contract(of))
        run = Run(store)
        with Scripted(store.contract, BOTS) as executor:
            run.play(executor)
        sealed = [read(line) for line in lines(store, run.ledger.blocks, over=False)]
        opened = [read(line) for line in lines(store, run.ledger.blocks, over=True)]
    assert len(sealed) == len(opened) == run.standing.games
    for shut, record in zip(sealed, opened, strict=True):
        assert shut.fair is not None
        assert shut.fair.master is None
        assert shut.fair.scope == f"{of.id}/{record.block}"
        assert not verify(shut).proven
        assert verify(record).proven


def test_all_games_of_a_block_are_dealt_the_same_decks(tmp_path: Path) -> None:
    of = made(PLANS["three seats"])
    decks: dict[int | None, set[tuple[Any, ...]]] = {}
    for _, _, line in undisturbed(of, tmp_path):
        record = read(line.replace('"start":""', '"start":"x"'))
        told = tuple((hand.dealer, hand.deck) for hand in record.hands)
        decks.setdefault(record.block, set()).add(told)
    assert [len(told) for told in decks.values()] == [1, 1, 1]
    assert len(set.union(*decks.values())) == 3


def test_a_game_that_is_always_lost_ends_the_run_and_not_the_results(tmp_path: Path) -> None:
    of = made(PLANS["round robin"])
    with claim(tmp_path) as folder:
        store = folder.begin(contract(of))
        run = Run(store)
        executor = Scripted(store.contract, BOTS, loses=1.1)
        with executor, pytest.raises(ExecutorError, match=f"lost {MOST_ATTEMPTS} times"):
            run.play(executor)
        assert store.lost() == MOST_ATTEMPTS
        assert run.standing.games == 0


def test_games_are_taken_no_further_ahead_than_the_executor_asks(tmp_path: Path) -> None:
    of = made({"rules": "arabic", "blocks": 1_000_000})
    with claim(tmp_path) as folder:
        store = folder.begin(contract(of))
        executor = Scripted(store.contract, BOTS, ahead=2, dies_after=5)
        with executor, pytest.raises(DiedError):
            Run(store).play(executor)
        assert executor.pulled <= 5 + 2
