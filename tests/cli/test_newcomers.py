"""What a newcomer reads first agrees with itself, and does what it says as it is printed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.bots.plugins import importable, install_built_in
from tests.cli.conftest import ROOT, Run

from ronda_arena.discovery import discover
from ronda_core.rules import PRESETS
from ronda_server.config import Config

README = (ROOT / "README.md").read_text(encoding="utf-8")
BOTS = (ROOT / "docs" / "bots.md").read_text(encoding="utf-8")
PACKAGES = pytest.mark.parametrize(
    ("page", "module", "bot"), [(README, "lazy", "lazy"), (BOTS, "my_package", "highest")]
)


def block(page: str, language: str, word: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return next(one for one in found if word in one)


@PACKAGES
def test_the_printed_pyproject_has_what_a_build_needs(page: str, module: str, bot: str) -> None:
    data = tomllib.loads(block(page, "toml", "ronda.bots"))
    assert data["build-system"]["build-backend"] == "hatchling.build"
    assert data["build-system"]["requires"] == ["hatchling"]
    assert re.fullmatch(r"[a-z-]+", data["project"]["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", data["project"]["version"])
    name = data["project"]["entry-points"]["ronda.bots"][bot]
    assert name.partition(":")[0] == module
    assert f"class {name.partition(':')[2]}:" in block(page, "python", "class ")
    assert data["tool"]["hatch"]["build"]["targets"]["wheel"]["include"] == [f"{module}.py"]


@PACKAGES
@pytest.mark.skipif(find_spec("hatchling") is None, reason="`make test` installs it")
def test_the_printed_bot_installs_as_printed_and_plays(
    page: str, module: str, bot: str, tmp_path: Path, run: Run
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / f"{module}.py").write_text(block(page, "python", "class "))
    (source / "pyproject.toml").write_text(block(page, "toml", "ronda.bots"))
    site = tmp_path / "site"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"),
            *("--no-build-isolation", "--disable-pip-version-check", "--no-input"),
            *("--target", str(site), "."),
        ],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    install_built_in(site)
    with importable(site):
        assert discover().find(bot).identity == f"{bot}@1.0.0"
        result = run("match", bot, "greedy", "--games", "3", "--seed", "1")
    assert (result.exit_code, result.stderr) == (0, "")


def test_as_many_descriptions_disagree_everywhere(run: Run) -> None:
    rules = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    for page in (README, rules, run("rules", COLUMNS="200").stdout):
        (many,) = re.findall(r"(\w+) published descriptions", page)
        assert many == "Four"
    assert len(PRESETS) == 4
    assert "Every point below is decided" in rules


def test_what_a_seed_repeats_is_said_with_its_exception(run: Run) -> None:
    told = " ".join(run("match", "--help").stdout.split())
    assert "only the times differ" in told
    assert "only the times differ" in " ".join(README.split())
    assert "of such ranges" not in told


def test_every_default_of_serve_is_shown_as_documented(run: Run) -> None:
    told = " ".join(run("serve", "--help", COLUMNS="100").stdout.split())
    page = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(--[a-z-]+)` \| (.*?) \|", page, re.MULTILINE)
    shown = dict(re.findall(r"(--[a-z-]+) (?:(?!--).)*?\[default: ([^\];]+)", told))
    defaults = {f"--{one.name.replace('_', '-')}": one.default for one in fields(Config)}
    assert len(rows) > 8
    for flag, written in rows:
        if defaults.get(f"{flag}s") == ():  # it may be given again and again, and need not be
            assert flag in told
            assert written == "none"
            continue
        default = defaults[flag]
        if default is False:  # a flag that is off
            assert flag in told
            continue
        known = shown[flag].removesuffix(".0").strip("()")
        assert known == written.replace("`", ""), flag
        if default != "":  # which is shown as a word
            assert known == str(default).removesuffix(".0")


def test_make_help_leaves_out_what_is_not_there_yet() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    helped = dict(re.findall(r"^([a-z-]+):.*?## (.*)$", makefile, re.MULTILINE))
    missing = re.findall(r"^([a-z-]+):[^\n]*\n\t@\$\(call missing", makefile, re.MULTILINE)
    there = {path.stem for path in (ROOT / "tests" / "long").glob("*.py")}
    missing += {"soak", "fuzz", "crash"} - there
    assert {"docs", "helm", "web"} <= set(missing)
    assert not set(missing) & set(helped)
    assert {"fuzz", "crash", "zoo", "demo", "test"} - set(missing) <= set(helped)
    assert "not there yet" not in " ".join(helped.values())


def test_the_map_shows_no_folder_that_is_not_there() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = re.findall(r"(?:^| )([a-z_/1]+/)(?= |$)", block(page, "", "ronda_core"), re.MULTILINE)
    assert "examples/" in folders
    for folder in folders:
        below = [ROOT / folder, *(ROOT / "server").glob(f"**/{folder}")]
        assert any(one.is_dir() for one in below), folder
