"""What plugins say of themselves is kept; what keeps them from saying it costs nobody else."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.bots.plugins import bot_module, install, list_files

from ronda_arena import discovery, hearsay
from ronda_arena.discovery import discover
from ronda_arena.hearsay import PROBLEM_SECONDS, Said
from ronda_arena.isolation import Level, Limits
from ronda_arena.worker.nursery import Nursery
from ronda_bots.installed import Plugin
from ronda_bots.registry import BotNotFoundError

HANGS = "import time\nwhile True: time.sleep(1000)"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Answers:
    """What plugins answer here, and who was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.problem = ""

    def ask(self, plugin: Plugin, _nursery: Nursery, _level: Level) -> Said:
        self.asked.append(plugin.name)
        return Said(problem=self.problem) if self.problem else Said("1")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    made = Answers()
    monkeypatch.setattr(discovery, "_ask", made.ask)
    return made


def site(tmp_path: Path, *names: str, source: str = "") -> list[str]:
    """Install a package for each bot, with the list of its files."""
    folder = tmp_path / "site"
    for name in names:
        install(folder, name, {name: f"{name}:Bot"}, modules={name: source or bot_module("1")})
        info = folder / f"{name}-0.9.dist-info"
        listed = ("METADATA", "entry_points.txt", "RECORD")
        list_files(folder, info, *(f"{info.name}/{one}" for one in listed), f"{name}.py")
    return [str(folder)]


def seen(path: Sequence[str], answers: Answers, level: Level = Level.SANDBOX) -> list[str]:
    """Return whom a list of all bots asks now."""
    answers.asked = []
    discover(path, level=level)
    return sorted(answers.asked)


def test_only_who_is_named_is_asked(tmp_path: Path, answers: Answers) -> None:
    path = site(tmp_path, "mine", "other", "third")
    registry = discover(path, names=["mine@1"])
    assert answers.asked == ["mine"]
    assert [bot.identity for bot in registry.bots] == ["mine@1"]
    assert registry.unasked == ("other", "third")
    with pytest.raises(BotNotFoundError, match=r"did you mean other or third\?"):
        registry.find("othr")
    assert discover(path, names=[]).bots == ()
    assert answers.asked == ["mine"]


def test_who_has_hung_is_not_waited_for_by_every_list(tmp_path: Path, answers: Answers) -> None:
    path = site(tmp_path, "hung", "sound")
    answers.problem = "cannot be imported: no answer within 10 s"
    assert seen(path, answers) == ["hung", "sound"]
    assert seen(path, answers) == []
    problems = [one.problem for one in discover(path).broken]
    assert problems == [f"{name}:Bot {answers.problem}" for name in ("hung", "sound")]


@pytest.mark.parametrize(
    "change", ["its files", "its neighbours", "the time", "the clock", "level"]
)
def test_a_problem_is_asked_about_again_when_it_may_be_over(
    tmp_path: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = site(tmp_path, "bad")
    now = 1_000_000.0
    monkeypatch.setattr(hearsay.time, "time", lambda: now)
    answers.problem = "cannot be imported: ImportError"
    assert seen(path, answers) == ["bad"]
    assert seen(path, answers) == []
    level = Level.SANDBOX
    if change == "its files":
        Path(path[0], "bad.py").write_text(bot_module("2"))
    elif change == "its neighbours":
        os.utime(path[0], ns=(0, 0))  # what installing anything does to a folder
    elif change == "level":
        level = Level.PROCESS
    else:
        now += PROBLEM_SECONDS if change == "time" else -1
    answers.problem = ""
    assert seen(path, answers, level) == ["bad"]
    now += 10 * PROBLEM_SECONDS
    assert seen(path, answers) == []  # an answer holds until the files change


def test_who_is_named_is_asked_again_after_a_problem(tmp_path: Path, answers: Answers) -> None:
    path = site(tmp_path, "bad")
    answers.problem = "cannot be imported: ImportError"
    assert seen(path, answers) == ["bad"]
    answers.problem = ""
    assert discover(path, names=["bad"]).find("bad").version == "1"
    assert answers.asked == ["bad", "bad"]
    assert seen(path, answers) == []


def test_plugins_are_asked_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(4)

    def ask(*_: object) -> Said:
        together.wait(timeout=60)  # it breaks, and fails the test, where the others come later
        return Said("1")

    monkeypatch.setattr(discovery, "_ask", ask)
    assert len(discover(site(tmp_path, "one", "two", "three", "four")).bots) == 4


def test_a_plugin_that_hangs_is_told_with_how_long_it_had(tmp_path: Path) -> None:
    path = site(tmp_path, "hung", source=HANGS)
    with Nursery(Limits(start_seconds=0.2)) as nursery:
        (told,) = discover(path, nursery).broken
    with Nursery(Limits(start_seconds=0.1)) as nursery:
        assert discover(path, nursery).broken == (told,)
        assert not nursery.pid  # nothing was started to hear it again
    assert told.problem == "hung:Bot cannot be imported: no answer within 0.2 s"


def test_whoever_is_interrupted_does_not_wait_for_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site(tmp_path, "first")
    path = site(tmp_path, "hung", source=HANGS)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hearsay, "keep", interrupt)
    with Nursery(Limits(start_seconds=3600.0)) as nursery, pytest.raises(KeyboardInterrupt):
        discover(path, nursery)


def test_a_damaged_or_forged_answer_is_asked_again(tmp_path: Path, answers: Answers) -> None:
    path = site(tmp_path, "mine")
    discover(path)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    whole = kept.read_bytes()
    for damaged in (b"", whole[:-1], b"{}", whole.replace(b'"1"', b'"1 0"')):
        kept.write_bytes(damaged)
        assert seen(path, answers) == ["mine"]
        assert kept.read_bytes() != damaged
