"""Why a server refused, as a text that says what to do, and an exit code.

Source: the reasons in proto/ronda/v1/error.proto. A reason that this version does not know is told
by its gRPC code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from ronda_cli.channel import Target
from ronda_cli.output import ExitCode, Failure
from ronda_cli.text import one_line

DOMAIN: Final = "ronda.v1"
DETAILS: Final = "grpc-status-details-bin"

_Code = grpc.StatusCode
RETRIED: Final = frozenset({_Code.UNAVAILABLE, _Code.DEADLINE_EXCEEDED, _Code.CANCELLED})
"""What another attempt with the same request id may mend."""

_BROKEN: Final = ("Stream removed", "Internal error from Core")
"""What gRPC itself says, with any code, of a stream that broke: no word of a server."""

_EXITS: Final = {
    _Code.INVALID_ARGUMENT: ExitCode.USAGE,
    _Code.UNAVAILABLE: ExitCode.UNREACHABLE,
    _Code.DEADLINE_EXCEEDED: ExitCode.UNREACHABLE,
    _Code.CANCELLED: ExitCode.UNREACHABLE,
    _Code.UNKNOWN: ExitCode.UNREACHABLE,
    _Code.INTERNAL: ExitCode.UNREACHABLE,
}

TEXTS: Final = {
    "BAD_RULES": "there is no such preset: use playtash, cafe, arabic or pagat",
    "BAD_TARGET": "these rules are not played to that target: leave --target out for the default",
    "BAD_LENGTH": "these rules do not allow so many hands: lower --hands or leave it out",
    "BAD_SEAT_COUNT": "these rules are not played by so many: see `ronda rules`",
    "BAD_NAME": "a name has at most 40 characters, none of them a control: give another --name",
    "BAD_TOKEN": "the token is not one for this match, or it has expired: check --token-file",
    "TOKEN_REQUIRED": "that needs the token of a seat: give --token-file",
    "MATCH_NOT_FOUND": "there is no such match, or it is private: check its id and --token-file",
    "BOT_NOT_FOUND": "the server has no such bot, or not in this version: check --bots",
    "BOT_DECLINES": "the bot does not play these rules, or not with so many seats",
    "BOT_NAME_TAKEN": "another bot of the server has this name: give yours another with --as",
    "BOT_NAME_IN_USE": "a bot of this name is connected, has matches or is to play in a tournament:"
    " revoke its key with `ronda admin keys revoke`, and free the name when all is over",
    "KEY_NOT_FOUND": "there is no such key: see `ronda admin keys list`",
    "NOT_YOUR_TURN": "it is not your turn yet",
    "CARD_NOT_HELD": "you do not hold that card: play one of your hand",
    "DECLARATION_PENDING": "some seat has yet to answer whether it declares",
    "DECLARATION_CLOSED": "the declarations of this batch are over",
    "ALREADY_DECLARED": "you have answered already",
    "FALSE_DECLARATION": "you hold no set: answer no",
    "MATCH_NOT_STARTED": "the cards are not dealt yet",
    "MATCH_OVER": "the match is over",
    "MATCH_FULL": "no seat is open: watch it, or look for another match",
    "SEAT_TAKEN": "somebody sits there already",
    "STALE_SEQUENCE": "something has happened meanwhile: look again",
    "RECORD_SEALED": "the record is sealed until the match is over, and every table with its deals:"
    " ask again then",
    "TOO_MANY_MATCHES": "the server holds as many matches as it may: try again later",
    "TOO_MANY_STREAMS": "too many streams are open: close one, or try again later",
    "TOO_MANY_NAMES": "your account has used as many names of bots as it may: take one with --as",
    "HELLO_TIMEOUT": "the server waited too long for the first word: try again",
    "BAD_TOURNAMENT": "no tournament can be played so: see `ronda tournament run --help`",
    "TOURNAMENT_NOT_FOUND": "there is no such tournament: check its id, or list them with"
    " `ronda tournament show --server`",
    "TOURNAMENT_OVER": "the tournament is over",
    "SANDBOX_MISSING": "the server does not enforce the sandbox, so nothing is rated there: leave"
    " --rated out",
    "TOO_MANY_TOURNAMENTS": "as many tournaments are open as the server allows: try again later",
    "TOURNAMENT_TOO_LARGE": "it may come to more games than the server plays in one tournament: ask"
    " for fewer blocks, rounds or bots",
    "DRAINING": "the server is shutting down: try again in a moment",
    "STORAGE_UNAVAILABLE": "the server cannot reach its storage: try again in a moment",
    "INTERNAL": "the server made a fault: please report it to those who run it",
}

_ADVICE: Final = "check --server, and that `ronda serve` runs there"
_LIMITS: Final = {
    "bot_seats": "a remote bot of the match plays as many seats as it may: try again later",
    "account_bots": "as many bots of your account are connected as the server allows",
    "bots": "as many remote bots are connected as the server allows: try again later",
    "account_tournaments": "as many tournaments of your account are open as the server allows:"
    " cancel one, or try again later",
    "workers": "the bots of the match need more processes than the server has free:"
    " try again later",
}
"""By the limit that is reached, where the reason alone does not say it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an error of a call says."""

    code: grpc.StatusCode
    reason: str
    """A name of ErrorReason without its prefix; empty if the error is not of ronda."""
    message: str
    details: dict[str, str] = field(default_factory=dict)
    retry_after: float | None = None

    @property
    def retried(self) -> bool:
        """Say whether another attempt may help by itself."""
        return self.code in RETRIED

    @property
    def unread(self) -> bool:
        """Say whether gRPC has lost what the server said: it was writing when the answer came."""
        return self.code is _Code.INTERNAL and not self.reason and self._broken

    @property
    def _broken(self) -> bool:
        return self.message.startswith(_BROKEN)

    @property
    def text(self) -> str:
        """What to tell a person, without a stop at the end."""
        if way := self._way():
            return f"the server {way}"
        if self.reason == "BAD_SEAT" or self.reason not in TEXTS:
            return f"the server says: {self.message}" if self.message else self.code.name
        return _LIMITS.get(self.details.get("limit", "")) or TEXTS[self.reason]

    def text_of(self, where: Target) -> str:
        """Return `text`, with the address where the server is not to be had."""
        way = self._way()
        return f"{where.given} {way}" if way else self.text

    def waiting(self, where: Target) -> str:
        """Say that another attempt follows, and what to look at meanwhile."""
        if self._way():
            return f"{self.text_of(where)}: trying again; if it stays so, {_ADVICE}"
        return f"no answer ({self.text}): trying again"

    def _way(self) -> str:
        """Say what is wrong on the way to the server; nothing where the server itself refused."""
        if self.reason:
            return ""
        if self.code is _Code.DEADLINE_EXCEEDED:
            return "does not answer in time"
        lost = self.retried or self._broken
        return "cannot be reached" if lost else ""

    def failure(self, where: Target) -> Failure:
        """Return the end of a command that this refusal brings."""
        code = _EXITS.get(self.code, ExitCode.REFUSED)
        if self.reason or not self.retried:
            after = f" (after {self.retry_after:.0f} s)" if self.retry_after else ""
            return Failure(self.text + after, code)
        why = self._way()
        if self.code is not _Code.DEADLINE_EXCEEDED:
            # gRPC tells a chain of causes: the last one says it.
            said = self.message.rpartition(": ")[2]
            said = said if "[" in said else said.rstrip("]")  # of a list that began before
            why += f" ({said})" if said else ""
        advice = _ADVICE
        if where.tls and not where.given.startswith("https"):
            advice += f"; if it has no TLS, say so: --server http://{where.address}"
        return Failure(f"{where.given} {why}: {advice}", code)


def read(error: grpc.aio.AioRpcError) -> Refusal:
    """Return what an error says, from google.rpc.Status in its trailing metadata."""
    reason: str = ""
    details: dict[str, str] = {}
    retry: float | None = None
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS and isinstance(value, bytes):
            reason, details, retry = _details(value)
    message = one_line(error.details() or "", 200).rstrip(".")
    return Refusal(error.code(), reason, message, details, retry)


def _details(value: bytes) -> tuple[str, dict[str, str], float | None]:
    reason: str = ""
    details: dict[str, str] = {}
    retry: float | None = None
    try:
        status = status_pb2.Status.FromString(value)
        for packed in status.details:
            info, wait = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
            if packed.Unpack(info) and info.domain == DOMAIN:
                reason, details = info.reason, dict(info.metadata)
            elif packed.Unpack(wait):
                retry = wait.retry_delay.ToTimedelta().total_seconds()
    except DecodeError:  # not what it says it is: the code still counts
        pass  # the code is told
    return reason, details, retry
