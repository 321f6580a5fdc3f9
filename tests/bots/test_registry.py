"""Plugins are found by their entry points; a bad one is named, and the rest goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.bots.plugins import bot_module, importable, install, install_built_in

from ronda_arena.discovery import discover
from ronda_bots.registry import BotNotFoundError, BrokenBot, Registry

HOSTILE = """
class Meta(type):
    @property
    def version(cls): raise SystemExit('gotcha')
class Bot(metaclass=Meta):
    def play(self, view): ...
"""


def found(*folders: Path) -> Registry:
    with importable(*folders) as path:
        return discover(path)


def broken(registry: Registry) -> dict[str, str]:
    return {bot.name: bot.problem for bot in registry.broken}


def test_the_built_in_bots_come_by_the_same_entry_points_as_everybody(tmp_path: Path) -> None:
    install_built_in(tmp_path)
    registry = found(tmp_path)
    assert not registry.broken
    assert [bot.identity for bot in registry.bots] == [
        "careful@1.0.0",
        "counter@1.0.0",
        "greedy@1.0.0",
        "random@1.0.0",
        "sampler@1.0.0",
        "solver@1.0.0",
    ]
    for bot in registry.bots:
        assert bot.distribution == "ronda"
        assert bot.distribution_version
        assert bot.description.endswith(".")


def test_a_source_tree_that_is_not_installed_has_no_bots_and_no_trouble(tmp_path: Path) -> None:
    assert found(tmp_path) == Registry((), ())


def test_a_plugin_is_told_with_where_it_comes_from(tmp_path: Path) -> None:
    install(
        tmp_path,
        "my-bots",
        {"first": "first_mod:Bot"},
        modules={"first_mod": bot_module("3")},
    )
    (bot,) = found(tmp_path).bots
    assert bot.identity == "first@3"
    assert bot.description == "Plays the first card."
    assert (bot.distribution, bot.distribution_version) == ("my-bots", "0.9")


@pytest.mark.parametrize(
    ("value", "source", "problem"),
    [
        ("bad:Bot", "raise RuntimeError('no such luck')", "RuntimeError: no such luck"),
        ("bad:Bot", "import sys; sys.exit(3)", "SystemExit: 3"),
        ("bad:Bot", "def (", "SyntaxError"),
        ("bad:Bot", "", "AttributeError"),
        ("nowhere_to_be_found:Bot", "", "ModuleNotFoundError"),
        ("bad", "", "is no module:class"),
        ("bad:Bot", "Bot = 7", "is no class"),
        ("not a value", "", "is no module:class"),
        ("bad:Bot", "class Bot:\n    version = '1'", "has no method play"),
        ("bad:Bot", "class Bot:\n    version = '1'\n    play = 3", "has no method play"),
        ("bad:Bot", "class Bot:\n    def play(self, view): ...", "has no version"),
        (
            "bad:Bot",
            "class Bot:\n    version = 1.0\n    def play(self, view): ...",
            "has no version",
        ),
        ("bad:Bot", bot_module("1 0"), "letters, digits and . + - _"),
        ("bad:Bot", bot_module("1@0"), "letters, digits and . + - _"),
        ("bad:Bot", bot_module(""), "letters, digits and . + - _"),
        ("bad:Bot", bot_module("1" * 65), "letters, digits and . + - _"),
        ("bad:Bot", HOSTILE, "SystemExit: gotcha"),
    ],
)
def test_a_broken_plugin_is_named_and_the_rest_goes_on(
    tmp_path: Path, value: str, source: str, problem: str
) -> None:
    install(tmp_path, "bad-bots", {"bad": value}, modules={"bad": source})
    install(tmp_path, "good-bots", {"good": "good:Bot"}, modules={"good": bot_module("1.0")})
    registry = found(tmp_path)
    assert [bot.identity for bot in registry.bots] == ["good@1.0"]
    (culprit,) = registry.broken
    assert (culprit.name, culprit.distribution) == ("bad", "bad-bots")
    assert problem in culprit.problem
    assert value in culprit.problem


@pytest.mark.parametrize("name", ["two words", "dot.ted", "at@sign", "é", "x" * 65])
def test_a_name_of_other_characters_is_refused_before_its_code_runs(
    tmp_path: Path, name: str
) -> None:
    install(tmp_path, "odd", {name: "odd_mod:Bot"}, modules={"odd_mod": "raise KeyboardInterrupt"})
    registry = found(tmp_path)
    assert not registry.bots
    assert broken(registry) == {name: "a bot's name has 1 to 64 letters, digits, - and _"}


def test_a_plugin_is_never_imported_where_it_is_looked_for(tmp_path: Path) -> None:
    install(
        tmp_path,
        "spy",
        {"spy": "spy_mod:Bot"},
        modules={"spy_mod": f"import sys; sys.touched = True\n{bot_module('1')}"},
    )
    (spy,) = found(tmp_path).bots
    assert spy.bot_class is None
    assert not hasattr(sys, "touched")
    assert "spy_mod" not in sys.modules


def test_metadata_that_cannot_be_read_stops_nobody(tmp_path: Path) -> None:
    install(tmp_path, "good-bots", {"good": "good:Bot"}, modules={"good": bot_module("1.0")})
    (tmp_path / "empty-1.0.dist-info").mkdir()
    for name in ("nameless", "namesake"):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "entry_points.txt").write_text(f"[ronda.bots]\n{name} = good:Bot\n")
    garbled = tmp_path / "garbled-1.0.dist-info"
    garbled.mkdir()
    (garbled / "METADATA").write_text("Name: garbled\n")
    (garbled / "entry_points.txt").write_bytes(b"[ronda.bots]\n\xff = good:Bot\n")
    registry = found(tmp_path)
    assert [bot.name for bot in registry.bots] == ["good", "nameless", "namesake"]
    assert [bot.distribution for bot in registry.broken] == ["garbled"]


def test_two_of_one_name_and_version_are_both_refused_by_name(tmp_path: Path) -> None:
    for package in ("one-bots", "two-bots"):
        module = package.replace("-", "_")
        install(
            tmp_path,
            package,
            {"twin": f"{module}:Bot", f"own-{module}": f"{module}:Bot"},
            modules={module: bot_module("1.0")},
        )
    registry = found(tmp_path)
    assert [bot.name for bot in registry.bots] == ["own-one_bots", "own-two_bots"]
    problem = "twin@1.0 comes twice: from one-bots and two-bots"
    assert registry.broken == (
        BrokenBot("twin", "one-bots", problem),
        BrokenBot("twin", "two-bots", problem),
    )
    with pytest.raises(BotNotFoundError, match="comes twice: from one-bots and two-bots"):
        registry.find("twin")


def test_one_distribution_found_twice_is_no_clash(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    source = bot_module("1.0")
    install(first, "echo-bots", {"echo": "echo_mod:Bot"}, version="2", modules={"echo_mod": source})
    # The same name as pip compares names, further down the path: the first is what is imported.
    install(
        second, "Echo_Bots", {"echo": "echo_mod:Bot"}, version="1", modules={"echo_mod": source}
    )
    registry = found(first, second, first)
    assert not registry.broken
    (echo,) = registry.bots
    assert (echo.distribution, echo.distribution_version) == ("echo-bots", "2")


def test_two_versions_of_one_name_live_side_by_side_and_the_newest_is_meant(tmp_path: Path) -> None:
    versions = ["1.9", "1.10", "2.0", "2.0rc1", "2.0-beta.2", "2.0+local"]
    for number, version in enumerate(versions):
        install(
            tmp_path,
            f"bots-{number}",
            {"many": f"many_{number}:Bot"},
            modules={f"many_{number}": bot_module(version)},
        )
    registry = found(tmp_path)
    assert [bot.version for bot in registry.bots] == [
        "1.9",
        "1.10",
        "2.0rc1",
        "2.0-beta.2",
        "2.0",
        "2.0+local",
    ]
    assert registry.find("many").version == "2.0+local"
    assert registry.find("many@1.9").distribution == "bots-0"


def test_a_bot_that_is_not_there_is_answered_with_those_that_are_close(tmp_path: Path) -> None:
    install_built_in(tmp_path)
    install(tmp_path, "bad-bots", {"bad": "bad:Bot"}, modules={"bad": "Bot = 1"})
    registry = found(tmp_path)
    for wanted, said in [
        ("gredy", r"no bot 'gredy' is installed; did you mean greedy\?"),
        ("greedy@2.0.0", r"no bot 'greedy@2.0.0' is installed; did you mean greedy@1.0.0\?"),
        ("greedy@", r"did you mean greedy@1.0.0\?"),
        ("zzz", "no bot 'zzz' is installed$"),
        ("", "no bot '' is installed$"),
        ("bad", "bot 'bad' of bad-bots cannot play: bad:Bot is no class"),
    ]:
        with pytest.raises(BotNotFoundError, match=said):
            registry.find(wanted)
