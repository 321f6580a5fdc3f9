"""A server seats the bots that `ronda bots install` keeps, as it seats all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.arena.home.wheels import NOW, wheel
from tests.server.tables import Table
from tests.server.test_hosted_bots import ended, record_of

from ronda.v1 import match_pb2
from ronda_arena.discovery import asking
from ronda_arena.home.install import install
from ronda_arena.home.standing import enable
from ronda_arena.isolation import Level
from ronda_arena.seating import Isolated, probe
from ronda_arena.worker.nursery import Nursery
from ronda_bots.registry import Registry
from ronda_server import app
from ronda_server.config import Config


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        report = probe(made)
        if report.level is not Level.SANDBOX:
            pytest.skip(f"no sandbox here: {report.problem}")
        yield made


@pytest.fixture(scope="module")
def home(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions of a bot, the newest of which may not play."""
    folder = tmp_path_factory.mktemp("kept")
    for version in ("1.0", "2.0", "3.0"):
        file = wheel(folder / "given", version=version)
        install(folder / "home", [file], asking(nursery), now=lambda: NOW)
    enable(folder / "home", "mine@3.0", enabled=False)
    return folder / "home"


@pytest.fixture(scope="module")
def found(nursery: Nursery, home: Path) -> tuple[Registry, Isolated]:
    """What a server finds when it starts: it reads the disk, so before there is a loop."""
    return app._bots(Config(bots_dir=home), nursery)


async def test_two_versions_play_a_match_on_a_server(
    start: Any, found: tuple[Registry, Isolated]
) -> None:
    registry, seating = found
    assert [bot.identity for bot in registry.bots if bot.name == "mine"] == ["mine@1.0", "mine@2.0"]
    client = await start(registry, seating)
    created = await client.create("mine", "mine@1.0", length=1)
    table = Table(client, created)
    assert (await ended(table)).result.outcome == match_pb2.Result.OUTCOME_LENGTH
    record = await record_of(table)
    assert record.seats == ("mine@2.0", "mine@1.0")
    assert record.isolation == ("sandbox", "sandbox")
