"""The one list of reasons why a call is refused, and how it goes out.

`docs/errors.md` prints this list and `ronda.v1.ErrorReason` carries it; a test keeps all three
equal. A message never depends on anything but the reason, the limit that is reached and what the
caller itself sent, so that no refusal can tell a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2

DOMAIN: Final = "ronda.v1"
DETAILS_KEY: Final = "grpc-status-details-bin"

_Code = grpc.StatusCode


class Reason(StrEnum):
    """Why a call is refused."""

    REQUEST_INVALID = "REQUEST_INVALID"
    BAD_RULES = "BAD_RULES"
    BAD_TARGET = "BAD_TARGET"
    BAD_LENGTH = "BAD_LENGTH"
    BAD_SEAT_COUNT = "BAD_SEAT_COUNT"
    BAD_SEAT = "BAD_SEAT"
    BAD_CARD = "BAD_CARD"
    BAD_CLOCK = "BAD_CLOCK"
    BAD_NAME = "BAD_NAME"
    BAD_REQUEST_ID = "BAD_REQUEST_ID"
    BAD_PAGE_SIZE = "BAD_PAGE_SIZE"
    BAD_PAGE_TOKEN = "BAD_PAGE_TOKEN"
    BAD_CLIENT_COMMITMENT = "BAD_CLIENT_COMMITMENT"
    BAD_ENTROPY = "BAD_ENTROPY"
    BAD_TOURNAMENT = "BAD_TOURNAMENT"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    BAD_TOKEN = "BAD_TOKEN"
    TOKEN_REQUIRED = "TOKEN_REQUIRED"
    MATCH_NOT_FOUND = "MATCH_NOT_FOUND"
    BOT_NOT_FOUND = "BOT_NOT_FOUND"
    KEY_NOT_FOUND = "KEY_NOT_FOUND"
    TOURNAMENT_NOT_FOUND = "TOURNAMENT_NOT_FOUND"
    LADDER_NOT_FOUND = "LADDER_NOT_FOUND"
    RATING_NOT_FOUND = "RATING_NOT_FOUND"
    NOT_YOUR_TURN = "NOT_YOUR_TURN"
    CARD_NOT_HELD = "CARD_NOT_HELD"
    DECLARATION_PENDING = "DECLARATION_PENDING"
    DECLARATION_CLOSED = "DECLARATION_CLOSED"
    ALREADY_DECLARED = "ALREADY_DECLARED"
    FALSE_DECLARATION = "FALSE_DECLARATION"
    DECLARATION_AUTOMATIC = "DECLARATION_AUTOMATIC"
    MATCH_NOT_STARTED = "MATCH_NOT_STARTED"
    MATCH_STARTED = "MATCH_STARTED"
    MATCH_OVER = "MATCH_OVER"
    MATCH_NOT_OVER = "MATCH_NOT_OVER"
    MATCH_FULL = "MATCH_FULL"
    SEAT_TAKEN = "SEAT_TAKEN"
    ALREADY_READY = "ALREADY_READY"
    RECORD_SEALED = "RECORD_SEALED"
    SEATS_OPEN = "SEATS_OPEN"
    BOT_DECLINES = "BOT_DECLINES"
    BOT_NAME_IN_USE = "BOT_NAME_IN_USE"
    TOURNAMENT_OVER = "TOURNAMENT_OVER"
    SANDBOX_MISSING = "SANDBOX_MISSING"
    STALE_SEQUENCE = "STALE_SEQUENCE"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    BOT_NAME_TAKEN = "BOT_NAME_TAKEN"
    TOO_MANY_MATCHES = "TOO_MANY_MATCHES"
    TOO_MANY_STREAMS = "TOO_MANY_STREAMS"
    TOO_MANY_NAMES = "TOO_MANY_NAMES"
    TOO_MANY_TOURNAMENTS = "TOO_MANY_TOURNAMENTS"
    TOURNAMENT_TOO_LARGE = "TOURNAMENT_TOO_LARGE"
    HELLO_TIMEOUT = "HELLO_TIMEOUT"
    DRAINING = "DRAINING"
    STORAGE_UNAVAILABLE = "STORAGE_UNAVAILABLE"
    LADDER_NOT_READY = "LADDER_NOT_READY"
    INTERNAL = "INTERNAL"


_INVALID: Final = _Code.INVALID_ARGUMENT
_STATE: Final = _Code.FAILED_PRECONDITION

_TABLE: Final[Mapping[Reason, tuple[grpc.StatusCode, str]]] = {
    Reason.REQUEST_INVALID: (_INVALID, "a field holds what it never may; correct it"),
    Reason.BAD_RULES: (_INVALID, "rules are one of playtash, cafe, arabic, pagat"),
    Reason.BAD_TARGET: (_INVALID, "these rules do not allow this target; send 0 for the default"),
    Reason.BAD_LENGTH: (_INVALID, "these rules do not allow this number of hands; send 0"),
    Reason.BAD_SEAT_COUNT: (_INVALID, "these rules are not played by so many; see `ronda rules`"),
    Reason.BAD_SEAT: (_INVALID, "there is no such seat, or its offer says nothing"),
    Reason.BAD_CARD: (_INVALID, "the number is not that of a card; send one of the forty"),
    Reason.BAD_CLOCK: (_INVALID, "the time for a decision is 0.1 second to 1 hour, or none"),
    Reason.BAD_NAME: (_INVALID, "a name has at most 40 characters and no control character"),
    Reason.BAD_REQUEST_ID: (_INVALID, "a command needs a request id that is a UUID"),
    Reason.BAD_PAGE_SIZE: (_INVALID, "a page size is not negative; send 0 for the default"),
    Reason.BAD_PAGE_TOKEN: (_INVALID, "this list gave no such page token; start again"),
    Reason.BAD_CLIENT_COMMITMENT: (
        _INVALID,
        "a client commitment is 64 lower-case hex digits for a named seat",
    ),
    Reason.BAD_ENTROPY: (_INVALID, "the entropy is not the 16 to 64 bytes committed to"),
    Reason.BAD_TOURNAMENT: (
        _INVALID,
        "no tournament can be played so: see `ronda tournament run --help`, which says what goes",
    ),
    Reason.MESSAGE_TOO_LARGE: (_Code.RESOURCE_EXHAUSTED, "a request has at most 16 KiB"),
    Reason.BAD_TOKEN: (_Code.UNAUTHENTICATED, "the token is not one for this call and match"),
    Reason.TOKEN_REQUIRED: (
        _Code.UNAUTHENTICATED,
        "the call needs a token: send metadata `authorization: Bearer <token>`",
    ),
    Reason.MATCH_NOT_FOUND: (_Code.NOT_FOUND, "there is no such match, or it is not yours to see"),
    Reason.BOT_NOT_FOUND: (_Code.NOT_FOUND, "the server has no such bot; ask ListBots"),
    Reason.KEY_NOT_FOUND: (_Code.NOT_FOUND, "there is no such key; ask ListKeys"),
    Reason.TOURNAMENT_NOT_FOUND: (
        _Code.NOT_FOUND,
        "there is no such tournament; ask ListTournaments",
    ),
    Reason.LADDER_NOT_FOUND: (
        _Code.NOT_FOUND,
        "the server has no such ladder; leave the name out for its first",
    ),
    Reason.RATING_NOT_FOUND: (
        _Code.NOT_FOUND,
        "the bot has never been on this ladder; ask ListRatings",
    ),
    Reason.NOT_YOUR_TURN: (_STATE, "another seat is to play; wait for your turn"),
    Reason.CARD_NOT_HELD: (_STATE, "the seat does not hold this card; play one of its hand"),
    Reason.DECLARATION_PENDING: (_STATE, "not every seat has answered; call Declare first"),
    Reason.DECLARATION_CLOSED: (_STATE, "the declarations of this batch are over"),
    Reason.ALREADY_DECLARED: (_STATE, "the seat has answered in this batch"),
    Reason.FALSE_DECLARATION: (_STATE, "the seat holds no set; answer false"),
    Reason.DECLARATION_AUTOMATIC: (_STATE, "nothing is declared under these rules"),
    Reason.MATCH_NOT_STARTED: (_STATE, "no card has been dealt yet"),
    Reason.MATCH_STARTED: (_STATE, "the match has begun; to cancel, every side must agree"),
    Reason.MATCH_OVER: (_STATE, "the match has ended; read its result with GetMatch"),
    Reason.MATCH_NOT_OVER: (_STATE, "the match has not ended yet"),
    Reason.MATCH_FULL: (_STATE, "no seat is open"),
    Reason.SEAT_TAKEN: (_STATE, "the seat is taken; ask for another, or for none in particular"),
    Reason.ALREADY_READY: (_STATE, "the seat is ready"),
    Reason.RECORD_SEALED: (_STATE, "the record still holds a secret; ask when the match is over"),
    Reason.SEATS_OPEN: (_STATE, "a seat is still free; give the entropy when all are taken"),
    Reason.BOT_DECLINES: (_STATE, "the bot does not play these rules, or not with so many seats"),
    Reason.BOT_NAME_IN_USE: (
        _STATE,
        "a bot of this name is connected, has matches or a tournament to play; wait",
    ),
    Reason.TOURNAMENT_OVER: (_STATE, "the tournament has ended; read GetStandings"),
    Reason.SANDBOX_MISSING: (
        _STATE,
        "this server does not enforce the sandbox, without which nothing is rated",
    ),
    Reason.STALE_SEQUENCE: (_Code.ABORTED, "decided on an old state; look and decide again"),
    Reason.REQUEST_ID_REUSED: (
        _Code.ALREADY_EXISTS,
        "the request id was used with other content; send a fresh one",
    ),
    Reason.BOT_NAME_TAKEN: (
        _Code.ALREADY_EXISTS,
        "another bot has this name; give yours another",
    ),
    Reason.TOO_MANY_MATCHES: (_Code.RESOURCE_EXHAUSTED, "too many matches are open; retry later"),
    Reason.TOO_MANY_STREAMS: (_Code.RESOURCE_EXHAUSTED, "too many streams are open; retry later"),
    Reason.TOO_MANY_NAMES: (
        _Code.RESOURCE_EXHAUSTED,
        "the account has used as many names of bots as it may; use one of them",
    ),
    Reason.TOO_MANY_TOURNAMENTS: (
        _Code.RESOURCE_EXHAUSTED,
        "as many tournaments are open as may be; retry later",
    ),
    Reason.TOURNAMENT_TOO_LARGE: (
        _Code.RESOURCE_EXHAUSTED,
        "the tournament may come to more games than this server plays in one; ask for fewer",
    ),
    Reason.HELLO_TIMEOUT: (_Code.DEADLINE_EXCEEDED, "no Hello came in time; connect again"),
    Reason.DRAINING: (_Code.UNAVAILABLE, "this server is shutting down; retry"),
    Reason.STORAGE_UNAVAILABLE: (
        _Code.UNAVAILABLE,
        "the storage did not answer; retry with the same request id",
    ),
    Reason.LADDER_NOT_READY: (
        _Code.UNAVAILABLE,
        "the server still reads what has been played on the ladder; retry",
    ),
    Reason.INTERNAL: (_Code.INTERNAL, "internal error"),
}

_LIMITS: Final[Mapping[str, str]] = {
    "account_tournaments": "as many tournaments of this account are open as may be; retry later",
    "bot_seats": "a remote bot of this match plays as many seats as it may; retry later",
    "account_bots": "as many bots of this account are connected as may be; retry later",
    "bots": "as many remote bots are connected as may be; retry later",
    "workers": "the bots of this match need more processes than are free; retry later",
}
"""What is told instead where another limit is reached than that which a reason is named after."""


def code_of(reason: Reason) -> grpc.StatusCode:
    """Return the gRPC code that goes with `reason`."""
    return _TABLE[reason][0]


def message_of(reason: Reason, limit: str = "") -> str:
    """Return what a caller is told, which is the same whatever the state."""
    return _LIMITS.get(limit) or _TABLE[reason][1]


class ServiceError(Exception):
    """A call is refused: the state is as it was."""

    def __init__(
        self,
        reason: Reason,
        *,
        field: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_seconds: float = 0.0,
    ) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.field = field
        self.metadata = dict(metadata or {})
        self.retry_seconds = retry_seconds

    @property
    def code(self) -> grpc.StatusCode:
        """The gRPC code."""
        return code_of(self.reason)

    @property
    def message(self) -> str:
        """What the caller is told."""
        return message_of(self.reason, self.metadata.get("limit", ""))


def to_status(error: ServiceError) -> status_pb2.Status:
    """Return the google.rpc.Status of `error`."""
    details = [
        _pack(
            error_details_pb2.ErrorInfo(
                reason=error.reason.value, domain=DOMAIN, metadata=error.metadata
            )
        )
    ]
    if error.field:
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=error.message
        )
        details.append(_pack(error_details_pb2.BadRequest(field_violations=[violation])))
    if error.retry_seconds:
        delay = Duration()
        delay.FromMilliseconds(int(error.retry_seconds * 1000))
        details.append(_pack(error_details_pb2.RetryInfo(retry_delay=delay)))
    return status_pb2.Status(code=error.code.value[0], message=error.message, details=details)


def _pack(message: object) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)  # type: ignore[arg-type] # google.rpc has no types of its own
    return packed


class StorageError(ServiceError):
    """The storage did not answer; whether it holds the work is to be read from it again."""

    def __init__(self, problem: str) -> None:
        super().__init__(Reason.STORAGE_UNAVAILABLE)
        self.args = (problem,)


class ConflictError(StorageError):
    """Someone else has written this number, or this match, first."""


class LogError(Exception):
    """A log that contradicts itself, or of which a part is missing."""


class ConfigError(ValueError):
    """A configuration that no server is started with."""
