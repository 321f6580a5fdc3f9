"""What every crash test needs: the bots that are installed, and a service that logs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from ronda_arena.discovery import discover
from ronda_bots.registry import Registry
from ronda_server import driving, hosting

from .inside import quick_folder


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Return the bots that are installed; reading the disk is for before the loop."""
    return discover()


@pytest.fixture
def quick() -> Iterator[Path]:
    """Return a folder for databases that are made by the thousand."""
    with quick_folder() as made:
        yield made


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep storms of expected errors out of the output, and let the server try again at once."""
    monkeypatch.setattr(hosting, "_RETRY_SECONDS", 0.001)
    monkeypatch.setattr(driving, "_RETRY_SECONDS", 0.001)
    # What was due while no server was there is due at once, or the logs could not be compared.
    monkeypatch.setattr(hosting, "_GRACE_MICROS", 0)
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield
    structlog.configure(**before)
