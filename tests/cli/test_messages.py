"""A message names what the reader wrote, and what to do about it."""

from __future__ import annotations

import gzip
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import RECORDS, Run, environment, ronda
from tests.cli.games import Game
from tests.cli.test_streams import FREE

from ronda_cli import demo, refusal
from ronda_cli.channel import target
from ronda_cli.look import Look
from ronda_cli.picture import describe


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["match", "greedy"], ["playtash", "2 or 4", "you named 1"]),
        (["match", "greedy", "random", "careful"], ["2 or 4", "you named 3"]),
        (["match", *["greedy"] * 5, "--rules", "cafe"], ["2, 3 or 4", "you named 5"]),
        (["match", *["greedy"] * 3, "--rules", "arabic"], ["arabic is played by 2,"]),
        (["match", "greedy", "random", "--hands", "101"], ["--hands", "101", "100"]),
        (["match", "greedy", "random", "--hands", "0"], ["--hands", "1<=x<=100"]),
        (["match", "greedy", "random", "--hands", "2", "--rules", "arabic"], ["leave --hands out"]),
        (["play", "--hands", "101"], ["--hands", "100"]),
        (["paly"], ["'paly'", "did you mean 'play'?"]),
        (["bots", "lst"], ["did you mean 'list'?"]),
        (["serve", "--listen", "0.0.0.0:50061"], ["0.0.0.0:50061", "TLS", "--allow-plaintext"]),
        (["serve", *FREE, "--database", "/nowhere/at/x.db"], ["--database /nowhere/at/x.db"]),
        (["db", "upgrade", "--database", "/nowhere/at/x.db"], ["/nowhere/at/x.db"]),
    ],
    ids=lambda value: " ".join(value) if "match" in value[0] else None,
)
def test_what_is_wrong_is_told_in_the_readers_own_words(args: list[str], words: list[str]) -> None:
    done = ronda(*args)
    assert done.returncode == (3 if "db" in args else 2)
    (line,) = done.stderr.decode().splitlines()
    for word in words:
        assert word in line
    assert "--players" not in line
    assert "length" not in line
    assert "fault of ronda" not in line


def test_a_name_that_is_like_none_is_only_unknown(run: Run) -> None:
    result = run("xyzzy")
    assert result.exit_code == 2
    assert "did you mean" not in result.stderr


def test_a_key_without_a_folder_is_told_with_its_path(tmp_path: Path) -> None:
    args = ("--database", str(tmp_path / "x.db"), "--key-file", "/nowhere/at/k")
    done = ronda("serve", *FREE, *args)
    assert done.returncode == 2
    assert done.stderr == b"ronda: --key-file /nowhere/at/k: there is no folder /nowhere/at\n"
    assert not (tmp_path / "x.db").exists()


class TestDatabases:
    def doctor(self, file: Path, run: Run) -> str:
        result = run("doctor", "--database", str(file))
        lines = [line for line in result.stdout.splitlines() if str(file) in line]
        assert result.exit_code == bool(lines)
        return "\n".join(lines)

    def test_what_is_no_database_is_found_before_it_is_served(
        self, tmp_path: Path, run: Run
    ) -> None:
        junk = tmp_path / "junk.db"
        junk.write_bytes(b"junk" * 5000)
        assert re.match(r"fail +.*file is not a database", self.doctor(junk, run))
        done = ronda("serve", *FREE, "--database", str(junk))
        assert done.returncode == 2
        assert f"{junk} cannot be used: file is not a database".encode() in done.stderr
        result = run("db", "upgrade", "--database", str(junk))
        assert result.exit_code == 2
        assert str(junk) in result.stderr
        assert junk.read_bytes() == b"junk" * 5000

    def test_a_database_of_somebody_else_is_found(self, tmp_path: Path, run: Run) -> None:
        other = tmp_path / "other.db"
        with sqlite3.connect(other) as connection:
            connection.execute("CREATE TABLE songs (name TEXT)")
        connection.close()
        assert "holds something else" in self.doctor(other, run)

    def test_a_schema_of_another_version_is_found_and_ours_is_well(
        self, tmp_path: Path, run: Run
    ) -> None:
        file = tmp_path / "x.db"
        assert self.doctor(file, run) == ""
        assert run("db", "upgrade", "--database", str(file)).exit_code == 0
        assert self.doctor(file, run) == ""
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE alembic_version SET version_num = 'from_the_future'")
        connection.close()
        assert "from_the_future" in self.doctor(file, run)

    @pytest.mark.parametrize("command", [["serve", *FREE], ["db", "upgrade"]])
    def test_what_an_upgrade_refuses_is_told_and_2(
        self, command: list[str], tmp_path: Path, run: Run
    ) -> None:
        file = tmp_path / "x.db"
        assert run("db", "upgrade", "--database", str(file)).exit_code == 0
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE alembic_version SET version_num = 'from_the_future'")
        connection.close()
        done = ronda(*command, "--database", str(file))
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith("ronda: ")
        assert "newer" in line


