"""What the documentation shows an author works: the example package, and the pages' own code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from tests.bots.plugins import ROOT, importable, install, install_built_in

from ronda_arena.discovery import discover
from ronda_arena.table import play_match
from ronda_bots.api import SeatInfo
from ronda_core import view as views
from ronda_core.rules import settings
from ronda_core.verify import verify

PAGE = (ROOT / "docs" / "bots.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as pip installs it: built by its own build backend, without a network."""
    pytest.importorskip("hatchling", reason="`make test` installs it")
    work = tmp_path_factory.mktemp("echo")
    source = work / "source"
    shutil.copytree(ROOT / "examples" / "ronda-bot-echo", source)
    target = work / "target"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"),
            *("--no-build-isolation", "--disable-pip-version-check", "--no-input"),
            *("--target", str(target), str(source)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


def test_the_example_plugin_is_found_next_to_the_built_ins_and_plays(
    installed: Path, tmp_path: Path
) -> None:
    install_built_in(tmp_path)
    with importable(installed, tmp_path):
        # The whole path of this interpreter: where ronda itself is installed it is found twice.
        registry = discover()
        assert {"careful", "echo", "greedy", "random"} <= {bot.name for bot in registry.bots}
        echo = registry.find("echo")
        assert echo.identity == "echo@1.0.0"
        assert (echo.distribution, echo.distribution_version) == ("ronda-bot-echo", "0.2.0")
        assert echo.description == "Answers the last card with one of the same rank if it can."
        for rules, players in (("playtash", 2), ("cafe", 3), ("pagat", 4), ("arabic", 2)):
            bots = [echo, *[registry.find("greedy")] * (players - 1)]
            record = play_match("m", settings(rules, players), bots, bytes(32), now=lambda: NOW)
            assert verify(record).proven
            assert record.fault is None


def test_the_code_on_the_page_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bot, patient, script, *_ = CODE  # the rest needs the extra gym: tests/arena/test_gym_bots.py
    exec(compile(patient, "docs/bots.md", "exec"), {})
    assert len(bot.splitlines()) <= 20
    install_built_in(tmp_path)
    install(tmp_path, "my-package", {"highest": "my_package:Highest"}, modules={"my_package": bot})
    with importable(tmp_path):
        exec(compile(script, "docs/bots.md", "exec"), {})
    assert capsys.readouterr().out.rstrip().endswith("None")


def test_the_page_names_every_field_of_a_view_and_of_a_seat_and_every_event() -> None:
    names = [field.name for field in (*fields(views.View), *fields(SeatInfo))]
    names += ["side", "unseen", "side_of(seat)"]
    names += [kind.__name__ for kind in views.Event.__args__]
    missing = [name for name in names if f"`{name}`" not in PAGE]
    assert not missing
