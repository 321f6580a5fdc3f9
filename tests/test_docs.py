"""What the documents say is true: commands run, links lead somewhere, the short bot plays."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

from ronda_arena.discovery import discover
from ronda_arena.local import games
from ronda_bots.registry import BotInfo
from ronda_cli.main import COMMANDS
from ronda_cli.output import ExitCode
from ronda_core.rules import PRESETS, settings
from ronda_core.verify import verify
from ronda_server.metrics import Metrics

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page
    for page in ROOT.rglob("*.md")
    if not {".venv", "node_modules", ".git"} & set(page.relative_to(ROOT).parts)
)
README = (ROOT / "README.md").read_text()


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_commands_of_the_tour_run_as_they_are_written(tmp_path: Path) -> None:
    marked = re.findall(r"<!-- test -->\n```\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert len(marked) == 3
    for line in "".join(marked).splitlines():
        name, *arguments = shlex.split(line)
        assert name == "ronda"
        subprocess.run(
            [sys.executable, "-m", "ronda_cli", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )


def test_the_short_bot_plays_legal_matches_of_every_preset(tmp_path: Path) -> None:
    source = next(block for block in _blocks(README, "python") if "class Lazy" in block)
    (tmp_path / "lazy.py").write_text(source)
    assert sum(1 for line in source.splitlines() if line.strip() and line[0] != "#") <= 12
    spec = util.spec_from_file_location("lazy", tmp_path / "lazy.py")
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lazy = BotInfo("lazy", "1.0.0", "lazy", "1.0.0", "", module.Lazy)
    other = discover().find("greedy")
    for preset in PRESETS.values():
        for players in preset.players:
            bots = [lazy, *[other] * (players - 1)]
            for record in games(
                bots,
                settings(preset.name, players),
                2,
                1,
                now=lambda: "2026-01-01T00:00:00Z",
                secret=lambda: b"",
            ):
                assert record.fault is None
                assert verify(record).proven


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_names_the_two_commands_and_the_makefile_has_them() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for command in ("demo", "test"):
        assert f"make {command}" in README
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_every_flag_of_serve_is_documented() -> None:
    page = (ROOT / "docs/service.md").read_text()
    shown = subprocess.run(
        [sys.executable, "-m", "ronda_cli", "serve", "--help"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    flags = set(re.findall(r"^\s+(--[a-z-]+)", shown, re.MULTILINE)) - {"--help"}
    assert flags
    for flag in flags:
        assert f"`{flag}`" in page, flag


def test_every_metric_that_the_server_exports_is_documented() -> None:
    page = (ROOT / "docs/service.md").read_text()
    for family in Metrics().registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert f"`{name}`" in page, name


def _ronda(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ronda_cli", *arguments],
        cwd=cwd,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _keys(value: object) -> set[str]:
    """Return every key in JSON data, those of faults by cause aside."""
    if isinstance(value, dict):
        inner = [_keys(one) for key, one in value.items() if key != "faults"]
        return set(value).union(*inner)
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


def test_the_command_line_is_documented_as_it_is() -> None:
    page = (ROOT / "docs/cli.md").read_text()
    for name in COMMANDS:
        assert f"`ronda {name}" in page, name
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {int(code) for code in ExitCode}


def _ladder(folder: Path) -> Iterator[str]:
    played = ("--rules=arabic", "--bots=greedy", "--games=8", "--executor=in-process")
    _ronda("ladder", "run", "--dir=l", *played, cwd=folder)
    for flags in ((), ("--pairs",), ("--review",), ("--bot=greedy@1.0.0",)):
        yield from _ronda("ladder", "show", "l", *flags, "-o", "json", cwd=folder).splitlines()


@pytest.mark.thorough
def test_every_key_of_the_data_that_commands_write_is_documented(tmp_path: Path) -> None:
    page = (ROOT / "docs/cli.md").read_text()
    match = ("match", "greedy", "random", "--seed", "7", "--records", "out.jsonl")
    shown = [
        *_ronda(*match, "-o", "json", cwd=tmp_path).splitlines(),
        *_ronda(*match, "-o", "jsonl", cwd=tmp_path).splitlines(),
        *_ronda("verify", "out.jsonl", "-o", "json", cwd=tmp_path).splitlines(),
        *_ronda("verify", "out.jsonl", "-o", "jsonl", cwd=tmp_path).splitlines(),
        *_ronda("bots", "list", "-o", "json", cwd=tmp_path).splitlines(),
        *_ladder(tmp_path),
    ]
    keys = set().union(*(_keys(json.loads(line)) for line in shown))
    assert len(keys) > 30
    assert {key for key in keys if f"`{key}`" not in page} == set()
