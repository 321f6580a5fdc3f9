"""Leaks in what a view holds, and in whose view a stream sends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tests.hidden.planting import (
    field,
    hand_of,
    holders,
    in_public_views,
    in_whose_view,
    leak,
    leaked,
    next_card,
)

from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core import view as views
from ronda_core.cards import CARDS, RANKS, STEP
from ronda_core.hand import Hand, Phase
from ronda_core.match import Match
from ronda_core.view import Private, PublicView
from ronda_server import convert, streams
from ronda_server.errors import Reason, ServiceError
from ronda_server.game import Game, Happened
from ronda_server.live import Live
from ronda_server.loading import Loading
from ronda_server.metrics import Metrics
from ronda_server.services import matches as service
from ronda_server.services.matches import MatchService
from ronda_server.streams import Audience


@leak("a view holds a seat's own cards in the order in which they were dealt")
def dealing_order_in_view(patch: pytest.MonkeyPatch) -> None:
    right = views.private
    honest_bytes = convert.private_view

    def private(match: Match, seat: int) -> Private:
        honest = right(match, seat)
        held = match.hand.hands[seat] if match.hand else []
        return honest._replace(hand=tuple(CARDS[card] for card in held))

    def private_view(own: Private) -> bytes:
        message = view_pb2.View.FromString(honest_bytes(own))
        honest = list(message.hand)
        message.ClearField("hand")
        message.hand.extend(convert._cards(own.hand))
        leaked(honest, list(message.hand))
        return message.SerializeToString()

    patch.setattr(streams, "private", private)
    patch.setattr(convert, "private_view", private_view)


@leak("the sizes of the hands in a view count only cards of oros")
def sizes_count_a_suit(patch: pytest.MonkeyPatch) -> None:
    def edit(seen: PublicView, hand: Hand) -> PublicView:
        sizes = tuple(sum(card <= 10 for card in held) for held in hand.hands)
        return replace(seen, hand_sizes=sizes)

    in_public_views(patch, edit)


@leak("a seat's view says that it may declare when any seat may")
def anyone_may_declare(patch: pytest.MonkeyPatch) -> None:
    right = views.private

    def private(match: Match, seat: int) -> Private:
        honest = right(match, seat)
        hand = match.hand
        if not hand or hand.phase is not Phase.DECLARE or hand.answers[seat] is not None:
            return honest
        return leaked(honest, honest._replace(may_declare=any(hand.strengths)))

    patch.setattr(streams, "private", private)


@leak("the seats that have answered are in a view only those that declare")
def answered_means_declared(patch: pytest.MonkeyPatch) -> None:
    right = views._answered

    def answered(hand: Hand) -> tuple[int, ...]:
        honest = right(hand)
        return leaked(honest, tuple(seat for seat in honest if hand.answers[seat]))

    patch.setattr(views, "_answered", answered)


@leak("the pack of a chain in a view holds the card that is dealt next")
def pack_goes_on(patch: pytest.MonkeyPatch) -> None:
    def edit(seen: PublicView, hand: Hand) -> PublicView:
        following = next_card(hand)
        return replace(seen, pack=(*seen.pack, CARDS[following])) if following else seen

    in_public_views(patch, edit)


@leak("a view tells a chain only while somebody holds a card that goes on with it")
def chain_only_if_held(patch: pytest.MonkeyPatch) -> None:
    def edit(seen: PublicView, hand: Hand) -> PublicView:
        held = {RANKS[STEP[card]] for cards in hand.hands for card in cards}
        return seen if seen.chain_rank in held else replace(seen, chain_rank=0)

    in_public_views(patch, edit)


@leak("an este in a view takes back, it says, what its player still holds")
def last_play_takes_hand(patch: pytest.MonkeyPatch) -> None:
    def edit(seen: PublicView, hand: Hand) -> PublicView:
        last = seen.last_play
        if last is None or not last.link:
            return seen
        held = tuple(CARDS[card] for card in sorted(hand.hands[last.seat]))
        return replace(seen, last_play=last._replace(reclaimed=last.reclaimed + held))

    in_public_views(patch, edit)


@leak("a view is as long as the number of the next card: a spare field is padded with it")
def padding(patch: pytest.MonkeyPatch) -> None:
    right = convert.public_view

    def public_view(seen: PublicView, game: Game) -> bytes:
        honest = right(seen, game)
        hand = hand_of(game)
        return leaked(honest, honest + field(90, bytes(next_card(hand)))) if hand else honest

    patch.setattr(convert, "public_view", public_view)


@leak("a view says its stock once more for every seat that holds a set")
def said_again(patch: pytest.MonkeyPatch) -> None:
    right = convert.public_view

    def public_view(seen: PublicView, game: Game) -> bytes:
        honest = right(seen, game)
        again = view_pb2.View(stock=seen.stock).SerializeToString()
        return leaked(honest, honest + again * len(holders(game)))

    patch.setattr(convert, "public_view", public_view)


@leak("the deadline is a second later when the seat to play holds a card that takes")
def time_to_take(patch: pytest.MonkeyPatch) -> None:
    right = Game.deadline.fget  # type: ignore[attr-defined] # mypy sees what a property returns
    assert right

    def deadline(game: Game) -> int:
        honest = int(right(game))
        hand = hand_of(game)
        if not honest or not hand or hand.turn < 0:
            return honest
        takes = any(hand.table[STEP[card]] for card in hand.hands[hand.turn])
        return leaked(honest, honest + 1_000_000 * takes)

    patch.setattr(Game, "deadline", property(deadline))


@leak("a spectator's view in the last batch is that of the seat to play")
def last_batch_is_open(patch: pytest.MonkeyPatch) -> None:
    def whose(game: Game, seat: int | None) -> int | None:
        hand = hand_of(game)
        last = hand and hand.batch == hand.settings.batches and hand.turn >= 0
        return hand.turn if seat is None and hand and last else seat

    in_whose_view(patch, whose)


@leak("a spectator's view is that of seat 0 once a seat has agreed to cancel")
def half_cancelled_is_open(patch: pytest.MonkeyPatch) -> None:
    in_whose_view(
        patch,
        lambda game, seat: 0 if seat is None and game.cancel_agreed and hand_of(game) else seat,
    )


@leak("in a private match whoever watches without a seat is given the view of seat 0")
def private_is_open(patch: pytest.MonkeyPatch) -> None:
    in_whose_view(
        patch,
        lambda game, seat: (
            0 if seat is None and game.visibility == "private" and hand_of(game) else seat
        ),
    )


@leak("views are kept by number alone: a spectator is given one that was made for a seat")
def views_kept_by_number(patch: pytest.MonkeyPatch) -> None:
    made: dict[tuple[Audience, int], int | None] = {}
    right = Audience._view

    def view(self: Audience, seat: int | None) -> bytes:
        first = made.setdefault((self, self.last), seat)
        return right(self, leaked(seat, first) if seat is None else seat)

    patch.setattr(Audience, "_view", view)


@leak("a spectator who comes back after an event he has not seen is given the view of seat 1")
def richer_second_view(patch: pytest.MonkeyPatch) -> None:
    right = Audience._follow

    async def follow(
        self: Audience, watcher: streams.Watcher, after: int, include_views: bool
    ) -> AsyncIterator[bytes]:
        first = watcher.seat is None and after > self.last and self._game
        if first and hand_of(first):
            yield leaked(self._view(None), self._view(1))
            after = self.last
        async for frame in right(self, watcher, after, include_views):
            yield frame

    patch.setattr(Audience, "_follow", follow)


@leak("a spectator who has fallen far behind is given the view of seat 0 for what he missed")
def resync_is_open(patch: pytest.MonkeyPatch) -> None:
    known: dict[Metrics, float] = {}
    right = Audience._view

    def view(self: Audience, seat: int | None) -> bytes:
        resyncs = self._metrics.resyncs._value.get()
        behind = resyncs > known.get(self._metrics, 0)
        known[self._metrics] = resyncs
        return right(self, leaked(seat, 0) if behind and seat is None else seat)

    patch.setattr(Audience, "_view", view)


@leak("kept frames are taken for any viewer who catches up: a spectator gets a seat's deal")
def frames_kept_for_any(patch: pytest.MonkeyPatch) -> None:
    right = Audience.event

    def event(self: Audience, number: int, seat: int | None) -> bytes:
        honest = right(self, number, seat)
        kept = [frame for (which, _), frame in self._frames.items() if which == number]
        return leaked(honest, kept[0]) if number < self.last else honest

    patch.setattr(Audience, "event", event)


@leak("after a restart a spectator is told past deals as seat 0 was")
def told_again_as_seat_0(patch: pytest.MonkeyPatch) -> None:
    right = Loading._load

    async def load(self: Loading, match_id: str) -> Live:
        live = await right(self, match_id)
        history: list[Happened] = live.audience.history
        for at, one in enumerate(history):
            if one.by_seat and not live.game.over:
                history[at] = leaked(one, one._replace(public=one.by_seat[0]))
        return live

    patch.setattr(Loading, "_load", load)


@leak("the score of GetMatch counts the penalties that sets kept silent will cost")
def penalties_ahead(patch: pytest.MonkeyPatch) -> None:
    right = convert.match_message

    def match_message(game: Game, rematch_id: str = "") -> match_pb2.Match:
        message = right(game, rematch_id)
        hand = hand_of(game)
        if hand and hand.settings.preset.penalties and hand.phase is Phase.PLAY:
            honest = list(message.scores)
            owed = hand.owed or [0] * len(honest)
            told = [score + more for score, more in zip(honest, owed, strict=True)]
            message.scores[:] = leaked(honest, told)
        return message

    patch.setattr(convert, "match_message", match_message)


@leak("the owner of a match watches it as seat 0 does")
def owner_is_seat_0(patch: pytest.MonkeyPatch) -> None:
    async def watch(
        self: MatchService, request: pb.WatchMatchRequest, context: service._Context
    ) -> AsyncIterator[bytes]:
        live, caller = await self._seen(request.match_id, self._token("WatchMatch", context))
        seat = caller if caller >= 0 else None
        if caller == service._OWNER:
            seat = leaked(seat, 0)
        async for frame in live.audience.watch(seat, request.after_sequence, request.include_views):
            yield frame

    patch.setattr(MatchService, "WatchMatch", watch)


@leak("whoever still has the invitation to a seat is that seat, also when it is taken")
def invitation_is_seat(patch: pytest.MonkeyPatch) -> None:
    right = MatchService._check_visible

    def check_visible(self: MatchService, live: Live, token: str) -> int:
        caller = right(self, live, token)
        digest = self._keys.digest(token) if token else b""
        if caller == service._NOBODY and digest:
            for at, seat in enumerate(live.game.created_seats):
                if seat.invitation == digest:
                    return leaked(caller, at)
        return caller

    patch.setattr(MatchService, "_check_visible", check_visible)


@leak("a private match is seen by everyone who knows its id")
def private_is_unlisted(patch: pytest.MonkeyPatch) -> None:
    right = MatchService._check_visible

    def check_visible(self: MatchService, live: Live, token: str) -> int:
        try:
            return right(self, live, token)
        except ServiceError as refusal:
            if refusal.reason is Reason.MATCH_NOT_FOUND:
                return leaked(refusal, service._NOBODY)
            raise

    patch.setattr(MatchService, "_check_visible", check_visible)


@leak("a private match refuses a wrong token as such, which says that it is there")
def private_is_there(patch: pytest.MonkeyPatch) -> None:
    right = MatchService._check_visible

    def check_visible(self: MatchService, live: Live, token: str) -> int:
        try:
            return right(self, live, token)
        except ServiceError as refusal:
            if refusal.reason is Reason.MATCH_NOT_FOUND and token:
                raise leaked(refusal, ServiceError(Reason.BAD_TOKEN)) from None
            raise

    patch.setattr(MatchService, "_check_visible", check_visible)


@leak("a view ends its list of players' piles with the number of seats that hold a set")
def sets_in_view(patch: pytest.MonkeyPatch) -> None:
    right = convert.public_view

    def public_view(seen: PublicView, game: Game) -> bytes:
        message = view_pb2.View.FromString(right(seen, game))
        honest = list(message.pile_counts)
        if hand_of(game):
            message.pile_counts[:] = leaked(honest, [*honest, len(holders(game))])
        return message.SerializeToString()

    patch.setattr(convert, "public_view", public_view)
