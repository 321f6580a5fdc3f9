"""`ronda ladder`: it goes on after whatever ends it, and its folder alone says how it stands."""

from __future__ import annotations

import csv
import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.arena.home.wheels import wheel
from tests.arena.ladder.games import ladder_plan
from tests.cli.conftest import Run, environment

from ronda_arena.ladder.facts import Joined
from ronda_arena.ladder.store import claim

HERE = "--executor=in-process"
QUICK = ("--rules=arabic", "--bots=random,greedy", "--anchors=random=18", HERE)


def play(run: Run, folder: Path, *flags: str) -> Any:
    return run("ladder", "run", f"--dir={folder}", *flags)


def shown(run: Run, folder: Path, *flags: str) -> Any:
    result = run("ladder", "show", str(folder), "-o", "json", *flags)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ladder of 60 games of three bots, played by the real command."""
    folder = tmp_path_factory.mktemp("small") / "l"
    flags = [*QUICK[:1], "--bots=greedy,careful", *QUICK[2:], "--games=60"]
    command = [sys.executable, "-m", "ronda_cli", "ladder", "run", f"--dir={folder}", *flags]
    subprocess.run(command, check=True, capture_output=True, env=environment())
    return folder


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ronda_cli", "ladder", "run", f"--dir={folder}", *QUICK]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )


def over(folder: Path) -> int:
    """Return how many blocks are over on disk."""
    try:
        database = sqlite3.connect(f"file:{folder / 'ladder.db'}?mode=ro", uri=True)
        count: int = database.execute("SELECT count(*) FROM fact WHERE kind = 'over'").fetchone()[0]
        database.close()
    except sqlite3.OperationalError:  # it is not made yet
        return 0
    return count


def until_blocks_are_over(folder: Path, driver: subprocess.Popen[str], count: int) -> None:
    while driver.poll() is None:
        if over(folder) >= count:
            return
    raise AssertionError(driver.stderr.read() if driver.stderr else "it ended")


def test_standings_tell_every_rating_with_its_interval_and_its_games(small: Path, run: Run) -> None:
    told = shown(run, small)
    assert (told["games"], told["blocks"], told["rules"]) == (60, 30, "arabic")
    for row in told["standings"]:
        assert row["games"] == row["won"] + row["drawn"] + row["lost"] > 0
        if row["state"] == "anchor":
            assert (row["bot"], row["rating"]) == ("random@1.0.0", 18.0)
        else:
            assert row["conservative"] < row["low"] < row["rating"] < row["high"]
    table = run("ladder", "show", str(small)).stdout
    assert "random@1.0.0" in table
    assert "95 %" in table


def test_all_of_its_records_are_proven_and_were_committed_to_before(
    small: Path, run: Run, tmp_path: Path
) -> None:
    records, promises = str(tmp_path / "r.jsonl"), str(tmp_path / "c.jsonl")
    assert run("ladder", "show", str(small), "--records", records).exit_code == 0
    assert run("ladder", "show", str(small), "--commitments", promises).exit_code == 0
    told = run("verify", records, "--commitments", promises, "-o", "json")
    assert told.exit_code == 0
    assert json.loads(told.stdout)["committed_before"] == 60


def test_a_history_is_as_long_as_asked_for_and_ends_where_the_bot_stands(
    small: Path, run: Run
) -> None:
    rows = shown(run, small, "--bot", "greedy@1.0.0", "--last", "5")["rows"]
    assert len(rows) == 5
    stands = {row["bot"]: row["rating"] for row in shown(run, small)["standings"]}
    assert rows[-1]["rating"] == stands["greedy@1.0.0"]
    assert all(row["place"] in (1, 2) for row in rows)
    unknown = run("ladder", "show", str(small), "--bot", "gredy")
    assert unknown.exit_code == 2
    assert "gredy has never been on this ladder; did you mean greedy" in unknown.stderr


def test_a_name_finds_all_versions_of_a_bot(small: Path, run: Run) -> None:
    by_name = shown(run, small, "--bot", "greedy")["rows"]
    assert by_name
    assert by_name == shown(run, small, "--bot", "greedy@1.0.0")["rows"]
    assert {row["bot"] for row in by_name} == {"greedy@1.0.0"}


def test_pairs_and_reviews_are_told_in_every_form(small: Path, run: Run) -> None:
    assert len(shown(run, small, "--pairs")["rows"]) == 6
    assert shown(run, small, "--review")["rows"] == []
    assert "nobody" in run("ladder", "show", str(small), "--review").stderr
    for flags in ((), ("--pairs",), ("--bot", "greedy@1.0.0")):
        lines = run("ladder", "show", str(small), *flags, "-o", "csv").stdout.splitlines()
        rows = list(csv.DictReader(lines))
        told = run("ladder", "show", str(small), *flags, "-o", "jsonl").stdout.splitlines()
        assert [list(row) for row in rows] == [list(json.loads(line)) for line in told]
    assert run("ladder", "show", str(small), "--pairs", "--review").exit_code == 2


@pytest.mark.thorough
def test_killed_at_any_moment_it_goes_on_and_no_block_is_lost_unseen(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "l"
    for count in (1, 40):
        driver = start(folder)
        until_blocks_are_over(folder, driver, count)
        driver.kill()
        driver.communicate()
    before = shown(run, folder)
    assert before["blocks"] >= 40
    goes_on = play(run, folder, HERE, f"--games={before['games'] + 20}")
    assert goes_on.exit_code == 0, goes_on.stderr
    after = shown(run, folder)
    assert after["games"] == before["games"] + 20
    promises = run("ladder", "show", str(folder), "--commitments", "-").stdout.splitlines()
    endings = [json.loads(line)["ending"] for line in promises]
    assert endings.count("finished") == after["blocks"]
    assert endings.count("cancelled") == after["void"]


def test_a_polite_end_is_one_and_ctrl_c_names_the_command_that_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    before = 0
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        driver = start(folder)
        until_blocks_are_over(folder, driver, before + 1)
        driver.send_signal(number)
        out, told = driver.communicate(timeout=60)
        before = over(folder)
        assert driver.returncode == code, told
        assert not out
        assert told.rstrip().endswith(
            f"go on with: ronda ladder run --dir {folder} --bots=random,greedy {HERE}"
        )


def test_a_ladder_that_another_process_plays_is_refused_and_not_to_be_gone_on_with(
    tmp_path: Path, run: Run
) -> None:
    with claim(tmp_path / "l"):
        refused = play(run, tmp_path / "l", *QUICK, "--games=2")
    assert refused.exit_code == 3
    assert "another process runs the ladder in" in refused.stderr
    assert "go on with" not in refused.stderr


@pytest.mark.parametrize(
    ("flags", "code", "problem"),
    [
        (("--rules=cafe",), 2, "rules was arabic and is now cafe"),
        (
            ("--anchors=random=19",),
            2,
            "anchors were random@1.0.0=18 and are now random@1.0.0=19. Take",
        ),
        (("--hands=2", "--rules=cafe"), 2, "rules was arabic and is now cafe; hands was none"),
        (("--rules=pagat", "--anchors=random,greedy"), 2, "rules was arabic and is now pagat. T"),
        (("--rated", "--clock=2"), 2, "clock was 0.5+10 and is now 2; rated was off"),
        (("--name=other",), 2, "name was ladder and is now other"),
        (("--owner=greedy",), 2, "BOT=OWNER"),
        (("--owner=greedy@1.0.0=ann",), 2, "all versions of a bot have one owner"),
        (("--owner=gredy=ann",), 2, "no bot 'gredy' is installed; did you mean greedy?"),
        (("--bots=greedy,nosuch",), 2, "no bot 'nosuch' is installed"),
        (("--release=greedy@1.0.0",), 4, "is not in quarantine"),
    ],
)
def test_another_ladder_in_its_place_is_refused(
    small: Path, run: Run, flags: tuple[str, ...], code: int, problem: str
) -> None:
    result = play(run, small, HERE, "--games=60", *flags)
    assert result.exit_code == code
    assert problem in result.stderr


@pytest.mark.parametrize(
    ("flags", "code", "problem"),
    [
        (("--anchors=nobody",), 4, "nobody has measured it"),
        (("--anchors=nobody=3",), 2, "no bot 'nobody'"),
        (("--players=3", "--rules=arabic"), 2, "--players"),
        (("--clock=x",), 4, "clock"),
        (("--bots=greedy", "--anchors="), 4, "1 bot is there"),
        (("--rated", "--isolation=trusted"), 4, "leave the isolation out"),
        (("--release=greedy@1.0.0",), 4, "is not in quarantine"),
    ],
)
def test_what_cannot_be_played_is_said_and_the_right_command_can_be_given_there(
    run: Run, tmp_path: Path, flags: tuple[str, ...], code: int, problem: str
) -> None:
    result = play(run, tmp_path / "l", HERE, "--games=2", *flags)
    assert result.exit_code == code
    assert problem in result.stderr
    assert not list((tmp_path / "l").glob("ladder.db*"))
    if "--release=greedy@1.0.0" in flags:
        right = ("--rules=arabic", "--bots=greedy", HERE, "--games=2")
        assert play(run, tmp_path / "l", *right).exit_code == 0


def test_only_what_is_written_is_held_against_what_was_begun(small: Path, run: Run) -> None:
    for flags in ((), ("--rules=arabic",), ("--players=2", "--anchors=random=18")):
        assert play(run, small, HERE, "--games=60", *flags).exit_code == 0


def test_a_bot_that_is_named_and_may_not_play_is_refused_before_anything_is_made(
    run: Run, tmp_path: Path
) -> None:
    assert run("bots", "install", str(wheel(tmp_path / "given", version="1.0"))).exit_code == 0
    assert run("bots", "disable", "mine@1.0").exit_code == 0
    for flags in (("--bots=mine",), ("--bots=greedy", "--owner=mine=ann"), ("--bots=nosuch",)):
        result = play(run, tmp_path / "l", *flags, HERE, "--games=2")
        assert result.exit_code == 2
        assert "`ronda bots enable mine@1.0` lets it play" in result.stderr or "nosuch" in flags[0]
        assert not (tmp_path / "l").exists()


def test_show_of_a_folder_without_one_is_told(run: Run, tmp_path: Path) -> None:
    result = run("ladder", "show", str(tmp_path))
    assert result.exit_code == 2
    assert "there is no ladder" in result.stderr


def test_bots_of_one_code_and_those_that_have_changed_are_named(tmp_path: Path, run: Run) -> None:
    with claim(tmp_path) as folder:
        bots = [("a@1", "x"), ("b@1", "x"), ("c@1", "y"), ("c@1", "z")]
        joined = [Joined(bot, bot[0], 0, code * 20) for bot, code in bots]
        folder.begin(ladder_plan()).note(joined)
    told = run("ladder", "show", str(tmp_path)).stderr
    assert "a@1 is the same code as b@1: they never meet" in told
    assert "c@1 is not what it was: its code has changed once" in told
    assert told.count("never meet") == told.count("is not what it was") == 1
    rows = {one["bot"]: one for one in shown(run, tmp_path)["standings"]}
    assert rows["b@1"]["alike"] == ["a@1"]
    assert (rows["c@1"]["changed"], rows["c@1"]["code"]) == (1, "z" * 16)
    csv_rows = run("ladder", "show", str(tmp_path), "-o", "csv").stdout
    assert f",{'x' * 16},,b@1" in csv_rows
