"""Kept bots play in workers, read nothing but their own, and are not run when they have changed."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.arena.home.wheels import BOT, NOW, wheel

from ronda_arena.discovery import asking, discover
from ronda_arena.home.found import check_seal, found
from ronda_arena.home.install import Installed, install, uninstall
from ronda_arena.home.shelf import installations
from ronda_arena.home.standing import enable
from ronda_arena.isolation import IsolationError, Level
from ronda_arena.seating import InProcess, Isolated, probe
from ronda_arena.table import play_match
from ronda_arena.worker.nursery import Nursery
from ronda_bots.about import UnfitError
from ronda_bots.registry import BotInfo, load
from ronda_core.record import Record
from ronda_core.rules import settings

SPY = '''
import os

class Bot:
    """Looks around."""
    version = "1"
    def __init__(self, seat, rng):
        home = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        told = []
        for place in {places!r}:
            try:
                open(os.path.join(home, place)).read()
                told.append("read " + place)
            except IsADirectoryError:
                told.append("opened " + place)
            except PermissionError:
                pass
        try:
            told += os.listdir(home)
        except PermissionError:
            pass
        assert open(__file__).read(), "its own it may read"
        assert not told, told
    def play(self, view): return view.hand[0]
'''


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as started:
        yield started


@pytest.fixture(scope="module")
def sandbox(nursery: Nursery) -> Isolated:
    if probe(nursery).level is not Level.SANDBOX:
        pytest.skip("no sandbox here")
    return Isolated(nursery)


def put(home: Path, nursery: Nursery, *files: Path) -> Installed:
    return install(home, files, asking(nursery), now=lambda: NOW)


def play(seating: Isolated, *bots: BotInfo) -> Record:
    return play_match(
        "m",
        settings("playtash", len(bots), length=1),
        bots,
        secrets.token_bytes(32),
        now=lambda: NOW,
        seating=seating,
    )


def only(home: Path) -> BotInfo:
    (bot,) = found(home).bots
    return bot


@contextmanager
def writable(file: Path) -> Iterator[Path]:
    """Let a file be written by whoever is not root, and put its mode back."""
    modes = [(one, one.stat().st_mode) for one in (file.parent, file) if one.exists()]
    for one, mode in modes:
        one.chmod(mode | 0o200)
    yield file
    for one, mode in modes:
        if one.exists():
            one.chmod(mode)


def test_two_versions_play_each_other_each_with_its_own_module(
    tmp_path: Path, nursery: Nursery, sandbox: Isolated
) -> None:
    for version, card in (("1.0", "0"), ("2.0", "-1")):
        source = BOT.format(version=version).replace("[0]", f"[{card}]")
        put(tmp_path / "home", nursery, wheel(tmp_path, version=version, files={"mine.py": source}))
    registry = discover(nursery=nursery, home=tmp_path / "home")
    bots = [registry.find("mine@1.0"), registry.find("mine@2.0")]
    record = play(sandbox, *bots)
    assert record.seats == ("mine@1.0", "mine@2.0")
    assert record.fault is None
    assert record.isolation == ("sandbox", "sandbox")
    assert registry.find("mine").version == "2.0"


def test_a_bot_reads_neither_a_rivals_directory_nor_who_may_play(
    tmp_path: Path, nursery: Nursery, sandbox: Isolated
) -> None:
    home = tmp_path / "home"
    rival = put(home, nursery, wheel(tmp_path, "rival")).installation.place
    enable(home, "rival@1.0", enabled=False)
    places = (
        "state.json",
        ".lock",
        rival.name,
        f"{rival.name}/install.json",
        f"{rival.name}/bot/rival.py",
    )
    assert all((home / place).exists() for place in places)
    put(home, nursery, wheel(tmp_path, "spy", files={"spy.py": SPY.format(places=places)}))
    spy = only(home)
    record = play(sandbox, spy, spy)
    assert record.fault is None
    # Where nothing is shut in, the same bot finds all of it: so it does look.
    loose = Isolated(nursery, want=Level.PROCESS, minimum=Level.PROCESS)
    assert play(loose, spy, spy).fault


def test_what_a_bot_requires_comes_from_its_own_directory(
    tmp_path: Path, nursery: Nursery, sandbox: Isolated
) -> None:
    source = "import needed, numpy\nassert numpy.OWN\n" + BOT.format(version="1.0")
    mine = wheel(tmp_path, files={"mine.py": source}, requires=["needed", "numpy"])
    needed = wheel(tmp_path, "needed", bots={}, files={"needed/__init__.py": ""})
    numpy = wheel(tmp_path, "numpy", bots={}, files={"numpy/__init__.py": "OWN = True"})
    put(tmp_path / "home", nursery, mine, needed, numpy)
    bot = only(tmp_path / "home")
    for seating in (sandbox, Isolated(nursery, want=Level.PROCESS, minimum=Level.PROCESS)):
        assert play(seating, bot, bot).fault is None


def test_packages_of_the_environment_are_not_a_bots_to_use(
    tmp_path: Path, nursery: Nursery, sandbox: Isolated
) -> None:
    source = "import numpy\n" + BOT.format(version="1.0")
    with pytest.raises(UnfitError, match="cannot be imported"):
        put(tmp_path / "home", nursery, wheel(tmp_path, files={"mine.py": source}))
    assert [one.name for one in (tmp_path / "home").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("raise ValueError('no')", "cannot be imported: ValueError: no"),
        ("import os; os._exit(3)", "cannot be imported"),
        ("class Bot: version = '1'", "has no method play"),
        ("class Bot:\n  def play(self, view): pass", "has no version"),
        ("class Bot:\n  version = 'a b'\n  def play(self, view): pass", "version of other than"),
    ],
)
def test_what_is_no_bot_is_not_installed(
    source: str, problem: str, tmp_path: Path, nursery: Nursery
) -> None:
    with pytest.raises(UnfitError, match=problem):
        put(tmp_path / "home", nursery, wheel(tmp_path, files={"mine.py": source}))
    assert [one.name for one in (tmp_path / "home").iterdir()] == [".lock"]


def test_a_kept_bot_never_runs_in_this_process(tmp_path: Path, nursery: Nursery) -> None:
    source = "import sys\nsys.ronda_was_here = True\n" + BOT.format(version="1.0")
    put(tmp_path / "home", nursery, wheel(tmp_path, files={"mine.py": source}))
    bot = only(tmp_path / "home")
    with pytest.raises(IsolationError, match="installed apart from ronda"):
        InProcess().level(bot)
    with pytest.raises(ValueError, match="never imported here"):
        load(bot)
    assert not hasattr(sys, "ronda_was_here")


def test_nothing_is_written_by_playing(tmp_path: Path, nursery: Nursery, sandbox: Isolated) -> None:
    home = tmp_path / "home"
    place = put(home, nursery, wheel(tmp_path)).installation.place
    before = {path: path.lstat().st_ctime_ns for path in place.rglob("*")}
    bot = only(home)
    for seating in (sandbox, Isolated(nursery, want=Level.PROCESS, minimum=Level.PROCESS)):
        assert play(seating, bot, bot).fault is None
    assert {path: path.lstat().st_ctime_ns for path in place.rglob("*")} == before


class TestTampering:
    @pytest.fixture
    def home(self, tmp_path: Path, nursery: Nursery) -> Path:
        put(tmp_path / "home", nursery, wheel(tmp_path))
        return tmp_path / "home"

    @staticmethod
    def place(home: Path) -> Path:
        (bot,) = found(home).bots
        assert bot.origin
        return Path(bot.origin.installation)

    def test_a_changed_file_is_noticed_when_bots_are_looked_for(self, home: Path) -> None:
        with writable(self.place(home) / "bot/mine.py") as file:
            file.write_text(file.read_text() + "# more\n")
        assert found(home).bots == []
        (broken,) = found(home).broken
        assert broken.name == "mine"
        assert broken.problem.startswith("bot/mine.py has changed since it was installed")

    def test_so_is_one_of_the_same_size_and_times(self, home: Path) -> None:
        with writable(self.place(home) / "bot/mine.py") as file:
            was = file.stat()
            file.write_text(file.read_text().replace("hand[0]", "hand[1]"))
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
        assert "bot/mine.py has changed" in found(home).broken[0].problem

    @pytest.mark.parametrize("name", ["bot/more.py", "more.py", "bot/mine-1.0.dist-info/x"])
    def test_so_is_a_file_more(self, home: Path, name: str) -> None:
        place = self.place(home)
        with writable(place / name) as file:
            file.write_text("x = 1\n")
        assert f"{name} was not installed with it" in found(home).broken[0].problem

    def test_so_is_a_file_less(self, home: Path) -> None:
        with writable(self.place(home) / "bot/mine.py") as file:
            file.unlink()
        assert "bot/mine.py is gone" in found(home).broken[0].problem

    def test_so_is_a_link_in_the_place_of_a_file(self, home: Path, tmp_path: Path) -> None:
        with writable(self.place(home) / "bot/mine.py") as file:
            other = tmp_path / "other.py"
            file.rename(other)
            file.symlink_to(other)
        assert "bot/mine.py has changed" in found(home).broken[0].problem

    def test_a_worker_is_not_started_from_what_has_changed_since(
        self, home: Path, sandbox: Isolated
    ) -> None:
        bot = only(home)
        check_seal(bot)
        with writable(self.place(home) / "bot/mine.py") as file:
            file.write_text("raise SystemExit\n")
        with pytest.raises(IsolationError, match=r"mine@1.0 is not run: bot/mine.py has changed"):
            play(sandbox, bot, bot)

    def test_nor_from_what_is_gone(self, home: Path, sandbox: Isolated) -> None:
        bot = only(home)
        place = self.place(home)
        place.rename(home / "elsewhere")
        with pytest.raises(IsolationError, match="its directory is gone"):
            play(sandbox, bot, bot)

    def test_what_only_looks_changed_is_looked_at_and_run(
        self, home: Path, sandbox: Isolated
    ) -> None:
        bot = only(home)
        os.utime(self.place(home) / "bot/mine.py")
        assert play(sandbox, bot, bot).fault is None

    def test_what_is_taken_away_meanwhile_is_told(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        there = installations(home)
        uninstall(home, self.place(home).name)
        monkeypatch.setattr("ronda_arena.home.found.installations", lambda _: there)
        assert "it cannot be read: No such file" in found(home).broken[0].problem

    def test_a_directory_with_another_name_is_none(self, home: Path) -> None:
        place = self.place(home)
        place.rename(place.with_name("mine-1.0-0123456789abcdef"))
        assert found(home).bots == []
        assert "install.json cannot be read" in found(home).broken[0].problem

    def test_one_bad_directory_keeps_nobody_else_from_playing(
        self, home: Path, tmp_path: Path, nursery: Nursery
    ) -> None:
        (home / "nonsense").mkdir()
        put(home, nursery, wheel(tmp_path, "other"))
        kept = found(home)
        assert [bot.name for bot in kept.bots] == ["mine", "other"]
        assert [broken.distribution for broken in kept.broken] == ["nonsense"]
