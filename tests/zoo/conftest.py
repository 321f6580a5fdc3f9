"""The zoo is for machines that can hold it."""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Iterator

import pytest
from tests.zoo.keeper import Keeper, Zoo, keeper, open_zoo

from ronda_arena.isolation import Level
from ronda_arena.seating import probe
from ronda_arena.worker.nursery import Nursery


@functools.cache
def missing() -> str:
    """Say what this machine lacks; empty if nothing."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "the bots of the zoo speak to Linux on x86-64"
    with Nursery() as nursery:
        report = probe(nursery)
    return "" if report.level is Level.SANDBOX else f"no sandbox here: {report.problem}"


@pytest.fixture(autouse=True)
def able() -> None:
    """Skip where the machine cannot hold a bot."""
    if missing():
        pytest.skip(missing())


@pytest.fixture(scope="module")
def zoo() -> Iterator[Zoo]:
    """The zoo, for one module."""
    if missing():
        pytest.skip(missing())
    with open_zoo() as opened:
        yield opened


@pytest.fixture(scope="module")
def process(zoo: Zoo) -> Iterator[Keeper]:
    """Who plays bots at `process`."""
    with keeper(zoo, Level.PROCESS) as host:
        yield host


@pytest.fixture(scope="module")
def sandbox(zoo: Zoo) -> Iterator[Keeper]:
    """Who plays bots at `sandbox`."""
    with keeper(zoo, Level.SANDBOX) as host:
        yield host
