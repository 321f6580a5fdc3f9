"""What happens in a hand, as the engine tells it: with what the rules keep secret.

What each viewer is told of it is made by `view`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

_Kind = TypeVar("_Kind")


class _Plain(tuple[Any, ...]):
    """Put before a NamedTuple, it gives a class back the constructor of tuple."""

    __slots__ = ()
    __new__ = tuple.__new__


def _event(kind: type[_Kind]) -> type[_Kind]:
    """Have the NamedTuple `kind` made from one tuple of all its fields, in half the time.

    Every step makes one or two of these, and the constructor that takes the fields one by one is
    written in Python.
    """
    names = {
        "__doc__": kind.__doc__,
        "__getnewargs__": lambda self: (tuple(self),),  # to copy and to pickle
        "__module__": kind.__module__,
        "__slots__": (),
    }
    return cast("type[_Kind]", type(kind.__name__, (_Plain, kind), names))


class Award(NamedTuple):
    """Points for a side."""

    plays: int
    """Plays made in this hand when they were paid."""
    side: int
    reason: str
    """ronda, tringa, este, missa, penalty, closing or cards."""
    points: int


@_event
class Dealt(NamedTuple):
    """A batch was dealt. Secret: `hands` belongs to its seats, one hand each."""

    hand: int
    batch: int
    dealer: int
    hands: tuple[tuple[int, ...], ...]
    table: tuple[int, ...]
    """The four cards turned up, in batch 1 only."""
    stock: int
    awards: tuple[Award, ...]
    scores: tuple[int, ...]
    turn: int
    """-1 while seats declare, or when the match is over."""

    def __repr__(self) -> str:
        return f"Dealt(hand={self.hand}, batch={self.batch})"


@_event
class Answered(NamedTuple):
    """A seat has answered the declaring step. Secret until the step is over: `declares`."""

    seat: int
    declares: bool

    def __repr__(self) -> str:
        return f"Answered(seat={self.seat})"


@_event
class Revealed(NamedTuple):
    """Every seat has answered: the kinds are public and paid."""

    batch: int
    kinds: tuple[tuple[int, str], ...]
    """Seat and kind of each declared set, by seat."""
    awards: tuple[Award, ...]
    scores: tuple[int, ...]
    turn: int


@_event
class Played(NamedTuple):
    """A card was played."""

    seat: int
    card: int
    captured: tuple[int, ...]
    """Taken from the table, upward from the card's rank, without the card itself."""
    reclaimed: tuple[int, ...]
    """Taken back from the pack of the link before."""
    link: int
    """0: no este; 1, 2, 3: the second, third, fourth equal card."""
    awards: tuple[Award, ...]
    scores: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Played(seat={self.seat})"


@_event
class Ended(NamedTuple):
    """A hand was counted."""

    hand: int
    leftovers: tuple[int, ...]
    side: int
    """Who took the leftovers."""
    piles: tuple[int, ...]
    """Cards captured by side, the leftovers among them."""
    awards: tuple[Award, ...]
    scores: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Ended(hand={self.hand})"


HandEvent = Dealt | Answered | Revealed | Played | Ended


def _maker(kind: type[_Kind]) -> Callable[[tuple[Any, ...]], _Kind]:
    """Return `kind` with the type of the constructor that `_event` has given it."""
    return cast("Callable[[tuple[Any, ...]], _Kind]", kind)


new_dealt = _maker(Dealt)
new_answered = _maker(Answered)
new_revealed = _maker(Revealed)
new_played = _maker(Played)
new_ended = _maker(Ended)
