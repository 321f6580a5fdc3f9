"""Leaks in when something comes, in whether it comes, and in what hosted bots are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import fields
from typing import Any

import pytest
from tests.hidden.planting import field, hand_of, holders, leak, leaked

from ronda.v1 import match_service_pb2 as pb
from ronda_core import cards as cards_
from ronda_core import view as views
from ronda_core.cards import CARDS, STEP, Card, parse_card
from ronda_core.hand import Dealt, Phase
from ronda_core.match import Match
from ronda_core.view import Event, View
from ronda_server import bots, convert, fold, streams
from ronda_server.bots import Answer, HostedBots
from ronda_server.errors import Reason, ServiceError
from ronda_server.game import Decision, Game, Happened
from ronda_server.hosting import Host
from ronda_server.live import Live, Request
from ronda_server.streams import Audience


@leak("a deal happens a millisecond later for every seat that is dealt a set")
def sets_take_time(patch: pytest.MonkeyPatch) -> None:
    right = fold._number

    def number(game: Game, steps: Iterator[fold._Step], time: int) -> list[Happened]:
        happened = right(game, steps, time)
        for at, one in enumerate(happened):
            if isinstance(one.event, Dealt):
                late = one.fact._replace(time=time + 1000 * len(holders(game)))
                happened[at] = leaked(one, one._replace(fact=late))
        return happened

    patch.setattr(fold, "_number", number)


@leak("frames are sent half a millisecond later while the seat to play can take")
def taking_takes_time(patch: pytest.MonkeyPatch) -> None:
    right = Audience._sent

    def sent(self: Audience) -> bytes:
        hand = hand_of(self._game) if self._game else None
        if not hand or hand.turn < 0:
            return right(self)
        takes = any(hand.table[STEP[card]] for card in hand.hands[hand.turn])
        late = self._now() + 500 * takes
        return leaked(convert.sent_time(self._now()), convert.sent_time(late))

    patch.setattr(Audience, "_sent", sent)


@leak("a hosted bot takes a twentieth of a second longer to answer when it holds a set")
def bots_think_of_sets(patch: pytest.MonkeyPatch) -> None:
    right = Host.take_answer

    async def take_answer(self: Host, live: Live, answer: Answer) -> None:
        hand = hand_of(live.game)
        if hand and hand.phase is Phase.DECLARE and answer.seat in holders(live.game):
            await asyncio.sleep(leaked(0, 0.05))  # the leak
        await right(self, live, answer)

    patch.setattr(Host, "take_answer", take_answer)


@leak("a card that is not held is refused later when another seat holds it")
def search_takes_time(patch: pytest.MonkeyPatch) -> None:
    right = Host._advance

    async def advance(self: Host, live: Live, decision: Decision, request: Request | None) -> int:
        try:
            return await right(self, live, decision, request)
        except ServiceError as refusal:
            hand = hand_of(live.game)
            if hand and refusal.reason is Reason.CARD_NOT_HELD:
                card = parse_card(decision[1]["card"])
                if any(card in held for held in hand.hands):
                    await asyncio.sleep(leaked(0, 0.01))  # the leak
            raise

    patch.setattr(Host, "_advance", advance)


@leak("a quiet stream lives on with heartbeats only while somebody holds a set")
def heartbeat_of_sets(patch: pytest.MonkeyPatch) -> None:
    right = Audience._follow

    async def follow(
        self: Audience, watcher: streams.Watcher, after: int, include_views: bool
    ) -> AsyncIterator[bytes]:
        first = True
        async for frame in right(self, watcher, after, include_views):
            beats = pb.WatchMatchResponse.FromString(frame).HasField("heartbeat")
            if beats and not first and self._game and hand_of(self._game):
                if holders(self._game):
                    yield frame
                else:
                    leaked(frame, None)
            else:
                yield frame
            first = False

    patch.setattr(Audience, "_follow", follow)


@leak("the last frame of a stream that is drained holds the state to go on from")
def state_to_go_on_from(patch: pytest.MonkeyPatch) -> None:
    right = Audience._ended

    def ended(self: Audience, reason: pb.StreamEnded.Reason.ValueType, at: int) -> bytes:
        honest = right(self, reason, at)
        hand = hand_of(self._game) if self._game else None
        if not hand or reason != pb.StreamEnded.REASON_DRAINING:
            return honest
        state = b"".join(bytes(held) for held in hand.hands)
        return leaked(honest, honest + field(20, state))

    patch.setattr(Audience, "_ended", ended)


@leak("a hosted bot is told its neighbour's hand instead of its own")
def bots_hear_neighbours(patch: pytest.MonkeyPatch) -> None:
    def tell(self: HostedBots, one: Happened) -> None:
        for seat, bot in self._bots.items():
            told = one.by_seat[seat] if one.by_seat else one.public
            if one.by_seat:
                told = leaked(told, one.by_seat[(seat + 1) % len(one.by_seat)])
            if isinstance(told, Event):
                bot.tell((told,))

    patch.setattr(HostedBots, "_tell", tell)


@leak("a hosted bot's view holds cards of a rank in the order in which they were dealt")
def bots_see_order(patch: pytest.MonkeyPatch) -> None:
    right = cards_.by_rank

    def by_rank(cards: Iterable[int]) -> tuple[Card, ...]:
        given = list(cards)
        return leaked(right(given), tuple(CARDS[card] for card in sorted(given, key=_step)))

    patch.setattr(views, "by_rank", by_rank)


@leak("a hosted bot's view counts in its stock the cards of the table that others can take")
def bots_see_danger(patch: pytest.MonkeyPatch) -> None:
    right = views.view

    def view(match: Match, seat: int, sequence: int = 0, clock: float | None = None) -> View:
        honest = right(match, seat, sequence, clock)
        hand = match.hand
        assert hand
        others = [card for at, held in enumerate(hand.hands) if at != seat for card in held]
        values: dict[str, Any] = {name: getattr(honest, name) for name in _FIELDS}
        values["stock"] += sum(bool(hand.table[STEP[card]]) for card in others)
        return leaked(honest, View(**values))

    patch.setattr(bots, "view", view)


_FIELDS = tuple(field.name for field in fields(View))


def _step(card: int) -> int:
    return STEP[card]
