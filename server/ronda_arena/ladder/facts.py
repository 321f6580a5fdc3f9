"""What a ladder writes down: each fact once, in one order, never changed.

Bots are told by their number: the first that joined is 0. Times are seconds since 1970, told by
whoever writes.
"""

from __future__ import annotations

import msgspec

from ronda_arena.tournament.results import Game


class Joined(msgspec.Struct, frozen=True, tag="joined"):
    """A bot may play from now on: a new one, one that was away, or one that is not what it was."""

    bot: str
    """`name@version`."""
    owner: str
    at: int
    code: str = ""
    """The digest of its code; empty: nobody knows."""
    remote: bool = False
    """It plays over a stream, at the tables of a server."""


class Left(msgspec.Struct, frozen=True, tag="left", omit_defaults=True):
    """A bot is not there any more, or may not play where bots are kept."""

    bot: int
    at: int
    rests: str = ""
    """`disabled` or `quarantined` where bots are kept; empty: it is gone."""
    why: str = ""
    """What is said of that there."""


class Released(msgspec.Struct, frozen=True, tag="released"):
    """An operator lets a bot play again that was in quarantine."""

    bot: int
    at: int


class Seated(msgspec.Struct, frozen=True, tag="seated"):
    """It was decided who plays a block."""

    block: str
    entrants: tuple[int, ...]
    """In the order in which they sit in rotation 0."""
    at: int
    again: str = ""
    """The block that was lost by no fault of a bot, in whose place this one is."""


class Over(msgspec.Struct, frozen=True, tag="over"):
    """The last game of a block is over."""

    block: str
    games: tuple[Game, ...]
    """By rotation: all of them."""
    at: int


class Void(msgspec.Struct, frozen=True, tag="void"):
    """A block was lost by a fault of ours, and counts for nothing."""

    block: str
    why: str
    at: int


Fact = Joined | Left | Released | Seated | Over | Void
End = Over | Void
"""How a block ends; each does once."""
