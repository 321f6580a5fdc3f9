"""How a ladder stands, as its driver has told it: what the log comes to, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ronda_arena.ladder.history import History, Point
from ronda_arena.ladder.rows import Row, aged, in_order
from ronda_server.ladders.told import Head, Opened, Seen, Stood


class Ranked(NamedTuple):
    """A bot, and its place among those that are placed; 0: it is provisional."""

    rank: int
    row: Row


class Table:
    """One ladder's bots."""

    def __init__(self) -> None:
        self.head: Head | None = None
        """None: nothing is known yet."""
        self.states: Counter[str] = Counter()
        """How many bots are in each state."""
        self._first = 0
        """The number from which on it is known what has changed."""
        self._seen: dict[str, Seen] = {}
        self._changed: dict[str, int] = {}
        """The number with which a bot has changed last."""
        self._histories: dict[str, History] = {}
        self._ranked: tuple[int, list[Ranked]] = (-1, [])

    @property
    def sequence(self) -> int:
        """The number of what is told: how many facts it is made of."""
        return self.head.facts if self.head else 0

    def open(self, told: Opened) -> None:
        """Take in all that a log comes to."""
        if self.head is None:
            self._first = told.head.facts
        self._histories = dict(told.histories)
        self._take(told.head, told.seen)

    def stand(self, told: Stood) -> None:
        """Take in what has changed."""
        for bot, point in told.points:
            self._histories.setdefault(bot, History()).add(point)
        self._take(told.head, told.seen)

    def ranked(self) -> list[Ranked]:
        """Return all bots in their order."""
        if self.head is None:
            return []
        number, found = self._ranked
        if number != self.head.facts:
            rows = in_order(self._aged(one, self.head.now) for one in self._seen.values())
            found = [Ranked(0 if row.provisional else at, row) for at, row in enumerate(rows, 1)]
            self._ranked = self.head.facts, found
        return found

    def knows(self, sequence: int) -> bool:
        """Say whether it is known what has changed since a number."""
        return 0 < sequence <= self.sequence and sequence >= self._first

    def since(self, sequence: int) -> list[Ranked]:
        """Return the bots that have changed after a number, other than by time alone."""
        changed = self._changed
        return [one for one in self.ranked() if changed[one.row.bot] > sequence]

    def find(self, bot: str) -> Ranked | None:
        """Return one by name@version, or the one of a name that came last."""
        if "@" not in bot:
            versions = [known for known in self._seen if known.partition("@")[0] == bot]
            bot = versions[-1] if versions else bot  # in the order in which they came
        return next((one for one in self.ranked() if one.row.bot == bot), None)

    def history(self, bot: str) -> Sequence[Point]:
        """Return what a bot's rating has been."""
        found = self._histories.get(bot)
        return list(found.points()) if found else []

    def _take(self, head: Head, seen: Sequence[Seen]) -> None:
        for one in seen:
            bot = one.row.bot
            before = self._seen.get(bot)
            if before == one:
                continue
            self.states[one.row.state] += 1
            if before:
                self.states[before.row.state] -= 1
            self._seen[bot] = one
            self._changed[bot] = head.facts
        self.head = head

    @staticmethod
    def _aged(one: Seen, now: int) -> Row:
        return one.row if one.away is None else aged(one.row, one.away, now - one.since)
