"""What a client tells the rest of the command line: plain values, no messages."""

from __future__ import annotations

from typing import NamedTuple

from ronda_cli.picture import Picture
from ronda_cli.refusal import Refusal
from ronda_cli.story import Happening


class RefusedError(Exception):
    """A call that the server, or the way to it, refused."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.text)
        self.why = why


class Seat(NamedTuple):
    """A seat that was taken, and the key to it."""

    seat: int
    token: str

    def __repr__(self) -> str:
        return f"Seat({self.seat})"


class Seen(NamedTuple):
    """How a match stands."""

    sequence: int
    picture: Picture


class Happened(NamedTuple):
    """One event, which may be of a kind that says nothing to this version."""

    sequence: int
    happening: Happening


class Quiet(NamedTuple):
    """Nothing has happened."""

    sequence: int


class Ended(NamedTuple):
    """The stream is over: match_over, draining, taken_over, too_slow, match_expired or else."""

    sequence: int
    why: str


Update = Seen | Happened | Quiet | Ended
