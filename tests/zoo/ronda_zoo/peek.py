"""Bots that look for more of the game than their view in the process that they are in."""

from __future__ import annotations

import gc
import sys
from types import FrameType
from typing import Any

from ronda_zoo.visitor import Visitor, attempt

from ronda_bots.api import Card, View

_SECRET = {"Match", "Hand", "Dealer", "Scribe", "Record", "_Table"}


class _Peeking(Visitor):
    _done = False

    def play(self, view: View) -> Card:
        if not self._done:
            self._done = True
            attempt(self.look)
        return view.hand[0]

    def look(self) -> object:
        raise NotImplementedError


class SearchesTheHeap(_Peeking):
    """Looks for the match among all objects of its process."""

    def look(self) -> object:
        return {type(one).__name__ for one in gc.get_objects()} & _SECRET


class ClimbsTheStack(_Peeking):
    """Looks for the match in what its callers hold."""

    def look(self) -> object:
        found: set[str] = set()
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            found |= {type(value).__name__ for value in frame.f_locals.values()}
            frame = frame.f_back
        return found & _SECRET


class SearchesModules(_Peeking):
    """Looks for what plays the match among the modules of its process."""

    def look(self) -> object:
        wanted = ("ronda_arena.table", "ronda_arena.trusted", "ronda_server")
        return [name for name in sys.modules if name.startswith(wanted)]


class PatchesTheDeal(_Peeking):
    """Replaces how decks are shuffled, for everybody in its process."""

    def look(self) -> object:
        import random  # noqa: PLC0415 -- late imports work

        patched: Any = random.Random
        patched.shuffle = lambda self, cards: None
        return "ronda_arena.table" in sys.modules
