"""A command and all that it has started: killed, and looked for afterwards."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

_GONE_SECONDS = 1.0
"""Until nothing of a killed command is left."""


def kill(pid: int) -> None:
    """Kill a process with -9, if it has not ended by itself."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended by itself
        return


def family_of(root: int) -> Iterator[int]:
    """Yield a process and all that it has started, and these, as /proc tells."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (parent := _parent(int(entry.name))) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    left = [root]
    while left:
        pid = left.pop()
        yield pid
        left += children.get(pid, [])


def _parent(pid: int) -> int | None:
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended meanwhile
        return None
    state, parent = told.rpartition(")")[2].split()[:2]
    return None if state == "Z" else int(parent)


def survivors(family: list[int]) -> list[str]:
    """Say which of a killed command's processes are still there after a moment."""
    until = time.monotonic() + _GONE_SECONDS
    alive = family
    while alive and time.monotonic() < until:
        alive = [pid for pid in alive if _parent(pid) is not None]
        time.sleep(0.01)  # until they are gone, or have had their time
    return [f"process {pid} outlived its driver" for pid in alive]
