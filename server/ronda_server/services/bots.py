"""BotService: which bots this server can seat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ronda.v1 import bot_service_pb2, bot_service_pb2_grpc
from ronda_bots.registry import Registry
from ronda_server.errors import Reason, ServiceError
from ronda_server.identity import Keys
from ronda_server.services.paging import page_size


class BotService(bot_service_pb2_grpc.BotServiceServicer):
    """Lists the bots found when the server started."""

    def __init__(self, registry: Registry, keys: Keys) -> None:
        self._registry = registry
        self._keys = keys

    async def ListBots(
        self, request: bot_service_pb2.ListBotsRequest, context: object
    ) -> bot_service_pb2.ListBotsResponse:
        """Return a page of bots, by name."""
        size = page_size(request.page_size)
        start = 0
        if request.page_token:
            text = self._keys.read_page(request.page_token)
            if not text.startswith("bots:"):
                raise ServiceError(Reason.BAD_PAGE_TOKEN, field="page_token")
            start = int(text.removeprefix("bots:"))
        bots = self._registry.bots[start : start + size]
        more = start + size < len(self._registry.bots)
        return bot_service_pb2.ListBotsResponse(
            bots=[
                bot_service_pb2.Bot(
                    name=bot.name,
                    version=bot.version,
                    distribution=bot.distribution,
                    distribution_version=bot.distribution_version,
                    description=bot.description[:200],
                )
                for bot in bots
            ],
            next_page_token=self._keys.page(f"bots:{start + size}") if more else "",
        )

    def Connect(self, request_iterator: object, context: object) -> AsyncIterator[Any]:
        """Refuse: the contract stands, what answers it follows."""
        raise NotImplementedError
