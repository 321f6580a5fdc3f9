"""What plugins have said of themselves, kept from one command to the next.

An answer is kept by the digest of all files of its package, and holds as long as these do. That
there was none, or no good one, is kept too, so that a list need not wait for it again; but it may
come of the moment, or of what is installed beside it, so it holds for a while only.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import msgspec

from ronda_arena.isolation import Level
from ronda_bots.about import is_version
from ronda_bots.installed import Plugin

PROBLEM_SECONDS: Final = 600
"""For so long it is kept that a plugin could not say what it is."""
_LONGEST: Final = 200
_CUT: Final = 2000


class Said(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a worker says of a bot: a stranger's words, so they are bounded."""

    version: Annotated[str, msgspec.Meta(max_length=64)] = ""
    description: Annotated[str, msgspec.Meta(max_length=_LONGEST)] = ""
    problem: Annotated[str, msgspec.Meta(max_length=_CUT)] = ""


class _Kept(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    said: Said
    asked: float
    """When, in seconds since 1970."""
    around: str
    """What a problem may have come of, beside the package itself."""


def recall(plugin: Plugin, level: Level) -> Said | None:
    """Return what a plugin has said and still would; None where it has to be asked."""
    place = _place(plugin)
    if place is None:
        return None
    try:
        kept = msgspec.json.decode(place.read_bytes(), type=_Kept)
    except (OSError, msgspec.MsgspecError):
        return None  # not there, or damaged: it is asked again
    if kept.said.problem:
        fresh = 0 <= time.time() - kept.asked < PROBLEM_SECONDS
        return kept.said if fresh and kept.around == _around(plugin, level) else None
    return kept.said if is_version(kept.said.version) else None


def keep(plugin: Plugin, level: Level, said: Said) -> None:
    """Keep what a plugin has said, or what went wrong when it was asked at `level`."""
    place = _place(plugin)
    if place is None:
        return
    if len(said.problem) > _CUT:
        said = Said(problem=said.problem[:_CUT])
    kept = _Kept(said, time.time(), _around(plugin, level))
    with suppress(OSError):  # nothing depends on it: it is asked again next time
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        whole = place.with_suffix(f".{os.getpid()}")
        whole.write_bytes(msgspec.json.encode(kept))
        whole.replace(place)


def _place(plugin: Plugin) -> Path | None:
    """Return where the answer of a plugin is kept; None where its files may change at any time."""
    if not plugin.digest:
        return None
    of = f"{sys.version} {plugin.value} {plugin.digest}"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base, "ronda", "bots", f"{hashlib.sha256(of.encode()).hexdigest()}.json")


def _around(plugin: Plugin, level: Level) -> str:
    """Return a digest of how a plugin is asked, and of what is installed where it comes from."""
    origin = plugin.origin
    parts = [level.value, *origin.reads]
    for folder in origin.path:
        with suppress(OSError):  # gone: then it says something else as soon as it is there
            parts.append(f"{folder} {Path(folder).stat().st_mtime_ns}")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
