"""TournamentService: what no tournament may be is refused here; the rest is the hall's."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

import grpc

from ronda.v1 import tournament_pb2, tournament_service_pb2_grpc
from ronda.v1 import tournament_service_pb2 as pb
from ronda_arena.isolation import Level
from ronda_arena.tournament.spec import Isolation, Plan
from ronda_server.accounts import Accounts
from ronda_server.errors import Reason, ServiceError
from ronda_server.hosting import Host
from ronda_server.identity import bearer
from ronda_server.services.checks import request_of
from ronda_server.services.paging import page_size
from ronda_server.tournaments import messages
from ronda_server.tournaments.asked import most_games, plan_of
from ronda_server.tournaments.book import Row
from ronda_server.tournaments.hall import Hall
from ronda_server.tournaments.live import Tournament

_Context = grpc.aio.ServicerContext[Any, Any]

_PREFIX: Final = "/ronda.v1.TournamentService/"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PAGE_BYTES: Final = 1 << 20
"""After which a page is full, however few it holds: a client takes 4 MiB."""


class TournamentService(tournament_service_pb2_grpc.TournamentServiceServicer):
    """Tournaments over gRPC."""

    def __init__(self, host: Host, accounts: Accounts, hall: Hall, isolation: Isolation) -> None:
        self._host = host
        self._keys = host.keys
        self._accounts = accounts
        self._hall = hall
        self._isolation = isolation

    async def CreateTournament(
        self, request: pb.CreateTournamentRequest, context: _Context
    ) -> pb.CreateTournamentResponse:
        """Create a tournament."""
        account = self._account("CreateTournament", context)
        asked = request_of(self._keys, "CreateTournament", request)
        name = request.spec.name or "tournament"
        row = await self._hall.create(name, account, partial(self._plan, request.spec), asked)
        return pb.CreateTournamentResponse(tournament=messages.created(row))

    async def GetTournament(
        self, request: pb.GetTournamentRequest, context: object
    ) -> pb.GetTournamentResponse:
        """Return one tournament."""
        one = await self._find(request.tournament_id)
        return pb.GetTournamentResponse(tournament=messages.tournament(one))

    async def ListTournaments(
        self, request: pb.ListTournamentsRequest, context: object
    ) -> pb.ListTournamentsResponse:
        """Return a page of tournaments."""
        size = page_size(request.page_size)
        below = int(self._page(request.page_token, "tournaments:") or 0)
        rows = await self._hall.book.listed(below, size + 1)
        shown: list[tournament_pb2.Tournament] = []
        room = _PAGE_BYTES
        for row in rows[:size]:
            told = await self._told(row)
            room -= told.ByteSize()
            if shown and room < 0:
                break
            shown.append(told)
        more = len(rows) > len(shown)
        token = self._keys.page(f"tournaments:{rows[len(shown) - 1].number}") if more else ""
        return pb.ListTournamentsResponse(tournaments=shown, next_page_token=token)

    async def CancelTournament(
        self, request: pb.CancelTournamentRequest, context: _Context
    ) -> pb.CancelTournamentResponse:
        """End a tournament at once."""
        account = self._account("CancelTournament", context)
        asked = request_of(self._keys, "CancelTournament", request)
        self._check_id(request.tournament_id)
        one = await self._hall.cancel(request.tournament_id, account, asked)
        return pb.CancelTournamentResponse(tournament=messages.tournament(one))

    async def ListGames(
        self, request: pb.ListGamesRequest, context: object
    ) -> pb.ListGamesResponse:
        """Return a page of the games of blocks that are over."""
        size = page_size(request.page_size)
        one = await self._find(request.tournament_id)
        kind = f"games:{one.id}:"
        block, _, rotation = (self._page(request.page_token, kind) or "0:-1").partition(":")
        listed = await self._hall.games(one, (int(block), int(rotation)), size + 1)
        told = [messages.game(game, record=request.include_records) for game in listed[:size]]
        shown = messages.fitting(told, _PAGE_BYTES)
        token = ""
        if len(listed) > len(shown):
            token = self._keys.page(f"{kind}{shown[-1].block}:{shown[-1].rotation}")
        return pb.ListGamesResponse(games=shown, next_page_token=token)

    async def GetStandings(
        self, request: pb.GetStandingsRequest, context: object
    ) -> pb.GetStandingsResponse:
        """Return what a tournament has come to."""
        one = await self._find(request.tournament_id)
        told = await self._standings(one) if request.include_pairs else messages.brief(one)
        return pb.GetStandingsResponse(standings=told)

    async def WatchTournament(
        self, request: pb.WatchTournamentRequest, context: object
    ) -> AsyncIterator[pb.WatchTournamentResponse]:
        """Stream how a tournament stands."""
        one = await self._find(request.tournament_id)
        self._host.metrics.watchers.inc()
        try:
            async for update in one.audience.watch(request.after_sequence):
                yield messages.frame(one, update, self._host.now())
        finally:
            self._host.metrics.watchers.dec()

    def _plan(self, spec: tournament_pb2.TournamentSpec) -> Plan:
        """Return what is to be played, or refuse what cannot be or is more than may be."""
        plan = plan_of(spec, self._host, self._isolation)
        weak = self._host.seating.granted.weaker(Level.SANDBOX)
        if plan.rated and plan.installed and weak:
            raise ServiceError(Reason.SANDBOX_MISSING, field="spec.rated")
        if most_games(plan) > self._hall.limits.games:
            limit = {"limit": "tournament_games"}
            raise ServiceError(Reason.TOURNAMENT_TOO_LARGE, field="spec.blocks", metadata=limit)
        return plan

    async def _standings(self, one: Tournament) -> tournament_pb2.Standings:
        """Return all that a tournament has come to; of many entrants it takes a while to make."""
        kept = one.shown
        if kept is None or kept[:2] != (one.audience.sequence, one.state):
            key = one.audience.sequence, one.state
            kept = one.shown = *key, await asyncio.to_thread(messages.standings, one, pairs=True)
        return kept[2]

    async def _told(self, row: Row) -> tournament_pb2.Tournament:
        if row.over:
            return messages.stored(row)
        return messages.tournament(await self._hall.find(row.id))

    def _account(self, method: str, context: _Context) -> str:
        token = bearer(_PREFIX + method, context.invocation_metadata())
        return self._accounts.holder(token).account

    async def _find(self, tournament_id: str) -> Tournament:
        self._check_id(tournament_id)
        return await self._hall.find(tournament_id)

    @staticmethod
    def _check_id(tournament_id: str) -> None:
        if not _ID.fullmatch(tournament_id):
            raise ServiceError(Reason.TOURNAMENT_NOT_FOUND)

    def _page(self, token: str, kind: str) -> str:
        if not token:
            return ""
        text = self._keys.read_page(token)
        if not text.startswith(kind):
            raise ServiceError(Reason.BAD_PAGE_TOKEN, field="page_token")
        return text.removeprefix(kind)
