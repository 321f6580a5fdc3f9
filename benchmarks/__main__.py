"""Run every row, print the table, and write it as JSON: `python -m benchmarks [FILE]`."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import (
    ending,
    engine,
    isolated,
    ladder,
    remote,
    service,
    startup,
    tournaments,
    views,
)
from benchmarks.rows import as_json, show


def main() -> int:
    """Return 1 if a row that must hold does not."""
    rows = [*engine.rows(), *views.rows(), *service.rows(), *isolated.rows(), *remote.rows()]
    rows += [*tournaments.rows(), *ladder.rows(), *ending.rows(), *startup.rows()]
    show(rows)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(as_json(rows) + "\n")
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
