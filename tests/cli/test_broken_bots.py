"""What `ronda match` tells an author whose bot breaks, and what it keeps to itself."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bots.plugins import importable, install
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
        print("I hold on", flush=True)
        time.sleep(1000)  # a bot that never answers

class Shy(Fine):
    class Answer:
        def __str__(self): raise ValueError
    def play(self, view): return Shy.Answer()
"""
HELPER = "def crash(view): raise ValueError('I hold ' + str(view.hand[0]))\n"
NAMES = ("fine", "crash", "illegal", "number", "mute", "shy", "slow")
CARD = re.compile(r"\b(1[0-2]|[1-7])[OCEB]\b")
LINE = BOTS.splitlines().index("        return hands_helper.crash(view)") + 1


@pytest.fixture(autouse=True)
def broken_bots(tmp_path: Path) -> Iterator[None]:
    site = tmp_path / "bots"
    points = {name: f"hands:{name.capitalize()}" for name in NAMES}
    install(site, "hands", points, modules={"hands": BOTS, "hands_helper": HELPER})
    with importable(site):
        yield


def told(stderr: str) -> list[str]:
    """The lines that are not what bots print."""
    return [line for line in stderr.splitlines() if not line.startswith(("I hold", "made", "load"))]


def match(run: Run, *bots: str, games: int = 5) -> tuple[str, list[str]]:
    result = run("match", *bots, "--seed", "1", "--games", str(games), "-o", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["games"] == games  # and nothing but it
    return result.stderr, told(result.stderr)


def test_who_broke_is_told_once_with_the_line_of_the_bots_own_code(
    tmp_path: Path, run: Run
) -> None:
    _, lines = match(run, "crash", "fine")
    (line,) = lines
    about, _, place = line.partition(", at ")
    assert (
        about
        == "crash@1 in seat 0 forfeits game 1 of 5: crash: ValueError when it was asked to play"
    )
    assert place == f"{tmp_path}/bots/hands.py:{LINE}; --traceback shows more"


@pytest.mark.parametrize(
    ("bot", "words"),
    [
        ("illegal", "illegal: it played a card that it does not hold"),
        ("number", "protocol: play() answered with a number that is no card"),
        ("mute", "crash: LookupError when it was made, at "),
        ("shy", "protocol: play() answered with something but a card"),
    ],
)
def test_every_kind_of_fault_is_told_and_none_tells_a_card(
    bot: str, words: str, tmp_path: Path, run: Run
) -> None:
    records = tmp_path / "r.jsonl"
    result = run("match", "fine", bot, "--seed", "1", "--games", "3", "--records", str(records))
    (line,) = told(result.stderr)
    assert line.startswith(f"{bot}@1 in seat 1 forfeits game 1 of 3: {words}")
    assert not CARD.search(line)
    faults = [json.loads(one)["fault"] for one in records.read_text().splitlines()]
    assert all(fault and not CARD.search(str(fault)) for fault in faults)
    assert str(tmp_path) not in records.read_text()


def test_a_bot_that_takes_for_ever_is_ended_with_ctrl_c() -> None:
    command = [sys.executable, "-m", "ronda_cli", "match", "slow", "fine"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment()) as child:
        try:
            assert child.stderr
            while b"I hold on" not in child.stderr.readline():
                pass  # until it holds on
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=30)
        finally:
            child.kill()
    assert child.returncode == 130
    assert err.decode() == "0 of 1 games were played\ninterrupted\n"


def test_two_bots_that_break_are_both_told(run: Run) -> None:
    _, lines = match(run, "crash", "mute")
    assert [line.partition("@")[0] for line in lines] == ["mute"]  # no game goes further
    _, lines = match(run, "crash", "illegal", games=8)
    assert sorted(line.partition("@")[0] for line in lines) == ["crash", "illegal"]


def test_traceback_shows_all_of_it_without_our_own_frames(run: Run) -> None:
    result = run("match", "crash", "fine", "--seed", "1", "--traceback")
    assert "Traceback (most recent call last):" in result.stderr
    assert 'hands_helper.py", line 1, in crash' in result.stderr
    assert re.search(r"^ValueError: I hold \d+[OCEB]$", result.stderr, re.MULTILINE)
    assert "ronda_arena" not in result.stderr
    assert "Traceback" not in result.stdout


def test_traceback_names_an_answer_that_was_none(run: Run) -> None:
    def shown(bot: str) -> str:
        return run("match", bot, "fine", "--seed", "1", "--traceback").stderr

    assert re.search(r"^  it answered \d+[OCEB] \(Card\)$", shown("illegal"), re.MULTILINE)
    assert "  it answered 77 (int)\n" in shown("number")
    assert "  it answered something that cannot be shown (Answer)\n" in shown("shy")


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_what_bots_print_is_no_data(form: str, run: Run) -> None:
    result = run("match", "fine", "fine", "--seed", "1", "-o", form)
    assert json.loads(result.stdout)
    assert "I hold" in result.stderr
    assert "made" in result.stderr
    result = run("bots", "list", "-o", form)
    assert [json.loads(line) for line in result.stdout.splitlines()]
    result = run("doctor", "-o", form)
    assert [json.loads(line) for line in result.stdout.splitlines()]


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
    assert b"loaded" in (tmp_path / "log").read_bytes()
