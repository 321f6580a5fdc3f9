"""Who takes part, and who sits where in each rotation of a block.

Entrants are sides. At two and three seats an entrant is a bot and has one seat; at four it is a
team, of one bot in both seats or of two different ones. Participants are bots at seats: of the
entrants ``a+b`` and ``c+d`` they are a, c, b, d, so partners sit opposite each other. In rotation
r participant i has seat (i + r) mod n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

TEAM: Final = "+"
"""Between the names of the two bots of a team."""


class Entrant(NamedTuple):
    """One who takes part: a bot, or at four seats a team."""

    members: tuple[str, ...]
    """Identities: one, or the two of a mixed team."""

    @property
    def name(self) -> str:
        """What tables and reports call it: ``a@1`` or ``a@1+b@2``."""
        return TEAM.join(self.members)


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
