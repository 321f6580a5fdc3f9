"""`ronda tournament run --out DIR --blocks N`: a tournament that goes on to more blocks."""

from __future__ import annotations

import html
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.arena.tournament.plans import plan
from tests.cli.conftest import Run
from tests.cli.test_tournament import HERE, play, records, report

from ronda_arena.report import again
from ronda_arena.tournament import spec as specs
from ronda_arena.tournament.run import Run as Played
from ronda_cli import tournament_run, tournament_wishes
from ronda_core.record import read
from ronda_core.verify import verify

THREE = ("--bots=random,greedy,careful", "--rules=arabic", "--seed=5", HERE)


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a tournament of six blocks a pairing was played at once."""
    return tmp_path_factory.mktemp("six") / "t"


@pytest.fixture
def expected(six: Path, run: Run) -> tuple[list[str], dict[str, Any]]:
    if not six.exists():
        assert play(run, six, *THREE, "--blocks=6").exit_code == 0
    return records(six), report(six)


@pytest.mark.parametrize(
    "again", [("--blocks=6", HERE), (*THREE, "--blocks=6")], ids=["blocks alone", "all of it"]
)
def test_one_that_is_over_goes_on_to_what_would_have_come_at_once(
    expected: tuple[list[str], dict[str, Any]], again: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    assert play(run, folder, *THREE, "--blocks=2").exit_code == 0
    told = play(run, folder, *again)
    assert told.exit_code == 0, told.stderr
    assert "goes on from 2 to 6 blocks a pairing" in told.stderr
    assert (records(folder), report(folder)) == expected
    assert all(
        verify(read(line)).proven for line in (folder / "records.jsonl").read_text().splitlines()
    )
    assert play(run, folder, HERE).exit_code == 0
    assert report(folder) == expected[1]
    shorter = play(run, folder, *THREE, "--blocks=2")
    assert shorter.exit_code == 2
    assert "blocks was 6 and is now 2" in shorter.stderr


def test_the_seed_is_told_when_it_is_over_with_the_command_that_plays_it_again(
    expected: tuple[list[str], dict[str, Any]],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = expected[1]
    assert told["seed"] == 5
    ronda, *words = shlex.split(told["again"])
    assert ronda == "ronda"
    monkeypatch.chdir(tmp_path)
    assert run(*words, HERE).exit_code == 0
    assert (records(tmp_path / "again"), report(tmp_path / "again")) == expected
    page = html.unescape((tmp_path / "again" / "report.html").read_text())
    assert "from the seed 5" in page
    assert told["again"] in page


def test_a_seed_is_told_neither_while_it_is_played_nor_where_there_is_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    flags = ("--bots=random,greedy", "--rules=arabic", "--blocks=1", HERE)
    with monkeypatch.context() as broken:
        broken.setattr(Played, "play", interrupted)
        assert play(run, tmp_path / "t", *flags, "--seed=987654321").exit_code == 130
    for name in ("report.json", "report.html", "records.jsonl"):
        assert "987654321" not in (tmp_path / "t" / name).read_text()
    assert (report(tmp_path / "t")["seed"], report(tmp_path / "t")["again"]) == (None, "")
    assert play(run, tmp_path / "t", HERE).exit_code == 0
    assert report(tmp_path / "t")["seed"] == 987654321
    assert play(run, tmp_path / "u", *flags).exit_code == 0
    assert (report(tmp_path / "u")["seed"], report(tmp_path / "u")["again"]) == (None, "")


NOT_OF_THE_PLAN = frozenset(
    ["spec", "folder", "output", "plain", "stall", "bots_dir", "workers", "on_fault"]
)


@pytest.mark.parametrize(
    "asked",
    [
        {"format": "gauntlet", "challengers": 2, "clock": "0.5+10", "luck": False},
        {"format": "swiss", "rounds": 2, "hands": 1, "isolation": "process", "name": "spring"},
        {"bots": ("a+b", "c"), "players": 4, "precision": 0.25, "target": 41},
        {"bots": ("a", "b"), "rules": "cafe", "sprt": "-2.5,7,0.01,0.1"},
        {"bots": ("a", "b"), "rules": "arabic", "sequential": 0.01},
    ],
)
def test_the_command_says_all_of_the_plan(asked: dict[str, Any], run: Run) -> None:
    made = plan(**{"bots": ("a", "b", "c", "d"), "blocks": 30, "seed": 8, **asked})
    words = shlex.split(again.command(made, 8))
    with tournament_run.run.make_context("run", words[3:], resilient_parsing=True) as context:
        given = {
            name: value
            for name, value in context.params.items()
            if name
            not in ("spec", "folder", "output", "plain", "stall", "bots_dir", "workers", "on_fault")
            and value is not None
        }
    wished = tournament_wishes.wanted(None, given, "")
    assert wished is not None
    assert specs.plan(wished, lambda name: name, lambda: "x") == made


def test_one_whose_records_are_open_goes_on_from_no_secret(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    flags = [flag for flag in THREE if not flag.startswith("--seed")]
    assert play(run, folder, *flags, "--blocks=1").exit_code == 0
    before = (folder / "records.jsonl").read_bytes(), (folder / "state.db").read_bytes()
    for words in (("--blocks=2",), (*flags, "--blocks=2")):
        refused = play(run, folder, *words)
        assert refused.exit_code == 2
        assert "tell the secret of the deals" in refused.stderr
    assert (folder / "records.jsonl").read_bytes() == before[0]
    assert play(run, folder, HERE).exit_code == 0


def test_one_that_was_interrupted_goes_on_sealed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "t"
    flags = [flag for flag in THREE if not flag.startswith("--seed")]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Played, "play", interrupted)
        assert play(run, folder, *flags, "--blocks=1").exit_code == 130
    told = play(run, folder, "--blocks=2", HERE)
    assert told.exit_code == 0, told.stderr
    assert len(records(folder)) == 12
    assert {read(line).fair is not None for line in records(folder)} == {True}


def test_what_is_no_tournament_of_so_many_blocks_is_refused_in_words(
    run: Run, tmp_path: Path
) -> None:
    two = ("--bots=random,greedy", "--rules=arabic", "--seed=5", HERE)
    begun = {
        "swiss": (*THREE, "--format=swiss", "--blocks=1"),
        "sequential": (*two, "--sequential=0.05", "--blocks=6"),
    }
    for name, flags in begun.items():
        assert play(run, tmp_path / name, *flags).exit_code == 0
        refused = play(run, tmp_path / name, "--blocks=9", HERE)
        assert refused.exit_code == 2
        assert "it cannot go on to 9 blocks" in refused.stderr
    shutil.rmtree(tmp_path / "swiss")
    assert play(run, tmp_path / "swiss", "--blocks=9").exit_code == 2
