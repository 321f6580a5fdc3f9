"""Installing: one directory for each wheel, never touched again, with all that it requires."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.arena.home.wheels import BOT, NOW, ask, wheel
from tests.bots.plugins import install as plant
from tests.bots.plugins import list_files

from ronda_arena.home.archive import WheelError
from ronda_arena.home.found import found
from ronda_arena.home.install import Installed, install, uninstall
from ronda_arena.home.shelf import HomeError, home, installations
from ronda_bots.registry import assemble


def put(place: Path, *files: Path) -> Installed:
    return install(place, files, ask, now=lambda: NOW, taken=["greedy"])


def library(folder: Path, name: str, version: str = "1.0", requires: Sequence[str] = ()) -> Path:
    module = name.replace("-", "_")
    return wheel(
        folder, name, version, bots={}, files={f"{module}.py": "x = 1\n"}, requires=requires
    )


def names(place: Path) -> list[str]:
    return [one.place.name for one in installations(place)[0]]


def test_a_wheel_has_a_directory_with_its_name_version_and_hash(tmp_path: Path) -> None:
    file = wheel(tmp_path, "My.Bot-er", "1.0rc1", files={"My.Bot_er.py": ""}, bots={})
    file.unlink()
    file = wheel(tmp_path, "my-bot", "1.0")
    done = put(tmp_path / "home", file)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    assert done.new
    assert names(tmp_path / "home") == [f"my_bot-1.0-{sha256[:16]}"]
    assert done.installation.note.wheels == {file.name: sha256}
    assert done.installation.note.installed == NOW
    assert (done.installation.place / "bot/my_bot.py").read_text() == BOT.format(version="1.0")


def test_nothing_in_it_may_be_written_and_no_byte_code_is(tmp_path: Path) -> None:
    place = put(tmp_path / "home", wheel(tmp_path)).installation.place
    for folder, _, files in os.walk(place):
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o555
        for file in files:
            assert stat.S_IMODE((Path(folder) / file).stat().st_mode) == 0o444
            assert not file.endswith(".pyc")


def test_the_same_wheel_again_is_the_same_directory_and_says_so(tmp_path: Path) -> None:
    file = wheel(tmp_path)
    first = put(tmp_path / "home", file)
    before = first.installation.place.stat().st_ctime_ns
    again = put(tmp_path / "home", file)
    assert (again.installation, again.new) == (first.installation, False)
    assert first.installation.place.stat().st_ctime_ns == before


def test_the_same_wheel_again_tells_of_damage(tmp_path: Path) -> None:
    file = wheel(tmp_path)
    place = put(tmp_path / "home", file).installation.place
    (place / "bot/mine.py").chmod(0o644)
    (place / "bot/mine.py").write_text("x = 1\n")
    with pytest.raises(HomeError, match=r"mine.py has changed.*ronda bots uninstall mine-1.0-"):
        put(tmp_path / "home", file)


def test_a_directory_that_tells_nothing_is_replaced_by_its_wheel(tmp_path: Path) -> None:
    file = wheel(tmp_path)
    place = put(tmp_path / "home", file).installation.place
    place.chmod(0o755)
    (place / "install.json").unlink()
    assert [one.place for one in installations(tmp_path / "home")[1]] == [place]
    assert put(tmp_path / "home", file).new
    assert installations(tmp_path / "home")[1] == []


def test_versions_live_side_by_side_and_the_newest_answers_to_the_name(tmp_path: Path) -> None:
    for version in ("1.9", "1.10", "1.2"):
        put(tmp_path / "home", wheel(tmp_path, version=version))
    registry = assemble(found(tmp_path / "home").bots, ())
    assert [bot.identity for bot in registry.bots] == ["mine@1.2", "mine@1.9", "mine@1.10"]
    assert registry.find("mine").identity == "mine@1.10"
    assert registry.find("mine@1.9").version == "1.9"
    places = {bot.origin.path for bot in registry.bots if bot.origin}
    assert len(places) == 3


def test_another_wheel_of_one_version_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "home", wheel(tmp_path))
    other = wheel(tmp_path, metadata="Summary: built anew\n")
    with pytest.raises(HomeError, match=r"mine 1.0 is installed already, from another wheel"):
        put(tmp_path / "home", other)
    assert len(names(tmp_path / "home")) == 1


def test_a_bot_that_says_the_version_of_another_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "home", wheel(tmp_path))
    other = wheel(
        tmp_path, "rival", files={"rival.py": BOT.format(version="1.0")}, bots={"mine": "rival:Bot"}
    )
    with pytest.raises(HomeError, match=r"mine@1.0 is installed already, by mine-1.0-"):
        put(tmp_path / "home", other)
    assert len(names(tmp_path / "home")) == 1


def test_what_goes_is_gone_with_what_was_said_of_it(tmp_path: Path) -> None:
    place = put(tmp_path / "home", wheel(tmp_path)).installation.place
    assert uninstall(tmp_path / "home", place.name) == ("mine@1.0",)
    assert {one.name for one in (tmp_path / "home").iterdir()} == {".lock"}
    with pytest.raises(HomeError, match="there is no"):
        uninstall(tmp_path / "home", place.name)


@pytest.mark.parametrize("name", ["..", ".", ".lock", "state.json", "", "../given"])
def test_only_an_installation_can_be_taken_away(tmp_path: Path, name: str) -> None:
    put(tmp_path / "home", wheel(tmp_path / "given"))
    (tmp_path / "home/state.json").write_text('{"bots":{}}')
    with pytest.raises(HomeError, match="there is no"):
        uninstall(tmp_path / "home", name)
    assert (tmp_path / "given").is_dir()


class TestWhatItRequires:
    def test_what_is_missing_is_named_all_of_it(self, tmp_path: Path) -> None:
        file = wheel(tmp_path, requires=["near>=2", "far", 'old; python_version < "3"'])
        with pytest.raises(WheelError, match=r"requires near>=2, far: give the wheels of these"):
            put(tmp_path / "home", file)
        assert not (tmp_path / "home").exists()

    def test_what_those_require_is_missed_too(self, tmp_path: Path) -> None:
        file = wheel(tmp_path, requires=["near[more]"])
        near = library(tmp_path, "near", requires=["deep", 'deeper; extra == "more"'])
        with pytest.raises(WheelError, match="requires deep, deeper"):
            put(tmp_path / "home", file, near)

    def test_it_is_installed_with_it_and_read_with_it(self, tmp_path: Path) -> None:
        file = wheel(tmp_path, requires=["near >=1", 'no; extra == "x"', "ronda"])
        near = library(tmp_path, "near", "1.5", ["far-away"])
        far = library(tmp_path, "far-away")
        place = put(tmp_path / "home", far, file, near).installation.place
        (bot,) = found(tmp_path / "home").bots
        assert bot.origin
        folders = ("bot", "needs/far_away-1.0", "needs/near-1.5")
        assert bot.origin.path == tuple(str(place / folder) for folder in folders)
        assert bot.origin.reads == bot.origin.path
        assert bot.origin.listed == ()

    def test_another_version_of_it_is_refused(self, tmp_path: Path) -> None:
        file = wheel(tmp_path, requires=["near>=2"])
        with pytest.raises(WheelError, match=r"requires near>=2, and near-1.0-py3.* is another"):
            put(tmp_path / "home", file, library(tmp_path, "near"))

    def test_what_nothing_requires_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(WheelError, match="does not require near: leave it out"):
            put(tmp_path / "home", wheel(tmp_path), library(tmp_path, "near"))

    def test_two_bots_are_not_one(self, tmp_path: Path) -> None:
        file = wheel(tmp_path, requires=["rival"])
        with pytest.raises(WheelError, match=r"mine-1.0.*and rival-1.0.* have bots"):
            put(tmp_path / "home", file, wheel(tmp_path, "rival"))

    def test_a_package_given_twice_is_refused(self, tmp_path: Path) -> None:
        file = wheel(tmp_path, requires=["near"])
        both = [library(tmp_path, "near"), library(tmp_path, "near", "2.0")]
        with pytest.raises(WheelError, match="given twice"):
            put(tmp_path / "home", file, *both)

    def test_the_same_bot_with_other_wheels_is_refused(self, tmp_path: Path) -> None:
        file = wheel(tmp_path, requires=["near"])
        put(tmp_path / "home", file, library(tmp_path, "near"))
        with pytest.raises(HomeError, match="with other wheels of what it requires"):
            put(tmp_path / "home", file, library(tmp_path, "near", "2.0"))

    def test_a_version_of_ronda_that_this_is_not_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ronda_arena.home.needs.version", lambda _: "0.1.0")
        with pytest.raises(WheelError, match=r"requires ronda>=7, and this is ronda 0.1.0"):
            put(tmp_path / "home", wheel(tmp_path, requires=["ronda>=7"]))

    @pytest.mark.parametrize("marker", ['"a" < "b"', 'os_name ~= "x"'])
    def test_a_condition_that_cannot_be_understood_is_refused(
        self, tmp_path: Path, marker: str
    ) -> None:
        file = wheel(tmp_path, requires=[f"near; {marker}"])
        with pytest.raises(WheelError, match="what it requires cannot be understood: near"):
            put(tmp_path / "home", file)

    def test_an_extra_of_ronda_brings_what_the_environment_has_of_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site = tmp_path / "site"
        plant(site, "ronda", {}, requires=['learning; extra == "gym"', "server-thing"])
        for name in ("learning", "server_thing"):
            plant(site, name, {}, modules={name: "x = 1\n"})
            list_files(site, site / f"{name}-0.9.dist-info", f"{name}.py")
        monkeypatch.setattr(sys, "path", [str(site)])
        put(tmp_path / "home", wheel(tmp_path, requires=["ronda[gym]"]))
        (bot,) = found(tmp_path / "home").bots
        assert bot.origin
        assert [Path(one).name for one in bot.origin.reads] == ["bot", "learning.py"]
        assert bot.origin.listed == (str(site),)


class TestWhereItIs:
    def test_it_is_where_the_environment_says(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RONDA_BOTS_DIR", str(tmp_path))
        assert home() == tmp_path

    def test_else_it_is_among_the_users_data(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("RONDA_BOTS_DIR", raising=False)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert home() == tmp_path / "ronda/bots"
        monkeypatch.delenv("XDG_DATA_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert home() == tmp_path / ".local/share/ronda/bots"

    def test_where_there_is_none_there_is_no_bot(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        for place in (tmp_path / "nothing", tmp_path / "file"):
            assert installations(place) == ([], [])
            assert found(place).bots == []
