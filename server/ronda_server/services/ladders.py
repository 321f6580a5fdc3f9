"""LadderService: what is asked of a ladder; the answer is its table's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import AsyncIterator
from typing import Final

from ronda.v1 import ladder_service_pb2 as pb
from ronda.v1 import ladder_service_pb2_grpc
from ronda_arena.ladder.ratings import Rating
from ronda_server.errors import Reason, ServiceError
from ronda_server.hosting import Host
from ronda_server.ladders import messages
from ronda_server.ladders.hosted import Ladder, Ladders
from ronda_server.ladders.table import Place, Ranked, place
from ronda_server.services.paging import page_size

_MOST_NAME: Final = 128
_MOST_STATES: Final = 8


class LadderService(ladder_service_pb2_grpc.LadderServiceServicer):
    """Ladders over gRPC."""

    def __init__(self, host: Host, ladders: Ladders) -> None:
        self._host = host
        self._ladders = ladders

    async def ListRatings(
        self, request: pb.ListRatingsRequest, context: object
    ) -> pb.ListRatingsResponse:
        """Return a page of the ratings of a ladder."""
        size = page_size(request.page_size)
        states = _states(request)
        if len(request.bot_prefix) > _MOST_NAME:
            raise ServiceError(Reason.REQUEST_INVALID, field="bot_prefix")
        one = self._ready(request.ladder)
        ranked = one.table.ranked()
        kind = f"ratings:{one.name}:"
        start = 0
        if request.page_token:
            start = bisect_right(ranked, self._last(one, request.page_token, kind), key=place)
        found = [
            told
            for told in ranked[start:]
            if told.row.bot.startswith(request.bot_prefix)
            and (not states or told.row.state in states)
        ]
        token = ""
        if len(found) > size:
            token = self._host.keys.page(kind + _mark(found[size - 1]))
        shown = [messages.rating(told) for told in found[:size]]
        ladder = messages.ladder(one)
        return pb.ListRatingsResponse(ladder=ladder, ratings=shown, next_page_token=token)

    async def GetRating(
        self, request: pb.GetRatingRequest, context: object
    ) -> pb.GetRatingResponse:
        """Return how one bot stands."""
        one = self._ready(request.ladder)
        found = one.table.find(request.bot)
        if found is None:
            raise ServiceError(Reason.RATING_NOT_FOUND)
        return pb.GetRatingResponse(
            ladder=messages.ladder(one),
            rating=messages.rating(found),
            history=messages.history(one, found.row.bot),
        )

    async def WatchLadder(
        self, request: pb.WatchLadderRequest, context: object
    ) -> AsyncIterator[pb.WatchLadderResponse]:
        """Stream how a ladder stands."""
        one = self._ladders.find(request.ladder)
        self._host.metrics.watchers.inc()
        try:
            async for update in one.audience.watch(request.after_sequence):
                yield messages.frame(one, update, self._host.now())
        finally:
            self._host.metrics.watchers.dec()

    def _ready(self, name: str) -> Ladder:
        """Return a ladder of which something is known."""
        one = self._ladders.find(name)
        if one.table.head is None:
            raise ServiceError(Reason.LADDER_NOT_READY, retry_seconds=1)
        return one

    def _last(self, one: Ladder, token: str, kind: str) -> Place:
        """Return the place that a page ended with, among those of today."""
        text = self._host.keys.read_page(token)
        if not text.startswith(kind):
            raise ServiceError(Reason.BAD_PAGE_TOKEN, field="page_token")
        provisional, mean, sigma, since, bot = text.removeprefix(kind).split(":", 4)
        if not sigma:
            return provisional == "1", -float(mean), bot
        rating = Rating(float(mean), float(sigma))
        return one.table.place(provisional == "1", rating, int(since) if since else None, bot)


def _mark(told: Ranked) -> str:
    """Return what tells later where a bot stood, whatever time and the anchors have moved."""
    sigma = repr(told.rating.sigma) if told.rating else ""
    since = "" if told.since is None else told.since
    return f"{told.row.provisional:d}:{told.row.rating!r}:{sigma}:{since}:{told.row.bot}"


def _states(request: pb.ListRatingsRequest) -> set[str]:
    """Return the states that are asked for; empty: all."""
    found = {messages.state_name(number) for number in request.states}
    if None in found or len(request.states) > _MOST_STATES:
        raise ServiceError(Reason.REQUEST_INVALID, field="states")
    return {name for name in found if name}
