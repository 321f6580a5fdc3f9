"""BotService: which bots this server can seat, and the streams of those that are elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import bot_service_pb2_grpc
from ronda_bots.registry import BotInfo
from ronda_server import frames
from ronda_server.accounts import Accounts, ApiKey
from ronda_server.connection import Connection
from ronda_server.errors import Reason, ServiceError
from ronda_server.hosting import Host
from ronda_server.identity import bearer
from ronda_server.remote_bot import RemoteBot
from ronda_server.services.paging import page_of

_Context = grpc.aio.ServicerContext[Any, Any]

_Bot = BotInfo | RemoteBot

_CONNECT: Final = "/ronda.v1.BotService/Connect"
_HELLO_SECONDS: Final = 10.0
"""How long a stream may take to say who it is."""


class BotService(bot_service_pb2_grpc.BotServiceServicer):
    """Lists the bots, and lets remote ones connect."""

    def __init__(self, host: Host, accounts: Accounts) -> None:
        self._host = host
        self._remotes = host.remotes
        self._accounts = accounts
        installed = host.registry
        self._reserved = {bot.name for bot in installed.bots}
        self._reserved |= {bot.name for bot in installed.broken}

    async def ListBots(self, request: pb.ListBotsRequest, context: object) -> pb.ListBotsResponse:
        """Return a page of bots, by name."""
        bots: list[_Bot] = [*self._host.registry.bots, *self._remotes.ready]
        # No remote bot has the name of an installed one: each name keeps the order of its versions.
        bots.sort(key=_name)
        shown, token = page_of(self._host.keys, "bots", request, bots, lambda bot: bot.identity)
        return pb.ListBotsResponse(bots=[_message(bot) for bot in shown], next_page_token=token)

    async def Connect(
        self, request_iterator: AsyncIterator[pb.ConnectRequest], context: _Context
    ) -> AsyncIterator[pb.ConnectResponse]:
        """Play all matches of a bot on one stream."""
        key = self._accounts.holder(bearer(_CONNECT, context.invocation_metadata()))
        hello = await _hello(request_iterator)
        about = frames.about(hello)
        if about.name in self._reserved:
            raise ServiceError(Reason.BOT_NAME_TAKEN, field="hello.name")
        await self._accounts.claim(about.name, key.account)
        self._check_still(key)
        connection = Connection(self._remotes, key.id)
        bot = self._remotes.connect(connection, about, key.account, frames.places(hello))
        reading = asyncio.get_running_loop().create_task(
            self._read(bot, connection, request_iterator)
        )
        try:
            async for frame in connection.frames(bot):
                yield frame  # type: ignore[misc] # serialised already: the edge lets bytes through
        finally:
            reading.cancel()
            connection.close(bot)
            self._remotes.disconnect(bot, connection)

    def _check_still(self, key: ApiKey) -> None:
        """Refuse a key that was revoked meanwhile, or whom the server would leave at once."""
        if self._host.draining:
            raise ServiceError(Reason.DRAINING)
        if self._accounts.revoked(key):
            raise ServiceError(Reason.BAD_TOKEN)

    async def _read(
        self,
        bot: RemoteBot,
        connection: Connection,
        requests: AsyncIterator[pb.ConnectRequest],
    ) -> None:
        """Take what the bot says, until it says no more."""
        try:
            async for request in requests:
                if bot.connection is not connection:  # another stream speaks for it
                    return
                await self._hear(bot, connection, request)
            connection.left()
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001 # whatever it is, it ends this stream alone
            connection.fail(problem)

    async def _hear(
        self, bot: RemoteBot, connection: Connection, request: pb.ConnectRequest
    ) -> None:
        kind = request.WhichOneof("message")
        if kind == "answer":
            answer, read_at = request.answer, self._host.now()
            why = self._remotes.answer(bot, answer.decision_id, frames.choice(answer), read_at)
            if why:
                await connection.reject(answer.decision_id, why)
        elif kind == "ready":
            connection.ready = True
            self._remotes.changed()
        else:
            raise ServiceError(Reason.REQUEST_INVALID, field="message")


async def _hello(requests: AsyncIterator[pb.ConnectRequest]) -> pb.Hello:
    """Return the first message of a stream, which says who it is."""
    try:
        async with asyncio.timeout(_HELLO_SECONDS):
            first = await anext(aiter(requests))
    except TimeoutError:
        raise ServiceError(Reason.HELLO_TIMEOUT) from None
    except StopAsyncIteration:
        raise ServiceError(Reason.REQUEST_INVALID, field="hello") from None
    if first.WhichOneof("message") != "hello":
        raise ServiceError(Reason.REQUEST_INVALID, field="hello")
    return first.hello


def _name(bot: _Bot) -> str:
    return bot.name if isinstance(bot, BotInfo) else bot.about.name


def _message(bot: _Bot) -> pb.Bot:
    if isinstance(bot, RemoteBot):
        about = bot.about
        return pb.Bot(
            name=about.name, version=about.version, description=about.description, remote=True
        )
    return pb.Bot(
        name=bot.name,
        version=bot.version,
        distribution=bot.distribution,
        distribution_version=bot.distribution_version,
        description=bot.description[:200],
    )
