"""Wherever games are played: every task once, the same games, errors as they are."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from itertools import count
from typing import Any

import msgspec
import pytest
from tests.arena.tournament import farm as farms
from tests.arena.tournament import plays
from tests.arena.tournament.farm import Farm
from tests.bots.tables import every_table

from ronda_arena.isolation import IsolationError
from ronda_arena.tournament.executors import Executor, ExecutorError
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.tasks import Contract, Task
from ronda_bots.registry import BotNotFoundError, Registry

if find_spec("distributed"):
    from ronda_arena.tournament.executors.dask import Dask

one_farm = pytest.mark.xdist_group("farm")  # else each runner would start one of its own

Make = Callable[..., AbstractContextManager[Executor]]


def in_processes(contract: Contract, registry: Registry, workers: int = 2) -> Processes:
    return Processes(contract, registry, workers)


def in_process(contract: Contract, registry: Registry, workers: int = 1) -> Here:
    return Here(contract, registry)


@pytest.fixture(scope="module")
def farm() -> Iterator[Farm]:
    """A scheduler and two workers, for one module."""
    if not find_spec("distributed"):
        pytest.skip("the extra dask is not installed")
    with farms.farm(2) as made:
        yield made


@pytest.fixture(
    params=["here", "processes", pytest.param("dask", marks=[one_farm, pytest.mark.outside])]
)
def make(request: pytest.FixtureRequest) -> Make:
    """How an executor is made: each of them in turn."""
    if request.param == "dask":
        farm: Farm = request.getfixturevalue("farm")
        return lambda contract, registry, _=2: Dask(farm.address, contract, registry)
    return in_process if request.param == "here" else in_processes


@every_table()
def test_games_are_the_same_wherever_they_are_played(rules: str, players: int, make: Make) -> None:
    contract = plays.contract(rules, players)
    wanted = list(plays.tasks(range(4), players))
    alone = plays.here(contract, wanted)
    assert list(alone) == wanted
    with make(contract, plays.registry(), 1) as executor:
        assert plays.told(plays.every(executor, wanted)) == alone


def test_every_task_comes_back_once_whatever_the_number_of_workers(make: Make) -> None:
    contract = plays.contract()
    wanted = list(plays.tasks(range(40)))
    alone = plays.here(contract, wanted)
    for workers in (1, 3):
        with make(contract, plays.registry(), workers) as executor:
            assert plays.told(plays.every(executor, wanted)) == alone


def test_one_executor_plays_as_often_as_it_is_asked(make: Make) -> None:
    with make(plays.contract(), plays.registry()) as executor:
        assert plays.every(executor, []) == []
        for block in range(3):
            wanted = list(plays.tasks([block]))
            assert set(plays.told(plays.every(executor, wanted))) == set(wanted)


def test_an_endless_row_of_tasks_is_taken_as_there_is_room(make: Make) -> None:
    taken = 0

    def endless() -> Iterator[Task]:
        nonlocal taken
        for task in plays.tasks(count()):
            taken += 1
            yield task

    workers, depth, most = 2, 2, 512
    back: list[Any] = []
    with make(plays.contract(), plays.registry(), workers) as executor:
        playing = executor.play(endless())
        while len(back) < 200:
            back += next(playing)
            assert taken - len(back) <= workers * depth * most
        # What is given up is forgotten, also while it is still being played.
        playing.close()  # type: ignore[attr-defined] # it is a generator
        wanted = list(plays.tasks(range(10**6, 10**6 + 3)))
        assert set(plays.told(plays.every(executor, wanted))) == set(wanted)
    plays.told(back)


def test_a_bot_that_is_not_installed_is_named(make: Make) -> None:
    words = r"no bot 'careful@1\.0\.0' is installed"
    with (
        pytest.raises(BotNotFoundError, match=words),
        make(plays.contract(), Registry((), ())) as executor,
    ):
        plays.every(executor, plays.tasks(range(2)))


def test_what_may_not_be_played_like_that_is_no_lost_game(make: Make) -> None:
    plan = msgspec.structs.replace(plays.contract(seed=None, rated=True).plan, isolation="trusted")
    contract = Contract(plan, plays.MASTER)
    with (
        pytest.raises(IsolationError, match="what is rated runs in a sandbox"),
        make(contract, plays.registry()) as executor,
    ):
        plays.every(executor, plays.tasks(range(2)))


def test_a_fault_of_ours_is_told_and_no_secret_with_it(make: Make) -> None:
    contract = plays.contract()
    with make(contract, plays.registry()) as executor:
        with pytest.raises((ExecutorError, IndexError)) as raised:
            plays.every(executor, [Task(0, (7, 8), 0)])
        told = "".join(traceback.format_exception(raised.value)) + repr(executor) + repr(contract)
    assert plays.MASTER.hex() not in told
    assert repr(plays.MASTER) not in told
