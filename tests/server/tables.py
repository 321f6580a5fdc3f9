"""Matches with a person in every seat, and the words in which tests speak of refusals."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from tests.server.conftest import Client, bearer, request_id

from ronda.v1 import match_service_pb2 as pb
from ronda_core.hand import Phase
from ronda_core.rules import PRESETS
from ronda_server.errors import DETAILS_KEY, DOMAIN, Reason, code_of
from ronda_server.game import Game
from ronda_server.log import SqliteLog

TABLES = [(name, players) for name, preset in PRESETS.items() for players in preset.players]
DECLARING = [name for name, preset in PRESETS.items() if preset.sets == "declared"]
SILENT = [name for name in PRESETS if name not in DECLARING]

Played = pb.PlayCardResponse | pb.DeclareResponse


class Table:
    """A match whose every seat this test plays, unless a bot does."""

    def __init__(self, client: Client, created: pb.CreateMatchResponse) -> None:
        self.client = client
        self.id = created.match.id
        self.owner = created.owner_token
        self.invitations = {one.seat: one.invitation_token for one in created.invitations}
        self.tokens: dict[int, str] = {}

    def again(self, client: Client) -> Table:
        """Return the same match as another server shows it."""
        other = Table(client, pb.CreateMatchResponse())
        other.id, other.owner = self.id, self.owner
        other.tokens, other.invitations = self.tokens, self.invitations
        return other

    async def game(self) -> Game:
        """Return the state, to drive the match by; never to judge it by."""
        return (await self.client.server.host.find(self.id)).game

    async def match(self, token: str = "") -> Any:
        """Return the match as GetMatch tells it."""
        asked = pb.GetMatchRequest(match_id=self.id)
        got = await self.client.matches.GetMatch(asked, metadata=bearer(token or self.owner))
        return got.match

    async def seen(self) -> list[bytes]:
        """Return all that anyone may see of the match now: it, and the view of every viewer."""
        viewers = ["", *self.tokens.values()]
        views = [await self.client.view(self.id, token or self.owner) for token in viewers]
        return [message.SerializeToString() for message in (await self.match(), *views)]

    def act(self, method: str, seat: int | str, **fields: Any) -> Any:
        """Call a method as a seat, or with a token of another kind."""
        request = getattr(pb, f"{method}Request")
        fields.setdefault("match_id", self.id)
        fields.setdefault("request_id", request_id())
        token = seat if isinstance(seat, str) else self.tokens[seat]
        return getattr(self.client.matches, method)(request(**fields), metadata=bearer(token))

    async def play(self, seat: int, card: int, **fields: Any) -> pb.PlayCardResponse:
        """Play a card."""
        fields.setdefault("expected_sequence", (await self.game()).sequence)
        response: pb.PlayCardResponse = await self.act("PlayCard", seat, card=card, **fields)
        return response

    async def declare(self, seat: int, declares: bool, **fields: Any) -> pb.DeclareResponse:
        """Answer the declaring step."""
        fields.setdefault("expected_sequence", (await self.game()).sequence)
        response: pb.DeclareResponse = await self.act("Declare", seat, declare=declares, **fields)
        return response

    async def turn(self) -> tuple[int, list[int]]:
        """Return the seat to play and the cards it holds."""
        game = await self.game()
        assert game.match
        assert game.match.hand
        return game.match.hand.turn, sorted(game.match.hand.hands[game.match.hand.turn])

    async def step(self, **fields: Any) -> Played:
        """Take the decision that waits: declare what is held, or play the lowest card."""
        game = await self.game()
        assert game.match
        hand = game.match.hand
        assert hand
        seat = game.waits_for[0]
        if hand.phase is Phase.DECLARE:
            return await self.declare(seat, hand.strengths[seat] > 0, **fields)
        return await self.play(seat, min(hand.hands[seat]), **fields)

    async def answer_all(self) -> None:
        """Let every seat answer the declaring step, if one is open."""
        while (hand := (await self.hand())).phase is Phase.DECLARE:
            seat = hand.answers.index(None)
            await self.declare(seat, hand.strengths[seat] > 0)

    async def hand(self) -> Any:
        """Return the hand in play."""
        game = await self.game()
        assert game.match
        return game.match.hand

    async def play_out(self) -> None:
        """Play the match to its end."""
        while not (await self.game()).over:
            await self.step()

    async def events(self, seat: int | None = None, after: int = 1) -> list[pb.WatchMatchResponse]:
        """Return what a stream resumed after an event brings, until it ends or is quiet."""
        last = (await self.game()).sequence
        told: list[pb.WatchMatchResponse] = []
        async for message in self.watch(self.owner if seat is None else seat, after):
            told.append(message)
            if message.event.sequence == last and not (await self.game()).over:
                break
        return told

    def watch(self, seat: int | str | None = None, after: int = 0, views: bool = False) -> Any:
        """Open a stream of a seat, of a holder of a token, or, for None, of a spectator."""
        token = self.tokens[seat] if isinstance(seat, int) else seat or ""
        request = pb.WatchMatchRequest(match_id=self.id, after_sequence=after, include_views=views)
        return self.client.matches.WatchMatch(request, metadata=bearer(token))


async def seat_all(
    client: Client, rules: str = "playtash", players: int = 2, **fields: Any
) -> Table:
    """Create a match and sit down in every seat."""
    table = Table(client, await client.create(*["open"] * players, rules=rules, **fields))
    for seat in range(players):
        joined = await client.join(table.id, table.owner, seat=seat)
        table.tokens[seat] = joined.seat_token
    return table


class Refusal:
    """How a call was refused, as its caller sees it."""

    def __init__(self) -> None:
        self.error: grpc.aio.AioRpcError
        self.status: status_pb2.Status
        self.info: error_details_pb2.ErrorInfo
        self.fields: list[str] = []
        self.retry_seconds = 0.0

    def read(self, error: grpc.aio.AioRpcError) -> None:
        """Take in an error."""
        self.error = error
        raw = dict(error.trailing_metadata() or ()).get(DETAILS_KEY)
        assert isinstance(raw, bytes), f"no details: {error.code()} {error.details()}"
        self.status = status_pb2.Status.FromString(raw)
        for detail in self.status.details:
            info = error_details_pb2.ErrorInfo()
            bad = error_details_pb2.BadRequest()
            retry = error_details_pb2.RetryInfo()
            if detail.Unpack(info):
                self.info = info
            elif detail.Unpack(bad):
                self.fields = [one.field for one in bad.field_violations]
            elif detail.Unpack(retry):
                self.retry_seconds = retry.retry_delay.ToTimedelta().total_seconds()


@contextlib.contextmanager
def refused(reason: Reason, field: str = "") -> Iterator[Refusal]:
    """Expect a call to be refused for `reason`, with its code and all that belongs to it."""
    refusal = Refusal()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        yield refusal
    refusal.read(caught.value)
    assert refusal.info.reason == reason.value
    assert refusal.info.domain == DOMAIN
    assert caught.value.code() is code_of(reason)
    assert refusal.status.code == code_of(reason).value[0]
    assert refusal.status.message == caught.value.details()
    assert refusal.fields == ([field] if field else [])


@contextlib.asynccontextmanager
async def unchanged(table: Table) -> AsyncIterator[None]:
    """Expect that what anyone can see of a match, its number included, stays as it is."""
    before = await table.seen()
    yield
    assert await table.seen() == before


@contextlib.asynccontextmanager
async def held_up(log: SqliteLog) -> AsyncIterator[None]:
    """Keep whatever is to be committed waiting for as long as the block runs."""
    entered, gate = threading.Event(), threading.Event()

    def wait(_connection: object) -> None:
        entered.set()
        gate.wait(20)

    held = log.submit(wait)
    await until(entered.is_set)
    try:
        yield
    finally:
        gate.set()
        await held


def watching(client: Client) -> int:
    """Return how many streams the server counts as open."""
    return int(client.server.metrics.watchers._value.get())


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until `condition` holds: for what has no stream and no future."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 # nothing tells of it
            await asyncio.sleep(0)  # a turn of the loop
