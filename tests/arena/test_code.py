"""What a bot is by its code: the same to the byte under whatever name, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.arena.home.wheels import NOW, ask, wheel
from tests.bots.plugins import bot_module, install
from tests.bots.tables import info

from ronda_arena.code import code
from ronda_arena.discovery import discover
from ronda_arena.home.install import install as keep
from ronda_bots.greedy import Greedy
from ronda_bots.registry import BotInfo, Origin


def module(folder: Path, name: str = "mine", source: str = "class Bot: pass") -> BotInfo:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    return of(folder, name)


def package(folder: Path, name: str = "mine", **files: str) -> BotInfo:
    (folder / name / "deep").mkdir(parents=True)
    for at, text in {"__init__": "", "bot": "class Bot: pass", **files}.items():
        (folder / name / f"{at}.py").write_text(text)
    (folder / name / "deep" / "weights.bin").write_bytes(b"\0\1")
    return of(folder, f"{name}.bot")


def of(folder: Path, name: str, attribute: str = "Bot") -> BotInfo:
    origin = Origin(name, attribute, path=(str(folder),))
    return BotInfo(name, "1", name, "1", "", None, origin)


def test_every_bot_of_ronda_is_another_and_the_same_each_time() -> None:
    found = {bot.identity: code(bot) for bot in discover().bots}
    assert len(found) >= 6
    assert len({*found.values()}) == len(found)
    assert all(len(one) == 64 for one in found.values())
    assert found == {bot.identity: code(bot) for bot in discover().bots}


@pytest.mark.parametrize("made", [module, package])
def test_the_same_code_is_the_same_in_another_place_under_another_name(
    made: Callable[..., BotInfo], tmp_path: Path
) -> None:
    first, second = made(tmp_path / "here", "mine"), made(tmp_path / "there", "other")
    assert code(first)
    assert code(first) == code(second)


def a_byte(place: Path) -> None:
    (place / "bot.py").write_text("class Bot: pass\n")


def a_file_more(place: Path) -> None:
    (place / "more.py").touch()


def a_file_less(place: Path) -> None:
    (place / "deep" / "weights.bin").unlink()


def data(place: Path) -> None:
    (place / "deep" / "weights.bin").write_bytes(b"\1\0")


def a_name(place: Path) -> None:
    (place / "deep" / "weights.bin").rename(place / "deep" / "weights.old")


@pytest.mark.parametrize("change", [a_byte, a_file_more, a_file_less, data, a_name])
def test_whatever_changes_in_a_package_makes_it_another(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    bot = package(tmp_path)
    before = code(bot)
    change(tmp_path / "mine")
    assert code(bot) not in ("", before)


def test_what_python_leaves_beside_the_code_is_none_of_it(tmp_path: Path) -> None:
    bot = package(tmp_path)
    before = code(bot)
    compiled = tmp_path / "mine" / "__pycache__"
    compiled.mkdir()
    (compiled / "bot.cpython-311.pyc").write_bytes(b"compiled")
    (compiled / "bot.cpython-311.pyc.123").write_bytes(b"half")
    assert code(bot) == before


def test_two_classes_of_one_module_are_two_bots(tmp_path: Path) -> None:
    module(tmp_path)
    assert code(of(tmp_path, "mine", "Bot")) != code(of(tmp_path, "mine", "Other"))


def test_of_what_cannot_be_read_nothing_is_said(tmp_path: Path) -> None:
    assert code(info(Greedy)) == ""  # a class, and nothing else
    assert code(of(tmp_path, "mine")) == ""
    assert code(of(tmp_path / "gone", "mine")) == ""


def test_a_bot_is_the_same_in_the_environment_and_where_bots_are_kept(tmp_path: Path) -> None:
    keep(tmp_path / "home", [wheel(tmp_path / "given")], ask, now=lambda: NOW)
    (kept,) = [bot for bot in discover(path=[], home=tmp_path / "home").bots if bot.name == "mine"]
    place = Path(kept.origin.path[0], "mine.py") if kept.origin else Path()
    install(tmp_path / "site", "other", {"other": "theirs:Bot"}, modules={"theirs": bot_module("")})
    (tmp_path / "site" / "theirs.py").write_bytes(place.read_bytes())
    assert code(kept) == code(of(tmp_path / "site", "theirs")) != ""
