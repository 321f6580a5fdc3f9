"""What `ronda match` tells an author whose bot breaks, and what it keeps to itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bots.plugins import importable, install, list_files
from tests.cli.conftest import Run, environment
from tests.cli.test_streams import FREE

BOTS = """
import time
import hands_helper

print("loaded")

class Fine:
    version = "1"
    def __init__(self, seat, rng): print("made")
    def play(self, view):
        print("I hold", *map(str, view.hand))
        return view.hand[0]

class Crash(Fine):
    def play(self, view):
        return self.deeper(view)

    def deeper(self, view):
        return hands_helper.crash(view)

class Illegal(Fine):
    def play(self, view):
        return view.unseen[0]

class Number(Fine):
    def play(self, view): return 77

class Mute(Fine):
    def __init__(self, seat, rng): raise LookupError("no table")

class Slow(Fine):
    def play(self, view):
        with open(__file__ + ".holds", "w") as told:  # a pipe, where somebody listens
            told.write("I hold on")
        time.sleep(1000)  # a bot that never answers

class Curious(Fine):
    def play(self, view):
        open(__file__ + ".notes", "w").close()
        return view.hand[0]

class Stops(Fine):
    def play(self, view):
        breakpoint()
        return view.hand[0]

class Shy(Fine):
    class Answer:
        def __str__(self): raise ValueError
    def play(self, view): return Shy.Answer()
