"""Clients of one scenario, who remember in a journal and nowhere else.

A scenario is a coroutine over a `Table`. What it does depends on nothing but the answers it got and
the state of the match, so it can be begun again from the top after a crash: what the journal says
was answered is not asked again, and what it says was sent and not answered is sent again as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError

from ronda.v1 import match_service_pb2 as pb
from ronda_bots.registry import Registry
from ronda_core.cards import TEXT
from ronda_core.fair import client_commitment
from ronda_core.hand import Hand, Phase
from ronda_server import deadlines
from ronda_server.errors import ConflictError, Reason, ServiceError, StorageError
from ronda_server.game import BOT, Game
from ronda_server.live import Live

from .history import (
    Answered,
    Clock,
    Ended,
    Entry,
    Opened,
    Recorded,
    Refused,
    Sent,
    Told,
    unanswered,
)
from .inside import Caller, Inside, Probe, Stepped, config
from .requests import offer, promised, request_id

_START: Final = 1_700_000_000_000_000
"""When simulated time begins, in microseconds since 1970."""

RECOVERED: Final = "recovered"
"""The step at which everything that was not answered has been."""

Scenario = Callable[["Table"], Awaitable[None]]


class RefusedError(Exception):
    """A command was refused, now or in an earlier life."""


class CannotStartError(Exception):
    """The storage did not let the server start."""


class Table:
    """All clients of one scenario, and the server they call."""

    def __init__(self, server: Inside, journal: list[Entry], probe: Probe) -> None:
        self.server = server
        self.journal = journal
        self.probe = probe
        self._answers: dict[str, bytes] = {}
        self._refusals: dict[str, str] = {}
        self._clocks: set[str] = set()
        self._streams: dict[str, Opened] = {}
        self._told: dict[str, int] = {}
        self._over: set[str] = set()
        self._followed: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._news = asyncio.Event()
        for entry in journal:
            self._remember(entry)

    def _remember(self, entry: Entry) -> None:
        match entry:
            case Answered():
                self._answers[entry.request_id] = entry.answer
            case Refused():
                self._refusals[entry.request_id] = entry.reason
            case Opened():
                self._streams.setdefault(entry.stream, entry)
                self._told[entry.stream] = entry.after
            case Told():
                self._told[entry.stream] = entry.number
            case Ended():
                self._over.add(entry.stream)
            case Clock():
                self._clocks.add(entry.name)

    def note(self, entry: Entry) -> None:
        """Write down what happens. The server may be stopped right after."""
        self.journal.append(entry)
        self._remember(entry)
        self.probe.step(f"{type(entry).__name__} is noted")

    async def resume(self) -> None:
        """Take up all streams where they were, and send again what was not answered."""
        for opened in list(self._streams.values()):
            if opened.stream not in self._over and opened.stream not in self._followed:
                self._follow(opened._replace(after=self._told[opened.stream]))
        for sent in list(unanswered(self.journal)):
            with contextlib.suppress(RefusedError):  # an answer too
                await self._send(sent)

    async def finish(self) -> None:
        """Wait until every stream has told the end of its match."""
        await asyncio.gather(*self._tasks)

    def leave(self) -> None:
        """Stop all clients."""
        for task in self._tasks:
            task.cancel()

    # Commands -----------------------------------------------------------------------------------

    async def create(self, name: str, rules: str, *seats: str, **fields: Any) -> Any:
        """Create a match and let a spectator follow it."""
        request = pb.CreateMatchRequest(
            rules=rules,
            seats=[offer(seat) for seat in seats],
            request_id=request_id(name),
            **fields,
        )
        made = await self._ask("CreateMatch", request, "", "created")
        self.watch(made.match.id)
        return made

    async def join(self, name: str, match: str, seat: int, token: str = "", **fields: Any) -> str:
        """Take a seat, follow the match from there, and return the seat's token."""
        request = pb.JoinMatchRequest(
            match_id=match, seat=seat, name=name, request_id=request_id(name), **fields
        )
        joined = await self._ask(
            "JoinMatch", request, token, "joined", data={"seat": seat, "name": name}
        )
        self.watch(match, seat, joined.seat_token)
        seat_token: str = joined.seat_token
        return seat_token

    async def ready(self, name: str, match: str, seat: int, token: str) -> None:
        """Give the entropy that `entropy_of` committed to."""
        entropy = entropy_of(name)
        request = pb.ReadySeatRequest(match_id=match, entropy=entropy, request_id=request_id(name))
        data = {"seat": seat, "entropy": entropy.hex()}
        await self._ask("ReadySeat", request, token, "ready", seat, data)

    async def cancel(self, name: str, match: str, seat: int, token: str) -> bool:
        """Cancel, or agree to; -1 is the owner's seat."""
        request = pb.CancelMatchRequest(match_id=match, request_id=request_id(name))
        kind = "cancelled" if seat < 0 else "cancel_agreed"
        data = {} if seat < 0 else {"seat": seat}
        answer = await self._ask("CancelMatch", request, token, kind, seat, data)
        cancelled: bool = answer.cancelled
        return cancelled

    async def resign(self, name: str, match: str, seat: int, token: str) -> None:
        """Give up."""
        request = pb.ResignRequest(match_id=match, request_id=request_id(name))
        data = {"seat": seat, "cause": "resigned"}
        await self._ask("Resign", request, token, "forfeited", seat, data)

    async def rematch(self, name: str, match: str, seat: int, token: str) -> tuple[str, str]:
        """Sit down again, and return the new match and the new token."""
        request = pb.RematchRequest(match_id=match, request_id=request_id(name))
        answer = await self._ask("Rematch", request, token, "rematch", seat, {"seat": seat})
        self.watch(answer.match_id)
        self.watch(answer.match_id, seat, answer.seat_token)
        return answer.match_id, answer.seat_token

    async def declare(
        self, match: str, seat: int, token: str, declares: bool, expected: int
    ) -> None:
        """Answer the declaring step."""
        request = pb.DeclareRequest(
            match_id=match,
            declare=declares,
            expected_sequence=expected,
            request_id=request_id(f"{match} {seat} declares at {expected}"),
        )
        data = {"seat": seat, "declares": declares}
        await self._ask("Declare", request, token, "answered", seat, data, expected)

    async def play(self, match: str, seat: int, token: str, card: int, expected: int) -> None:
        """Play a card."""
        request, data = _play(match, seat, card, expected)
        await self._ask("PlayCard", request, token, "played", seat, data, expected)

    async def try_to_create(self, name: str, rules: str, *seats: str) -> Any:
        """Ask once for a match; an answer is lost, and an error is the caller's."""
        request = pb.CreateMatchRequest(
            rules=rules, seats=[offer(seat) for seat in seats], request_id=request_id(name)
        )
        self.note(_sent("CreateMatch", request, "", "created", -1, {}, 0))
        return await self.call("CreateMatch", request, "")

    async def try_to_play(self, match: str, seat: int, token: str, card: int, expected: int) -> Any:
        """Play a card and do not try again; an answer is lost, and an error is the caller's."""
        request, data = _play(match, seat, card, expected)
        self.note(_sent("PlayCard", request, token, "played", seat, data, expected))
        return await self.call("PlayCard", request, token)

    async def record(self, match: str) -> None:
        """Read the record of a match that is over."""
        request = pb.GetRecordRequest(match_id=match)
        nobody: Any = Caller()
        answer = await self.insist(lambda: self.server.matches.GetRecord(request, nobody))
        self.note(Recorded(match, answer.record.decode()))

    async def _ask(
        self,
        method: str,
        request: Any,
        token: str,
        kind: str,
        seat: int = -1,
        data: dict[str, Any] | None = None,
        expected: int = 0,
    ) -> Any:
        return await self._send(_sent(method, request, token, kind, seat, data or {}, expected))

    async def _send(self, sent: Sent) -> Any:
        """Send a command until something definite comes back, unless it has already."""
        answered: type[Any] = getattr(pb, f"{sent.method}Response")
        if sent.request_id in self._answers:
            return answered.FromString(self._answers[sent.request_id])
        if sent.request_id in self._refusals:
            raise RefusedError(self._refusals[sent.request_id])
        request = getattr(pb, f"{sent.method}Request").FromString(sent.request)

        def call() -> Awaitable[Any]:
            self.note(sent)
            return self.call(sent.method, request, sent.token)

        try:
            answer = await self.insist(call)
        except ServiceError as problem:
            if problem.reason is Reason.DRAINING:  # not refused: another server may take it
                raise
            self.note(Refused(sent.request_id, problem.reason.value))
            raise RefusedError(problem.reason.value) from None
        match = answer.match_id if sent.kind == "rematch" else sent.match
        if sent.kind == "created":
            match = answer.match.id
        sequence = 0 if sent.kind == "rematch" else getattr(answer, "sequence", 0)
        self.note(Answered(sent.request_id, match, sequence, promised(answer)))
        return answer

    def call(self, method: str, request: Any, token: str) -> asyncio.Task[Any]:
        """Call the service once; each step of the call passes the probe."""
        work = getattr(self.server.matches, method)(request, Caller(token))
        return asyncio.get_running_loop().create_task(Stepped(work, self.probe))

    async def insist(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Call again as long as the server says that it is not available."""
        while True:
            try:
                return await call()
            except ServiceError as problem:
                if problem.reason is not Reason.STORAGE_UNAVAILABLE:
                    raise

    # What happens -------------------------------------------------------------------------------

    def watch(self, match: str, seat: int | None = None, token: str = "") -> None:
        """Follow a match from its second event on: a stream that begins at 0 begins with a view."""
        name = f"{match}/{'public' if seat is None else seat}"
        if name not in self._streams:
            self._follow(Opened(name, match, seat, 1, token))

    def _follow(self, opened: Opened) -> None:
        self._followed.add(opened.stream)
        self.note(opened)
        self._tasks.append(asyncio.get_running_loop().create_task(self._listen(opened)))

    async def _listen(self, opened: Opened) -> None:
        request = pb.WatchMatchRequest(match_id=opened.match, after_sequence=opened.after)
        frames: AsyncIterator[Any] = await self.insist(
            lambda: self._first(request, Caller(opened.token))
        )
        async for frame in frames:
            # A frame is bytes already: the edge lets it through.
            self._hear(opened.stream, pb.WatchMatchResponse.FromString(frame))

    async def _first(self, request: pb.WatchMatchRequest, caller: Caller) -> AsyncIterator[Any]:
        """Open a stream; one that fails does so before its first frame."""
        frames: AsyncIterator[Any] = self.server.matches.WatchMatch(request, caller)  # type: ignore[arg-type] # a double
        first = await anext(frames)

        async def whole() -> AsyncIterator[Any]:
            yield first
            async for frame in frames:
                yield frame

        return whole()

    def _hear(self, stream: str, heard: pb.WatchMatchResponse) -> None:
        kind = heard.WhichOneof("update")
        assert kind != "view", "a stream that resumes must not begin anew"
        if kind == "event":
            data = heard.event.SerializeToString(deterministic=True)
            self.note(Told(stream, heard.event.sequence, data))
            self._news.set()
        elif kind == "ended":
            if heard.ended.reason == pb.StreamEnded.REASON_MATCH_OVER:
                self.note(Ended(stream, heard.ended.sequence))
            self._news.set()

    async def live(self, match: str) -> Live:
        """Return a match as the server has it: what a client that looks would see."""
        found: Live = await self.insist(lambda: self.server.host.find(match))
        return found

    async def pass_time(self, name: str, match: str, seconds: float) -> None:
        """Move simulated time, once, and wait until what was due by then has happened."""
        live = await self.live(match)
        host = self.server.host
        if name not in self._clocks:
            self.note(Clock(name, int(seconds * 1_000_000)))
            if live.timer:
                live.timer.cancel()
                host._wait_until(live, live.deadline)
        while 0 < deadlines.due(live.game) <= host.now():
            await self.news()

    def pass_time_unseen(self, match: str, seconds: float) -> None:
        """Move simulated time and leave the rest to the server."""
        host = self.server.host
        live = host._shelf.open[match]
        self.note(Clock("unseen", int(seconds * 1_000_000)))
        if live.timer:
            live.timer.cancel()
        host._wait_until(live, live.deadline)

    def told(self, match: str) -> int:
        """Return the number that a spectator of a match has been told last."""
        return self._told.get(f"{match}/public", 0)

    async def news(self) -> None:
        """Wait until a stream is told something."""
        self._news.clear()
        await self._news.wait()

    async def play_out(
        self,
        match: str,
        tokens: Mapping[int, str],
        until: Callable[[Game], bool] = lambda _: False,
    ) -> None:
        """Let bots decide, then the persons of `tokens`, until the match is over or far enough."""
        while True:
            game = (await self.live(match)).game
            bots = any(game.seats[seat].kind == BOT for seat in game.waits_for)
            if game.over or (not bots and until(game)):
                return
            seat = next((at for at in game.waits_for if at in tokens), -1)
            if bots or seat < 0:
                await self.news()
                continue
            hand = hand_of(game)
            if hand.phase is Phase.DECLARE:
                holds = bool(hand.strengths[seat])
                await self.declare(match, seat, tokens[seat], holds, game.opened)
            else:
                card = min(hand.hands[seat])
                await self.play(match, seat, tokens[seat], card, game.opened)


def _play(match: str, seat: int, card: int, expected: int) -> tuple[Any, dict[str, Any]]:
    request = pb.PlayCardRequest(
        match_id=match,
        card=card,  # type: ignore[arg-type] # a card's number is the enum's
        expected_sequence=expected,
        request_id=request_id(f"{match} {seat} plays {card} at {expected}"),
    )
    return request, {"seat": seat, "card": TEXT[card]}


def _sent(
    method: str,
    request: Any,
    token: str,
    kind: str,
    seat: int,
    data: dict[str, Any],
    expected: int,
) -> Sent:
    match = "" if method == "CreateMatch" else request.match_id
    written = request.SerializeToString(deterministic=True)
    return Sent(request.request_id, kind, match, seat, data, expected, method, written, token)


class Simulated:
    """The clock of a journal: it stands still between the moments that move it."""

    def __init__(self, journal: list[Entry]) -> None:
        self._journal = journal
        self._read = 0
        self._now = _START

    def __call__(self) -> int:
        for entry in self._journal[self._read :]:
            self._read += 1
            if isinstance(entry, Clock):
                self._now += entry.micros
        return self._now


async def life(
    folder: Path,
    registry: Registry,
    journal: list[Entry],
    scenario: Scenario,
    probe: Probe,
    clients: type[Table] = Table,
) -> None:
    """Start a server on the files of `folder`, take up the journal, and play the scenario out."""
    server = Inside(config(folder, Simulated(journal)), registry)
    try:
        await server.start()
    except (ServiceError, StorageError, ConflictError, SQLAlchemyError) as problem:
        raise CannotStartError from problem
    table = clients(server, journal, probe)
    try:
        await table.resume()
        probe.step(RECOVERED)
        await scenario(table)
        await table.finish()
    finally:
        table.leave()
        await server.stop()


def hand_of(game: Game) -> Hand:
    """Return the hand that is played."""
    assert game.match
    assert game.match.hand
    return game.match.hand


def entropy_of(name: str) -> bytes:
    """Return the entropy of whoever gets ready under `name`."""
    return name.encode().ljust(16, b".")


def commitment_of(name: str, match: str, seat: int) -> str:
    """Return what a seat commits to when it joins."""
    return client_commitment(entropy_of(name), match, seat)
