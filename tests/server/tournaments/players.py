"""Remote bots that play tournaments in the background of a test, and all that they are told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import grpc
from tests.server.conftest import Client
from tests.server.remotes import Choose, Remote, any_card


class Player:
    """A remote bot that answers everything until its stream ends or it is told to leave."""

    def __init__(self, client: Client, key: str, choose: Choose, **hello: Any) -> None:
        self._given = client, key
        self._hello = hello
        self._choose = choose
        self.remote: Remote
        self.playing: asyncio.Task[None]
        self.answers = 0
        self._news = asyncio.Event()

    async def come(self, *, silent: bool = False) -> None:
        """Connect, and play; or only listen."""
        self.remote = await Remote(*self._given, **self._hello).open()
        self.playing = asyncio.create_task(self._play(silent=silent))

    async def leave(self) -> None:
        """Hang up without a word."""
        self.playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):  # as it was told
            await self.playing
        self.remote.hang_up()

    async def answered(self, count: int) -> None:
        """Return when it has given so many answers, all in all."""
        async with asyncio.timeout(60):
            while self.answers < count:
                self._news.clear()
                await self._news.wait()

    async def _play(self, *, silent: bool) -> None:
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError):  # it hangs up
            while (message := await self.remote.call.read()) is not grpc.aio.EOF:
                self.remote.told.append(message)
                if message.WhichOneof("message") == "decision" and not silent:
                    await self.remote.decide(message.decision, self._choose)
                    self.answers += 1
                    self._news.set()


@contextlib.asynccontextmanager
async def players(
    client: Client, key: str, *names: str, **hello: Any
) -> AsyncIterator[list[Player]]:
    """Yield remote bots of these names, which play whatever comes."""
    found = [
        Player(client, key, any_card(number), name=name, **hello)
        for number, name in enumerate(names)
    ]
    for one in found:
        await one.come()
    try:
        yield found
    finally:
        for one in found:
            await one.leave()
