"""Who takes part, and who sits where in each rotation of a block.

Entrants are sides. At two and three seats an entrant is a bot and has one seat; at four it is a
team, of one bot in both seats or of two different ones. Participants are bots at seats: of the
entrants ``a+b`` and ``c+d`` they are a, c, b, d, so partners sit opposite each other. In rotation
r participant i has seat (i + r) mod n.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

TEAM: Final = "+"
"""Between the names of the two bots of a team."""
_BOT: Final = re.compile(r"[^@+]+(@[^@]+)?")
"""A bot as it is named: its version may have a plus in it, its name may not."""


class Entrant(NamedTuple):
    """One who takes part: a bot, or at four seats a team."""

    members: tuple[str, ...]
    """Identities: one, or the two of a mixed team."""

    @property
    def name(self) -> str:
        """What tables and reports call it: ``a@1`` or ``a@1+b@2``."""
        return TEAM.join(self.members)

    @property
    def turned(self) -> str:
        """The same team, with its bots in the other order: who sits where is the rotation's."""
        return TEAM.join(reversed(self.members))


def readings(text: str) -> list[tuple[str, ...]]:
    """Return the ways to read a text: as a bot, and as a team of two.

    There are two ways to read ``a@1+b``, of which the version may be ``1+b``, and one to read
    ``a@1+b@2``.
    """
    pluses = [at for at, letter in enumerate(text) if letter == TEAM]
    pairs = [(text[:at], text[at + 1 :]) for at in pluses]
    return [one for one in [(text,), *pairs] if all(map(_BOT.fullmatch, one))]


def members(name: str) -> tuple[str, ...]:
    """Return the bots of an entrant by its name, in which each has its version."""
    for found in readings(name):
        if all("@" in bot for bot in found):
            return found
    return tuple(name.split(TEAM))


def sides(players: int) -> int:
    """Return how many entrants meet at a table of so many seats."""
    return 3 if players == 3 else 2


def rotations(entrants: Sequence[Entrant], players: int) -> int:
    """Return how many games a block of these entrants has.

    Two at two seats and three at three. Of four seats a team of one bot looks the same from both
    of its own, so two rotations show everything; with a mixed team it takes all four.
    """
    if players == 4:
        return 4 if any(len(entrant.members) > 1 for entrant in entrants) else 2
    return players


def games_of_each(entrants: Sequence[Entrant], players: int) -> int:
    """Return how many games every block of these has, whoever meets; 0 where that differs."""
    counts = {rotations([entrant], players) for entrant in entrants}
    mixed = sum(len(entrant.members) > 1 for entrant in entrants)
    return max(counts) if len(counts) == 1 or len(entrants) - mixed == 1 else 0


def seats(entrants: Sequence[Entrant], rotation: int, players: int) -> tuple[str, ...]:
    """Return the identities by seat of one game."""
    count = len(entrants)
    by_seat = [""] * players
    for participant in range(players):
        members = entrants[participant % count].members
        member = members[participant // count % len(members)]
        by_seat[(participant + rotation) % players] = member
    return tuple(by_seat)


def side(entrant: int, rotation: int, count: int) -> int:
    """Return which of `count` sides the entrant of this place in its block has in a rotation."""
    return (entrant + rotation) % count
