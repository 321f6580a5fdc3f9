"""Who watches what goes on: all are told the newest, so a slow watcher costs nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from ronda_server.streams import Watcher

Update = TypeVar("Update")


class Watching(ABC, Generic[Update]):
    """The watchers of one thing; what is new to one of them is for a kind of it to say."""

    def __init__(self) -> None:
        self._draining = False
        self._watchers: set[Watcher] = set()

    def wake(self) -> None:
        """Let everybody look again."""
        for watcher in self._watchers:
            watcher.wake()

    def drain(self) -> None:
        """End every stream, present and to come."""
        self._draining = True
        self.wake()

    async def watch(self, after: int) -> AsyncIterator[Update]:
        """Yield what is new to who has seen what the number `after` tells."""
        watcher = Watcher(None)
        self._watchers.add(watcher)
        try:
            async for update in self._follow(watcher, after):
                yield update
        finally:
            self._watchers.discard(watcher)

    @abstractmethod
    def _follow(self, watcher: Watcher, after: int) -> AsyncIterator[Update]:
        """Yield what is new to a watcher, for as long as it stays."""
