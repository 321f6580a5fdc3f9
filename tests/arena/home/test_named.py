"""Who names bots has their directories looked through, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.arena.home.wheels import NOW, ask, wheel

from ronda_arena.discovery import discover
from ronda_arena.home import seal
from ronda_arena.home.found import found
from ronda_arena.home.install import install
from ronda_arena.home.standing import enable
from ronda_bots.registry import BotNotFoundError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two versions of a bot, and another bot."""
    for name, version in (("mine", "1.0"), ("mine", "2.0"), ("other", "1.0")):
        file = wheel(tmp_path / "given", name, version)
        install(tmp_path / "home", [file], ask, now=lambda: NOW)
    return tmp_path / "home"


@pytest.fixture
def read(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return the packages of which files have been read since it was last asked."""
    folders: set[str] = set()
    whole = seal.digest

    def digest(file: Path) -> str:
        folders.add(file.relative_to(home).parts[0])
        return whole(file)

    monkeypatch.setattr(seal, "digest", digest)

    def told() -> list[str]:
        seen = sorted(folder.rpartition("-")[0] for folder in folders)
        folders.clear()
        return seen

    return told


@pytest.mark.parametrize(
    ("names", "looked_at"),
    [
        (None, ["mine-1.0", "mine-2.0", "other-1.0"]),
        ([], []),
        (["mine"], ["mine-1.0", "mine-2.0"]),
        (["mine@2.0"], ["mine-2.0"]),
        (["mine@1.0", "other"], ["mine-1.0", "other-1.0"]),
        (["mine@3.0", "othe", "greedy"], []),
    ],
)
def test_only_what_is_named_is_read(
    home: Path, read: Callable[[], list[str]], names: Sequence[str] | None, looked_at: list[str]
) -> None:
    kept = found(home, names=names)
    assert read() == looked_at
    identities = [one.replace("-", "@") for one in looked_at]
    assert [bot.identity for bot in kept.bots] == identities
    assert sorted(kept.passed) == sorted({"mine@1.0", "mine@2.0", "other@1.0"} - {*identities})
    discover([], home=home, names=names)
    assert read() == looked_at


def test_damage_elsewhere_is_nothing_to_who_names_another(home: Path) -> None:
    (hurt,) = home.glob("other-*")
    hurt.chmod(0o700)
    (hurt / "more").write_text("")
    assert [broken.name for broken in found(home).broken] == ["other"]
    assert found(home, names=["mine"]).broken == []
    assert [broken.name for broken in found(home, names=["other"]).broken] == ["other"]


def test_the_newest_that_may_play_is_found_by_its_name_alone(home: Path) -> None:
    assert discover([], home=home, names=["mine"]).find("mine").version == "2.0"
    enable(home, "mine@2.0", enabled=False)
    assert discover([], home=home, names=["mine"]).find("mine").version == "1.0"


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [("mine@3.0", "mine@1.0 or mine@2.0"), ("mien", "mine"), ("othr@1.0", "other")],
)
def test_what_was_passed_by_is_still_offered_to_who_has_mistyped(
    home: Path, wanted: str, hint: str
) -> None:
    registry = discover([], home=home, names=[wanted])
    with pytest.raises(BotNotFoundError, match=rf"did you mean {hint}\?"):
        registry.find(wanted)
