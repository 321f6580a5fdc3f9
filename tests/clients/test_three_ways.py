"""One match through `ronda serve`: a bot from `bots new`, a remote one in Python, one on Node."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.cli.conftest import ronda
from tests.cli.processes import gone
from tests.cli.test_service import Service
from tests.clients import test_node
from tests.clients.test_node import Bot, Matches, proven, start

pytestmark = test_node.pytestmark
# The fixtures of the page beside; `service` is this page's own.
client, key_file, run, node_bot, python_bot, matches = (
    test_node.client,
    test_node.key_file,
    test_node.run,
    test_node.node_bot,
    test_node.python_bot,
    test_node.matches,
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Where the package that `ronda bots new` makes is installed."""
    assert ronda("bots", "new", "mybot", "--in", str(tmp_path)).returncode == 0
    site = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    offline = ("--no-build-isolation", "--disable-pip-version-check", "--target", str(site))
    subprocess.run([*pip, *offline, str(tmp_path / "mybot")], check=True)
    return site


@pytest.fixture
async def service(site: Path, tmp_path: Path) -> AsyncIterator[Service]:
    started = await start(tmp_path / "ronda.db", more=str(site))
    try:
        yield started
        await started.stop()
    finally:
        await gone(started.child)


@pytest.mark.usefixtures("python_bot")
@pytest.mark.parametrize("rules", ["cafe", "pagat"])
async def test_a_new_bot_a_remote_python_bot_and_a_node_bot_play_one_match(
    rules: str, matches: Matches, node_bot: Bot, tmp_path: Path
) -> None:
    await node_bot()
    bots = ("mybot", "python-greedy", "node-greedy")
    match_id = await matches.between(*bots, rules=rules)
    [record] = proven([await matches.record(match_id)], tmp_path / "r.jsonl")
    assert [seat.partition("@")[0] for seat in record["seats"]] == list(bots)
    assert record["isolation"] == ["sandbox", "remote", "remote"]
    assert record["outcome"] == "target"
