"""Dask: whoever is killed, time alone is lost; and nobody plays who lacks something."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("distributed", reason="the extra dask is not installed")

from tests.arena.tournament import farm as farms
from tests.arena.tournament import plays
from tests.arena.tournament.farm import Farm
from tests.bots.plugins import bot_module, importable, install

from ronda_arena.discovery import discover
from ronda_arena.tournament.codes import noted
from ronda_arena.tournament.executors import ExecutorError, chunks
from ronda_arena.tournament.executors.dask import Answer, Dask, Order, lacks, play
from ronda_arena.tournament.executors.dask_worker import serve_worker
from ronda_arena.tournament.tasks import Task

# A scheduler and workers are servers of their own: more than Python.
pytestmark = [pytest.mark.outside, pytest.mark.xdist_group("farm")]

OTHER_VERSION = (
    "import importlib.metadata as m; real = m.version;"
    " m.version = lambda name: '0.0.7' if name == 'ronda' else real(name)"
)
WITH_DEADLY = (
    "from tests.arena.tournament import plays;"
    " import ronda_arena.tournament.executors.dask as d;"
    " d.installed_bots = lambda home: plays.registry()"
)


@pytest.fixture(scope="module")
def farm() -> Iterator[Farm]:
    """A scheduler, for one module."""
    with farms.farm() as made:
        yield made


def test_a_worker_that_is_killed_at_whatever_moment_loses_time_only(farm: Farm) -> None:
    farm.ensure(2)
    contract = plays.contract()
    wanted = list(plays.tasks(range(100)))
    rng = random.Random(4)
    back: list[Any] = []
    with Dask(farm.address, contract, plays.registry()) as executor:
        kills = {20, 80}
        for chunk in executor.play(iter(wanted)):
            back += chunk
            if kills and len(back) >= min(kills):
                kills.remove(min(kills))
                victim = rng.choice(farm.workers)
                below = plays.descendants(victim.pid)
                victim.kill()
                victim.wait()
                plays.await_end(below)
                farm.ensure(2)
    assert not kills
    assert plays.told(back) == plays.here(contract, wanted)


def test_a_scheduler_that_is_killed_is_waited_for_and_what_was_under_way_begun_again(
    farm: Farm,
) -> None:
    farm.ensure(2)
    contract = plays.contract()
    wanted = list(plays.tasks(range(80)))
    back: list[Any] = []
    killed = False
    with Dask(farm.address, contract, plays.registry()) as executor:
        for chunk in executor.play(iter(wanted)):
            back += chunk
            if not killed and len(back) >= 30:
                killed = True
                farm.restart()
                farm.work(2)
    assert killed
    assert plays.told(back) == plays.here(contract, wanted)


def test_a_scheduler_that_stays_away_is_waited_for_as_long_as_there_is_patience() -> None:
    notes: list[str] = []
    with farms.farm() as gone:
        address = gone.address
    executor = Dask(address, plays.contract(), plays.registry(), patience=0.2, note=notes.append)
    words = f"no Dask scheduler answers at {address}: waited 0.2 s"
    with pytest.raises(ExecutorError, match=words), executor:
        raise AssertionError
    assert notes == [f"no Dask scheduler answers at {address}: waiting up to 0.2 s"]
    with pytest.raises(ExecutorError, match=f"no worker can join {address}: nobody answers there"):
        serve_worker(address, patience=0.2)


def test_where_nobody_works_it_is_said_once_and_waited() -> None:
    notes: list[str] = []
    contract = plays.contract()
    with farms.farm() as empty:

        def note(words: str) -> None:
            notes.append(words)
            empty.work(1)

        with Dask(empty.address, contract, plays.registry(), note=note) as executor:
            assert len(plays.told(plays.every(executor, plays.tasks(range(3))))) == 6
        command = f"ronda tournament worker --scheduler {empty.address}"
        assert notes == [f"{empty.address} has no workers: start some with `{command}`"]


def test_who_lacks_something_is_left_out_and_without_others_it_is_refused(farm: Farm) -> None:
    for worker in farm.workers:
        worker.kill()
        worker.wait()
    notes: list[str] = []
    farm.work(1, before=OTHER_VERSION)
    with (
        pytest.raises(ExecutorError, match=r"no worker of .* can play; .*: it has ronda 0\.0\.7, "),
        Dask(farm.address, plays.contract(), plays.registry(), note=notes.append),
    ):
        raise AssertionError
    farm.work(1)
    with Dask(farm.address, plays.contract(), plays.registry(), note=notes.append) as executor:
        assert len(plays.told(plays.every(executor, plays.tasks(range(20))))) == 40
    assert len(notes) == 2
    assert "is left out: it has ronda 0.0.7, and this is ronda " in notes[-1]
    deadly = plays.contract(bots=("deadly", "greedy", "random"), isolation="trusted")
    with (
        pytest.raises(ExecutorError, match=r"no worker of .* can play"),
        Dask(farm.address, deadly, plays.registry(), note=notes.append),
    ):
        raise AssertionError
    assert any(words.endswith("it lacks deadly@1.0.0") for words in notes)
    farm.workers.pop(0).kill()


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        (["ronda 1", "a@1", "a@1 of code 1", "b@2", "b@2 of code 2", "c@1"], ""),
        (["ronda 1", "a@1"], "it lacks b@2"),
        (["ronda 2", "a@1", "b@2"], "it has ronda 2, and this is ronda 1"),
        ([], "it was not started by `ronda tournament worker`"),
        (
            ["ronda 1", "a@1", "a@1 of code 0", "b@2", "b@2 of code 2"],
            "it has a@1 with other code than the tournament was begun with",
        ),
        (["ronda 1", "a@1", "a@1 of code 0"], "it lacks b@2"),
    ],
)
def test_what_a_worker_lacks_is_told_in_words(offered: list[str], words: str) -> None:
    with patch("ronda_arena.tournament.executors.dask.version", lambda _: "1"):
        needed = {"ronda 1", "a@1", "a@1 of code 1", "b@2", "b@2 of code 2"}
        assert lacks(frozenset(needed), offered) == words


def test_what_ends_its_workers_again_and_again_comes_back_as_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    contract = plays.contract(bots=("deadly", "greedy", "random"), isolation="trusted")
    with farms.farm() as doomed, patch.object(chunks, "_TOO_MANY", 1):
        doomed.work(1, before=WITH_DEADLY)
        with Dask(doomed.address, contract, plays.registry()) as executor:
            playing = executor.play(plays.tasks(count()))
            (one,) = next(playing)
            assert one.lost == "1 workers ended while they played it"
            with pytest.raises(ExecutorError, match="1 losses in a row and no game was played"):
                next(playing)


def test_a_plugin_plays_there_in_a_process_of_its_own(tmp_path: Path) -> None:
    source = bot_module("1.2.3")
    install(tmp_path, "ronda-first", {"first": "first_bot:Bot"}, modules={"first_bot": source})
    with importable(tmp_path), farms.farm() as made:
        found = discover()
        with patch.object(plays, "registry", lambda: found):
            contract = plays.contract(bots=("first", "greedy", "random"))
        made.work(1, path=str(tmp_path))
        with Dask(made.address, contract, found) as executor:
            back = plays.told(plays.every(executor, plays.tasks(range(3))))
        (worker,) = made.workers
        below = plays.descendants(worker.pid)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(plays.WAIT_SECONDS) == 0
        plays.await_end(below)
    levels = {
        tuple(zip(record["seats"], record["isolation"], strict=True))
        for _, record, _ in back.values()
    }
    assert {one for pairs in levels for one in pairs if one[0] == "first@1.2.3"} <= {
        ("first@1.2.3", "sandbox"),
        ("first@1.2.3", "process"),
    }
    assert all(game.fault is None for game, _, _ in back.values())


def test_a_worker_that_has_other_code_of_a_bot_gets_no_games(tmp_path: Path) -> None:
    for folder, card in (("here", "hand[0]"), ("there", "hand[-1]")):
        source = bot_module("1.2.3").replace("hand[0]", card)
        bots = {"coded": "code_bot:Bot"}
        install(tmp_path / folder, "theirs", bots, modules={"code_bot": source})
    notes: list[str] = []
    with importable(tmp_path / "here"), farms.farm() as made:
        found = discover()
        with patch.object(plays, "registry", lambda: found):
            contract = plays.contract(bots=("coded", "greedy", "random"))
        contract = contract._replace(plan=noted(contract.plan, found))
        made.work(1, path=str(tmp_path / "there"))
        other = "it has coded@1.2.3 with other code than the tournament was begun with"
        with (
            pytest.raises(ExecutorError, match=f"no worker of .* can play; .*: {other}"),
            Dask(made.address, contract, found),
        ):
            pytest.fail("it plays")
        made.work(1, path=str(tmp_path / "here"))
        with Dask(made.address, contract, found, note=notes.append) as executor:
            assert len(plays.told(plays.every(executor, plays.tasks(range(3))))) == 6
    assert len(notes) == 1
    assert notes[0].endswith(f"is left out: {other}")


def test_nothing_that_dask_could_log_holds_a_secret() -> None:
    contract = plays.contract()
    wrong = (Task(0, (7, 8), 0),)
    order = Order(contract, wrong)
    answer = play(order)
    assert isinstance(answer.refusal, ExecutorError)
    words = str(answer.refusal)
    assert words.startswith("a game cannot be played: IndexError in play.py, line ")
    told = f"{order!r} {order} {answer!r} {answer} {Answer([], 0.0)}"
    assert told.count("Order of 1 games") == 2
    for secret in (plays.MASTER.hex(), repr(plays.MASTER), str(contract.plan)):
        assert secret not in told + words
