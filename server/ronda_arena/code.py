"""What a bot is by its code: a digest of the package or module that its class comes from.

The name and the version of a bot are its author's word. The digest says whether two of them are
the same to the byte, under whatever names. It tells nothing of what that code imports from other
packages, nor of files beside it, and a single blank more makes another digest. What a link leads
to is in it. Byte code is not where its source is beside it: workers run the source.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ronda_arena.home.seal import digest
from ronda_bots.registry import BotInfo, Origin

_HALF_WRITTEN: Final = re.compile(r"\.\d+\Z")
_MOST_FILES: Final = 50_000
"""Where a link leads to more, such as to all of a disk, nothing is said."""


def code(info: BotInfo) -> str:
    """Return the SHA-256 of a bot's code, in hex; empty where there is nothing to read.

    It reads the disk. The names of the bot, of its distribution and of its package are not in it.
    """
    if info.origin is None:
        return ""
    try:  # all names before any file: what is too much is not read either
        files = [(name, digest(file)) for name, file in list(_files(info.origin))]
    except OSError:  # it is being changed, or may not be read: nobody can say what it is
        return ""
    if not files:
        return ""
    within = info.origin.module.partition(".")[2]
    told = json.dumps([within, info.origin.attribute, sorted(files)])
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _files(origin: Origin) -> Iterator[tuple[str, Path]]:
    """Yield the files of a bot's package by their paths in it; of a module its own."""
    top = _top(origin)
    if top is None:
        return
    if not top.is_dir():
        yield "", top
        return
    for count, found in enumerate(_within(top, "")):
        if count == _MOST_FILES:
            raise OSError(errno.EFBIG, "these are more files than a package has")
        yield found


def _within(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Yield what an import may find in a folder: links are what they lead to.

    `OSError` where one leads nowhere, or back to where it is.
    """
    for file in folder.iterdir():
        mode = file.stat().st_mode
        if stat.S_ISDIR(mode):
            yield from _within(file, f"{name}{file.name}/")
        elif stat.S_ISREG(mode) and not _is_compiled(file):
            yield f"{name}{file.name}", file


def _is_compiled(file: Path) -> bool:
    """Say whether it is what Python keeps of a source that is there: no worker reads that."""
    try:
        source = importlib.util.source_from_cache(_HALF_WRITTEN.sub("", str(file)))
    except ValueError:
        return False
    return Path(source).is_file()


def _top(origin: Origin) -> Path | None:
    """Return the folder of a bot's package, or the file of its module; None if neither is there."""
    name = origin.module.partition(".")[0]
    if not origin.path:  # it comes with ronda, and is imported from wherever that is
        found = importlib.util.find_spec(name)
        return Path(found.origin).parent if found and found.origin else None
    for folder in origin.path:  # in the order in which they are looked through for an import
        package, module = Path(folder, name), Path(folder, f"{name}.py")
        if package.is_dir():
            return package
        if module.is_file():
            return module
    return None
