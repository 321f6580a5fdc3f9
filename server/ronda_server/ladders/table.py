"""How a ladder stands, as its driver has told it: what the log comes to, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from ronda_arena.ladder.history import History, Point
from ronda_arena.ladder.ratings import Rating, away
from ronda_arena.ladder.rows import Row, rank, rated, told
from ronda_server.ladders.told import Head, Opened, Seen, Stood

_MOVED: Final = 0.1
"""Points that what the anchors show has moved, when everybody has changed by it."""

Place = tuple[bool, float, str]
"""What bots are ordered by: see `rank`."""


class Ranked(NamedTuple):
    """A bot, and its place among those that are placed; 0: it is provisional."""

    rank: int
    row: Row
    rating: Rating | None = None
    """As in `Seen`: beside what time and the anchors have done to it since."""
    since: int | None = None


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
        self._misfit = 0.0
        """What the anchors showed when everybody changed by it."""

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
            head = self.head
            found = sorted((_now(one, head) for one in self._seen.values()), key=place)
            found = [
                one._replace(rank=0 if one.row.provisional else at)
                for at, one in enumerate(found, 1)
            ]
            self._ranked = head.facts, found
        return found

    def place(self, provisional: bool, rating: Rating, since: int | None, bot: str) -> Place:
        """Return where a bot that is not pinned and was once so stands by now.

        What time and the anchors do moves all: who asks for the next page goes on behind it.
        """
        assert self.head, "nobody has been told anything"
        shown = told(_by_now(rating, since, self.head), self.head.misfit, pinned=False)
        return provisional, -shown.conservative, bot

    def knows(self, sequence: int) -> bool:
        """Say whether it is known what has changed since a number."""
        return 0 < sequence <= self.sequence and sequence >= self._first

    def since(self, sequence: int) -> list[Ranked]:
        """Return the bots that have changed after a number, other than by time alone.

        By what the anchors show all change a little with every block of one: that counts once it
        is more than a little.
        """
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
        if abs(head.misfit - self._misfit) > _MOVED:
            self._misfit = head.misfit
            for bot, one in self._seen.items():
                if one.rating is not None:
                    self._changed[bot] = head.facts
        self.head = head


def place(one: Ranked) -> Place:
    """Return what a bot is ordered by."""
    return rank(one.row)


def _now(one: Seen, head: Head) -> Ranked:
    """Return how a bot stands by now; its rank is found among all."""
    if one.rating is None:
        return Ranked(0, one.row)
    rating = _by_now(one.rating, one.since, head)
    return Ranked(0, rated(one.row, rating, head.misfit), one.rating, one.since)


def _by_now(rating: Rating, since: int | None, head: Head) -> Rating:
    return rating if since is None else away(rating, head.now - since)