"""
HELPER = "def crash(view): raise ValueError('I hold ' + str(view.hand[0]))\n"
NAMES = ("fine", "crash", "illegal", "number", "mute", "shy", "slow", "curious", "stops")
WAYS = pytest.mark.parametrize("way", ["trusted", "process", "sandbox"])
CARD = re.compile(r"\b(1[0-2]|[1-7])[OCEB]\b")
LINE = BOTS.splitlines().index("        return hands_helper.crash(view)") + 1


@pytest.fixture(autouse=True)
def broken_bots(tmp_path: Path) -> Iterator[Path]:
    site = tmp_path / "bots"
    points = {name: f"hands:{name.capitalize()}" for name in NAMES}
    install(site, "hands", points, modules={"hands": BOTS, "hands_helper": HELPER})
    info = next(site.glob("*.dist-info"))
    list_files(site, info, "hands.py", "hands_helper.py")
    with importable(site):
        yield site


def told(stderr: str) -> list[str]:
    """The lines that are not what bots print."""
    return [line for line in stderr.splitlines() if not line.startswith(("I hold", "made", "load"))]


def match(run: Run, way: str, *bots: str, games: int = 5) -> list[str]:
    args = ("--isolation", way, "--seed", "1", "--games", str(games), "-o", "json")
    result = run("match", *bots, *args)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["games"] == games  # and nothing but it
    return [re.sub(r", after \d+\.\d{3} s", "", line) for line in told(result.stderr)]


@WAYS
def test_who_broke_is_told_once_with_the_line_of_the_bots_own_code(
    way: str, tmp_path: Path, run: Run
) -> None:
    (line,) = match(run, way, "crash", "fine")
    about, _, place = line.partition(", at ")
    assert (
        about
        == "crash@1 in seat 0 forfeits game 1 of 5: crash: ValueError when it was asked to play"
    )
    assert place == f"{tmp_path}/bots/hands.py:{LINE}; --traceback shows more"


@WAYS
@pytest.mark.parametrize(
    ("bot", "words"),
    [
        ("illegal", "illegal: it played a card that it does not hold"),
        ("number", r"protocol: play\(\) answered with (a number that is no|something but a) card"),
        ("mute", "crash: LookupError when it was made"),
        ("shy", r"protocol: play\(\) answered with something but a card"),
    ],
)
def test_every_kind_of_fault_is_told_and_none_tells_a_card(
    bot: str, words: str, way: str, tmp_path: Path, run: Run
) -> None:
    records = tmp_path / "r.jsonl"
    args = ("--seed", "1", "--games", "3", "--records", str(records), "--isolation", way)
    result = run("match", "fine", bot, *args)
    (line,) = told(result.stderr)
    assert re.match(rf"{bot}@1 in seat 1 forfeits game 1 of 3: {words}", line)
    assert ("hands.py:" in line) is (bot == "mute")
    assert not CARD.search(line)
    faults = [json.loads(one)["fault"] for one in records.read_text().splitlines()]
    assert all(fault and not CARD.search(str(fault)) for fault in faults)
    assert str(tmp_path) not in records.read_text()


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["trusted", "process"])
def test_a_bot_that_takes_for_ever_is_ended_with_ctrl_c(way: str, broken_bots: Path) -> None:
    holds = broken_bots / "hands.py.holds"
    os.mkfifo(holds)
    command = [sys.executable, "-m", "ronda_cli", "match", "slow", "fine", "--isolation", way]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment()) as child:
        try:
            assert holds.read_text() == "I hold on"  # waits until it does
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=30)
        finally:
            child.kill()
    assert child.returncode == 130
    assert told(err.decode()) == ["0 of 1 games were played", "interrupted"]


@pytest.mark.thorough
@WAYS
def test_two_bots_that_break_are_both_told(way: str, run: Run) -> None:
    lines = match(run, way, "crash", "mute")
    assert [line.partition("@")[0] for line in lines] == ["mute"]  # no game goes further
    lines = match(run, way, "crash", "illegal", games=8)
    assert sorted(line.partition("@")[0] for line in lines) == ["crash", "illegal"]


@WAYS
def test_traceback_shows_all_of_it_without_our_own_frames(way: str, run: Run) -> None:
    result = run("match", "crash", "fine", "--seed", "1", "--traceback", "--isolation", way)
    assert "Traceback (most recent call last):" in result.stderr
    assert f'hands.py", line {LINE}, in deeper' in result.stderr
    assert 'hands_helper.py", line 1, in crash' in result.stderr
    assert re.search(r"^ValueError: I hold \d+[OCEB]$", result.stderr, re.MULTILINE)
    assert "ronda_arena" not in result.stderr
    assert "Traceback" not in result.stdout


@pytest.mark.thorough
@WAYS
def test_traceback_names_an_answer_that_was_none(way: str, run: Run) -> None:
    def shown(bot: str) -> str:
        args = ("--seed", "1", "--traceback", "--isolation", way)
        return run("match", bot, "fine", *args).stderr

    assert re.search(r"^  it answered \d+[OCEB] \(Card\)$", shown("illegal"), re.MULTILINE)
    assert " answered 77 (int)\n" in shown("number")
    assert " answered something that cannot be shown" in shown("shy")


def test_what_a_sandbox_refuses_is_told_with_what_it_allows(run: Run) -> None:
    (line,) = match(run, "sandbox", "curious", "fine")
    assert "crash: PermissionError when it was asked to play, at " in line
    assert "reads its own package and what this one requires, and writes nothing" in line
    assert match(run, "process", "curious", "fine") == []


def test_a_bot_that_cannot_be_imported_in_a_sandbox_can_be_without(
    broken_bots: Path, run: Run
) -> None:
    install(
        broken_bots,
        "reader",
        {"reader": "reader:Fine"},
        modules={"reader": f"open(__file__ + '.notes').read()\n{BOTS}"},
    )
    (broken_bots / "reader.py.notes").write_text("x")
    info = next(broken_bots.glob("reader*.dist-info"))
    list_files(broken_bots, info, "reader.py")
    result = run("match", "reader", "greedy")
    assert result.exit_code == 2
    assert "cannot be imported: PermissionError" in result.stderr
    assert "--isolation process" in result.stderr
    # Its helper is of another package, which is a rival's: only without walls it is there.
    assert run("match", "reader", "greedy", "--isolation", "process").exit_code == 0


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["imported", "played"])
def test_a_package_that_is_not_required_is_named_wherever_a_bot_runs_into_it(
    when: str, broken_bots: Path, tmp_path: Path, run: Run
) -> None:
    install(broken_bots, "sums-of-old", {}, modules={"sums": "total = sum"})
    list_files(broken_bots, next(broken_bots.glob("sums_of_old*")), "sums.py")
    source = "class Adds:\n    version = '1'\n    def __init__(self, seat, rng): pass\n"
    source += "    def play(self, view):\n        import sums\n        return view.hand[0]\n"
    if when == "imported":
        source = f"import sums\n{source}"
    install(broken_bots, "ronda-bot-adds", {"adds": "adds:Adds"}, modules={"adds": source})
    list_files(broken_bots, next(broken_bots.glob("ronda_bot_adds*")), "adds.py")
    words = (
        "sums-of-old is installed, but ronda-bot-adds does not require it: add "
        '"sums-of-old" to dependencies in its pyproject.toml and install it again'
    )
    file = tmp_path / "r.jsonl"
    played = run("match", "adds", "greedy", "--seed", "1", "--records", str(file))
    assert words in played.stderr
    assert "(docs/isolation.md)" not in played.stderr
    checked = run("bots", "check", "adds", "--hands", "1", COLUMNS="500")
    assert checked.exit_code == 1
    assert words in checked.stdout
    if when == "played":
        assert words in run("bots", "debug", str(file)).stdout


def test_what_a_sandbox_refuses_is_told_by_check_and_debug_too(tmp_path: Path, run: Run) -> None:
    words = "reads its own package and what this one requires, and writes nothing"
    file = tmp_path / "r.jsonl"
    assert words in run("bots", "check", "curious", "--hands", "1", COLUMNS="500").stdout
    run("match", "curious", "fine", "--records", str(file))
    assert words in run("bots", "debug", str(file)).stdout


def test_a_breakpoint_in_a_sandbox_is_told_what_it_needs(tmp_path: Path, run: Run) -> None:
    words = "breakpoint() needs --isolation trusted"
    file = tmp_path / "r.jsonl"
    (line,) = told(run("match", "stops", "fine", "--records", str(file)).stderr)
    assert words in line
    assert words in run("bots", "check", "stops", "--hands", "1", COLUMNS="500").stdout
    assert words in run("bots", "debug", str(file)).stdout


@pytest.mark.thorough
@WAYS
@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_what_bots_print_is_no_data(form: str, way: str, run: Run) -> None:
    result = run("match", "fine", "fine", "--seed", "1", "-o", form, "--isolation", way)
    assert json.loads(result.stdout)
    here = way == "trusted"
    assert ("I hold" in result.stderr) is here
    assert ("made" in result.stderr) is here
    for command in (("bots", "list"), ("doctor",)):
        result = run(*command, "-o", form)
        assert [json.loads(line) for line in result.stdout.splitlines()]
        assert "loaded" not in result.stderr


def test_what_bots_print_is_no_address_of_a_service(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ronda_cli", "serve", *FREE]
    command += ["--database", str(tmp_path / "x.db")]
    with (tmp_path / "log").open("wb") as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment())
        try:
            assert child.stdout
            assert "listen" in json.loads(child.stdout.readline())
            child.send_signal(signal.SIGTERM)
            rest, _ = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
    assert (child.returncode, rest) == (0, b"")
    assert b"fine" not in (tmp_path / "log").read_bytes()  # it can play, and nobody reads its print
    assert b"loaded" not in (tmp_path / "log").read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "place", ["/", ".", "..", "", "x" * 5000, "/" + "a/" * 3000, "a\\0b", "<string>", "/dev/zero"]
)
def test_whatever_a_bot_prints_as_the_place_where_it_broke_the_games_go_on(
    place: str, broken_bots: Path, run: Run
) -> None:
    told = f'Traceback (most recent call last)\\n  File "{place}", line 1, in x'
    source = f"{BOTS}\nclass Liar(Fine):\n    def play(self, view):\n"
    source += f"        print('{told}', flush=True)\n        import os; os._exit(1)\n"
    install(broken_bots, "liar", {"liar": "liar:Liar"}, modules={"liar": source})
    result = run("match", "liar", "greedy", "--games", "2", "--isolation", "process")
    assert result.exit_code == 0
    assert "2 crash" in result.stdout
