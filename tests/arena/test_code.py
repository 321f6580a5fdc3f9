"""What a bot is by its code: the same to the byte under whatever name, and nothing else."""

from __future__ import annotations

import os
import py_compile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.arena.home.wheels import NOW, ask, wheel
from tests.bots.plugins import bot_module, install
from tests.bots.tables import info

from ronda_arena.code import code
from ronda_arena.discovery import discover
from ronda_arena.home.install import install as keep
from ronda_arena.isolation import Level
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


def a_module_among_the_compiled(place: Path) -> Path:
    (place / "__pycache__").mkdir()
    return place / "__pycache__" / "impl.py"


def compiled_without_a_source(place: Path) -> Path:
    (place / "__pycache__").mkdir()
    return place / "__pycache__" / "gone.cpython-311.pyc"


def a_linked_module(place: Path) -> Path:
    (place / "linked.py").symlink_to("../linked.py")
    return place.parent / "linked.py"


def a_linked_folder(place: Path) -> Path:
    (place.parent / "out").mkdir()
    (place / "linked").symlink_to("../out")
    return place.parent / "out" / "linked.py"


@pytest.mark.parametrize(
    "made",
    [a_module_among_the_compiled, compiled_without_a_source, a_linked_module, a_linked_folder],
)
def test_whatever_can_be_imported_is_in_it(made: Callable[[Path], Path], tmp_path: Path) -> None:
    bot = package(tmp_path)
    file = made(tmp_path / "mine")
    file.write_text("v = 1")
    before = code(bot)
    file.write_text("v = 2")
    assert code(bot) not in ("", before)


@pytest.mark.parametrize("link", ["gone", ".", "/"])
def test_of_a_package_with_a_link_that_has_no_end_nothing_is_said(
    link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = package(tmp_path)
    monkeypatch.setattr("ronda_arena.code._MOST_FILES", 50)
    assert code(bot)
    (tmp_path / "mine" / "link").symlink_to(link)
    assert code(bot) == ""


def test_a_worker_plays_the_source_of_a_bot_whatever_byte_code_there_is_of_it(
    tmp_path: Path,
) -> None:
    install(tmp_path, "mine", {"mine": "theirs:Bot"}, modules={"theirs": bot_module("1")})
    source = tmp_path / "theirs.py"
    told = source.read_text()
    noted = source.stat()
    assert told.count('"1"') == 1
    for text in (told.replace('"1"', '"2"'), told):
        source.write_text(text)
        os.utime(source, ns=(noted.st_atime_ns, noted.st_mtime_ns))
        if text != told:
            py_compile.compile(str(source))
    found = discover(path=[str(tmp_path)], level=Level.PROCESS)  # a sandbox keeps it away itself
    assert found.find("mine").version == "1"


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
