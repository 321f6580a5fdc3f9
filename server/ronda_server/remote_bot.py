"""One remote bot: what it says of itself, its seats, and how far its stream has told of each.

A seat is a place in the history of its match, as a watcher is: what its bot has not been told yet
is looked up when there is room to tell it. So nothing grows while a bot is slow or away, and a
stream that follows another one begins where the bot is.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from ronda_core.match import Finished
from ronda_core.rules import Settings
from ronda_server.live import Live

if TYPE_CHECKING:
    from ronda_server.connection import Connection

_KEPT_ENDINGS: Final = 64
"""Of matches that ended while their bot was away, told when it is back."""


class About(NamedTuple):
    """What a bot says of itself in its Hello."""

    name: str
    version: str
    description: str = ""
    max_seats: int = 0
    """0: the default."""
    plays: tuple[tuple[str, frozenset[int]], ...] = ()
    """Presets, each with the numbers of seats, or none for any; empty: everything."""
    with_events: bool = True

    @property
    def identity(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"


class Rejection(Enum):
    """Why an answer is dropped."""

    UNKNOWN_DECISION = "unknown_decision"
    LATE = "late"
    ALREADY_ANSWERED = "already_answered"
    MATCH_OVER = "match_over"


class Ending(NamedTuple):
    """How a match of a bot ended."""

    match_id: str
    seat: int
    result: Finished
    sequence: int


class Place:
    """One seat of a remote bot, and how far its stream has told of it."""

    __slots__ = (
        "answered",
        "asked",
        "at",
        "bot",
        "decision_id",
        "due",
        "handed",
        "live",
        "seat",
        "seen",
        "started",
    )

    def __init__(self, bot: RemoteBot, live: Live, seat: int) -> None:
        self.bot = bot
        self.live = live
        self.seat = seat
        self.started = False
        """This stream has been told that the match began."""
        self.at = 0
        """Number of the last event that this stream was told."""
        self.asked = 0
        """Number of the event that opened the decision that this stream was told."""
        self.handed: tuple[int, int] = (0, 0)
        """Number as above, and when that decision was handed to a stream for the first time."""
        self.decision_id = ""
        """What that decision is called, on every stream and after every restart."""
        self.due = 0
        """When the time for it is up, in microseconds since 1970."""
        self.answered = 0
        """Number as above, of the last decision that was answered."""
        self.seen = False
        """A stream has been told that the match began."""

    def again(self) -> None:
        """Tell it all to a new stream, but for the events that its bot knows."""
        self.started = False
        self.asked = 0
        after = self.bot.known.pop((self.live.game.id, self.seat), 0)
        self.at = after if after <= self.live.audience.last else 0

    @property
    def decides(self) -> bool:
        """Say whether a decision of this seat is open and not answered yet."""
        game = self.live.game
        return self.answered != game.opened and self.seat in game.waits_for

    @property
    def has_news(self) -> bool:
        """Say whether there may be something to tell: a bot that wants no events is let sleep."""
        return self.bot.about.with_events or not self.started or self.decides

    def ask(self, now: int, due: int) -> None:
        """Note that the open decision is told to a stream, for the first time or again."""
        opened = self.live.game.opened
        self.asked = opened
        self.due = due
        if self.handed[0] != opened:
            self.handed = (opened, now)
            self.bot.asked.pop(self.decision_id, None)
            self.decision_id = f"{self.live.game.id}-{self.seat}-{opened}"
            self.bot.asked[self.decision_id] = self


class RemoteBot:
    """A remote bot: connected, or away while its matches go on."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.account = ""
        name, _, version = identity.partition("@")
        self.about = About(name, version)
        self.age = _age(version)
        """What sorts the versions of a bot, from the oldest to the newest."""
        self.max_seats = 0
        self.connection: Connection | None = None
        self.places: dict[tuple[str, int], Place] = {}
        self.promised = 0
        """Seats that it is about to have."""
        self.asked: dict[str, Place] = {}
        """Seats by the id of the last decision that was told of each."""
        self.known: dict[tuple[str, int], int] = {}
        """How far it says that it has followed matches, some of which may still be loaded."""
        self.endings: deque[Ending] = deque(maxlen=_KEPT_ENDINGS)
        self.over: OrderedDict[tuple[str, int], Rejection] = OrderedDict()
        """Why answers to matches that are over are dropped."""
        self.round_trip = 0
        """How long its last answer took, in microseconds; 0 before the first."""

    def __repr__(self) -> str:
        return f"<RemoteBot {self.identity}>"

    def keep(self, ending: Ending) -> None:
        """Keep an end that its stream did not take, for the stream that is there or comes next."""
        if len(self.endings) < _KEPT_ENDINGS:  # else the later ones count
            self.endings.appendleft(ending)
        if self.connection:
            self.connection.look()

    @property
    def ready(self) -> bool:
        """Say whether it can be given seats."""
        return self.connection is not None and self.connection.ready

    @property
    def room(self) -> int:
        """Say how many more seats it can have."""
        return self.max_seats - len(self.places) - self.promised

    def plays(self, settings: Settings) -> bool:
        """Say whether it plays by these rules with so many."""
        return not self.about.plays or any(
            rules == settings.preset.name and (not players or settings.players in players)
            for rules, players in self.about.plays
        )


def _age(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return what sorts versions by the numbers in them: 1.10 after 1.9, 2.0 after 2.0rc1."""
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    ranked = [(2, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
    return (*ranked, (1, 0, ""))
