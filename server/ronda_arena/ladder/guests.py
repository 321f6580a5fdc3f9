"""Bots that play elsewhere, at the tables of a server: what a ladder asks of it, and tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from ronda_arena.tournament.tasks import Contract


class Guest(NamedTuple):
    """A bot that plays elsewhere and is there, or has been until a moment ago."""

    owner: str
    blocks: int
    """In so many it is seated at once, at most; 0: in no more, as long as it is away."""


_NOBODY: Final[Mapping[str, Guest]] = {}


class Guests(Protocol):
    """All of them. They come and go without anybody who plays having to begin anew."""

    def there(self) -> Mapping[str, Guest]:
        """Return those that are there, by identity: the same object as long as nothing is new."""

    def renew(self, contract: Contract) -> None:
        """Take in what their games are played under from now on."""

    def leave(self) -> None:
        """Wait no more for what is being played elsewhere: whoever plays next goes on with it."""

    def void(self, blocks: Sequence[str]) -> None:
        """Call off what is still played of blocks: it counts for nothing."""


class Nobody:
    """No such bots: there is no server."""

    def there(self) -> Mapping[str, Guest]:
        """Return nobody."""
        return _NOBODY

    def renew(self, contract: Contract) -> None:
        """Let it be."""

    def leave(self) -> None:
        """Wait for nobody."""

    def void(self, blocks: Sequence[str]) -> None:
        """Call nothing off: nothing is played elsewhere."""
