"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def nobodys_bots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the bots that whoever runs the tests has installed out of them."""
    before = os.environ.get("RONDA_BOTS_DIR")
    os.environ["RONDA_BOTS_DIR"] = str(tmp_path_factory.mktemp("no-bots"))
    yield
    if before is None:
        del os.environ["RONDA_BOTS_DIR"]
    else:
        os.environ["RONDA_BOTS_DIR"] = before
