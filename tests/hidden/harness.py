"""Runs a plan through the service and keeps all that anybody receives."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ronda.v1 import match_pb2, match_service_pb2
from ronda_core.fair import client_commitment
from tests.hidden import probes, service, spies
from tests.hidden.deals import Deal, Dealers
from tests.hidden.ears import Ears, listening
from tests.hidden.obs import NUMBER, TEXT, Mirror, Playout, Setup, Step
from tests.hidden.plan import OWNER, STRANGER, TURN, Plan, Probe
from tests.hidden.service import Answer, Service, Stream
from tests.hidden.tape import Entry, Tape, log_text, metrics_text
from tests.hidden.twins import Fixed
from tests.referee.biased import biased_deck, biased_play
from tests.referee.naive import rank_of, set_in

pb: Any = match_service_pb2

MAIN: Final = "main"
REMATCH: Final = "rematch"
NEIGHBOUR: Final = "neighbour"

_NEIGHBOUR: Final = Setup("playtash", 2, 41)


class SurpriseError(AssertionError):
    """The service did what the rules do not say."""


@dataclass
class Result:
    """What a run leaves."""

    plan: Plan
    tape: Tape
    playout: Playout
    script: list[Step]
    """Decisions of persons."""
    rematch: Playout | None
    mirrors: dict[str, Mirror]
    fixed: Fixed
    secrets: dict[str, str | bytes]
    """What nobody but its owner may ever read, by what it is; "seat 1" and such are tokens."""
    problem: str = ""
    """What the service did that the rules do not say."""


@dataclass
class Script:
    """What a twin does: its deals and its persons' decisions."""

    deals: list[Deal | None]
    steps: Sequence[Step] | None = None
    """None: decided by chance as it goes."""


@dataclass
class _Watch:
    """A stream, whose it is, and what it is called on the tape."""

    who: int
    match: str
    name: str
    stream: Stream


