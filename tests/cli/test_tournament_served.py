"""Tournaments of a server, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.conftest import Run, environment
from tests.cli.test_streams import FREE

SMALL = ("--bots", "random,greedy,careful", "--hands", "1", "--blocks", "2")


class Served(NamedTuple):
    """A server with an account, and a tournament that is over."""

    address: str
    key: str
    id: str
    out: str
    err: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start a server, make a key, and let it play a tournament."""
    folder = tmp_path_factory.mktemp("served")
    admin = ("--admin-listen", "127.0.0.1:0")
    words = ["serve", *FREE, *admin, "--database", str(folder / "x.db")]
    with subprocess.Popen(
        [sys.executable, "-m", "ronda_cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        try:
            assert process.stdout
            told = json.loads(process.stdout.readline())
            address, key = told["listen"], str(folder / "key")
            at_admin = (
                "--server",
                told["admin_listen"],
                "--admin-key-file",
                f"{folder}/x.db.admin-key",
            )
            _call("admin", "keys", "create", "ann", "--key-file", key, *at_admin)
            server = ("--server", address, "--key-file", key)
            run = _call("tournament", "run", *SMALL, *server, "-o", "json")
            id_ = json.loads(run.stdout)["plan"]["id"]
            yield Served(address, key, id_, run.stdout, run.stderr)
        finally:
            process.terminate()


def _call(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "ronda_cli", *words],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_tournament_is_made_followed_and_told_as_a_local_one_is(served: Served, run: Run) -> None:
    told = json.loads(served.out)
    assert told["state"] == "finished"
    assert (told["blocks"], told["planned"], told["games"]) == (6, 6, 12)
    assert told["ratings"][0]["entrant"].endswith("@1.0.0")
    assert len(told["pairs"]) == 3
    assert told["commitment"] in served.err
    assert served.id in served.err
    for words in (("show", served.id), ("watch", served.id)):
        again = run("tournament", *words, "--server", served.address, "-o", "json")
        assert again.exit_code == 0, again.stderr
        assert again.stdout == served.out
    table = run("tournament", "show", served.id, "--server", served.address)
    assert told["sentences"][0].split()[0] in table.stdout
    csv = run("tournament", "show", served.id, "--server", served.address, "-o", "csv")
    assert len(csv.stdout.splitlines()) == 4


def test_its_records_are_written_and_proven(served: Served, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    args = ("--server", served.address, "--records", str(file), "-o", "json")
    assert run("tournament", "show", served.id, *args).exit_code == 0
    assert len(file.read_text().splitlines()) == 12
    verified = run("verify", str(file))
    assert verified.exit_code == 0, verified.stdout
    nowhere = ("--server", served.address, "--records", "/nowhere/at/all")
    failed = run("tournament", "show", served.id, *nowhere)
    assert failed.exit_code == 2
    assert "/nowhere/at/all" in failed.stderr


@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
def test_the_tournaments_of_a_server_are_listed(served: Served, run: Run, form: str) -> None:
    listed = run("tournament", "show", "--server", served.address, "-o", form)
    assert listed.exit_code == 0
    assert served.id in listed.stdout
    assert "finished" in listed.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "t-none"), 4, "no such tournament"),
        (("watch", "t-none"), 4, "no such tournament"),
        (("cancel", "{id}", "--key-file", "{key}"), 4, "over"),
        (("cancel", "{id}"), 2, "--key-file"),
        (("run", *SMALL), 2, "--key-file"),
        (("run", "--key-file", "{key}"), 2, "--bots"),
        (("run", *SMALL, "--seed", "1", "--key-file", "{key}"), 2, "--seed"),
        (("run", *SMALL, "--no-luck", "--key-file", "{key}"), 2, "--out"),
        (("run", *SMALL, "--workers", "2", "--key-file", "{key}"), 2, "--workers"),
        (("run", "--bots", "greedy,nobody", "--key-file", "{key}"), 4, "ronda bots list"),
        (("run", "--bots", "greedy", "--key-file", "{key}"), 2, "tournament run --help"),
        (("run", *SMALL, "--blocks", "90000", "--key-file", "{key}"), 4, "fewer"),
        (("show", "-o", "csv"), 2, "jsonl"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_refused_is_told_in_a_line_that_says_what_to_do(
    served: Served, run: Run, words: tuple[str, ...], code: int, said: str
) -> None:
    given = [word.format(id=served.id, key=served.key) for word in words]
    done = run("tournament", *given, "--server", served.address)
    assert done.exit_code == code, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_a_server_or_a_folder_it_is_said_what_is_missing(run: Run, tmp_path: Path) -> None:
    for words, said in (
        (("run", *SMALL), "--out"),
        (("show",), "--server"),
        (("show", str(tmp_path / "none")), "--server"),
        (("watch", "t-none"), "--server"),
        (("cancel", "t-none"), "--server"),
    ):
        done = run("tournament", *words)
        assert done.exit_code == 2
        assert said in done.stderr


def test_ctrl_c_leaves_and_names_the_command_that_goes_on(served: Served) -> None:
    words = ["--bots", "random,greedy", "--blocks", "20000", "--server", served.address]
    with subprocess.Popen(
        [sys.executable, "-m", "ronda_cli", "tournament", "run", *words, "--key-file", served.key],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        assert process.stderr
        id_ = process.stderr.readline().split()[0]
        os.kill(process.pid, 2)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"ronda tournament watch {id_} --server {served.address}" in err
    assert out == ""
    ended = _call("tournament", "cancel", id_, "--server", served.address, "--key-file", served.key)
    assert "cancelled" in ended.stderr
