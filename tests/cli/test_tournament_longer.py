"""`ronda tournament run --out DIR --blocks N`: a tournament that goes on to more blocks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.cli.test_tournament import HERE, play, records, report

from ronda_arena.tournament.run import Run as Played
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


def test_one_whose_records_are_open_goes_on_from_no_secret(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    flags = [flag for flag in THREE if not flag.startswith("--seed")]
    assert play(run, folder, *flags, "--blocks=1").exit_code == 0
    before = (folder / "records.jsonl").read_bytes(), (folder / "state.db").read_bytes()
    for again in (("--blocks=2",), (*flags, "--blocks=2")):
        refused = play(run, folder, *again)
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
