"""How the command line is run: in this process, as a process, and in a terminal."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Protocol

import pytest
from click.testing import CliRunner, Result

from ronda_cli.main import cli

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "tests" / "data" / "record-vectors.jsonl"
FORGED = ROOT / "tests" / "data" / "record-forged.jsonl"

_QUIET = ("RONDA_", "NO_COLOR", "ACCESSIBLE", "COLUMNS", "LINES", "FORCE_COLOR", "XDG_", "PYTHONIO")


@pytest.fixture(scope="session", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let ronda's bots be found, also where the tree is on the path but not installed."""
    if any(
        point.dist.name == "ronda"
        for point in metadata.entry_points(group="ronda.bots")
        if point.dist
    ):
        yield
        return
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    site = tmp_path_factory.mktemp("site")
    info = site / "ronda-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: ronda\nVersion: 0.1.0\n")
    lines = [f"{name} = {value}" for name, value in points["ronda.bots"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[ronda.bots]", *lines, ""]))
    sys.path.append(str(site))
    importlib.invalidate_caches()
    yield
    sys.path.remove(str(site))


@pytest.fixture(autouse=True)
def nobodys_settings(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    for name in list(os.environ):
        if name.startswith(_QUIET):
            monkeypatch.delenv(name)
    # What plugins say of themselves is kept by their content: once for all tests is enough.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Run(Protocol):
    def __call__(self, *args: str, typed: str | bytes = "", **env: str) -> Result: ...


@pytest.fixture
def run() -> Run:
    """Run a command line in this process."""

    def run(*args: str, typed: str | bytes = "", **env: str) -> Result:
        return CliRunner().invoke(cli, list(args), input=typed, env=env, prog_name="ronda")

    return run


def environment(**more: str) -> Mapping[str, str]:
    """The environment of a process that finds what this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}


def ronda(
    *args: str, typed: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command line as a process."""
    return subprocess.run(
        [sys.executable, "-m", "ronda_cli", *args],
        input=typed,
        capture_output=True,
        env=environment(**(env or {})),
        timeout=60,
        check=False,
    )
