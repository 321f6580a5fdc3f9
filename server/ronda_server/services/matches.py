"""MatchService: what is wrong in any state is refused here, the rest by the match itself."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from ronda.v1 import match_service_pb2 as pb
from ronda.v1 import match_service_pb2_grpc
from ronda_core.cards import TEXT
from ronda_core.fair import client_commitment
from ronda_core.match import Cause
from ronda_core.record import write
from ronda_core.rules import RulesError, settings
from ronda_server import convert
from ronda_server.commitments import Promises
from ronda_server.endings import ended_game
from ronda_server.errors import LogError, Reason, ServiceError
from ronda_server.game import BOT, INVITED, OPEN, Decision, Game, forfeit
from ronda_server.hosting import Host
from ronda_server.identity import SEAT, bearer
from ronda_server.live import Live, Offer
from ronda_server.log import Lobby, MatchRow
from ronda_server.opening import Opening
from ronda_server.services.checks import (
    check_name,
    check_running,
    free_seat,
    per_decision,
    request_of,
)
from ronda_server.services.paging import page_size

_Context = grpc.aio.ServicerContext[Any, Any]

_PREFIX: Final = "/ronda.v1.MatchService/"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIELDS: Final = {
    "rules": Reason.BAD_RULES,
    "players": Reason.BAD_SEAT_COUNT,
    "target": Reason.BAD_TARGET,
    "length": Reason.BAD_LENGTH,
}
_OWNER: Final = -1
_NOBODY: Final = -2


class MatchService(match_service_pb2_grpc.MatchServiceServicer):
    """Matches over gRPC."""

    def __init__(self, host: Host, opening: Opening, promises: Promises) -> None:
        self._host = host
        self._keys = host.keys
        self._opening = opening
        self._promises = promises

    async def GetMatch(self, request: pb.GetMatchRequest, context: _Context) -> pb.GetMatchResponse:
        """Return one match."""
        live, _ = await self._seen(request.match_id, self._token("GetMatch", context))
        return pb.GetMatchResponse(match=convert.match_message(live.game, live.rematch_id))

    async def ListMatches(
        self, request: pb.ListMatchesRequest, context: object
    ) -> pb.ListMatchesResponse:
        """Return a page of public matches."""
        size = page_size(request.page_size)
        state = convert.state_name(request.state)
        if state is None:
            raise ServiceError(Reason.REQUEST_INVALID, field="state")
        below = self._page(request.page_token, f"matches:{state}:")
        rows = await self._host.log.listed(state, below, size + 1)
        shown = rows[:size]
        found = await self._listed(shown)
        token = self._keys.page(f"matches:{state}:{shown[-1].number}") if len(rows) > size else ""
        return pb.ListMatchesResponse(
            matches=[convert.match_message(game, rematch_id) for game, rematch_id in found],
            next_page_token=token,
        )

    async def _listed(self, rows: list[MatchRow]) -> list[tuple[Game, str]]:
        """Return matches for a list; one whose log cannot be read does not hide the others."""
        lobbies = await self._host.log.lobbies([row.id for row in rows if row.result])
        found = []
        for row in rows:
            with contextlib.suppress(LogError):  # left out: it does not hide the others
                found.append(await self._shown(row, lobbies.get(row.id)))
        return found

    async def _shown(self, row: MatchRow, lobby: Lobby | None) -> tuple[Game, str]:
        if lobby:
            with contextlib.suppress(LogError):  # the log tells it too
                return ended_game(row, lobby), row.rematch_id or ""
        live = await self._host.find(row.id)
        return live.game, live.rematch_id

    async def CreateMatch(
        self, request: pb.CreateMatchRequest, context: object
    ) -> pb.CreateMatchResponse:
        """Create a match and offer its seats."""
        asked = request_of(self._keys, "CreateMatch", request)
        try:
            played_by = settings(
                request.rules, len(request.seats), request.target or None, request.length
            )
        except RulesError as problem:
            field = "seats" if problem.field == "players" else problem.field
            raise ServiceError(_FIELDS[problem.field], field=field) from None
        visibility = convert.visibility_name(request.visibility)
        if visibility is None:
            raise ServiceError(Reason.REQUEST_INVALID, field="visibility")
        game, owner, invitations = await self._opening.create(
            played_by,
            [self._offer(offer) for offer in request.seats],
            per_decision(request),
            visibility,
            asked,
        )
        return pb.CreateMatchResponse(
            match=convert.match_message(game),
            owner_token=owner,
            invitations=[
                pb.Invitation(seat=one.seat, invitation_token=one.token) for one in invitations
            ],
        )

    async def JoinMatch(
        self, request: pb.JoinMatchRequest, context: _Context
    ) -> pb.JoinMatchResponse:
        """Seat a person."""
        token = self._token("JoinMatch", context)
        asked = request_of(self._keys, "JoinMatch", request)
        check_name(request.name)
        wanted = request.seat if request.HasField("seat") else None
        commitment = request.client_commitment
        if commitment and (wanted is None or not _DIGEST.fullmatch(commitment)):
            raise ServiceError(Reason.BAD_CLIENT_COMMITMENT, field="client_commitment")
        live = await self._match(request.match_id)
        presented = self._keys.digest(token) if token else b""
        chosen: list[int] = []

        def decide(game: Game) -> Decision:
            at = free_seat(game, wanted, presented, caller == _OWNER)
            chosen.append(at)
            seat_token = self._keys.token(SEAT, game.id, at, asked.key)
            return "joined", {
                "seat": at,
                "identity": self._keys.guest(game.id, at, asked.key),
                "name": request.name,
                "digest": self._keys.digest(seat_token).hex(),
                "commitment": commitment,
            }

        caller = self._check_visible(live, token)
        sequence = await self._host.command(live, b"join", asked, decide)
        joined = live.audience.history[sequence - 1].fact.data
        return pb.JoinMatchResponse(
            seat=joined["seat"],
            identity=joined["identity"],
            seat_token=self._keys.token(SEAT, live.game.id, joined["seat"], asked.key),
            sequence=sequence,
        )

    async def ReadySeat(
        self, request: pb.ReadySeatRequest, context: _Context
    ) -> pb.ReadySeatResponse:
        """Take a seat's entropy."""
        live, seat = await self._seat("ReadySeat", request.match_id, context)
        asked = request_of(self._keys, "ReadySeat", request)

        def decide(game: Game) -> Decision:
            one = game.seats[seat]
            if game.over:
                raise ServiceError(Reason.MATCH_OVER)
            if one.ready:
                raise ServiceError(Reason.ALREADY_READY)
            if not game.full:  # who is still to come, and as whom, must not follow from it
                raise ServiceError(Reason.SEATS_OPEN)
            entropy = request.entropy
            if not 16 <= len(entropy) <= 64:
                raise ServiceError(Reason.BAD_ENTROPY, field="entropy")
            if client_commitment(entropy, game.id, seat) != one.client_commitment:
                raise ServiceError(Reason.BAD_ENTROPY, field="entropy")
            return "ready", {"seat": seat, "entropy": entropy.hex()}

        sequence = await self._host.command(live, bytes([seat]), asked, decide)
        return pb.ReadySeatResponse(sequence=sequence)

    async def CancelMatch(
        self, request: pb.CancelMatchRequest, context: _Context
    ) -> pb.CancelMatchResponse:
        """Cancel a match, or note that a seat agrees to."""
        live, caller = await self._holder("CancelMatch", request.match_id, context)
        asked = request_of(self._keys, "CancelMatch", request)

        def decide(game: Game) -> Decision | int:
            if game.over:
                raise ServiceError(Reason.MATCH_OVER)
            if caller == _OWNER:
                if game.played:
                    raise ServiceError(Reason.MATCH_STARTED)
                return "cancelled", {}
            if caller in game.cancel_agreed:
                return _agreed_at(live, caller)
            return "cancel_agreed", {"seat": caller}

        key = b"owner" if caller == _OWNER else bytes([caller])
        sequence = await self._host.command(live, key, asked, decide)
        # What this command brought, not how things stand by now: a retry is told the same.
        brought = [one.fact.kind for one in live.audience.history[sequence - 1 : sequence + 1]]
        cancelled = brought in (["cancelled"], ["cancel_agreed", "match_ended"])
        return pb.CancelMatchResponse(sequence=sequence, cancelled=cancelled)

    async def Declare(self, request: pb.DeclareRequest, context: _Context) -> pb.DeclareResponse:
        """Take a seat's answer to the declaring step."""
        live, seat = await self._seat("Declare", request.match_id, context)
        asked = request_of(self._keys, "Declare", request)

        def decide(game: Game) -> Decision:
            check_running(game, request.expected_sequence)
            return "answered", {"seat": seat, "declares": request.declare}

        sequence = await self._host.command(live, bytes([seat]), asked, decide)
        return pb.DeclareResponse(sequence=sequence)

    async def PlayCard(self, request: pb.PlayCardRequest, context: _Context) -> pb.PlayCardResponse:
        """Play a card."""
        live, seat = await self._seat("PlayCard", request.match_id, context)
        card = convert.card_number(request.card)
        if card is None:
            raise ServiceError(Reason.BAD_CARD, field="card")
        asked = request_of(self._keys, "PlayCard", request)

        def decide(game: Game) -> Decision:
            check_running(game, request.expected_sequence)
            return "played", {"seat": seat, "card": TEXT[card]}

        sequence = await self._host.command(live, bytes([seat]), asked, decide)
        return pb.PlayCardResponse(sequence=sequence)

    async def Resign(self, request: pb.ResignRequest, context: _Context) -> pb.ResignResponse:
        """Give a match up."""
        live, seat = await self._seat("Resign", request.match_id, context)
        asked = request_of(self._keys, "Resign", request)

        def decide(game: Game) -> Decision:
            if game.over:
                raise ServiceError(Reason.MATCH_OVER)
            if not game.match:
                raise ServiceError(Reason.MATCH_NOT_STARTED)
            return forfeit(seat, Cause.RESIGNED)

        sequence = await self._host.command(live, bytes([seat]), asked, decide)
        return pb.ResignResponse(sequence=sequence)

    async def Rematch(self, request: pb.RematchRequest, context: _Context) -> pb.RematchResponse:
        """Seat the same person in the match that follows."""
        live, seat = await self._seat("Rematch", request.match_id, context)
        asked = request_of(self._keys, "Rematch", request)
        new, token = await self._opening.rematch(live, seat, asked)
        return pb.RematchResponse(
            match_id=new.game.id,
            seat=seat,
            identity=new.game.seats[seat].identity,
            seat_token=token,
        )

    async def WatchMatch(
        self, request: pb.WatchMatchRequest, context: _Context
    ) -> AsyncIterator[pb.WatchMatchResponse]:
        """Stream a match, to a seat or to a spectator."""
        token = self._token("WatchMatch", context)
        live, caller = await self._seen(request.match_id, token)
        seat = caller if caller >= 0 else None
        frames = live.audience.watch(seat, request.after_sequence, request.include_views)
        async for frame in frames:
            yield frame  # type: ignore[misc] # serialised already: the edge lets bytes through

    async def GetRecord(
        self, request: pb.GetRecordRequest, context: _Context
    ) -> pb.GetRecordResponse:
        """Return the record of a match that is over."""
        live, _ = await self._seen(request.match_id, self._token("GetRecord", context))
        record = await self._host.record(live)
        return pb.GetRecordResponse(record=write(record).encode())

    async def ListCommitments(
        self, request: pb.ListCommitmentsRequest, context: object
    ) -> pb.ListCommitmentsResponse:
        """Return a page of the list of commitments."""
        size = page_size(request.page_size)
        after = self._page(request.page_token, "commitments:")
        rows = await self._host.log.commitments(after, size + 1)
        shown = rows[:size]
        token = self._keys.page(f"commitments:{shown[-1].number}") if len(rows) > size else ""
        return pb.ListCommitmentsResponse(
            commitments=[pb.Commitment(**row._asdict()) for row in shown], next_page_token=token
        )

    def _token(self, method: str, context: _Context) -> str:
        return bearer(_PREFIX + method, context.invocation_metadata())

    def _page(self, token: str, kind: str) -> int:
        if not token:
            return 0
        text = self._keys.read_page(token)
        if not text.startswith(kind):
            raise ServiceError(Reason.BAD_PAGE_TOKEN, field="page_token")
        return int(text.removeprefix(kind))

    @staticmethod
    def _offer(offer: pb.SeatOffer) -> Offer:
        kind = offer.WhichOneof("kind")
        if kind == "bot":
            return Offer(BOT, offer.bot)
        if kind is None:
            raise ServiceError(Reason.BAD_SEAT, field="seats")
        return Offer(INVITED if kind == "invited" else OPEN)

    async def _match(self, match_id: str) -> Live:
        if not _ID.fullmatch(match_id):
            raise ServiceError(Reason.MATCH_NOT_FOUND)
        live = await self._host.find(match_id)
        if live.game.table:  # its tournament tells of it, once its block is over
            raise ServiceError(Reason.MATCH_NOT_FOUND)
        return live

    async def _seen(self, match_id: str, token: str) -> tuple[Live, int]:
        """Return a match that the caller may see, and who it is there."""
        live = await self._match(match_id)
        return live, self._check_visible(live, token)

    async def _holder(self, method: str, match_id: str, context: _Context) -> tuple[Live, int]:
        """Return a match and whose token the caller holds: a seat, or the owner."""
        live, caller = await self._seen(match_id, self._token(method, context))
        if caller == _NOBODY:
            raise ServiceError(Reason.BAD_TOKEN)
        return live, caller

    async def _seat(self, method: str, match_id: str, context: _Context) -> tuple[Live, int]:
        """Return a match and the seat whose token the caller holds."""
        live, caller = await self._holder(method, match_id, context)
        if caller < 0:
            raise ServiceError(Reason.BAD_TOKEN)
        return live, caller

    def _check_visible(self, live: Live, token: str) -> int:
        """Return who the caller is; a private match is not found without one of its tokens."""
        game = live.game
        if token:
            digest = self._keys.digest(token)
            for at, seat in enumerate(game.seats):
                if seat.digest == digest:
                    return at
            if digest == game.owner:
                return _OWNER
            if any(seat.invitation == digest for seat in game.created_seats):
                return _NOBODY
        if game.visibility == "private":
            raise ServiceError(Reason.MATCH_NOT_FOUND)
        if token:
            raise ServiceError(Reason.BAD_TOKEN)
        return _NOBODY


def _agreed_at(live: Live, seat: int) -> int:
    """Return the number of the event by which a seat agreed to cancel."""
    return next(
        one.fact.sequence
        for one in live.audience.history
        if one.fact.kind == "cancel_agreed" and one.fact.data["seat"] == seat
    )
