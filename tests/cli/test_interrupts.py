"""Ctrl-C, whenever it comes, ends in words that name the command which goes on."""

from __future__ import annotations

import functools
import importlib
import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.cli.conftest import Run, environment

from ronda_core.record import read

HERE = "--executor=in-process"
TOURNAMENT = ("tournament", "run", "--bots=random,greedy", "--rules=arabic", "--blocks=2")
LADDER = ("ladder", "run", "--rules=arabic", "--bots=greedy", "--anchors=random=18", "--games=8")
POINTS = 16
"""At which a run is ended by chance, evenly spread over it."""

SHARED = (
    "ronda_cli.places:place_of",
    "ronda_arena.discovery:discover",
    "ronda_arena.database:Folder.__enter__",
    "ronda_arena.database:Folder.head",
    "ronda_arena.database:Folder.fill",
    "ronda_arena.database:Folder.__exit__",
    "ronda_cli.places:Place.make",
    "ronda_arena.tournament.executors.here:Here.play",
    "ronda_cli.output:Progress.close",
)
OF_TOURNAMENTS = (
    "ronda_cli.tournament_wishes:wanted",
    "ronda_arena.tournament.run:Run.__init__",
    "ronda_arena.tournament.store:Store.add",
    "ronda_arena.tournament.deliver:summary",
    "ronda_arena.tournament.records:write",
    "ronda_arena.report.page:render",
    "ronda_arena.tournament.deliver:write_report",
    "ronda_cli.tournament_told:tell",
)
OF_LADDERS = (
    "ronda_arena.ladder.run:Run.__init__",
    "ronda_arena.ladder.run:Run.seat",
    "ronda_arena.ladder.store:Store.note",
    "ronda_arena.ladder.store:Store.seat",
    "ronda_arena.ladder.store:Store.end",
)
PHASES = [(TOURNAMENT, where) for where in SHARED + OF_TOURNAMENTS] + [
    (LADDER, where) for where in SHARED + OF_LADDERS
]


