"""What a call on a match may not ask, and what it asks in the terms of a match."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from google.protobuf.message import Message

from ronda.v1 import match_service_pb2 as pb
from ronda_core.claims import is_name
from ronda_server.errors import Reason, ServiceError
from ronda_server.game import BOT, INVITED, OPEN, PERSON, Game
from ronda_server.identity import Keys
from ronda_server.live import Request

_UUID: Final = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HOUR: Final = 3_600_000_000
_LEAST: Final = 100_000
"""Microseconds of the shortest clock."""


def request_of(keys: Keys, method: str, request: Any) -> Request:
    """Return what makes a command safe to repeat, or refuse a request id that is not a UUID."""
    canonical = request.request_id.lower()
    if not _UUID.fullmatch(canonical):
        raise ServiceError(Reason.BAD_REQUEST_ID, field="request_id")
    message: Message = request
    request.request_id = canonical
    content = hashlib.sha256(method.encode() + message.SerializeToString(deterministic=True))
    return Request(keys.request(canonical), content.digest()[:16])


def per_decision(request: pb.CreateMatchRequest) -> int:
    """Return the time for a decision in microseconds, 0 for no limit."""
    if not request.clock.HasField("per_decision"):
        return 0
    duration = request.clock.per_decision
    micros: int = duration.seconds * 1_000_000 + duration.nanos // 1000
    if duration.seconds == 0 and duration.nanos == 0:
        return 0
    if not _LEAST <= micros <= _HOUR or duration.nanos < 0:
        raise ServiceError(Reason.BAD_CLOCK, field="clock")
    return micros


def check_name(name: str) -> None:
    """Refuse a name that is too long, shows nothing, moves a cursor or turns a line around."""
    if len(name) > 40 or (name and not is_name(name)):
        raise ServiceError(Reason.BAD_NAME, field="name")


def free_seat(game: Game, wanted: int | None, invitation: bytes, owner: bool) -> int:
    """Return the seat that a caller may take: the one asked for, or the first."""
    if wanted is not None and wanted >= len(game.seats):
        raise ServiceError(Reason.BAD_SEAT, field="seat")
    if game.over:
        raise ServiceError(Reason.MATCH_OVER)
    invited = next(
        (
            at
            for at, one in enumerate(game.created_seats)
            if invitation and one.invitation == invitation
        ),
        None,
    )
    if wanted is None:
        if invited is not None:
            wanted = invited
        else:
            wanted = next((at for at, one in enumerate(game.seats) if one.kind == OPEN), None)
            if wanted is None:
                raise ServiceError(Reason.MATCH_FULL)
    seat = game.seats[wanted]
    if seat.kind in (PERSON, BOT):
        raise ServiceError(Reason.SEAT_TAKEN)
    if seat.kind == INVITED and wanted != invited:
        raise ServiceError(Reason.BAD_TOKEN if invitation else Reason.TOKEN_REQUIRED)
    if seat.kind == OPEN and game.visibility == "private" and not owner:
        raise ServiceError(Reason.BAD_TOKEN)
    return wanted


def check_running(game: Game, expected: int) -> None:
    """Refuse a decision on a match that is over, has not begun, or has moved on."""
    if game.over:
        raise ServiceError(Reason.MATCH_OVER)
    if not game.match:
        raise ServiceError(Reason.MATCH_NOT_STARTED)
    if not game.opened <= expected <= game.sequence:
        current = {"sequence": str(game.sequence)}
        raise ServiceError(Reason.STALE_SEQUENCE, metadata=current)
