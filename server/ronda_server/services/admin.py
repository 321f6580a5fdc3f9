"""AdminService: what whoever runs the server asks of it, on a listener of its own."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from typing import Any, Final

import grpc
import structlog
from google.protobuf.duration_pb2 import Duration

from ronda.admin.v1 import admin_service_pb2 as pb
from ronda.admin.v1 import admin_service_pb2_grpc
from ronda.v1 import match_pb2
from ronda_bots.registry import BotNotFoundError
from ronda_core.claims import is_name
from ronda_server import convert
from ronda_server.accounts import Accounts, ApiKey
from ronda_server.bot_logs import BotLog
from ronda_server.errors import Reason, ServiceError
from ronda_server.hosting import Host
from ronda_server.identity import bearer
from ronda_server.remote_bot import RemoteBot
from ronda_server.services.checks import request_of
from ronda_server.services.paging import page_of

_Context = grpc.aio.ServicerContext[Any, Any]

_log = structlog.get_logger(__name__)

_PREFIX: Final = "/ronda.admin.v1.AdminService/"
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_SHOWN_MATCHES: Final = 256
_LEVELS: Final = {
    "trusted": pb.ISOLATION_LEVEL_TRUSTED,
    "process": pb.ISOLATION_LEVEL_PROCESS,
    "sandbox": pb.ISOLATION_LEVEL_SANDBOX,
}


class AdminService(admin_service_pb2_grpc.AdminServiceServicer):
    """Keys, remote bots, the end, and how bots are kept apart."""

    def __init__(
        self,
        host: Host,
        accounts: Accounts,
        admin_key: str,
        leave: Callable[[], object],
    ) -> None:
        self._host = host
        self._accounts = accounts
        self._digest = host.keys.digest(admin_key)
        self._leave = leave

    async def CreateKey(
        self, request: pb.CreateKeyRequest, context: _Context
    ) -> pb.CreateKeyResponse:
        """Make a key."""
        self._check("CreateKey", context)
        asked = request_of(self._host.keys, "CreateKey", request)
        if not _ACCOUNT.fullmatch(request.account):
            raise ServiceError(Reason.REQUEST_INVALID, field="account")
        if len(request.label) > 100 or (request.label and not is_name(request.label)):
            raise ServiceError(Reason.REQUEST_INVALID, field="label")
        making = self._accounts.create(request.account, request.label, asked.key)
        key, secret = await self._host.to_the_end(making)
        _log.info("key created", key_id=key.id, account=key.account)
        return pb.CreateKeyResponse(key=_key(key), secret=secret)

    async def ListKeys(self, request: pb.ListKeysRequest, context: _Context) -> pb.ListKeysResponse:
        """Return a page of keys."""
        self._check("ListKeys", context)
        shown, token = page_of(
            self._host.keys, "keys", request, self._accounts.keys, lambda key: key.id
        )
        return pb.ListKeysResponse(keys=[_key(key) for key in shown], next_page_token=token)

    async def RevokeKey(
        self, request: pb.RevokeKeyRequest, context: _Context
    ) -> pb.RevokeKeyResponse:
        """Make a key void, and end its streams."""
        self._check("RevokeKey", context)
        key = await self._host.to_the_end(self._accounts.revoke(request.key_id))
        self._host.remotes.revoke(key.id)
        _log.info("key revoked", key_id=key.id, account=key.account)
        return pb.RevokeKeyResponse(key=_key(key))

    async def ListRemoteBots(
        self, request: pb.ListRemoteBotsRequest, context: _Context
    ) -> pb.ListRemoteBotsResponse:
        """Return a page of the bots that are connected or have a match."""
        self._check("ListRemoteBots", context)
        bots = [*self._host.remotes]
        shown, token = page_of(self._host.keys, "remote", request, bots, lambda bot: bot.identity)
        return pb.ListRemoteBotsResponse(bots=[_bot(bot) for bot in shown], next_page_token=token)

    async def FreeBotName(
        self, request: pb.FreeBotNameRequest, context: _Context
    ) -> pb.FreeBotNameResponse:
        """Let a name be nobody's."""
        self._check("FreeBotName", context)
        forget = self._host.remotes.forget
        await self._host.to_the_end(self._accounts.free(request.name, request.account, forget))
        _log.info("bot name freed", bot=request.name, account=request.account)
        return pb.FreeBotNameResponse()

    async def Drain(self, request: pb.DrainRequest, context: _Context) -> pb.DrainResponse:
        """Let the server leave."""
        self._check("Drain", context)
        _log.info("asked to drain")
        self._leave()
        return pb.DrainResponse(open_matches=len(self._host))

    async def GetIsolation(
        self, request: pb.GetIsolationRequest, context: _Context
    ) -> pb.GetIsolationResponse:
        """Return how bots are kept apart."""
        self._check("GetIsolation", context)
        seating = self._host.seating
        checks = [
            pb.IsolationCheck(name=check.name.replace(" ", "-"), ok=check.held, detail=check.detail)
            for check in seating.report.checks
        ]
        if seating.granted.weaker(seating.want):
            checks.append(pb.IsolationCheck(name="machine", detail=seating.report.problem))
        return pb.GetIsolationResponse(
            report=pb.IsolationReport(
                wanted=_LEVELS[seating.want], granted=_LEVELS[seating.granted], checks=checks
            )
        )

    async def GetBotLog(
        self, request: pb.GetBotLogRequest, context: _Context
    ) -> pb.GetBotLogResponse:
        """Return what a bot has printed here."""
        self._check("GetBotLog", context)
        found = self._host.bot_logs.of(request.bot)
        if not found and not self._is_there(request.bot):
            raise ServiceError(Reason.BOT_NOT_FOUND, field="bot")
        return pb.GetBotLogResponse(logs=[_log_of(one) for one in found])

    def _is_there(self, bot: str) -> bool:
        try:
            self._host.registry.find(bot)
        except BotNotFoundError:
            return False
        return True

    def _check(self, method: str, context: _Context) -> None:
        """Refuse who does not hold the admin key."""
        token = bearer(_PREFIX + method, context.invocation_metadata())
        if not hmac.compare_digest(self._host.keys.digest(token), self._digest):
            raise ServiceError(Reason.BAD_TOKEN)


def _key(key: ApiKey) -> pb.Key:
    return pb.Key(
        id=key.id,
        account=key.account,
        label=key.label,
        create_time=convert.timestamp(key.created),
        revoke_time=convert.timestamp(key.revoked) if key.revoked else None,
    )


def _log_of(log: BotLog) -> pb.BotLog:
    took = Duration()
    took.FromMicroseconds(round((log.seconds or 0) * 1e6))
    return pb.BotLog(
        identity=log.identity,
        match_id=log.match_id,
        seat=log.seat,
        end_time=convert.timestamp(log.ended),
        cause=convert.cause_of(log.cause) if log.cause else match_pb2.Fault.CAUSE_UNSPECIFIED,
        detail=log.detail,
        duration=took if log.seconds is not None else None,
        output=log.output,
    )


def _bot(bot: RemoteBot) -> pb.RemoteBot:
    matches = sorted({match_id for match_id, _ in bot.places})
    trip = Duration()
    trip.FromMicroseconds(bot.round_trip)
    return pb.RemoteBot(
        identity=bot.identity,
        account=bot.account,
        connected=bot.connection is not None,
        ready=bot.ready,
        match_ids=matches[:_SHOWN_MATCHES],
        max_seats=bot.max_seats,
        last_round_trip=trip if bot.round_trip else None,
        key_id=bot.connection.key_id if bot.connection else "",
    )
