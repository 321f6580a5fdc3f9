"""Imports what a bot's author wrote, never the byte code that is kept of it.

Python takes byte code for that of a source whose size and time are noted in it, whatever it does.
What bots do is what their sources say, and the digest of their code says so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import NoReturn


def only(package: str) -> None:
    """Let everything of a package, or a module by itself, be imported from its source."""
    sys.meta_path.insert(0, _Finder(package))


class _Finder:
    """Finds what Python would, and has it loaded from the source."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != self._package:
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is not None and type(found.loader) is SourceFileLoader:
            found.loader = _Source(name, found.loader.path)
        return found


class _Source(SourceFileLoader):
    """Knows no time of a source, so no byte code is taken for that of it."""

    def path_stats(self, path: object) -> NoReturn:
        raise OSError(f"byte code of {path} is not asked for")