class TestFilesOfRecords:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (gzip.compress(RECORDS.read_bytes()), "a gzip file: unpack it first"),
            (b"\x7fELF\xff\n" * 99, "not UTF-8: this is no file of records"),
            (b"SQLite format 3\x00\n" * 99, "not text: this is no file of records"),
        ],
    )
    @pytest.mark.parametrize("command", ["verify", "replay"])
    def test_what_is_no_text_is_told_once(
        self, command: str, content: bytes, words: str, tmp_path: Path, run: Run
    ) -> None:
        file = tmp_path / "r.jsonl.gz"
        file.write_bytes(content)
        result = run(command, str(file))
        assert (result.exit_code, result.stdout) == (2, "")
        told = [line for line in result.stderr.splitlines() if line != "1 unreadable"]
        assert len(told) == 1
        assert f"{file}:1: " in told[0]
        assert words in told[0]

    def test_a_line_that_is_broken_hides_no_other(self, tmp_path: Path, run: Run) -> None:
        first, second, *_ = RECORDS.read_bytes().splitlines(keepends=True)
        file = tmp_path / "r.jsonl"
        file.write_bytes(first + b"\xff\xfe\n" + second)
        result = run("verify", str(file))
        assert result.exit_code == 2
        assert result.stderr.splitlines() == [
            f"{file}:2: unreadable: not UTF-8",
            "2 proven, 1 unreadable",
        ]

    def test_a_replay_says_which_game_of_how_many(self, tmp_path: Path, run: Run) -> None:
        told = run("replay", str(RECORDS), "--game", "3").stdout
        assert told.startswith("Game 3 of 60, m2: ")
        alone = tmp_path / "r.jsonl"
        alone.write_bytes(RECORDS.read_bytes().splitlines()[0])
        assert run("replay", str(alone)).stdout.startswith("m0: ")
        result = run("replay", str(alone), "--game", "2")
        assert f"{alone} holds 1 record:" in result.stderr


def test_one_is_not_told_in_the_plural() -> None:
    for steps in range(75):
        for sentence in describe(Game("cafe", 2, 4).scene(steps).picture):
            assert not re.search(r"\b1 (points|cards)\b|\b0 cards in the pack", sentence)


def test_the_end_of_a_list_of_causes_has_no_stray_bracket() -> None:
    why = refusal.Refusal(
        refusal.grpc.StatusCode.UNAVAILABLE, "", "failed [x: C-ares: Domain name not found]"
    )
    assert "(Domain name not found)" in str(why.failure(target("far:1")))


def test_no_line_of_grpc_itself_comes_before_ours() -> None:
    code = "import os; from ronda_cli import main; main.cli.main = lambda: print(os.environ['G'])"
    code = code.replace("'G'", "'GRPC_VERBOSITY'") + "; main.main()"
    for given, expected in (({}, b"NONE\n"), ({"GRPC_VERBOSITY": "DEBUG"}, b"DEBUG\n")):
        env = {key: value for key, value in environment().items() if key != "GRPC_VERBOSITY"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, env={**env, **given}, check=True
        )
        assert done.stdout == expected
    done = ronda("watch", "m", "--server", "http://nosuchhost.invalid:1")
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1


def test_help_says_who_runs_how_and_what_excludes_what_is_refused(run: Run) -> None:
    told = " ".join(run("match", "--help").stdout.split())
    assert "auto keeps ronda's own in this process and all others in a sandbox" in told
    assert "with it no bot is in this process" in told
    result = run("match", "greedy", "random", "--clock", "1", "--isolation", "trusted")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr
    result = run("match", "greedy", "random", "--clock", "soon")
    assert result.exit_code == 2
    assert "0.5+10" in result.stderr


def test_help_says_that_q_needs_enter(run: Run) -> None:
    assert "q and Enter leave" in " ".join(run("play", "--help").stdout.split())


def test_prose_of_the_demo_breaks_between_words_on_a_narrow_terminal() -> None:
    prose = "Round robin, cafe to 21: 72 games on 36 deals, each played from both seats."
    narrow = demo._fold(prose, Look(width=40, screen=True))
    assert max(map(len, narrow.splitlines())) <= 40
    assert narrow.split() == prose.split()
    assert demo._fold(prose, Look(width=40)) == prose
    shown = Path(demo.__file__).read_text(encoding="utf-8")
    assert not re.findall(r"output\.(?:line|note)\(f?\"", shown)  # all of it goes through it
