"""Twin deals over `BotService.Connect`: what a bot may not see makes no byte of difference."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from tests.hidden import in_thread, simulated
from tests.hidden.deals import Deal, Dealers, bot_seed
from tests.hidden.obs import NUMBER, Playout, Step, replay
from tests.hidden.plan import GROUPS
from tests.hidden.service import STEP
from tests.hidden.spies import bundled
from tests.hidden.store import store
from tests.hidden.test_twins import TWINS as WANTED
from tests.hidden.test_twins import some_playout
from tests.hidden.twins import Tally, twin

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import match_pb2
from ronda.v1 import match_service_pb2 as matches_pb
from ronda_core.cards import CARDS
from ronda_server import frames
from ronda_server.remote_bot import Place

TWINS = max(8, WANTED // 4)
SERVICE = "/ronda.v1.MatchService/"

each_group = pytest.mark.parametrize(
    ("rules", "players"), GROUPS, ids=[f"{rules}-{players}" for rules, players in GROUPS]
)


class Manner(NamedTuple):
    """What a run does beside the play, which must not depend on a card."""

    seed: str
    with_events: bool
    breaks_at: int
    """The step before which the stream breaks and another is opened; -1: never."""
    repeats: bool
    """Every answer is said twice."""
    resigns: bool
    """A person ends it."""
    clock: bool


class Told(NamedTuple):
    """One message to the bot: when it came, and its bytes."""

    time: int
    frame: bytes


class Far:
    """A remote bot on streams in this thread, and all that it is told."""

    def __init__(
        self, service: in_thread.InThread, key: str, with_events: bool, name: str = "far"
    ) -> None:
        self._service = service
        self._key = key
        self._name = name
        self._with_events = with_events
        self._said: asyncio.Queue[pb.ConnectRequest] = asyncio.Queue()
        self.told: list[Told] = []
        self.asked = ""
        self._places: dict[str, tuple[int, int]] = {}
        self._task: asyncio.Task[None] | None = None

    def connect(self) -> None:
        """Open a stream and say Hello and Ready."""
        self._said = asyncio.Queue()
        hello = pb.Hello(
            name=self._name,
            version="1",
            without_events=not self._with_events,
            places=[
                pb.MatchPlace(match_id=match_id, seat=seat, after_sequence=after)
                for match_id, (seat, after) in self._places.items()
            ],
        )
        self.say(hello=hello)
        self.say(ready=pb.Ready())
        self._task = asyncio.get_running_loop().create_task(self._read(self._said))

    def say(self, **message: Any) -> None:
        """Say something."""
        self._said.put_nowait(pb.ConnectRequest(**message))

    async def leave(self) -> None:
        """Hang up."""
        assert self._task
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):  # it was asked to
            await self._task

    async def _read(self, said: asyncio.Queue[pb.ConnectRequest]) -> None:
        async def words() -> AsyncIterator[pb.ConnectRequest]:
            while True:
                yield await said.get()

        talking = self._service.talk("/ronda.v1.BotService/Connect", words(), self._key)
        async with contextlib.aclosing(talking):
            async for frame in talking:
                self.told.append(Told(self._service.now(), frame))
                message = pb.ConnectResponse.FromString(frame)
                if message.HasField("decision"):
                    self.asked = message.decision.decision_id
                elif message.HasField("match_event"):
                    event = message.match_event
                    self._places[event.match_id] = event.seat, event.event.sequence


class Run:
    """One match on a server of its own."""

    def __init__(self, service: in_thread.InThread, playout: Playout, seat: int, how: Manner):
        self._service = service
        self._playout = playout
        self._seat = seat
        self._how = how
        self._ids = random.Random(how.seed)
        self._tokens: dict[int, str] = {}
        self._match_id = ""

    async def told(self) -> list[Told]:
        """Play the match, and return all that the bot was told."""
        _, key = await self._service.server.accounts.create("ann", "", b"request")
        bot = Far(self._service, key, self._how.with_events)
        bot.connect()
        await asyncio.sleep(STEP)  # simulated
        await self._begin()
        for number, step in enumerate(self._playout.steps):
            if number == self._how.breaks_at:
                await bot.leave()
                await asyncio.sleep(STEP)  # simulated
                bot.connect()
                await asyncio.sleep(STEP)  # simulated
            await self._step(bot, step)
            await asyncio.sleep(STEP)  # simulated
        if self._how.resigns:
            await self._command(next(iter(self._tokens)), "Resign")
        await asyncio.sleep(12)  # simulated: there is a sign of life
        await bot.leave()
        return bot.told

    async def _begin(self) -> None:
        setup = self._playout.setup
        seats = [matches_pb.SeatOffer(open=matches_pb.OpenSeat()) for _ in range(setup.players)]
        seats[self._seat] = matches_pb.SeatOffer(bot="far")
        clock = match_pb2.Clock()
        clock.per_decision.FromSeconds(60)
        made = await self._call(
            "CreateMatch",
            rules=setup.rules,
            target=setup.target,
            seats=seats,
            clock=clock if self._how.clock else None,
        )
        self._match_id = matches_pb.CreateMatchResponse.FromString(made).match.id
        for seat in range(setup.players):
            if seat != self._seat:
                joined = await self._call("JoinMatch", match_id=self._match_id, seat=seat)
                token = matches_pb.JoinMatchResponse.FromString(joined).seat_token
                self._tokens[seat] = token
        await asyncio.sleep(STEP)  # simulated

    async def _step(self, bot: Far, step: Step) -> None:
        word, seat, answer = step
        choice = {"card": NUMBER[answer]} if word == "play" else {"declare": answer}
        if seat != self._seat:
            game = (await self._service.server.host.find(self._match_id)).game
            method = "PlayCard" if word == "play" else "Declare"
            await self._command(seat, method, expected_sequence=game.sequence, **choice)
            return
        for _ in range(2 if self._how.repeats else 1):
            bot.say(answer=pb.Answer(decision_id=bot.asked, **choice))

    async def _command(self, seat: int, method: str, **fields: Any) -> None:
        token = self._tokens[seat]
        await self._call(method, token, match_id=self._match_id, **fields)

    async def _call(self, method: str, token: str = "", **fields: Any) -> bytes:
        request_id = str(uuid.UUID(int=self._ids.getrandbits(128), version=4))
        request = getattr(matches_pb, f"{method}Request")(request_id=request_id, **fields)
        answer = await self._service.unary(SERVICE + method, request, token)
        assert answer.ok, f"{method}: {answer.code} {answer.trailing!r}"
        return answer.body


def told(playout: Playout, seat: int, how: Manner) -> list[Told]:
    """Play a match with a remote bot in `seat`, and return what that is told."""
    kept = store()  # made on a loop of its own
    deal = Deal(playout.dealer, playout.decks, how.seed)

    async def run() -> list[Told]:
        with Dealers(kept.scopes, [deal], how.seed).dealing():
            async with in_thread.serve(bundled()) as service:
                return await Run(service, playout, seat, how).told()

    return simulated.run(run())


def manner(rng: random.Random, playout: Playout) -> Manner:
    steps = len(playout.steps)
    return Manner(
        seed=str(rng.random()),
        with_events=rng.random() < 0.7,
        breaks_at=rng.randrange(steps) if steps and rng.random() < 0.4 else -1,
        repeats=rng.random() < 0.3,
        resigns=rng.random() < 0.5,
        clock=rng.random() < 0.5,
    )


def twins(rules: str, players: int, wanted: int) -> list[tuple[list[Told], list[Told]]]:
    """Return what the bot is told in so many matches, each with its twin."""
    rng = random.Random(f"connect/{rules}/{players}")
    tally = Tally()
    found = []
    while len(found) < wanted:
        playout = some_playout(rng, rules, players)
        seat = rng.randrange(players)
        other = twin(playout, replay(playout), seat, rng, tally)
        if other is None:
            continue
        how = manner(rng, playout)
        base = told(playout, seat, how)
        messages = [pb.ConnectResponse.FromString(frame) for _, frame in base]
        started = [one.match_started for one in messages if one.HasField("match_started")]
        chance = bot_seed(how.seed, seat).to_bytes(32, "big")
        assert {one.chance for one in started} == {chance}  # the dealer's, and of no card
        found.append((base, told(other, seat, how)))
    return found


@each_group
def test_a_remote_bot_cannot_tell_a_match_from_its_twin(rules: str, players: int) -> None:
    kinds: set[str | None] = set()
    for base, other in twins(rules, players, TWINS):
        assert base == other
        kinds |= {pb.ConnectResponse.FromString(frame).WhichOneof("message") for _, frame in base}
    assert kinds >= {"match_started", "match_event", "decision", "match_over", "caught_up", "alive"}


def test_a_card_of_another_in_the_time_of_an_answer_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = frames.decision

    def leaking(place: Place, view: list[bytes], round_trip: int) -> bytes:
        match = place.live.game.match
        assert match
        assert match.hand
        secret = sum(CARDS[card] for card in match.hand.hands[1 - place.seat])
        return honest(place, view, round_trip + secret)

    monkeypatch.setattr(frames, "decision", leaking)
    assert any(base != other for base, other in twins("playtash", 2, 4))
