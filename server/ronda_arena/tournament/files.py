"""What lies in the folder of a tournament."""

from __future__ import annotations

from pathlib import Path
from typing import Final

STATE: Final = "state.db"
RECORDS: Final = "records.jsonl"
REPORT: Final = "report.json"
PAGE: Final = "report.html"


def strangers(folder: Path) -> list[str]:
    """Return the files that a tournament of this folder would replace, and that are not its own.

    They are its own if one was begun there.
    """
    if (folder / STATE).exists():
        return []
    return [name for name in (RECORDS, REPORT, PAGE) if (folder / name).exists()]
