"""`ronda tournament`: what a folder holds when it is over, and how one goes on."""

from __future__ import annotations

import contextlib
import csv
import json
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, environment

from ronda_arena.tournament.store import claim
from ronda_core.record import read
from ronda_core.verify import verify

HERE = "--executor=in-process"
SMALL = ("--bots=random,greedy", "--rules=arabic", "--blocks=4", "--seed=5", HERE)


def play(run: Run, folder: Path, *flags: str) -> Any:
    return run("tournament", "run", *flags, "--out", str(folder))


def report(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "report.json").read_text())
    del told["timing"]
    return told


def records(folder: Path) -> list[str]:
    lines = (folder / "records.jsonl").read_text().splitlines()
    return [line.replace(read(line).start, "").replace(read(line).end, "") for line in lines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small tournament, played in one go by the real command."""
    folder = tmp_path_factory.mktemp("whole") / "t"
    command = [sys.executable, "-m", "ronda_cli", "tournament", "run", *SMALL, f"--out={folder}"]
    subprocess.run(command, check=True, capture_output=True, env=environment())
    return folder


def test_the_folder_holds_proven_records_and_a_report_in_three_forms(whole: Path, run: Run) -> None:
    files = {path.name for path in whole.iterdir()}
    assert files >= {"records.jsonl", "report.json", "report.html", "state.db"}
    lines = (whole / "records.jsonl").read_text().splitlines()
    assert len(lines) == 8
    assert all(verify(read(line)).proven for line in lines)
    assert [(read(line).block, read(line).rotation) for line in lines] == [
        (block, rotation) for block in range(4) for rotation in range(2)
    ]
    told = report(whole)
    assert told["state"] == "finished"
    assert {row["entrant"] for row in told["ratings"]} == {"random@1.0.0", "greedy@1.0.0"}
    assert "<html" in (whole / "report.html").read_text()
    assert run("verify", str(whole / "records.jsonl")).exit_code == 0


def test_the_same_command_again_plays_nothing_and_tells_the_same(
    whole: Path, run: Run, tmp_path: Path
) -> None:
    before = (whole / "records.jsonl").read_bytes(), report(whole)
    again = play(run, whole, *SMALL, "-o", "json")
    assert again.exit_code == 0
    told = json.loads(again.stdout)
    del told["timing"]
    assert told == report(whole)
    assert ((whole / "records.jsonl").read_bytes(), report(whole)) == before
    assert play(run, whole, HERE).exit_code == 0  # the folder alone says it all


def test_a_page_that_says_what_there_is_to_say_is_not_made_again(
    whole: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "t"
    shutil.copytree(whole, folder)
    monkeypatch.setattr("ronda_arena.report.page.render", lambda _: "<html>made again</html>")
    before = (folder / "report.html").read_bytes()
    assert play(run, folder, HERE).exit_code == 0
    assert (folder / "report.html").read_bytes() == before
    (folder / "report.json").write_text("another")
    assert play(run, folder, HERE).exit_code == 0
    assert b"made again" in (folder / "report.html").read_bytes()
    assert report(folder) == report(whole)


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_in_another_folder_and_in_other_processes(
    whole: Path, run: Run, tmp_path: Path
) -> None:
    flags = [flag for flag in SMALL if flag != HERE]
    command = [sys.executable, "-m", "ronda_cli", "tournament", "run", *flags]
    command += [f"--out={tmp_path / 't'}", "--executor=local", "--workers=2"]
    subprocess.run(command, check=True, capture_output=True, env=environment())
    assert records(tmp_path / "t") == records(whole)
    assert report(tmp_path / "t") == report(whole)


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("--blocks=3",), "blocks was 4 and is now 3"),
        (("--seed=6",), "the seed was another one"),
        (("--bots=random,careful",), "the bots were random@1.0.0, greedy@1.0.0"),
        (("--rules=cafe",), "rules was arabic and is now cafe"),
        (("--precision=1",), "the stop rule was none and is now precision 1"),
        (("--hands=2", "--rules=cafe"), "hands was none and is now 2"),
        (("--clock=1", "--no-luck"), "clock was none and is now 1; luck was on and is now off"),
        (("--name=spring",), "and is now spring"),
    ],
)
def test_another_tournament_in_its_place_is_refused_and_nothing_is_lost(
    whole: Path, run: Run, flags: tuple[str, ...], problem: str
) -> None:
    before = report(whole)
    result = play(run, whole, *SMALL, *flags)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert "--out alone" in result.stderr
    assert report(whole) == before


def test_a_file_says_the_same_as_flags_and_flags_come_first(
    whole: Path, run: Run, tmp_path: Path
) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text('bots = ["random", "greedy"]\nrules = "arabic"\nblocks = 9\nseed = 5\n')
    result = play(run, tmp_path / "t", str(spec), "--blocks=4", HERE)
    assert result.exit_code == 0, result.stderr
    assert records(tmp_path / "t") == records(whole)


@pytest.mark.parametrize(
    ("flags", "code", "problem"),
    [
        ((), 2, "say who takes part"),
        (("--bots=random",), 2, "2 to 200"),
        (("--bots=random,nobody",), 2, "no bot 'nobody'"),
        (("--bots=random,greedy", "--players=3"), 2, "players"),
        (("--bots=random,greedy+careful",), 2, "four seats"),
        (("--blocks=3",), 2, "--bots"),
        (("--format=list",), 2, "the flags: the format list needs a file"),
        (("--bots=random,greedy", "--name=../x y"), 2, "the flags: name: at most 64 letters"),
        (
            ("--bots=random+greedy,greedy+random,careful", "--players=4"),
            2,
            "random@1.0.0+greedy@1.0.0 is there twice, as greedy@1.0.0+random@1.0.0 too",
        ),
        (("--bots=random,random",), 2, "but random@1.0.0 is there twice\n"),
        (("--bots=random,greedy", "--rounds=3"), 2, "rounds belong to the format swiss"),
        (("--bots=random,greedy", "--executor=dask"), 2, "--scheduler"),
        (("--bots=random,greedy", "--workers=2", HERE), 2, "--workers"),
        (("--bots=random,greedy", "--rated", "--seed=1"), 2, "seed"),
        (("--bots=random,greedy", "--rated", "--isolation=trusted"), 2, "sandbox"),
    ],
)
def test_what_cannot_be_played_is_said_and_leaves_nothing_behind(
    run: Run, tmp_path: Path, flags: tuple[str, ...], code: int, problem: str
) -> None:
    result = play(run, tmp_path / "t", *flags)
    assert result.exit_code == code
    assert problem in result.stderr
    assert not (tmp_path / "t").exists()
    (tmp_path / "t").mkdir()
    assert play(run, tmp_path / "t", *flags).exit_code == code
    assert not list((tmp_path / "t").iterdir())


@pytest.mark.parametrize("name", ["records.jsonl", "report.json", "report.html"])
def test_a_strangers_file_is_not_replaced(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    result = play(run, tmp_path, *SMALL)
    assert result.exit_code == 2
    assert name in result.stderr
    assert "take another folder" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_flag_alone_where_one_was_begun_says_what_to_do(whole: Path, run: Run) -> None:
    result = play(run, whole, "--blocks=60", "--no-luck")
    assert result.exit_code == 2
    assert f"what was begun in {whole} stays as it is: go on with --out alone" in result.stderr


def test_a_file_that_is_no_spec_is_told_with_its_name(run: Run, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    for text, problem in (
        ("bots = [", "TOML"),
        ('bot = "x"', "bot"),
        ("bots = 3", "bots"),
        ("", "it is empty: bots = "),
        ("# nothing\n", "it is empty: bots = "),
        ('bots = ["random"]', "2 players need 2 to 200 entrants"),
        ('bots = ["random", "gredy"]', "no bot 'gredy' is installed; did you mean greedy?"),
        ('bots = ["random", "greedy"]\nrules = "bridge"', "rules: "),
    ):
        spec.write_text(text)
        result = play(run, tmp_path / "t", str(spec))
        assert result.exit_code == 2
        assert result.stderr.startswith(f"ronda: {spec}: ")
        assert problem in result.stderr


def test_a_folder_without_a_name_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (("tournament", "run", "--out="), ("ladder", "run", "--dir=")):
        result = run(*words, "--bots=random,greedy", HERE)
        assert result.exit_code == 2
        assert "name a folder" in result.stderr
    assert not [path for path in tmp_path.iterdir() if path.name in ("lock", "state.db")]


def test_two_seeded_tournaments_are_verified_together_and_one_twice_is_told_of_names(
    whole: Path, run: Run, tmp_path: Path
) -> None:
    flags = ("--bots=careful,greedy", "--rules=arabic", "--blocks=1", "--seed=5", HERE)
    assert play(run, tmp_path / "t", *flags).exit_code == 0
    first, second = whole / "records.jsonl", tmp_path / "t" / "records.jsonl"
    commitments = {
        json.loads(path.read_text().split("\n")[0])["fair"]["commitment"]
        for path in (first, second)
    }
    assert len(commitments) == 2
    assert run("verify", str(first), str(second)).exit_code == 0
    twice = run("verify", str(first), str(first))
    assert twice.exit_code == 1
    assert "two tournaments of one name are told apart by --name" in twice.stdout


def test_csv_has_a_line_for_each_entrant(whole: Path, run: Run) -> None:
    told = run("tournament", "show", str(whole), "-o", "csv").stdout
    rows = list(csv.DictReader(told.splitlines()))
    assert [row["entrant"] for row in rows] == [row["entrant"] for row in report(whole)["ratings"]]


@pytest.mark.parametrize("table", ["ratings", "pairs", "seats", "faults"])
def test_show_tells_one_table_where_it_is_asked_for(whole: Path, run: Run, table: str) -> None:
    args = ("tournament", "show", str(whole), "--table", table)
    kept = report(whole)["positions" if table == "seats" else table]
    assert json.loads(run(*args, "-o", "json").stdout) == {table: kept}
    rows = list(csv.DictReader(run(*args, "-o", "csv").stdout.splitlines()))
    assert len(rows) == len(kept) > 0
    alone = run("tournament", "show", "--table", table, "--server", "127.0.0.1:1")
    assert alone.exit_code == 2
    assert "name its ID" in alone.stderr


def test_show_tells_what_run_told_and_writes_nothing(whole: Path, run: Run) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in whole.glob("re*")}
    told = json.loads(run("tournament", "show", str(whole), "-o", "json").stdout)
    del told["timing"]
    assert told == report(whole)
    assert {path.name: path.stat().st_mtime_ns for path in whole.glob("re*")} == before


def test_show_of_a_folder_without_one_is_told(run: Run, tmp_path: Path) -> None:
    result = run("tournament", "show", str(tmp_path))
    assert result.exit_code == 2
    assert "there is no tournament" in result.stderr


@pytest.mark.parametrize("damage", ["header", "pages", "stranger"])
def test_a_state_that_cannot_be_read_is_told_alike_by_run_and_show(
    whole: Path, run: Run, tmp_path: Path, damage: str
) -> None:
    folder = tmp_path / "t"
    shutil.copytree(whole, folder)
    state = folder / "state.db"
    if damage == "header":
        state.write_bytes(b"no database at all")
    elif damage == "pages":
        with state.open("r+b") as file:
            file.seek(3 * 4096)
            file.write(b"\xff" * (state.stat().st_size - 3 * 4096))
    else:
        state.unlink()
        with contextlib.closing(sqlite3.connect(state)) as database:
            database.execute("CREATE TABLE theirs (it TEXT)")
    for words in (("run", HERE, "--out"), ("show",)):
        result = run("tournament", *words, str(folder))
        assert result.exit_code == 2
        (told,) = result.stderr.splitlines()
        assert told.startswith(f"ronda: {state} ")
        assert told.endswith("put back a copy of it, or take another folder")


def test_a_folder_that_another_process_plays_says_to_wait_or_to_end_it(
    whole: Path, run: Run
) -> None:
    with claim(whole):
        result = play(run, whole, HERE)
    assert result.exit_code == 3
    assert "wait until it is over, or end it; go on with: ronda tournament run" in result.stderr


def test_ctrl_c_stops_cleanly_and_names_the_command_that_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    flags = ["--bots=random,greedy", "--rules=arabic", "--blocks=100000", "--seed=5"]
    command = [sys.executable, "-m", "ronda_cli", "tournament", "run", *flags, f"--out={folder}"]
    command += ["--executor=local", "--workers=1"]
    driver = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    _until_some_are_kept(folder, driver)
    driver.send_signal(signal.SIGINT)
    out, told = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert not out
    assert "blocks and" in told
    assert told.rstrip().endswith(
        f"go on with: ronda tournament run --out {folder} --executor=local --workers=1"
    )
    stopped = report(folder)
    assert stopped["state"] == "running"
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = read(line)
        assert record.fair is not None
        assert record.fair.master is None  # deals are still to be played


@pytest.mark.thorough
def test_a_full_disk_ends_it_in_words_and_it_goes_on_when_there_is_room(
    whole: Path, run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "t"
    flags = ["--bots=random,greedy", "--rules=arabic", "--blocks=150", "--seed=5", HERE]
    command = [sys.executable, "-m", "ronda_cli", "tournament", "run", *flags, f"--out={folder}"]
    full = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    )
    assert full.returncode == 3
    (told,) = full.stderr.strip().splitlines()
    assert told.startswith("ronda: results cannot be written: ")
    assert told.endswith(f"go on with: ronda tournament run --out {folder} {HERE}")
    assert run("tournament", "show", str(folder)).exit_code == 0
    assert play(run, folder, HERE).exit_code == 0
    assert len(records(folder)) == 300
    assert records(folder)[:8] == records(whole)


def _until_some_are_kept(folder: Path, driver: subprocess.Popen[str]) -> None:
    while driver.poll() is None:
        try:
            database = sqlite3.connect(f"file:{folder / 'state.db'}?mode=ro", uri=True)
            if database.execute("SELECT count(*) FROM game").fetchone()[0]:
                return
        except sqlite3.OperationalError:  # it is not made yet
            continue
    raise AssertionError(driver.stderr.read() if driver.stderr else "it ended")


def test_without_a_seed_the_commitment_is_told_first_and_kept(run: Run, tmp_path: Path) -> None:
    result = play(run, tmp_path / "t", "--bots=random,greedy", "--rules=arabic", "--blocks=1", HERE)
    assert result.exit_code == 0
    first = result.stderr.splitlines()[0]
    commitment = first.rpartition(" ")[2]
    for line in (tmp_path / "t" / "records.jsonl").read_text().splitlines():
        record = read(line)
        assert record.fair is not None
        assert record.fair.commitment == commitment
        assert verify(record).proven
    # Two tournaments without a seed are told apart, and go on as themselves.
    again = play(run, tmp_path / "t", "--bots=random,greedy", "--rules=arabic", "--blocks=1", HERE)
    assert again.exit_code == 0


def test_owners_are_named_by_a_flag_or_a_file_and_stay_as_they_are(
    run: Run, tmp_path: Path
) -> None:
    asked = ("--bots=random,greedy", "--rules=arabic", "--blocks=1", "--seed=1", HERE)
    out = f"--out={tmp_path / 't'}"
    for wrong, words in (
        ("--owner=nobody=ann", "owners: nobody is none of the bots"),
        ("--owner=random", "--owner random: BOT=OWNER is expected"),
    ):
        refused = run("tournament", "run", *asked, out, wrong)
        assert refused.exit_code == 2
        assert words in refused.stderr
    assert not (tmp_path / "t").exists()
    spec = tmp_path / "t.toml"
    spec.write_text('owners = { random = "ann", greedy = "ann" }')
    done = run("tournament", "run", str(spec), *asked, out, "-o", "json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["plan"]["owners"] == [["greedy@1.0.0", "ann"], ["random@1.0.0", "ann"]]
    assert told["helped"] == []
    refused = run("tournament", "run", *asked, out, "--owner=random=ann")
    assert refused.exit_code == 2
    assert "the owners were others" in refused.stderr
    refused = run("tournament", "run", *asked[:1], "--server=127.0.0.1:1", "--owner=random=ann")
    assert refused.exit_code == 2
    assert "--owner is for what is played here" in refused.stderr
