"""Whose tournament is played next: accounts take turns, whatever each of them has asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count

from ronda_server.tournaments.live import Tournament


class Turns:
    """The tournaments that wait, in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: dict[str, Tournament] = {}
        self._turns = count(1)
        self._last: dict[str, int] = {}
        """When each account had its last turn, by the number of it."""

    def __contains__(self, one: Tournament) -> bool:
        """Say whether one waits."""
        return one.id in self._waiting

    def add(self, one: Tournament) -> None:
        """Let one wait behind the others of its account."""
        self._waiting[one.id] = one

    def take(self, playing: Iterable[Tournament]) -> Tournament | None:
        """Return whose turn it is, who waits no more; None if nobody waits.

        Of the accounts with the fewest that are played it is the one whose last turn is longest
        ago; of one account the tournament that came first.
        """
        waiting = self._left()
        if not waiting:
            return None
        played = Counter(one.row.account for one in playing)
        first = min(
            waiting, key=lambda one: (played[one.row.account], self._last.get(one.row.account, 0))
        )
        del self._waiting[first.id]
        self._last[first.row.account] = next(self._turns)
        return first

    def in_the_way(self, playing: Iterable[Tournament]) -> Tournament | None:
        """Return the youngest of an account with several, while one that has none waits."""
        begun = list(playing)
        played = Counter(one.row.account for one in begun)
        if all(played[one.row.account] for one in self._left()):
            return None
        return next((one for one in reversed(begun) if played[one.row.account] > 1), None)

    def _left(self) -> list[Tournament]:
        self._waiting = {one.id: one for one in self._waiting.values() if not one.over}
        return [*self._waiting.values()]