@dataclass
class Run:
    """One run while it goes on."""

    plan: Plan
    script: Script
    service: Service
    ears: Ears
    dealers: Dealers
    decided: list[Step] = field(default_factory=list)
    """By bots, not yet in the mirror."""

    def __post_init__(self) -> None:
        plan = self.plan
        self.tape = Tape()
        self.ids: dict[str, str] = {}
        self.tokens: dict[tuple[str, int], str] = {}
        self.invitations: dict[int, str] = {}
        self.mirrors: dict[str, Mirror] = {}
        self.watches: list[_Watch] = []
        self.last: dict[int, Any] = {}
        """The last command of a seat that was taken: its method and its request."""
        self.taken: list[Step] = []
        self.setless: set[int] = set()
        self.opened_at = 0
        self.label = "start"
        self._request_ids = plan.rng("request ids")
        self._chance = plan.rng("decisions")
        self._next = 0

    # What a run is made of

    async def all(self) -> None:
        """Do the whole plan."""
        if self.plan.neighbour:
            await self._neighbour()
        await self._create()
        await self._sit()
        mirror = self.mirror
        for step in range(self.plan.steps):
            await self._probe(step)
            if mirror.referee.phase == "over" or not await self._decide(step):
                break
        await self._probe(self.plan.steps)
        await self._end()
        await self._close()

    async def _create(self) -> None:
        plan = self.plan
        self.label = "create"
        request = pb.CreateMatchRequest(
            rules=plan.setup.rules,
            target=plan.setup.target,
            length=plan.setup.length,
            seats=[_offer(kind) for kind in plan.seats],
            visibility=plan.visibility,
            request_id=self.request_id(),
        )
        if plan.clock:
            request.clock.per_decision.FromMicroseconds(round(plan.clock * 1e6))
        answer = await self.must(OWNER, "CreateMatch", request, match="")
        created = pb.CreateMatchResponse.FromString(answer.body)
        self.ids[MAIN] = created.match.id
        self.tokens[MAIN, OWNER] = created.owner_token
        self.invitations = {one.seat: one.invitation_token for one in created.invitations}
        self.mirrors[MAIN] = Mirror(plan.setup, plan.dealer, self._deck_of(MAIN))
        self.mirror.note("created")
        public = plan.visibility == match_pb2.VISIBILITY_PUBLIC
        await self.watch(STRANGER if public else OWNER, 0, views=self._chance_of("views"))

    async def _sit(self) -> None:
        """Let everybody join, watch and give their entropy; the last of it deals."""
        rng = self.plan.rng("sit")
        persons = rng.sample(self.plan.persons, len(self.plan.persons))
        late = {seat for seat in persons if rng.random() < 0.15}
        for at, seat in enumerate(persons):
            self.label = f"seat {seat} joins"
            if at == len(persons) - 1 and not self.plan.contributors & set(persons):
                self._prepare_deal()
            await self._join(seat)
            if seat not in late:
                await self.watch(seat, 0, views=rng.random() < 0.3)
        giving = [seat for seat in persons if seat in self.plan.contributors]
        for at, seat in enumerate(giving):
            self.label = f"seat {seat} is ready"
            if at == len(giving) - 1:
                self._prepare_deal()
            request = self.request("ReadySeat", entropy=self._entropy(seat))
            await self.must(seat, "ReadySeat", request)
            self.mirror.note("ready")
        await self._dealt()
        for seat in sorted(late):
            await self.watch(seat, 0, views=rng.random() < 0.3)

    async def _join(self, seat: int) -> None:
        request = self.request("JoinMatch", seat=seat, name=f"Person {seat}")
        if seat in self.plan.contributors:
            entropy = self._entropy(seat)
            request.client_commitment = client_commitment(entropy, self.ids[MAIN], seat)
        token = self.invitations.get(seat, "")
        answer = await self.must(seat, "JoinMatch", request, token=token)
        self.tokens[MAIN, seat] = pb.JoinMatchResponse.FromString(answer.body).seat_token
        self.mirror.note("joined")

    async def _dealt(self) -> None:
        self.mirror.deal()
        self.opened_at = self.service.now()
        await self.settle()

    async def _probe(self, step: int) -> None:
        for probe in self.plan.probes(step):
            self.label = f"step {step}: {probe.kind}"
            await self._ask(probe)

    async def _ask(self, probe: Probe) -> None:
        chosen = self.request_id()  # always drawn: whether it is used may be a seat's secret
        who = probe.who
        if who == TURN:
            turn = self.mirror.referee.turn
            if turn is None or turn not in self.plan.persons:
                return
            who = turn
        await getattr(probes, probe.kind)(self, who, probe.chance, chosen)
        await self.settle()

    async def _decide(self, number: int) -> bool:
        """Let a person decide; False where nobody is waited for."""
        step = self._next_step()
        if step is None:
            return False
        self.label = f"step {number}: {step[0]}"
        mirror = self.mirror
        sequence = mirror.sequence
        self.taken.append(step)
        if step[0] == "late":
            await self.service.advance(self.plan.clock + 0.5)
        else:
            seat, answer = step[1], step[2]
            play = step[0] == "play"
            method = "PlayCard" if play else "Declare"
            what = {"card": NUMBER[answer]} if play else {"declare": answer}
            request = self.request(method, expected_sequence=sequence, **what)
            got = await self.must(seat, method, request)
            told = getattr(pb, f"{method}Response").FromString(got.body).sequence
            if told != sequence + 1:
                raise SurpriseError(f"{self.label}: number {told}, not {sequence + 1}")
            self.last[seat] = method, request
        self._mirror(step)
        await self.settle()
        return True

    def _next_step(self) -> Step | None:
        if self.script.steps is None:
            return self._by_chance()
        if self._next == len(self.script.steps):
            return None
        self._next += 1
        return self.script.steps[self._next - 1]

    def _by_chance(self) -> Step | None:
        """Decide for a person, as the rules allow."""
        rng, referee = self._chance, self.mirror.referee
        if referee.phase == "declare":
            waiting = [seat for seat in self.plan.persons if seat not in referee.answers]
            if not waiting:
                return None
            if self.plan.clock and self.service.simulated and rng.random() < 0.05:
                return ("late",)
            seat = rng.choice(waiting)
            return "declare", seat, seat in referee.dealt_sets and rng.random() < 0.65
        if referee.turn is None or referee.turn not in self.plan.persons:
            return None
        hand = sorted(referee.hands[referee.turn])
        last = rank_of(referee.last_card) if referee.last_card else None
        card = biased_play(rng, hand, referee.table, last) if rng.random() < 0.7 else rng.choice(hand)
        return "play", referee.turn, card

    async def _end(self) -> None:
        """End the match, or leave it open."""
        how = self.plan.ending
        referee = self.mirror.referee
        self.label = f"ending: {how}"
        if referee.phase != "over" and how in ("resign", "rematch"):
            seat = self.plan.rng("resigns").choice(self.plan.persons)
            await self.must(seat, "Resign", self.request("Resign"))
            self.mirror.note("match_ended")
        elif referee.phase != "over" and how == "agree":
            await self._agree()
        elif referee.phase == "play" and how == "timeout" and self.service.simulated:
            await self.service.advance(self.plan.clock + 0.5)
            self.mirror.note("match_ended")
        else:
            how = "none" if referee.phase != "over" else how
        await self.settle()
        if how != "none":
            await probes.look_around(self)
            if how == "rematch":
                await self._rematch()

    async def _agree(self) -> None:
        """Let every side agree to cancel."""
        for seat in self.plan.persons:
            got = await self.must(seat, "CancelMatch", self.request("CancelMatch"))
            self.mirror.note("cancel_agreed")
            if pb.CancelMatchResponse.FromString(got.body).cancelled:
                self.mirror.note("match_ended")
                return

    async def _rematch(self) -> None:
        """Play the first view of the match that follows."""
        plan = self.plan
        self.mirrors[REMATCH] = mirror = Mirror(plan.setup, plan.dealer, self._deck_of(REMATCH))
        mirror.note("created")
        for seat in plan.persons:
            self.label = f"seat {seat} wants a rematch"
            request = self.request("Rematch")
            answer = pb.RematchResponse.FromString((await self.must(seat, "Rematch", request)).body)
            self.ids[REMATCH] = answer.match_id
            self.tokens[REMATCH, seat] = answer.seat_token
            mirror.note("joined")
            await self.watch(seat, 0, views=seat % 2 == 0, match=REMATCH)
        mirror.deal()
        await self.settle()
        for seat in plan.persons:
            await self.watch(seat, 0, views=False, match=REMATCH)
            await self.call(seat, "GetMatch", self.request("GetMatch", REMATCH), match=REMATCH)
        if plan.visibility == match_pb2.VISIBILITY_PUBLIC:
            await self.watch(STRANGER, 0, views=True, match=REMATCH)
        await self.settle()

    async def _close(self) -> None:
        """Stop the server under the eyes of everybody, and keep what the streams brought."""
        self.label = "the server drains"
        for watch in self.watches:
            watch.stream.open.set()
        await self.settle()
        self.scrape()
        self.service.server.host.drain()
        for watch in self.watches:
            if not watch.stream.task.done():
                await asyncio.wait_for(watch.stream.task, 20)
        await probes.after_drain(self)
        for watch in self.watches:
            self._keep(watch)
        self._log()

    def _keep(self, watch: _Watch) -> None:
        stream = watch.stream
        channel = _channel(watch.who)
        known = self.mirrors[watch.match].sequence
        for at, (time, frame) in enumerate(stream.frames):
            what = f"{watch.name}, frame {at}"
            self.tape.add(channel, Entry(time, what, frame, "frame", watch.match, known))
        end = _status(stream.end) if stream.end else b"hung up"
        self.tape.add(channel, Entry(0, f"{watch.name} ends", end))

    async def _neighbour(self) -> None:
        """Make a match that has nothing to do with the one on trial, but stands beside it in lists."""
        self.label = "neighbour"
        request = pb.CreateMatchRequest(
            rules=_NEIGHBOUR.rules, seats=[_offer("open")] * 2, request_id=self.request_id()
        )
        answer = await self.must(OWNER, "CreateMatch", request, match="")
        self.ids[NEIGHBOUR] = pb.CreateMatchResponse.FromString(answer.body).match.id
        for _ in range(2):
            await self.must(OWNER, "JoinMatch", self.request("JoinMatch", NEIGHBOUR), token="")
        await self.service.settle([])

    # What probes are made of

    @property
    def mirror(self) -> Mirror:
        """The match on trial, as the rules have it."""
        return self.mirrors[MAIN]

    @property
    def everybody(self) -> list[int]:
        """Persons, a stranger and the owner."""
        return [*self.plan.persons, STRANGER, OWNER]

    def request_id(self) -> str:
        """Return the next request id."""
        return str(uuid.UUID(int=self._request_ids.getrandbits(128), version=4))

    def request(self, method: str, match: str = MAIN, **fields: Any) -> Any:
        """Return a request about a match."""
        kind = getattr(pb, f"{method}Request")
        if "request_id" in kind.DESCRIPTOR.fields_by_name:
            fields.setdefault("request_id", self.request_id())
        return kind(match_id=self.ids[match], **fields)

    def holds(self, seat: int) -> list[str]:
        """Return the hand of a seat."""
        return sorted(self.mirror.referee.hands[seat])

    async def call(
        self, who: int, method: str, request: Any, *, token: str | None = None, match: str = MAIN
    ) -> Answer:
        """Call a method and keep what the caller gets."""
        name = "BotService" if method == "ListBots" else "MatchService"
        given = self.tokens.get((match, who), "") if token is None else token
        answer = await self.service.unary(f"/ronda.v1.{name}/{method}", request, given)
        known = self.mirrors[match].sequence if match in self.mirrors else 0
        what = f"{self.label}, {method} {answer.code}"
        body = answer.body if answer.ok else b""
        entry = Entry(self.service.now(), what, body, method, match, known)
        self.tape.add(_channel(who), entry)
        status = Entry(self.service.now(), f"{what}, status", _status(answer))
        self.tape.add(_channel(who), status)
        self._log()
        return answer

    async def must(self, who: int, method: str, request: Any, **how: Any) -> Answer:
        """Call a method that the rules allow."""
        answer = await self.call(who, method, request, **how)
        if not answer.ok:
            raise SurpriseError(f"{self.label}: refused, {answer.code} {answer.trailing!r}")
        return answer

    async def watch(self, who: int, after: int, *, views: bool, match: str = MAIN) -> None:
        """Open a stream."""
        token = self.tokens.get((match, who), "")
        request = pb.WatchMatchRequest(
            match_id=self.ids[match], after_sequence=after, include_views=views
        )
        stream = self.service.watch("/ronda.v1.MatchService/WatchMatch", request, token)
        name = f"stream {len(self.watches)} of {_channel(who)} from {after}, {self.label}"
        self.watches.append(_Watch(who, match, name, stream))
        await self.settle()

    def scrape(self) -> None:
        """Read the metrics."""
        text = metrics_text(self.service.metrics())
        self.tape.add("metrics", Entry(self.service.now(), self.label, text.encode()))

    async def settle(self) -> None:
        """Let happen what follows, and let the rules follow what bots have done."""
        await self.service.settle([watch.stream for watch in self.watches])
        while self.decided and MAIN in self.mirrors and self.mirror.decks:
            word, seat, answer = self.decided.pop(0)
            self._mirror((word, seat, TEXT[answer] if word == "play" else answer))
            if word == "play" and self.mirror.referee.turn in self.plan.bots:
                await self.service.settle([watch.stream for watch in self.watches])
        self._log()

    def _mirror(self, step: Step) -> None:
        mirror = self.mirror
        batch = mirror.referee.hand_number, mirror.referee.batch
        mirror.take(step)
        self.opened_at = self.service.now()
        if (mirror.referee.hand_number, mirror.referee.batch) != batch:
            self.setless.clear()
        self.steps.append(step)

    @property
    def steps(self) -> list[Step]:
        """All decisions so far, those of bots too."""
        return self._steps

    _steps: list[Step] = field(default_factory=list)

    def _log(self) -> None:
        for line in self.ears.take():
            self.tape.add("log", Entry(0, self.label, log_text(line).encode()))

    def _prepare_deal(self) -> None:
        """Nothing: what is next deals."""

    def _deck_of(self, match: str) -> Any:
        def deck(number: int) -> list[str]:
            dealer = self.dealers.made[self.ids[match]]
            return [TEXT[card] for card in dealer.deck(number)]

        return deck

    def _entropy(self, seat: int) -> bytes:
        return self.plan.rng("entropy", seat).randbytes(32)

    def _chance_of(self, purpose: str) -> bool:
        return self.plan.rng(purpose).random() < 0.3

    # What is left

    def result(self, problem: str) -> Result:
        """Return what the run leaves."""
        mirror = self.mirrors.get(MAIN) or Mirror(self.plan.setup, self.plan.dealer, _no_deck)
        rematch = self.mirrors.get(REMATCH)
        return Result(
            plan=self.plan,
            tape=self.tape,
            playout=_playout(mirror, self._steps),
            script=self.taken,
            rematch=_playout(rematch, []) if rematch and rematch.decks else None,
            mirrors=self.mirrors,
            fixed=Fixed(self.plan.bots, frozenset(self.setless)),
            secrets=self._secrets(),
            problem=problem,
        )

    def _secrets(self) -> dict[str, str | bytes]:
        secrets: dict[str, str | bytes] = {
            f"token of {_channel(who)} ({match})": token for (match, who), token in self.tokens.items()
        }
        secrets |= {f"invitation of seat {at}": token for at, token in self.invitations.items()}
        return secrets


def _no_deck(number: int) -> list[str]:
    raise AssertionError(number)


def _playout(mirror: Mirror, steps: Sequence[Step]) -> Playout:
    return Playout(mirror.setup, mirror.first_dealer, tuple(mirror.decks), tuple(steps))


def _channel(who: int) -> str:
    return {STRANGER: "stranger", OWNER: "owner"}.get(who, f"seat {who}")


def _status(answer: Answer) -> bytes:
    return repr((answer.code, answer.details, answer.trailing)).encode()


def _offer(kind: str) -> Any:
    if kind == "open":
        return pb.SeatOffer(open=pb.OpenSeat())
    if kind == "invited":
        return pb.SeatOffer(invited=pb.InvitedSeat())
    return pb.SeatOffer(bot=kind)
