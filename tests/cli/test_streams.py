"""Streams that are closed, full or no files: the answer stays, and the environment is named."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import FORGED, RECORDS, Run, environment, ronda

from ronda_cli.main import COMMANDS

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux' devices")

FREE = [
    word
    for name in ("listen", "metrics-listen", "health-listen")
    for word in (f"--{name}", "127.0.0.1:0")
]


def shell(command: str, redirected: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line with streams as a shell redirects them."""
    python = f"exec '{sys.executable}' -m ronda_cli"
    return subprocess.run(
        ["sh", "-c", f"{python} {command} {redirected}"],
        capture_output=True,
        env=environment(),
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full", ">&-", ">&- 2>&- <&-", "<&-"])
@pytest.mark.parametrize(("file", "verdict"), [(RECORDS, 0), (FORGED, 1)])
def test_a_verdict_is_the_same_whoever_hears_it(redirected: str, file: Path, verdict: int) -> None:
    done = shell(f"verify '{file}'", redirected)
    assert done.returncode == verdict
    assert b"Traceback" not in done.stderr
    assert b"fault of ronda" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "rules",
        "bots list",
        "--help",
        "--version",
        "match greedy random --seed 1",
        "match greedy random --seed 1 -o jsonl",
        f"replay '{RECORDS}'",
    ],
)
def test_data_that_nobody_wants_is_written_nowhere(command: str) -> None:
    done = shell(command, ">&-")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "command",
    [
        "rules",
        "--help",
        "--version",
        "match greedy random --seed 1",
        "match greedy random --seed 1 --records -",
        f"replay '{RECORDS}'",
        f"verify '{RECORDS}' -o json",
    ],
)
def test_data_that_cannot_be_written_is_the_machines_and_2(command: str) -> None:
    done = shell(command, ">/dev/full")
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("ronda: standard ")
    assert "No space left on device" in line


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage_is_2_where_nobody_hears_it(name: str) -> None:
    for redirected in ("2>&-", "2>/dev/full"):
        assert shell(f"{name} --nonsense", redirected).returncode == 2


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_a_file_that_breaks_while_it_is_read_is_named(command: str, run: Run) -> None:
    result = run(command, "/proc/self/mem")
    assert result.exit_code == 2
    assert "/proc/self/mem: " in result.stderr
    assert "cannot be read: Input/output error" in result.stderr
    assert "fault of ronda" not in result.stderr


def test_what_the_machine_refuses_anywhere_is_told_with_its_path(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/some/where")

    monkeypatch.setattr("ronda_cli.lines._read", refused)
    result = run("verify", str(RECORDS))
    assert result.exit_code == 2
    assert result.stderr == "ronda: /some/where cannot be used: Permission denied\n"


def test_an_error_that_only_looks_like_the_machines_is_ours(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr("ronda_cli.lines._read", late)
    assert "a fault of ronda itself: TimeoutError" in run("verify", str(RECORDS)).stderr


def test_a_service_without_stdout_runs_and_ends_politely(tmp_path: Path) -> None:
    words = ["serve", *FREE, "--database", str(tmp_path / "x.db")]
    line = f"exec '{sys.executable}' -m ronda_cli {' '.join(words)} >&-"
    with subprocess.Popen(["sh", "-c", line], stderr=subprocess.PIPE, env=environment()) as child:
        try:
            assert child.stderr
            assert json.loads(child.stderr.readline())["event"] == "ready"
            child.send_signal(signal.SIGTERM)
            _, rest = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 0
    assert b"Assertion" not in rest


def test_a_stream_that_was_closed_is_opened_under_its_own_number() -> None:
    code = "from ronda_cli import output; output.complete(); import os; print(os.fstat(1).st_rdev)"
    line = f"exec '{sys.executable}' -c '{code}; os.fstat(0); os.fstat(2)' <&- 2>&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, env=environment(), check=False)
    assert done.returncode == 0


class TestRecordFiles:
    ARGS = ("match", "greedy", "random", "--seed", "7")

    def test_a_full_disk_is_told_with_the_file(self) -> None:
        done = ronda(*self.ARGS, "--records", "/dev/full")
        assert done.returncode == 2
        assert done.stdout == b""
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith("ronda: /dev/full cannot be written: No space left on device")

    def test_a_file_keeps_what_is_in_it_until_a_game_is_over(
        self, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        file = tmp_path / "r.jsonl"
        file.write_text("precious\n")
        monkeypatch.setattr("ronda_arena.local.play_match", interrupted)
        result = run(*self.ARGS, "--records", str(file))
        assert result.exit_code == 130
        assert result.stderr == "0 of 1 games were played\ninterrupted\n"
        assert file.read_text() == "precious\n"
        new = tmp_path / "new.jsonl"
        assert run(*self.ARGS, "--records", str(new)).exit_code == 130
        assert not new.exists()

    def test_a_file_that_is_replaced_is_said_to_be(self, tmp_path: Path, run: Run) -> None:
        file = tmp_path / "r.jsonl"
        first = run(*self.ARGS, "--records", str(file))
        assert first.stderr == ""
        second = run(*self.ARGS, "--records", str(file))
        assert second.stderr == f"what was in {file} is replaced\n"
        assert len(file.read_text().splitlines()) == 1

    def test_records_on_stdout_are_alone_there(self, run: Run) -> None:
        result = run(*self.ARGS, "--games", "3", "--records", "-")
        assert result.exit_code == 0
        assert run("verify", "-", typed=result.stdout.encode()).stderr == "3 proven\n"
        assert "3 games" in result.stderr

    @pytest.mark.parametrize("form", ["json", "jsonl"])
    def test_records_are_not_mixed_with_other_data(self, form: str, run: Run) -> None:
        result = run(*self.ARGS, "--records", "-", "-o", form)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "--records - and -o" in result.stderr


class TestReplay:
    @pytest.mark.parametrize("seats", [[], ["one"], [f"bot{n}" for n in range(9)]])
    @pytest.mark.parametrize("screen", [False, True])
    def test_a_record_with_other_names_than_players_is_unreadable(
        self,
        seats: list[str],
        screen: bool,
        tmp_path: Path,
        run: Run,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        if screen:
            monkeypatch.setattr("ronda_cli.keys.available", lambda: True)
            monkeypatch.setattr("ronda_cli.look.is_terminal", lambda _: True)
        lines = RECORDS.read_text().splitlines()
        record = next(one for one in map(json.loads, lines) if one["players"] == 4)
        file = tmp_path / "r.jsonl"
        file.write_text(json.dumps({**record, "seats": seats}))
        result = run("replay", str(file))
        assert (result.exit_code, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"ronda: {file}")
        assert "seats" in line

    def test_no_field_of_a_record_is_a_fault_of_ours(self, tmp_path: Path, run: Run) -> None:
        lines = RECORDS.read_text().splitlines()
        record = next(one for one in map(json.loads, lines) if one["players"] == 4)
        file = tmp_path / "r.jsonl"
        strange = (None, True, -1, 0, 3, 10**30, 1.5, "", "x", [], [7], ["a", "b"], {}, {"0": 1})
        hand = record["hands"][0]
        broken = [{**record, key: value} for key in record for value in strange]
        broken += [{**record, "hands": [{**hand, key: value}]} for key in hand for value in strange]
        for one in broken:
            file.write_text(json.dumps(one))
            for args in (("replay", str(file)), ("verify", str(file))):
                result = run(*args)
                assert result.exit_code in (0, 1, 2)
                assert "fault of ronda" not in result.stderr
                assert result.exception is None or isinstance(result.exception, SystemExit)
