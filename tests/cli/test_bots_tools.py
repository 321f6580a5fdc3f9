"""`ronda bots check` and `debug`, and `ronda match --like-server`, as an author sees them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bots.plugins import importable, install, list_files
from tests.cli.conftest import RECORDS, Run, ronda

from ronda_arena.clock import Clock
from ronda_arena.customs import CLOCK
from ronda_core.record import read

SOURCE = """
import os
import time

print("loaded")

class Fine:
    "Plays its last card."
    version = "1"
    def __init__(self, seat, rng): print("made")
    def play(self, view):
        print("I hold", *map(str, view.hand))
        return view.hand[-1]

class Illegal(Fine):
    def play(self, view):
        return view.unseen[0] if len(view.plays) > 7 else view.hand[0]

class Fickle(Fine):
    def play(self, view):
        return view.hand[os.urandom(1)[0] % len(view.hand)]

class Unordered(Fine):
    def play(self, view):
        return min(view.hand, key=lambda card: hash(str(card)))

class Slow(Fine):
    def play(self, view):
        time.sleep(0.1)  # more than the clock of the test gives
        return view.hand[0]

class Stops(Fine):
    def play(self, view):
        breakpoint()
        return view.hand[0]
"""
BARS = re.compile(r"[─-▟]")


@pytest.fixture(scope="module", autouse=True)
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("site")
    names = ("fine", "illegal", "fickle", "unordered", "stops", "slow")
    points = {name: f"tools:{name.capitalize()}" for name in names}
    install(folder, "tools", points, modules={"tools": SOURCE})
    list_files(folder, next(folder.glob("tools*.dist-info")), "tools.py")
    with importable(folder):
        yield folder


@pytest.fixture(scope="module")
def kept(site: Path) -> bytes:
    args = ("--rules", "cafe", "--seed", "3", "--games", "2", "--records", "-")
    done = ronda("match", "fine", "greedy", *args)
    assert done.returncode == 0
    return done.stdout


class TestCheck:
    def test_a_fit_bot_is_0_and_all_is_told(self, run: Run) -> None:
        result = run("bots", "check", "fine", "--hands", "4", COLUMNS="80")
        assert (result.exit_code, result.stderr) == (0, "")
        lines = result.stdout.splitlines()
        assert lines[0] == "fine@1: play"
        assert lines[1] == "run in a sandbox, without a clock"
        assert lines[-1] == "fine@1 is fit to play"
        assert re.fullmatch(r"\d+ hands in \d+ games, \d+ s", lines[-2])
        for words in ("p50", "p95", "max", "start: ", "memory: ", "repeated: ", "to 0.1 ms"):
            assert words in result.stdout
        assert max(map(len, lines)) <= 80
        assert "I hold" not in result.stdout

    @pytest.mark.parametrize("env", [{}, {"PYTHONIOENCODING": "ascii"}])
    def test_bars_survive_plain_ascii_and_forty_columns(self, env: dict[str, str]) -> None:
        plain = () if env else ("--plain",)
        command = ("bots", "check", "fine", "--hands", "1", *plain)
        done = ronda(*command, env={**env, "COLUMNS": "40"})
        told = done.stdout.decode()
        assert done.returncode == 0
        assert told.isascii()
        assert re.search(r"^  to 0\.\d ms +\d+  =+$", told, re.MULTILINE)
        assert max(map(len, told.splitlines())) <= 40

    def test_what_is_wrong_is_1_with_the_commands_that_show_it_again(
        self, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = run("bots", "check", "illegal", "--hands", "1")
        assert result.exit_code == 1
        assert result.stdout.splitlines()[-1] == "illegal@1 is not fit to play"
        assert "illegal: it played a card that it does not hold" in result.stdout
        place = re.search(r"hand (\d+), play (\d+); to see it again", result.stdout)
        assert place
        match, debug = re.findall(r"^    (ronda .*)$", result.stdout, re.MULTILINE)
        assert run(*shlex.split(match)[1:]).exit_code == 0
        record = read(Path("again.jsonl").read_text())
        assert record.fault
        told = run(*shlex.split(debug)[1:]).stdout
        assert "no answer: it forfeited" in told
        assert "illegal: it played a card that it does not hold, 20 of 20 times" in told

    def test_the_verdict_is_data_too(self, run: Run) -> None:
        result = run("bots", "check", "fickle", "--hands", "1", "-o", "json", "--like-server")
        assert result.exit_code == 1
        data = json.loads(result.stdout)
        assert (data["bot"], data["fit"], data["isolation"]) == ("fickle@1", False, "sandbox")
        assert data["clock"] == CLOCK.to_json()
        (trouble,) = data["troubles"]
        assert "the second time" in trouble["problem"]
        assert trouble["advice"] is None
        assert trouble["command"].endswith("--records - --like-server")
        assert {one["preset"] for one in data["played"]} == {"playtash", "cafe", "arabic", "pagat"}
        assert data["thinking"]["play"]["p50"] <= data["thinking"]["play"]["max"]
        assert (
            sum(row["count"] for row in data["thinking"]["play"]["histogram"])
            == (data["thinking"]["play"]["count"])
        )

    def test_a_bot_that_cannot_be_imported_is_not_fit_and_one_that_is_unknown_is_2(
        self, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torn = {"torn": "import nowhere_to_be_found"}
        install(tmp_path, "torn", {"torn": "torn:Bot"}, modules=torn)
        monkeypatch.syspath_prepend(str(tmp_path))
        result = run("bots", "check", "torn")
        assert result.exit_code == 1
        assert "torn is not fit to play: " in result.stdout
        assert "nowhere_to_be_found" in result.stdout
        assert run("bots", "check", "torn", "-o", "json").exit_code == 1
        assert run("bots", "check", "fein").exit_code == 2

    def test_fewer_hands_than_asked_for_are_said(self, run: Run) -> None:
        result = run("bots", "check", "greedy", "--hands", "500", "--seconds", "0.000001")
        assert result.exit_code == 1
        assert re.search(r"^only 0 of 500 hands of each preset", result.stdout, re.MULTILINE)
        assert "repeated: no game" in result.stdout
        last = result.stdout.splitlines()[-1]
        assert re.fullmatch(r"nothing is wrong so far, but greedy@\S+ was not seen at .*", last)

    def test_games_that_were_left_are_said_with_how_far_the_last_came(self, run: Run) -> None:
        args = ("bots", "check", "slow", "--hands", "1", "--seconds", "1")
        told = run(*args).stdout
        assert re.search(r"left when the time was over, the last in hand \d+, play \d+", told)

    def test_a_bot_that_lives_on_its_bank_is_told_how_long_that_lasts(self, run: Run) -> None:
        args = ("bots", "check", "slow", "--hands", "1", "--clock", "0.04+100", "--seconds", "1")
        told = run(*args, COLUMNS="200").stdout
        assert "the clock gives 40 ms and a bank of 100 s, which lasts for about " in told

    def test_a_bot_that_is_too_slow_has_one_problem_that_names_the_clock(self, run: Run) -> None:
        args = ("bots", "check", "slow", "--hands", "1", "--clock", "0.04+0.16", "--seconds", "5")
        result = run(*args, COLUMNS="200")
        assert result.exit_code == 1
        assert result.stdout.count("time: no answer within 0.04 s and a bank of 0.16 s, ") == 1
        assert re.search(
            r"decisions take \S+ m?s \(median\); the clock gives 40 ms and a bank of 160 ms,"
            r" which ran out after \d+ decisions?$",
            result.stdout,
            re.MULTILINE,
        )


class TestDebug:
    @pytest.fixture
    def record(self, kept: bytes, tmp_path: Path) -> Path:
        file = tmp_path / "r.jsonl"
        file.write_bytes(kept)
        return file

    def own_play(self, record: Path) -> int:
        dealer = read(record.read_text().splitlines()[0]).hands[0].dealer
        return 1 if dealer == 1 else 2

    def test_it_shows_what_the_bot_saw_chose_and_printed(self, record: Path, run: Run) -> None:
        play = self.own_play(record)
        result = run("bots", "debug", str(record), "--hand", "1", "--play", str(play))
        assert (result.exit_code, result.stderr) == (0, "")
        assert "Seat 0, you: " in result.stdout
        held = re.search(r"^Your hand: (.*)\.$", result.stdout, re.MULTILINE)
        assert held
        cards = re.findall(r"\d+[OCEB]", held[1])
        assert f"hand 1, play {play}, seat 0: fine@1\n" in result.stdout
        assert re.search(rf"^  then +{cards[-1]}$", result.stdout, re.MULTILINE)
        assert re.search(rf"^  now +{cards[-1]}, in [\d.]+ ms$", result.stdout, re.MULTILINE)
        assert re.search(r"^  solver@\S+ +\d+[OCEB]$", result.stdout, re.MULTILINE)
        assert result.stdout.endswith(f"it printed:\n  I hold {' '.join(cards)}\n")

    def test_a_play_can_be_named_by_its_card_and_a_record_by_its_id(
        self, record: Path, run: Run
    ) -> None:
        card = read(record.read_text().splitlines()[1]).hands[0].plays[4]
        args = ("--game", "local-1", "--hand", "1", "--play")
        named = run("bots", "debug", str(record), *args, str(card).lower()).stdout
        assert "hand 1, play 5, seat" in named
        piped = run("bots", "debug", "-", *args, "5", typed=record.read_bytes()).stdout
        assert re.sub(r"in \S+ ms", "", piped) == re.sub(r"in \S+ ms", "", named)

    def test_a_seat_without_a_number_is_its_first_play_of_the_hand(
        self, record: Path, run: Run
    ) -> None:
        first = self.own_play(record)
        for seat, play in ((0, first), (1, 3 - first)):
            args = ("--hand", "1", "--seat", str(seat), "--bot", "fine")
            told = run("bots", "debug", str(record), *args).stdout
            assert f"hand 1, play {play}, seat {seat}: fine@1" in told
        assert run("bots", "debug", str(record), "--hand", "1", "--seat", "3").exit_code == 2

    def test_a_declaration_is_a_decision_too(self, record: Path, run: Run) -> None:
        args = ("bots", "debug", str(record), "--hand", "1", "--seat", "0")
        for which in (("--declare",), ("--play", "0")):
            told = run(*args, *which).stdout
            assert "hand 1, declaration in batch 1, seat 0: fine@1" in told
            assert re.search(r"^  now +declares( nothing)?, ", told, re.MULTILINE)
        assert "batch 2" in run(*args, "--declare", "--play", "7").stdout

    def test_another_bot_can_be_asked_and_asked_often(self, record: Path, run: Run) -> None:
        args = ("bots", "debug", str(record), "--hand", "1", "--play", "1", "--bot", "fickle")
        result = run(*args, "--repeat", "30")
        assert result.exit_code == 0
        assert "fickle@1 instead of " in result.stdout
        counts = re.findall(r"(\d+) of 30 times", result.stdout)
        assert len(counts) > 1
        assert sum(map(int, counts)) == 30
        assert "it is not deterministic" in result.stdout

    def test_a_bot_that_depends_on_hashes_does_not_always_say_the_same(
        self, record: Path, run: Run
    ) -> None:
        args = ("bots", "debug", str(record), "--bot", "unordered", "--repeat", "2", "--hand", "1")
        told = [run(*args, "--play", str(play)).stdout for play in (1, 2, 7, 8)]
        assert any("it is not deterministic" in one for one in told)

    def test_it_is_data_too(self, record: Path, run: Run) -> None:
        play = self.own_play(record)
        args = ("bots", "debug", str(record), "--hand", "1", "--play", str(play))
        data = json.loads(run(*args, "-o", "json", "--repeat", "2").stdout)
        assert (data["id"], data["seat"], data["seated"]) == ("local-0", 0, "fine@1")
        assert data["then"] == data["holds"][-1] == data["now"][0]["choice"]
        assert [one["differed"] for one in data["now"]] == [0, 0]
        assert data["printed"].startswith("I hold ")
        assert data["strongest"]["choice"] in data["holds"] or data["strongest"]["bot"]

    @pytest.mark.parametrize(
        ("args", "words"),
        [
            (("--game", "3"), "holds 2 records: there is no --game 3"),
            ((), "which decision? --hand 1 to "),
            (("--hand", "99"), "there is no --hand 99: the match has 1 to "),
            (("--hand", "0"), "there is no --hand 0: the match has 1 to "),
            (("--hand", "1"), "which play of hand 1? --play 1 to 36 says it"),
            (("--hand", "1", "--play", "37"), "there is no --play 37: hand 1 has 1 to 36"),
            (("--hand", "1", "--play", "x"), "a play is a number, or a card such as 7O"),
            (("--hand", "1", "--declare"), "whose declaration? --seat says it: one of 0, 1"),
            (("--hand", "1", "--declare", "--seat", "4"), "whose declaration?"),
            (("--hand", "1", "--play", "1", "--seat", "3"), "seat 3 has none"),
            (("--hand", "1", "--play", "1", "--bot", "fein"), "did you mean fine?"),
        ],
    )
    def test_a_wrong_number_is_told_with_the_range(
        self, args: tuple[str, ...], words: str, record: Path, run: Run
    ) -> None:
        result = run("bots", "debug", str(record), *args)
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1

    def test_a_bot_that_is_not_here_can_be_stood_in_for(self, run: Run) -> None:
        args = ("bots", "debug", str(RECORDS), "--hand", "1", "--play", "1")
        result = run(*args)
        assert result.exit_code == 2
        assert "--bot NAME asks another" in result.stderr
        assert run(*args, "--bot", "careful").exit_code == 0

    def test_a_sealed_record_is_told_to_show_no_chance(self, record: Path, run: Run) -> None:
        data = json.loads(record.read_text().splitlines()[0])
        data["fair"]["master"] = None
        record.write_text(json.dumps(data))
        result = run("bots", "debug", str(record), "--hand", "1", "--play", "1")
        assert result.exit_code == 0
        assert "the record shows no master" in result.stderr

    def test_the_debugger_can_reach_a_trusted_bot(self, record: Path) -> None:
        play = self.own_play(record) + 4  # two decisions lead up to it
        args = ("--hand", "1", "--play", str(play), "--bot", "stops")
        command = ("bots", "debug", str(record), *args, "--isolation", "trusted")
        done = ronda(*command, typed=b"p 'here ' + str(len(view.hand))\nc\n")
        assert done.returncode == 0
        assert (done.stdout + done.stderr).count(b"here 1") == 1


class TestLikeServer:
    def test_it_brings_the_clock_and_the_isolation(self, run: Run) -> None:
        args = ("--like-server", "--seed", "1", "-o", "json")
        data = json.loads(run("match", "fine", "greedy", *args).stdout)
        assert [seat["isolation"] for seat in data["seats"]] == ["sandbox", "trusted"]
        assert data["clock"] == CLOCK.to_json()

    @pytest.mark.parametrize("flag", [("--clock", "1"), ("--isolation", "process")])
    @pytest.mark.parametrize("command", [("match", "fine", "greedy"), ("bots", "check", "fine")])
    def test_it_excludes_saying_them(
        self, command: tuple[str, ...], flag: tuple[str, ...], run: Run
    ) -> None:
        result = run(*command, "--like-server", *flag)
        assert result.exit_code == 2
        assert "leave --isolation and --clock out" in result.stderr

    def test_the_clock_that_is_documented_is_the_clock_that_is_meant(self) -> None:
        page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
        told = re.search(r"`--like-server` plays with `([\d.+]+)`", page)
        assert told
        assert Clock.parse(told[1]) == CLOCK
        assert Clock(0.5, 10.0) == CLOCK, "the help says it in words"
