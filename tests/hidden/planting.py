"""What leaks are planted with: the form of one, and the places where most of them go."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

from ronda.v1 import event_pb2
from ronda_core import view as views
from ronda_core.hand import Dealt, Hand
from ronda_core.match import Match
from ronda_core.sets import STRENGTH
from ronda_core.view import PublicView
from ronda_server import convert, streams
from ronda_server.errors import ServiceError
from ronda_server.game import Decision, Game, Happened
from ronda_server.hosting import Host
from ronda_server.live import Live, Request
from ronda_server.streams import Audience

T = TypeVar("T")

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Leak:
    """A mistake a programmer could make, and what it tells to whom."""

    name: str
    plant: Plant


def leak(name: str) -> Callable[[Plant], Leak]:
    """Make a leak of the function that plants it."""
    return lambda plant: Leak(name, plant)


class Told:
    """How often what was planted has told something else than the service tells by itself."""

    times = 0


def leaked(honest: object, told: T) -> T:
    """Return what is told instead of what is right, and count it where that differs."""
    Told.times += told != honest
    return told


def hand_of(game: Game) -> Hand | None:
    """Return the hand that is being played."""
    return game.match.hand if game.match and not game.over else None


def holders(game: Game) -> list[int]:
    """Return the seats that were dealt a set in this batch."""
    hand = hand_of(game)
    return [seat for seat, strength in enumerate(hand.strengths) if strength] if hand else []


def strengths_of(dealt: Dealt) -> list[int]:
    """Return how strong the sets are that were dealt, by seat."""
    return [STRENGTH[a][b][c] for a, b, c in dealt.hands]


def next_card(hand: Hand) -> int:
    """Return the card that is dealt next; 0 if none is left."""
    dealt = 4 + hand.batch * hand.settings.batch_plays
    return hand.deck[dealt] if dealt < 40 else 0


def fingerprint(hand: Hand) -> str:
    """Return a short digest of the pack."""
    return hashlib.sha256(bytes(hand.deck)).hexdigest()[:12]


def field(number: int, payload: bytes) -> bytes:
    """Return a field that no client knows yet."""
    return convert.delimited(number, payload)


def in_events(
    patch: pytest.MonkeyPatch,
    edit: Callable[[event_pb2.Event, Happened, Game, int | None], None],
) -> None:
    """Change events on their way to a seat, or to a spectator."""
    right = convert.event_bytes

    def event_bytes(happened: Happened, game: Game, seat: int | None) -> bytes:
        honest = right(happened, game, seat)
        message = event_pb2.Event.FromString(honest)
        edit(message, happened, game, seat)
        return leaked(honest, message.SerializeToString())

    patch.setattr(convert, "event_bytes", event_bytes)


def in_public_views(
    patch: pytest.MonkeyPatch, edit: Callable[[PublicView, Hand], PublicView]
) -> None:
    """Change the public part of the views that streams send."""
    right = views.public

    def public(match: Match, sequence: int = 0, clock: float | None = None) -> PublicView:
        honest = right(match, sequence, clock)
        return leaked(honest, edit(honest, match.hand)) if match.hand else honest

    patch.setattr(streams, "public", public)


def in_whose_view(
    patch: pytest.MonkeyPatch, whose: Callable[[Game, int | None], int | None]
) -> None:
    """Let streams send a viewer the view of another."""
    right = Audience._view

    def view(self: Audience, seat: int | None) -> bytes:
        assert self._game
        return right(self, leaked(seat, whose(self._game, seat)))

    patch.setattr(Audience, "_view", view)


def in_refusals(
    patch: pytest.MonkeyPatch, edit: Callable[[ServiceError, Game, Decision], ServiceError]
) -> None:
    """Change why the rules refuse a command."""
    right = Host._advance

    async def advance(self: Host, live: Live, decision: Decision, request: Request | None) -> int:
        try:
            return await right(self, live, decision, request)
        except ServiceError as refusal:
            raise edit(refusal, live.game, decision) from None

    patch.setattr(Host, "_advance", advance)
