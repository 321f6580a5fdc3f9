"""The door of whoever runs a server: the one module that speaks `ronda.admin.v1`.

What comes in leaves as plain data, ready to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any, Final, NamedTuple

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from ronda.admin.v1 import admin_service_pb2 as pb
from ronda.admin.v1.admin_service_pb2_grpc import AdminServiceStub
from ronda.v1 import match_pb2
from ronda_cli import refusal
from ronda_cli.channel import Target, channel
from ronda_cli.updates import RefusedError

_ANSWER_WITHIN: Final = 10.0

Data = dict[str, Any]


class BotLog(NamedTuple):
    """What a bot has printed in one seat, as it is: not fit for a terminal."""

    about: Data
    output: bytes

    def __repr__(self) -> str:
        return f"BotLog({self.about})"


class AdminClient:
    """The calls of whoever runs a server."""

    def __init__(self, target: Target, key: str) -> None:
        self._channel = channel(target)
        self._stub = AdminServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {key}"),)

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()

    async def create_key(self, account: str, label: str, request_id: str) -> tuple[Data, str]:
        """Make an API key, and return what is known of it and the key itself."""
        request = pb.CreateKeyRequest(account=account, label=label, request_id=request_id)
        answer = await self._call(self._stub.CreateKey, request)
        return _key(answer.key), answer.secret

    async def keys(self) -> list[Data]:
        """Return all API keys, the oldest first."""
        pages = await self._pages(self._stub.ListKeys, pb.ListKeysRequest)
        return [_key(key) for page in pages for key in page.keys]

    async def revoke_key(self, key_id: str) -> Data:
        """Make an API key void."""
        answer = await self._call(self._stub.RevokeKey, pb.RevokeKeyRequest(key_id=key_id))
        return _key(answer.key)

    async def bots(self) -> list[Data]:
        """Return the remote bots."""
        pages = await self._pages(self._stub.ListRemoteBots, pb.ListRemoteBotsRequest)
        return [_bot(bot) for page in pages for bot in page.bots]

    async def free_bot_name(self, name: str, account: str) -> None:
        """Let a name of an account's remote bots be nobody's."""
        request = pb.FreeBotNameRequest(name=name, account=account)
        await self._call(self._stub.FreeBotName, request)

    async def bot_logs(self, bot: str) -> list[BotLog]:
        """Return what a bot has printed, the newest first."""
        answer = await self._call(self._stub.GetBotLog, pb.GetBotLogRequest(bot=bot))
        return [_log(log) for log in answer.logs]

    async def drain(self) -> int:
        """Let the server leave; return how many matches are open."""
        answer = await self._call(self._stub.Drain, pb.DrainRequest())
        return int(answer.open_matches)

    async def isolation(self) -> Data:
        """Return how bots are kept apart."""
        answer = await self._call(self._stub.GetIsolation, pb.GetIsolationRequest())
        report = answer.report
        return {
            "wanted": _level(report.wanted),
            "granted": _level(report.granted),
            "checks": [
                {"name": one.name, "ok": one.ok, "detail": one.detail} for one in report.checks
            ],
        }

    async def _pages(self, method: Any, request: Callable[..., Any]) -> list[Any]:
        pages = []
        token = ""
        while True:
            page = await self._call(method, request(page_size=200, page_token=token))
            pages.append(page)
            token = page.next_page_token
            if not token:
                return pages

    async def _call(self, method: Any, request: Any) -> Any:
        try:
            return await method(request, metadata=self._metadata, timeout=_ANSWER_WITHIN)
        except grpc.aio.AioRpcError as error:
            raise RefusedError(refusal.read(error)) from None


def _log(log: pb.BotLog) -> BotLog:
    cause = match_pb2.Fault.Cause.Name(log.cause) if log.cause in _CAUSES else f"{log.cause}"
    about = {
        "bot": log.identity,
        "match": log.match_id,
        "seat": log.seat,
        "ended": _time(log.end_time),
        "cause": cause.removeprefix("CAUSE_").lower() if log.cause else None,
        "detail": log.detail or None,
        "seconds": log.duration.ToMicroseconds() / 1e6 if log.HasField("duration") else None,
    }
    return BotLog(about, log.output)


_CAUSES: Final = frozenset(match_pb2.Fault.Cause.values())


def _key(key: pb.Key) -> Data:
    return {
        "id": key.id,
        "account": key.account,
        "label": key.label,
        "created": _time(key.create_time),
        "revoked": _time(key.revoke_time) if key.HasField("revoke_time") else None,
    }


def _bot(bot: pb.RemoteBot) -> Data:
    trip = bot.last_round_trip if bot.HasField("last_round_trip") else None
    return {
        "identity": bot.identity,
        "account": bot.account,
        "connected": bot.connected,
        "ready": bot.ready,
        "matches": list(bot.match_ids),
        "max_seats": bot.max_seats,
        "last_round_trip": _seconds(trip) if trip else None,
        "key": bot.key_id,
    }


def _time(time: Timestamp) -> str:
    return time.ToDatetime(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _seconds(duration: Duration) -> float:
    return duration.ToMicroseconds() / 1e6


def _level(number: int) -> str:
    names: Mapping[int, str] = {value: name for name, value in pb.IsolationLevel.items()}
    return names.get(number, str(number)).removeprefix("ISOLATION_LEVEL_").lower()
