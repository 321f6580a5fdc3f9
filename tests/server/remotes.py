"""Remote bots as tests play them: over a real stream, one message after another."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from tests.server.conftest import Client, bearer, request_id
from tests.server.tables import until

from ronda.admin.v1 import admin_service_pb2 as admin_pb
from ronda.admin.v1.admin_service_pb2_grpc import AdminServiceStub
from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import view_pb2


class Admin:
    """Whoever runs a server."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.key = (folder / "ronda.db.admin-key").read_text().strip()
        self.channel = grpc.aio.insecure_channel(client.server.addresses["admin_listen"])
        self.stub = AdminServiceStub(self.channel)

    def call(self, method: str, token: str | None = None, **fields: Any) -> Any:
        """Call a method with the admin key, or with another token."""
        request = getattr(admin_pb, f"{method}Request")(**fields)
        given = self.key if token is None else token
        return getattr(self.stub, method)(request, metadata=bearer(given))

    async def new_key(self, account: str = "ann", **fields: Any) -> str:
        """Make an API key."""
        fields.setdefault("request_id", request_id())
        made = await self.call("CreateKey", account=account, **fields)
        return str(made.secret)


class Remote:
    """One stream of a remote bot."""

    def __init__(self, client: Client, key: str, **hello: Any) -> None:
        self.client = client
        self.hello = pb.Hello(**{"name": "far", "version": "1.0.0"} | hello)
        self.call = client.bots.Connect(metadata=bearer(key))
        self.told: list[pb.ConnectResponse] = []
        """All that the stream has brought."""
        self.welcome = pb.Welcome()

    async def open(self, *, ready: bool = True) -> Remote:
        """Say Hello, read Welcome, and say Ready."""
        await self.call.write(pb.ConnectRequest(hello=self.hello))
        first = await self.read()
        assert first.WhichOneof("message") == "welcome"
        self.welcome = first.welcome
        if ready:
            await self.be_ready()
        return self

    async def be_ready(self) -> None:
        """Say Ready, and wait until the server has heard it."""
        await self.call.write(pb.ConnectRequest(ready=pb.Ready()))
        identity = f"{self.hello.name}@{self.hello.version}"
        remotes = self.client.server.host.remotes
        await until(lambda: identity in {bot.identity for bot in remotes.ready})

    async def read(self) -> pb.ConnectResponse:
        """Return the next message."""
        async with asyncio.timeout(20):
            message = await self.call.read()
        assert message is not grpc.aio.EOF, "the stream is over"
        self.told.append(message)
        return message

    async def next(self, kind: str) -> Any:
        """Return the next message of a kind, past all others."""
        while True:
            message = await self.read()
            if message.WhichOneof("message") == kind:
                return getattr(message, kind)

    async def answer(self, decision_id: str, **choice: Any) -> None:
        """Answer a decision."""
        answer = pb.Answer(decision_id=decision_id, **choice)
        await self.call.write(pb.ConnectRequest(answer=answer))

    async def decide(self, decision: pb.Decision, choose: Choose | None = None) -> None:
        """Answer as a legal bot does: with the lowest card, and what is held is declared."""
        await self.answer(decision.decision_id, **(choose or lowest)(decision.view))

    async def play_out(self, matches: int = 1, choose: Choose | None = None) -> list[pb.MatchOver]:
        """Answer everything until so many seats of this bot are told the end of their match."""
        over: list[pb.MatchOver] = []
        while len(over) < matches:
            message = await self.read()
            kind = message.WhichOneof("message")
            if kind == "decision":
                await self.decide(message.decision, choose)
            elif kind == "match_over":
                over.append(message.match_over)
        return over

    async def ended(self) -> pb.ConnectionEnded.Reason.ValueType:
        """Return why the stream ends, to which nothing is added."""
        why: pb.ConnectionEnded = await self.next("ended")
        async with asyncio.timeout(10):
            assert await self.call.read() is grpc.aio.EOF
        return why.reason

    def of(self, kind: str) -> list[Any]:
        """Return what the stream has brought of a kind."""
        return [getattr(one, kind) for one in self.told if one.WhichOneof("message") == kind]

    def hang_up(self) -> None:
        """Leave without a word."""
        self.call.cancel()


Choose = Callable[[view_pb2.View], dict[str, Any]]


def lowest(view: view_pb2.View) -> dict[str, Any]:
    """Return the answer of a careful bot without ambition."""
    if view.phase == view_pb2.View.PHASE_DECLARE:
        return {"declare": view.may_declare}
    return {"card": min(view.hand)}


def any_card(seed: int) -> Choose:
    """Return a bot that plays any of its cards."""
    rng = random.Random(seed)

    def choose(view: view_pb2.View) -> dict[str, Any]:
        if view.phase == view_pb2.View.PHASE_DECLARE:
            return {"declare": view.may_declare and rng.random() < 0.5}
        return {"card": rng.choice(view.hand)}

    return choose
