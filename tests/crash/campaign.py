"""kill -9 of the real server, again and again, while many matches run, and nobody is to notice.

A campaign starts `ronda serve` on one database and one port, lets clients play over real channels,
and kills it at random moments: while it plays, while it starts, while it recovers. What the clients
were told goes into a journal, and so does what each kill left on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc

from ronda.v1 import event_pb2, match_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_core.cards import TEXT
from ronda_core.fair import client_commitment
from ronda_server.identity import Keys

from .history import Answered, Ended, Entry, Opened, Recorded, Refused, Sent, Stopped, Told
from .judge import Report, check
from .requests import bearer, offer, promised, random_id, reason_of
from .stored import Database, read_database

_CHANNEL: Final = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 200),
)


@dataclass(frozen=True)
class Kind:
    """What is played at one table, match after match."""

    rules: str
    seats: tuple[str, ...]
    target: int = 0
    length: int = 0
    clock: float = 0.0
    """Seconds for a decision; with it, one person leaves in the middle and is late."""
    entropy: bool = False
    """Persons commit to entropy and get ready."""
    ends: str = "played"
    """How it ends, where time does not end it: played, resigned or cancelled; then a rematch."""
    private: bool = False

    @property
    def persons(self) -> list[int]:
        return [at for at, seat in enumerate(self.seats) if seat in ("open", "invited")]


_MOMENT: Final = 1.0
"""Seconds that the processes of a killed server have to see it and go."""
_O: Final = "open"
KINDS: Final = (
    Kind("arabic", (_O, _O)),
    Kind("playtash", (_O, _O), length=1),
    Kind("playtash", (_O, "greedy")),
    Kind("playtash", (_O, _O, _O, _O), length=1),
    Kind("playtash", (_O, "careful", _O, "random"), length=2),
    Kind("cafe", (_O, _O), target=21),
    Kind("cafe", (_O, _O, _O), target=21, entropy=True),
    Kind("cafe", (_O, "greedy", "random"), target=25),
    Kind("cafe", (_O, _O, _O, _O), length=1),
    Kind("cafe", ("invited", "invited"), target=21, private=True),
    Kind("pagat", (_O, _O), target=25),
    Kind("pagat", (_O, "careful", _O), target=25),
    Kind("pagat", (_O, "greedy", _O, "careful"), length=1),
    Kind("pagat", ("invited", "invited"), length=1, entropy=True),
    Kind("arabic", ("greedy", "random")),
    Kind("cafe", ("careful", "greedy", "random", "greedy"), target=21),
    Kind("arabic", (_O, "greedy"), clock=1.0),
    Kind("pagat", (_O, _O, _O), target=25, clock=1.5),
    Kind("playtash", (_O, _O), ends="resigned"),
    Kind("cafe", (_O, _O, "random", _O), target=21, ends="cancelled"),
)
"""The twenty tables of a campaign."""


class Process:
    """`ronda serve` as a process, started again on the same files and the same port."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "ronda.db"
        self.listen = "127.0.0.1:0"
        self.orphans: list[int] = []
        self._errors = folder / "stderr"
        self._process: asyncio.subprocess.Process | None = None

    async def spawn(self) -> None:
        """Begin to start."""
        with self._errors.open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ronda_cli.main", "serve"),
                *("--listen", self.listen, "--database", str(self.database)),
                *("--health-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"),
                *("--log-level", "error"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    async def ready(self) -> bool:
        """Wait until it listens; False if it ended instead."""
        assert self._process
        assert self._process.stdout
        line = await self._process.stdout.readline()
        if line:
            self.listen = str(json.loads(line)["listen"])
        return bool(line)

    async def start(self) -> None:
        """Start, and wait until it listens."""
        for _ in range(50):
            await self.spawn()
            if await self.ready():
                return
            # Between two lives of the server someone else may have been given its port for a while.
            await self.kill()
            if "cannot listen" not in self._errors.read_text():
                break
        raise AssertionError(f"the server does not start: {self._errors.read_text()[-2000:]}")

    async def kill(self) -> None:
        """Kill -9, and see that nothing of it is left."""
        assert self._process
        with contextlib.suppress(ProcessLookupError):  # it has gone
            self._process.kill()
        await self._gone()

    async def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        assert self._process
        self._process.terminate()
        return await self._gone()

    async def _gone(self) -> int:
        assert self._process
        code = await self._process.wait()
        until = time.monotonic() + _MOMENT
        while (left := _session(self._process.pid)) and time.monotonic() < until:  # noqa: ASYNC110 # nothing tells
            await asyncio.sleep(0.01)  # what a killed server leaves goes by itself
        self.orphans += left
        return code


class Campaign:
    """Twenty tables, one server, and somebody with a gun."""

    def __init__(self, folder: Path, seed: int, kinds: tuple[Kind, ...] = KINDS) -> None:
        self.journal: list[Entry] = []
        self.kills = 0
        self.server = Process(folder)
        self.chance = random.Random(seed)
        self.closing = False
        self._kinds = kinds
        self._left = Database()
        self._noted = asyncio.Event()

    async def run(self, kills: int, tell: Callable[[str], None] = lambda _: None) -> Report:
        """Kill the server so often at least, let all matches come to their end, and judge."""
        await self.server.start()
        try:
            await self._play(kills, tell)
            code = await self.server.stop()
        finally:
            await self.server.kill()
        report = check(
            self.journal,
            read_database(self.server.database),
            Keys(self.server.database.with_name("ronda.db.key").read_bytes()),
        )
        if code:
            report.faults.append(f"the server stopped with {code}")
        if self.server.orphans:
            report.faults.append(f"processes were left: {self.server.orphans}")
        return report

    async def _play(self, kills: int, tell: Callable[[str], None]) -> None:
        async with asyncio.TaskGroup() as group:
            for number, kind in enumerate(self._kinds):
                group.create_task(self._table(kind, random.Random(self.chance.random()), number))
            while self.kills < kills:
                await self._kill()
                tell(f"{self.kills} kills, {len(self.journal)} entries")
            self.closing = True

    def note(self, entry: Entry) -> None:
        """Write down what happens."""
        self.journal.append(entry)
        self._noted.set()

    async def progress(self, count: int) -> None:
        """Wait until so much more has happened."""
        until = len(self.journal) + count
        while len(self.journal) < until:
            self._noted.clear()
            await self._noted.wait()

    async def _kill(self) -> None:
        """Kill the server at a random moment of its life, and start it again."""
        await self.progress(self.chance.randrange(400))
        await self._wait(self.chance.uniform(0, 0.02))
        await self._shoot()
        while self.chance.random() < 0.25:  # and again before it is up, or just when it is
            await self.server.spawn()
            up = asyncio.ensure_future(self.server.ready())
            await asyncio.wait([up], timeout=self.chance.uniform(0, 1.2))
            await self._shoot()
            await up
        await self.server.start()

    async def _shoot(self) -> None:
        await self.server.kill()
        self.kills += 1
        self._left = _shared(read_database(self.server.database), self._left)
        self.note(Stopped(self._left))

    async def _wait(self, seconds: float) -> None:
        """Let a random moment come: nothing is waited for."""
        await asyncio.sleep(seconds)  # the moment is the test

    async def _table(self, kind: Kind, chance: random.Random, number: int) -> None:
        """Play one match after another on one channel."""
        channel = grpc.aio.insecure_channel(self.server.listen, _CHANNEL)
        async with channel:
            seated = Seated(self, MatchServiceStub(channel), kind, chance)
            for played in itertools.count():
                await seated.play(f"{number}-{played}")
                if not kind.persons and not self.closing:
                    # Bots among themselves are fast: they leave some room for others.
                    with contextlib.suppress(TimeoutError):  # they go on
                        async with asyncio.timeout(10):
                            await self.progress(500)
                if self.closing:
                    return


@dataclass
class Seated:
    """The persons of one table, and its spectator."""

    campaign: Campaign
    calls: MatchServiceStub
    kind: Kind
    chance: random.Random

    async def play(self, name: str) -> None:
        """Play a match from its creation to its record; and perhaps the rematch."""
        made = await self.create(name)
        match = made.match.id
        invitations = {one.seat: one.invitation_token for one in made.invitations}
        tokens: dict[int, str] = {}
        async with asyncio.TaskGroup() as group:
            watching = made.owner_token if self.kind.private else ""
            group.create_task(self.follow(match, None, watching))
            for seat in self.kind.persons:
                tokens[seat] = await self.join(match, seat, invitations.get(seat, ""))
                player = Player(self, match, seat, tokens[seat])
                group.create_task(player.play())
            if self.kind.entropy:
                for seat, token in tokens.items():
                    await self.ready(match, seat, token)
        await self.record(match, made.owner_token)
        if self.kind.ends != "played" and not self.campaign.closing:
            await self.rematch(match, tokens)

    async def rematch(self, match: str, tokens: dict[int, str]) -> None:
        """Sit down again, all at once."""
        answers = await asyncio.gather(
            *(self.sit_again(match, seat, token) for seat, token in tokens.items())
        )
        (again,) = {answer.match_id for answer in answers}
        async with asyncio.TaskGroup() as group:
            group.create_task(self.follow(again, None, ""))
            for answer in answers:
                player = Player(self, again, answer.seat, answer.seat_token)
                group.create_task(player.play())
        await self.record(again, "")

    async def create(self, name: str) -> Any:
        kind = self.kind
        request = pb.CreateMatchRequest(
            rules=kind.rules,
            target=kind.target,
            length=kind.length,
            seats=[offer(seat) for seat in kind.seats],
            visibility=(
                match_pb2.VISIBILITY_PRIVATE if kind.private else match_pb2.VISIBILITY_PUBLIC
            ),
            request_id=random_id(self.chance),
        )
        if kind.clock:
            request.clock.per_decision.FromMilliseconds(int(kind.clock * 1000))
        return await self.insist("CreateMatch", request, "", "created", -1, {})

    async def join(self, match: str, seat: int, invitation: str) -> str:
        request = pb.JoinMatchRequest(
            match_id=match, seat=seat, name=f"person {seat}", request_id=random_id(self.chance)
        )
        if self.kind.entropy:
            request.client_commitment = client_commitment(_entropy(seat), match, seat)
        data = {"seat": seat, "name": request.name}
        answer = await self.insist("JoinMatch", request, invitation, "joined", -1, data)
        token: str = answer.seat_token
        return token

    async def ready(self, match: str, seat: int, token: str) -> None:
        request = pb.ReadySeatRequest(
            match_id=match, entropy=_entropy(seat), request_id=random_id(self.chance)
        )
        data = {"seat": seat, "entropy": _entropy(seat).hex()}
        await self.insist("ReadySeat", request, token, "ready", seat, data)

    async def sit_again(self, match: str, seat: int, token: str) -> Any:
        request = pb.RematchRequest(match_id=match, request_id=random_id(self.chance))
        return await self.insist("Rematch", request, token, "rematch", seat, {"seat": seat})

    async def record(self, match: str, token: str) -> None:
        request = pb.GetRecordRequest(match_id=match)
        answer = await self._call("GetRecord", request, token if self.kind.private else "")
        self.campaign.note(Recorded(match, answer.record.decode()))

    async def insist(
        self, method: str, request: Any, token: str, kind: str, seat: int, data: dict[str, Any]
    ) -> Any:
        """Send a command that cannot be refused."""
        answer = await self.command(method, request, token, kind, seat, data)
        if answer is None:
            last = [one for one in self.campaign.journal if isinstance(one, Refused)][-1]
            raise AssertionError(f"{method} for {self.kind} was refused: {last.reason}")
        return answer

    async def command(
        self, method: str, request: Any, token: str, kind: str, seat: int, data: dict[str, Any]
    ) -> Any:
        """Send a command until it is answered, now and then twice; None if it is refused."""
        sent = Sent(
            request.request_id,
            kind,
            getattr(request, "match_id", ""),
            seat,
            data,
            getattr(request, "expected_sequence", 0),
            method,
            b"",
            "",
        )
        twice = [self._send(sent, request, token)] if self.chance.random() < 0.1 else []
        answers = await asyncio.gather(self._send(sent, request, token), *twice)
        return answers[0]

    async def _send(self, sent: Sent, request: Any, token: str) -> Any:
        note = self.campaign.note
        try:
            answer = await self._call(sent.method, request, token, lambda: note(sent))
        except grpc.aio.AioRpcError as problem:
            if not reason_of(problem):
                raise
            note(Refused(sent.request_id, reason_of(problem)))
            return None
        match = answer.match_id if sent.kind == "rematch" else sent.match
        if sent.kind == "created":
            match = answer.match.id
        sequence = 0 if sent.kind == "rematch" else getattr(answer, "sequence", 0)
        note(Answered(sent.request_id, match, sequence, promised(answer)))
        return answer

    async def _call(
        self, method: str, request: Any, token: str, before: Callable[[], None] = lambda: None
    ) -> Any:
        """Call until there is an answer; whatever is lost with a server is sent again."""
        while True:
            kills = self.campaign.kills
            before()
            try:
                return await getattr(self.calls, method)(
                    request, metadata=bearer(token), wait_for_ready=True
                )
            except grpc.aio.AioRpcError as problem:
                if not self._lost(problem, kills):
                    raise

    def _lost(self, problem: grpc.aio.AioRpcError, kills: int) -> bool:
        """Say whether a call ended because its server did."""
        if problem.code() is grpc.StatusCode.UNAVAILABLE:
            return True
        return not reason_of(problem) and self.campaign.kills != kills

    async def follow(self, match: str, seat: int | None, token: str) -> None:
        """Follow a match to its end, and do nothing."""
        async for _ in self.events(match, seat, token):
            pass  # only followed

    async def events(
        self, match: str, seat: int | None, token: str
    ) -> AsyncIterator[event_pb2.Event]:
        """Yield every event of a match from the second on, through any number of servers."""
        name = f"{match}/{'public' if seat is None else seat}"
        last = 1
        while True:
            self.campaign.note(Opened(name, match, seat, last))
            kills = self.campaign.kills
            request = pb.WatchMatchRequest(match_id=match, after_sequence=last)
            stream = self.calls.WatchMatch(request, metadata=bearer(token), wait_for_ready=True)
            try:
                async for heard in stream:
                    if heard.HasField("event"):
                        last = heard.event.sequence
                        data = heard.event.SerializeToString(deterministic=True)
                        self.campaign.note(Told(name, last, data))
                        yield heard.event
                    elif heard.HasField("ended"):
                        assert heard.ended.reason == pb.StreamEnded.REASON_MATCH_OVER
                        self.campaign.note(Ended(name, heard.ended.sequence))
                        return
                    elif heard.HasField("view"):
                        stream.cancel()  # too slow: what was missed is asked for again
                        break
            except grpc.aio.AioRpcError as problem:
                if not self._lost(problem, kills):
                    raise


class Player:
    """A person who knows what the stream of the seat tells, and nothing else."""

    def __init__(self, table: Seated, match: str, seat: int, token: str) -> None:
        self._table = table
        self._match = match
        self._seat = seat
        self._token = token
        self._chance = table.chance
        self._hand: list[int] = []
        self._declares = table.kind.rules in ("cafe", "pagat")
        # The moment at which patience ends, if it does: to leave, to resign or to agree to cancel.
        self._leaves = self._chance.randrange(20, 60) if table.kind.clock else 0
        self._ends = self._chance.randrange(10, 50) if table.kind.ends != "played" else 0

    async def play(self) -> None:
        """Follow the match to its end and decide whatever there is to decide."""
        async with asyncio.TaskGroup() as group:
            async for event in self._table.events(self._match, self._seat, self._token):
                for act in self._decide(event):
                    group.create_task(act)

    def _decide(self, event: event_pb2.Event) -> list[Coroutine[Any, Any, None]]:
        number = event.sequence
        acts: list[Coroutine[Any, Any, None]] = []
        if self._ends and number >= self._ends:
            self._ends = 0
            acts.append(self._end())
        turn: int | None = None
        match event.WhichOneof("kind"):
            case "cards_dealt":
                self._hand = list(event.cards_dealt.hand)
                if event.cards_dealt.HasField("turn"):
                    turn = event.cards_dealt.turn
                elif self._declares and not self._gone(number):
                    acts.append(self._declare(number))
            case "declarations_revealed" if event.declarations_revealed.HasField("turn"):
                turn = event.declarations_revealed.turn
            case "card_played":
                if event.card_played.play.seat == self._seat:
                    self._hand.remove(event.card_played.play.card)
                if event.card_played.HasField("turn"):
                    turn = event.card_played.turn
        if self._chance.random() < 0.05:
            acts.append(self._err(number))
        if turn == self._seat and not self._gone(number):
            acts.append(self._play(number))
        return acts

    def _gone(self, number: int) -> bool:
        return bool(self._leaves) and number >= self._leaves

    async def _declare(self, number: int) -> None:
        ranks = [(card - 1) % 10 for card in self._hand]
        declares = len(set(ranks)) < len(ranks) and self._chance.random() < 0.8
        request = pb.DeclareRequest(
            match_id=self._match,
            declare=declares,
            expected_sequence=number,
            request_id=random_id(self._chance),
        )
        data = {"seat": self._seat, "declares": declares}
        await self._table.command("Declare", request, self._token, "answered", self._seat, data)

    async def _play(self, number: int) -> None:
        await self._play_card(self._chance.choice(self._hand), number)

    async def _err(self, number: int) -> None:
        """Send what may be wrong: any card, at any time, on an old state."""
        number -= self._chance.randrange(3)
        await self._play_card(self._chance.randrange(1, 41), max(1, number))

    async def _play_card(self, card: int, number: int) -> None:
        request = pb.PlayCardRequest(
            match_id=self._match,
            card=card,  # type: ignore[arg-type] # a card's number is the enum's
            expected_sequence=number,
            request_id=random_id(self._chance),
        )
        data = {"seat": self._seat, "card": TEXT[card]}
        await self._table.command("PlayCard", request, self._token, "played", self._seat, data)

    async def _end(self) -> None:
        identity = random_id(self._chance)
        if self._table.kind.ends == "cancelled":
            cancel = pb.CancelMatchRequest(match_id=self._match, request_id=identity)
            data: dict[str, Any] = {"seat": self._seat}
            await self._table.command(
                "CancelMatch", cancel, self._token, "cancel_agreed", self._seat, data
            )
        else:
            resign = pb.ResignRequest(match_id=self._match, request_id=identity)
            data = {"seat": self._seat, "cause": "resigned"}
            await self._table.command("Resign", resign, self._token, "forfeited", self._seat, data)


def _entropy(seat: int) -> bytes:
    return bytes([seat]) * 16


def _session(leader: int) -> list[int]:
    """Return the processes of the session that `leader` led, where the system tells."""
    left = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has gone
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                left.append(int(stat.parent.name))
    return left


def _shared(now: Database, before: Database) -> Database:
    """Return `now` with the rows that it has in common with `before` held once."""
    for match, rows in now.rows.items():
        old = before.rows.get(match, [])
        rows[: len(old)] = [
            kept if kept == row else row for kept, row in zip(old, rows, strict=False)
        ]
    return now
