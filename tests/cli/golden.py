"""Texts that are kept: `UPDATE_GOLDEN=1 pytest tests/cli` writes them anew, to be looked at."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
_UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))


def check(name: str, text: str) -> None:
    """Compare a text with the one that is kept."""
    file = FOLDER / f"{name.replace(' ', '-')}.txt"
    if _UPDATE:
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.exists(), f"{file} is missing: UPDATE_GOLDEN=1 writes it"
    assert text == file.read_text(encoding="utf-8")
