"""A hosted match at one moment, and what happens in it.

`fold` is the only module that changes one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ronda_core import fair
from ronda_core import match as matches
from ronda_core.hand import Phase
from ronda_core.match import Cause, Finished, Match, MatchEvent
from ronda_core.rules import Settings
from ronda_core.view import Event
from ronda_server.facts import Fact

Decision = tuple[str, dict[str, Any]]
"""The kind and the data of a fact: what somebody decided."""

OPEN: Final = "open"
INVITED: Final = "invited"
PERSON: Final = "person"
BOT: Final = "bot"

TRUSTED: Final = "trusted"
REMOTE: Final = "remote"
IN_WORKERS: Final = ("process", "sandbox")
"""How a bot is kept apart that has a process of its own here."""


@dataclass(slots=True)
class SeatState:
    """A seat before and during the match."""

    kind: str
    identity: str = ""
    name: str = ""
    digest: bytes | None = field(default=None, repr=False)
    """Of the token that plays this seat."""
    invitation: bytes | None = field(default=None, repr=False)
    client_commitment: str = ""
    entropy: bytes = b""
    ready: bool = False
    isolation: str = ""
    """How a bot is kept apart; empty for a person."""

    @property
    def hosted(self) -> bool:
        """A bot that this server runs itself."""
        return self.kind == BOT and self.isolation != REMOTE

    @property
    def remote(self) -> bool:
        """A bot that plays over a stream."""
        return self.isolation == REMOTE


class Table(NamedTuple):
    """Where a match belongs that is a game of a tournament's or a ladder's block.

    Nobody is shown anything of it but its seats, and its deals come from its block's secret.
    """

    tournament: str
    """Whose secret it is dealt from: a tournament, or a block of a ladder."""
    block: int
    rotation: int
    scope: str
    """Of its deals."""
    roster: tuple[str, ...]
    """The context of the deals: every bot once, in order."""
    rated: bool


class MatchCreated(NamedTuple):
    """A match is made; `seats` is what it offered then."""

    seats: tuple[SeatState, ...]


class SeatJoined(NamedTuple):
    """A person sits down."""

    seat: int
    identity: str
    name: str
    client_commitment: str


class SeatReady(NamedTuple):
    """A seat has given its entropy, public from now on."""

    seat: int
    entropy: bytes


class CancelAgreed(NamedTuple):
    """A seat agrees to cancel."""

    seat: int


Told = Event | MatchCreated | SeatJoined | SeatReady | CancelAgreed


class Happened(NamedTuple):
    """One numbered event: its row, what a spectator is told, and what each seat is told."""

    fact: Fact
    public: Told
    by_seat: tuple[Event, ...] | None = None
    """By seat, where a seat is told more than a spectator."""
    event: MatchEvent | None = None
    """Secret: what the match itself says, for the record."""

    def __repr__(self) -> str:
        return repr(self.fact)


@dataclass(slots=True, repr=False)
class Game:
    """A hosted match at one moment."""

    id: str
    settings: Settings
    per_decision: int
    """Microseconds; 0: no limit."""
    visibility: str
    commitment: str
    master: bytes
    owner: bytes
    """Digest of the owner token."""
    created: int
    seats: list[SeatState]
    sequence: int = 0
    opened: int = 0
    """Number of the event that opened the decision that waits."""
    opened_at: int = 0
    last_time: int = 0
    match: Match | None = None
    started: int = 0
    dealer: fair.Dealer | None = None
    cancel_agreed: frozenset[int] = frozenset()
    result: Finished | None = None
    created_seats: tuple[SeatState, ...] = ()
    """As they were offered."""
    filled_at: int = 0
    """When the last seat was taken."""
    table: Table | None = None
    """None: a match of its own."""

    def __repr__(self) -> str:
        return f"<Game {self.id}, {self.sequence} events>"

    @property
    def over(self) -> bool:
        """Nothing more can happen."""
        return self.result is not None

    @property
    def state(self) -> str:
        """waiting, running, finished or cancelled."""
        if self.result:
            return "cancelled" if self.result.outcome == "cancelled" else "finished"
        return "running" if self.match else "waiting"

    @property
    def full(self) -> bool:
        """Every seat is taken."""
        return all(seat.kind in (PERSON, BOT) for seat in self.seats)

    @property
    def deadline(self) -> int:
        """When the decision that waits must be in, in microseconds since 1970; 0: no limit."""
        if self.result or not self.per_decision or not self.opened_at:
            return 0
        return self.opened_at + self.per_decision

    @property
    def waits_for(self) -> tuple[int, ...]:
        """Seats whose decision is open."""
        hand = self.match.hand if self.match and not self.result else None
        if hand is None:
            return ()
        if hand.phase is Phase.DECLARE:
            return tuple(seat for seat, answer in enumerate(hand.answers) if answer is None)
        return (hand.turn,) if hand.turn >= 0 else ()

    @property
    def workers(self) -> int:
        """How many of its seats have bots in processes of their own."""
        return sum(seat.isolation in IN_WORKERS for seat in self.seats)

    @property
    def played(self) -> bool:
        """A card has been played."""
        hand = self.match.hand if self.match else None
        return hand is not None and (hand.number > 1 or bool(hand.plays))


def copy(game: Game) -> Game:
    """Return a game that advances apart from this one; its seats are not to be changed in place."""
    return Game(
        game.id,
        game.settings,
        game.per_decision,
        game.visibility,
        game.commitment,
        game.master,
        game.owner,
        game.created,
        game.seats,
        game.sequence,
        game.opened,
        game.opened_at,
        game.last_time,
        matches.copy(game.match) if game.match else None,
        game.started,
        game.dealer,
        game.cancel_agreed,
        game.result,
        game.created_seats,
        game.filled_at,
        game.table,
    )


def forfeit(seat: int, cause: Cause, detail: str = "") -> Decision:
    """Return the decision that ends a match by a seat's fault."""
    return "forfeited", {"seat": seat, "cause": cause.value, "detail": detail}
