"""Start of the command, in milliseconds over a bare interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.rows import Row, at_most, show

_RUNS = 15


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def rows() -> list[Row]:
    """Measure both, alternating with `python -c pass`."""
    ronda = str(Path(sys.executable).parent / "ronda")
    made = []
    for option, must, aim in (("--version", 100, 50), ("--help", 150, 80)):
        over = []
        for _ in range(_RUNS):
            bare = _seconds([sys.executable, "-c", "pass"])
            over.append((_seconds([ronda, option]) - bare) * 1e3)
        detail = f"median of {_RUNS}, spread {statistics.pstdev(over):.0f} ms"
        made.append(at_most(f"ronda {option}", over, "ms over python", must, aim, detail))
    return made


if __name__ == "__main__":
    show(rows())
