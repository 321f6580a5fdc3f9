"""How a match comes to be: from an offer of seats, or as the rematch of one that is over."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

import structlog

from ronda_bots.registry import BotNotFoundError
from ronda_core.rules import Settings
from ronda_server import fold
from ronda_server.commitments import Promises
from ronda_server.errors import Reason, ServiceError, StorageError
from ronda_server.facts import Fact
from ronda_server.game import (
    BOT,
    IN_WORKERS,
    INVITED,
    OPEN,
    PERSON,
    REMOTE,
    Decision,
    Game,
    SeatState,
)
from ronda_server.hosting import Host
from ronda_server.identity import INVITATION, OWNER, SEAT
from ronda_server.live import Invitation, Live, Offer, Request
from ronda_server.remote_bot import RemoteBot
from ronda_server.statements import Rows, insert_match, rows_of, set_rematch, set_running

_log = structlog.get_logger(__name__)


class Opening:
    """Makes matches, each from the oldest promise."""

    def __init__(
        self,
        host: Host,
        promises: Promises,
        max_matches: int = 10_000,
        max_workers: int = 256,
    ) -> None:
        self._host = host
        self._promises = promises
        self._max_matches = max_matches
        self._max_workers = max_workers
        self._one_at_a_time = asyncio.Lock()

    async def create(
        self,
        settings: Settings,
        offers: Sequence[Offer],
        per_decision: int,
        visibility: str,
        request: Request,
    ) -> tuple[Game, str, list[Invitation]]:
        """Create a match and return it, as it was then, with its owner token and invitations.

        The same request again returns the same match and tokens.
        """
        live = await self._host.to_the_end(
            self._create(settings, offers, per_decision, visibility, request, "")
        )
        made = live.game
        first = live.audience.history[0].fact
        game, _ = fold.create(made.id, first, made.commitment, made.master)
        return game, *self._tokens(game, request)

    async def rematch(self, live: Live, seat: int, request: Request) -> tuple[Live, str]:
        """Seat `seat` again in the match that follows, made by the first who asks."""
        return await self._host.to_the_end(self._rematch(live, seat, request))

    async def _create(
        self,
        settings: Settings,
        offers: Sequence[Offer],
        per_decision: int,
        visibility: str,
        request: Request,
        follows: str,
    ) -> Live:
        async with self._one_at_a_time:
            known = await self._host.log.requested(request.key)
            if known:
                if known.content != request.content:
                    raise ServiceError(Reason.REQUEST_ID_REUSED)
                return await self._host.find(known.id)
            if self._host.draining:
                raise ServiceError(Reason.DRAINING)
            if len(self._host) >= self._max_matches:
                limit = {"limit": "matches"}
                raise ServiceError(Reason.TOO_MANY_MATCHES, metadata=limit, retry_seconds=10)
            bots = self._bots(settings, offers, "" if follows else "seats")
            scope, commitment = await self._promises.take()
            data = {
                "rules": settings.preset.name,
                "target": settings.target,
                "length": settings.length,
                "per_decision": per_decision,
                "visibility": visibility,
                "owner": self._digest(OWNER, scope, 0, request).hex(),
                "seats": [
                    bots.get(at) or self._offer(scope, at, offer, request)
                    for at, offer in enumerate(offers)
                ],
            }
            try:
                live = await self._insert(scope, commitment, data, request, follows)
            except StorageError:
                self._host.spawn(self._settle(scope, commitment))
                raise
        _log.info("match created", match=scope, rules=settings.preset.name)
        return live

    async def _insert(
        self, scope: str, commitment: str, data: dict[str, Any], request: Request, follows: str
    ) -> Live:
        master = await self._host.log.master(scope)
        now = self._host.now()
        fact = Fact(1, now, "created", data)
        game, happened = fold.create(scope, fact, commitment, master)

        rows = rows_of(scope, [one.fact for one in happened])

        def work(connection: sqlite3.Connection) -> Rows:
            insert_match(connection, scope, game.visibility, now, *request)
            if game.match:
                set_running(connection, scope)
            if follows:
                set_rematch(connection, follows, scope)
            return rows

        await self._host.log.submit(work)
        self._host.metrics.created(game.settings.preset.name)
        return self._host.keep(game, happened)

    async def _settle(self, scope: str, commitment: str) -> None:
        """See what became of a match that was not stored for sure, though nobody asks.

        It is taken up if the storage holds it after all; else the next match takes its promise.
        """
        while True:
            try:
                await self._host.find(scope)
            except StorageError:
                if self._host.draining:
                    return
                await self._host.pause()
                continue
            except ServiceError:
                self._promises.give_back(scope, commitment)
            return

    def _bots(
        self, settings: Settings, offers: Sequence[Offer], field: str
    ) -> dict[int, dict[str, Any]]:
        """Return the seats of bots; refuse one that is not there, or that will not play."""
        seats: dict[int, dict[str, Any]] = {}
        asked: Counter[RemoteBot] = Counter()
        for at, offer in enumerate(offers):
            if offer.kind != BOT:
                continue
            try:
                hosted = self._host.registry.find(offer.bot)
                level = self._host.seating.level(hosted)
                seats[at] = {"kind": BOT, "identity": hosted.identity, "isolation": level.value}
            except BotNotFoundError:
                bot = self._host.remotes.find(offer.bot)
                if bot is None:
                    raise ServiceError(Reason.BOT_NOT_FOUND, field=field) from None
                asked[bot] += 1
                seats[at] = {"kind": BOT, "identity": bot.identity, "isolation": REMOTE}
        for bot, seats_of_it in asked.items():
            self._host.remotes.admit(bot, settings, seats_of_it)
        self._make_room(sum(seat["isolation"] in IN_WORKERS for seat in seats.values()))
        return seats

    def _make_room(self, workers: int) -> None:
        """Refuse a match whose bots would want more workers than there may be."""
        if workers and self._host.workers + workers > self._max_workers:
            limit = {"limit": "workers"}
            raise ServiceError(Reason.TOO_MANY_MATCHES, metadata=limit, retry_seconds=10)

    def _offer(self, scope: str, seat: int, offer: Offer, request: Request) -> dict[str, Any]:
        if offer.kind == INVITED:
            invitation = self._digest(INVITATION, scope, seat, request).hex()
            return {"kind": INVITED, "invitation": invitation}
        return {"kind": OPEN}

    def _digest(self, kind: str, scope: str, seat: int, request: Request) -> bytes:
        keys = self._host.keys
        return keys.digest(keys.token(kind, scope, seat, request.key))

    def _tokens(self, game: Game, request: Request) -> tuple[str, list[Invitation]]:
        """Derive the tokens of a match again from the request that made it."""
        keys = self._host.keys
        seats = game.created_seats
        invitations = [
            Invitation(at, keys.token(INVITATION, game.id, at, request.key))
            for at, seat in enumerate(seats)
            if seat.kind == INVITED
        ]
        return keys.token(OWNER, game.id, 0, request.key), invitations

    async def _rematch(self, live: Live, seat: int, request: Request) -> tuple[Live, str]:
        old = live.game
        if not old.over:
            raise ServiceError(Reason.MATCH_NOT_OVER)
        async with live.lock:
            if not live.rematch_id:
                live.rematch_id = (await self._follow(old)).game.id
        new = await self._host.find(live.rematch_id)
        keys = self._host.keys
        token = keys.token(SEAT, new.game.id, seat, request.key)
        before = old.seats[seat]

        def decide(game: Game) -> Decision:
            if game.over:
                raise ServiceError(Reason.MATCH_OVER)
            if game.seats[seat].kind == PERSON:
                raise ServiceError(Reason.SEAT_TAKEN)
            data = {"seat": seat, "identity": before.identity, "name": before.name}
            return "joined", data | {"digest": keys.digest(token).hex(), "commitment": ""}

        await self._host.command(new, b"rematch" + bytes([seat]), request, decide)
        return new, token

    async def _follow(self, old: Game) -> Live:
        """Make the match that follows `old`, once: its request is derived from `old`."""
        key = self._host.keys.request(f"the match after {old.id}")
        return await self._create(
            old.settings,
            [self._again(seat) for seat in old.seats],
            old.per_decision,
            old.visibility,
            Request(key, key),
            old.id,
        )

    @staticmethod
    def _again(seat: SeatState) -> Offer:
        """Offer a seat to the same bot, or to the same person."""
        if seat.kind == BOT:
            return Offer(BOT, seat.identity)
        return Offer(INVITED)