def interrupt(where: str, after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come when a function is called for the first time, or has done its work."""
    module, _, path = where.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    real, times = getattr(owner, name), iter([True])

    @functools.wraps(real)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        strikes = next(times, False)
        if strikes and not after:
            raise KeyboardInterrupt
        result = real(*args, **kwargs)
        if strikes:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, wrapped)


def place(command: tuple[str, ...], folder: Path) -> str:
    return f"--out={folder}" if command is TOURNAMENT else f"--dir={folder}"


def resumed(run: Run, told: str, command: tuple[str, ...], folder: Path) -> None:
    """Give the command that was named; it must go on to the end."""
    ronda, *words = shlex.split(told.splitlines()[-1].partition("go on with: ")[2])
    assert (ronda, *words[:2]) == ("ronda", *command[:2])
    if command is LADDER and "--games=8" not in words:
        words.append("--games=8")
    again = run(*words)
    assert again.exit_code == 0, again.stderr
    if command is TOURNAMENT:
        lines = (folder / "records.jsonl").read_text().splitlines()
        assert [(read(line).block, read(line).rotation) for line in lines] == [
            (0, 0),
            (0, 1),
            (1, 0),
            (1, 1),
        ]
    else:
        shown = run("ladder", "show", str(folder), "-o", "json")
        assert json.loads(shown.stdout)["games"] == 8


@pytest.mark.thorough
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("command", "where"), PHASES, ids=[f"{words[0]}-{where}" for words, where in PHASES]
)
def test_whatever_it_interrupts_the_command_that_goes_on_is_named(
    command: tuple[str, ...],
    where: str,
    after: bool,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "kept"
    with monkeypatch.context() as changed:
        interrupt(where, after, changed)
        result = run(*command, HERE, place(command, folder))
    assert result.exit_code == 130, result.stderr
    assert result.stderr.splitlines()[-1].startswith("interrupted; go on with: ronda ")
    assert "Traceback" not in result.stderr
    resumed(run, result.stderr, command, folder)


def calls(strike: Callable[[int], bool]) -> Callable[[FrameType, str, Any], Any]:
    """Count calls from a command's first one to its return; let Ctrl-C come at one of them."""
    count, inside = 0, False

    def of_command(_: FrameType, event: str, __: Any) -> Any:
        nonlocal inside
        inside = inside and event != "return"
        return of_command

    def traced(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count, inside
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith(("ronda_cli.", "ronda_arena.")):
            return None
        begins = module.endswith("_run") and frame.f_code.co_name == "run"
        inside = inside or begins
        count += inside
        if inside and strike(count):
            sys.settrace(None)
            raise KeyboardInterrupt
        return of_command if begins else None

    return traced


@pytest.mark.thorough
@pytest.mark.parametrize("command", [TOURNAMENT, LADDER], ids=["tournament", "ladder"])
def test_at_any_call_it_ends_in_words(
    command: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = 0  # calls of the run at hand
    lost: list[object] = []  # in a finalizer, where the program itself raises it once more
    monkeypatch.setattr(sys, "unraisablehook", lambda one: lost.append(one.exc_type))

    def watch(number: int) -> bool:
        nonlocal seen
        seen = number
        return False

    def ended_at(strike: Callable[[int], bool], name: str) -> Any:
        sys.settrace(calls(strike))
        try:
            return run(*command, HERE, place(command, tmp_path / name))
        finally:
            sys.settrace(None)

    assert ended_at(watch, "whole").exit_code == 0
    whole, struck = seen, 0
    for point in range(POINTS):
        at = 1 + point * whole // POINTS
        result = ended_at(lambda number, at=at: watch(number) or number == at, f"at{point}")
        if seen < at:  # other deals, and it was over before
            assert result.exit_code == 0
            continue
        if lost:  # `test_where_nothing_can_be_raised_it_is_not_lost` is about that
            assert lost == [KeyboardInterrupt]
            lost.clear()
            continue
        struck += 1
        assert result.exit_code == 130, (at, result.stderr)
        assert result.stderr.splitlines()[-1].startswith("interrupted; go on with: ronda ")
        assert "Traceback" not in result.stderr
    assert struck > POINTS // 2


@pytest.mark.parametrize("seed", [("--seed", "31337"), ("--seed=31337",)])
def test_no_seed_is_told_with_the_command_that_goes_on(
    seed: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        interrupt("ronda_arena.discovery:discover", False, changed)
        result = run(*TOURNAMENT, *seed, HERE, f"--out={tmp_path / 'kept'}")
    assert result.exit_code == 130
    assert "31337" not in result.stdout + result.stderr
    assert shlex.join(seed).replace("31337", "SEED") in result.stderr


@pytest.mark.parametrize("module", ["click", "ronda_cli.main", "ronda_cli.ladder_run"])
def test_while_modules_are_read_it_is_told_in_a_line_too(module: str) -> None:
    script = f"""
import builtins, signal, sys
sys.argv = ["ronda", "ladder", "run", "--dir=a b"]
from ronda_cli import start
real = builtins.__import__
def reads(name, *rest):
    if name == {module!r} or name == {module!r}.rpartition(".")[0] and rest[2:3] == (("x",),):
        signal.raise_signal(signal.SIGINT)
    return real(name, *rest)
import importlib
found = importlib.import_module
importlib.import_module = lambda name, *rest: (
    signal.raise_signal(signal.SIGINT) if name == {module!r} else None, found(name, *rest))[1]
builtins.__import__ = reads
start.main()
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment())
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip() == "interrupted; go on with: ronda ladder run '--dir=a b'"


def test_where_nothing_can_be_raised_it_is_not_lost() -> None:
    script = """
import signal, sys, time
from ronda_cli import start
sys.argv = ["ronda", "rules"]
import ronda_cli.main
class Last:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def run():
    last = Last()
    del last
    signal.pause()  # until it comes once more
ronda_cli.main.main = run
start.main()
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment(), timeout=60
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
