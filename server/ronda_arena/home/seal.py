"""Whether a directory still holds what was installed there, byte by byte or at a glance.

The glance compares what the file system notes of every file: its number, size and times. The time
of the last change of a file cannot be set by whoever changes it, so what looks the same is the
same. Where it does not, the bytes are looked at.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 20


def seal(place: Path) -> str:
    """Return a digest of all names in a directory and of what is noted about them."""
    seen = [
        (path, one.st_mode, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns)
        for path, one in _everything(place)
    ]
    return hashlib.sha256(repr(seen).encode("utf-8", "surrogatepass")).hexdigest()


def changed(place: Path, files: Mapping[str, str], beside: str) -> str:
    """Say what is not as installed in a directory; empty where all is.

    `files` are the digests of its files by path; `beside` is a file there that is not among them.
    """
    left = dict(files)
    for name, entry in _everything(place):
        if stat.S_ISDIR(entry.st_mode) or name == beside:
            continue
        known = left.pop(name, None)
        if known is None:
            return f"{name} was not installed with it"
        if not stat.S_ISREG(entry.st_mode) or digest(place / name) != known:
            return f"{name} has changed since it was installed"
    return f"{next(iter(left))} is gone" if left else ""


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    found = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _everything(place: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what lies in a directory, by path, always in the same order; no link is followed."""
    yield "", os.lstat(place)
    waiting = [""]
    while waiting:  # before each worker starts: no objects for paths
        folder = waiting.pop()
        with os.scandir(f"{place}/{folder}") as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            path = f"{folder}{entry.name}"
            yield path, os.lstat(f"{place}/{path}")
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{path}/")
