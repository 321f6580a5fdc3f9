"""The course of one run: a match is made, seats are taken, it is played, and it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.hidden import probes
from tests.hidden.callers import MAIN, NEIGHBOUR, REMATCH, Callers, SurpriseError, channel, pb
from tests.hidden.deals import Dealers
from tests.hidden.ears import Ears
from tests.hidden.obs import NUMBER, TEXT, Decks, Mirror, Step
from tests.hidden.plan import OWNER, STRANGER, TURN, Plan, Probe
from tests.hidden.service import Service
from tests.referee.biased import biased_play
from tests.referee.naive_rules import rank_of

from ronda.v1 import match_pb2
from ronda_core.fair import client_commitment


class Course(Callers):
    """A run while it goes on."""

    def __init__(
        self,
        plan: Plan,
        service: Service,
        ears: Ears,
        dealers: Dealers,
        script: Sequence[Step] | None,
    ) -> None:
        super().__init__(plan, service, ears)
        self.taken: list[Step] = []
        """Decisions of persons: the script of a twin."""
        self._dealers = dealers
        self._script = None if script is None else list(script)
        self._chance = plan.rng("decisions")

    async def run(self) -> None:
        """Do all that the plan says."""
        if self.plan.neighbour:
            await self._neighbour()
        await self._create()
        await self._sit()
        if self.plan.slow and self.service.simulated:
            self.plan.rng("slow").choice(self.watches).stream.open.clear()
        for number in range(self.plan.steps):
            if number == self.plan.restart and self.service.simulated:
                await self._restart()
            await self._probe(number)
            if not await self._decide(number):
                break
        await self._probe(self.plan.steps)
        self.label = "at the end"
        await probes.at_the_end(self)
        if self.plan.ending != "none":
            self.scrape()
        await self._end()
        await self._close()

    async def _neighbour(self) -> None:
        """Make another match, which stands beside the one on trial in lists."""
        self.label = "neighbour"
        request = pb.CreateMatchRequest(
            rules="playtash", seats=[_offer("open")] * 2, request_id=self.request_id()
        )
        answer = await self.must(OWNER, "CreateMatch", request, match="")
        self.ids[NEIGHBOUR] = pb.CreateMatchResponse.FromString(answer.body).match.id
        for _ in range(2):
            joins = self.request("JoinMatch", NEIGHBOUR)
            answer = await self.must(OWNER, "JoinMatch", joins, match="")
            self.foreign = pb.JoinMatchResponse.FromString(answer.body).seat_token
        await self.settle()

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
        self.mirrors[MAIN] = Mirror(plan.setup, plan.dealer, self._decks(MAIN))
        self.mirror.note("created")
        await self.watch(self._public(), 0, views=plan.rng("views").random() < 0.3)

    def _public(self) -> int:
        """Return who may watch as a spectator."""
        hidden = self.plan.visibility == match_pb2.VISIBILITY_PRIVATE
        return OWNER if hidden else STRANGER

    async def _sit(self) -> None:
        """Let everybody join, watch and give what they have promised; the last of it deals."""
        rng = self.plan.rng("sit")
        persons = rng.sample(self.plan.persons, len(self.plan.persons))
        late = {seat for seat in persons if rng.random() < 0.15}
        for seat in persons:
            self.label = f"seat {seat} joins"
            await self._join(seat)
            if seat not in late:
                await self.watch(seat, 0, views=rng.random() < 0.3)
        for seat in persons:
            if seat in self.plan.contributors:
                self.label = f"seat {seat} is ready"
                request = self.request("ReadySeat", entropy=self._entropy(seat))
                await self.must(seat, "ReadySeat", request)
                self.mirror.note("ready")
        self.label = "dealt"
        self._deal(MAIN)
        self.opened_at = self.service.now()
        await self.settle()
        for seat in sorted(late):
            await self.watch(seat, 0, views=rng.random() < 0.3)

    async def _join(self, seat: int) -> None:
        request = self.request("JoinMatch", seat=seat, name=f"Person {seat}")
        if seat in self.plan.contributors:
            entropy = self._entropy(seat)
            request.client_commitment = client_commitment(entropy, self.ids[MAIN], seat)
        token = self.invitations.get(seat, "")
        if self.plan.visibility == match_pb2.VISIBILITY_PRIVATE and not token:
            token = self.tokens[MAIN, OWNER]
        answer = await self.must(seat, "JoinMatch", request, token=token)
        self.tokens[MAIN, seat] = pb.JoinMatchResponse.FromString(answer.body).seat_token
        self.mirror.note("joined")

    async def _restart(self) -> None:
        """Let the server stop and come back, and everybody with it."""
        self.label = "restart"
        for watch in self.watches:
            watch.stream.open.set()
        self.replayed += sum(step[0] != "late" and step[1] in self.plan.bots for step in self.steps)
        await self.service.restart()
        self.label = "after the restart"
        for who in self.everybody:
            hidden = who == STRANGER and self._public() == OWNER
            await self.watch(who, 0 if hidden or who % 2 == 0 else 1, views=False)

    async def _probe(self, number: int) -> None:
        for probe in self.plan.probes(number):
            self.label = f"step {number}: {probe.kind}"
            await self._ask(probe)

    async def _ask(self, probe: Probe) -> None:
        request_id = self.request_id()  # always drawn: whether it is used may be a seat's secret
        who = probe.who
        if who == TURN:
            turn = self.mirror.referee.turn
            if turn is None or turn not in self.plan.persons:
                return
            who = turn
        await getattr(probes, probe.kind)(self, who, probe.chance, request_id)
        await self.settle()

    async def _decide(self, number: int) -> bool:
        """Let a person decide; False where nobody is waited for."""
        step = self._by_chance() if self._script is None else self._by_script()
        if step is None:
            return False
        self.label = f"step {number}: {step[0]}"
        self.taken.append(step)
        if step[0] == "late":
            await self.service.advance(self.plan.clock + 0.5)
        else:
            await self._command(*step)
        self.follow(step)
        await self.settle()
        return True

    async def _command(self, word: str, seat: int, answer: Any) -> None:
        sequence = self.mirror.sequence
        method = "PlayCard" if word == "play" else "Declare"
        what = {"card": NUMBER[answer]} if word == "play" else {"declare": answer}
        request = self.request(method, expected_sequence=sequence, **what)
        got = await self.must(seat, method, request)
        told = getattr(pb, f"{method}Response").FromString(got.body).sequence
        if told != sequence + 1:
            raise SurpriseError(f"{self.label}: it became event {told}, not {sequence + 1}")
        self.last[seat] = method, request

    def _by_script(self) -> Step | None:
        return self._script.pop(0) if self._script else None

    def _by_chance(self) -> Step | None:
        """Decide for a person, as the rules allow."""
        rng, referee = self._chance, self.mirror.referee
        if referee.phase == "declare":
            waiting = [seat for seat in self.plan.persons if seat not in referee.answers]
            if not waiting:
                return None
            if self.plan.clock and self.service.simulated and rng.random() < 0.05:
                return ("late",)
            others = [seat for seat in waiting if seat != self.plan.prober]
            seat = rng.choice(others if others and rng.random() < 0.7 else waiting)
            willing = rng.random() < self.plan.willing
            return "declare", seat, seat in referee.dealt_sets and willing
        if referee.turn is None or referee.turn not in self.plan.persons:
            return None
        hand = self.holds(referee.turn)
        last = rank_of(referee.last_card) if referee.last_card else None
        biased = rng.random() < 0.7
        card = biased_play(rng, hand, referee.table, last) if biased else rng.choice(hand)
        return "play", referee.turn, card

    async def _end(self) -> None:
        """End the match, or leave it open."""
        how = self.plan.ending
        referee = self.mirror.referee
        self.label = f"ending: {how}"
        over = referee.phase == "over"
        if not over and how in ("resign", "rematch"):
            seat = self.plan.rng("resigns").choice(self.plan.persons)
            await self.must(seat, "Resign", self.request("Resign"))
            self.mirror.note("match_ended")
            over = True
        elif not over and how == "agree":
            await self._agree()
            over = True
        elif referee.phase == "play" and how == "timeout" and self.service.simulated:
            await self.service.advance(self.plan.clock + 0.5)
            self.mirror.note("match_ended")
            over = True
        await self.settle()
        if over:
            await probes.look_around(self)
            if how == "rematch":
                await self._rematch()

    async def _agree(self) -> None:
        """Let every side agree to cancel."""
        for seat in self.plan.persons:
            if seat in self.agreed:
                continue
            got = await self.must(seat, "CancelMatch", self.request("CancelMatch"))
            self.mirror.note("cancel_agreed")
            if pb.CancelMatchResponse.FromString(got.body).cancelled:
                self.mirror.note("match_ended")
                return
        raise SurpriseError("everybody has agreed, and the match goes on")

    async def _rematch(self) -> None:
        """Deal the match that follows, and see how it begins."""
        plan = self.plan
        mirror = Mirror(plan.setup, plan.dealer, self._decks(REMATCH))
        self.mirrors[REMATCH] = mirror
        mirror.note("created")
        for seat in plan.persons:
            self.label = f"seat {seat} wants a rematch"
            request = self.request("Rematch")
            answer = await self.must(seat, "Rematch", request)
            follows = pb.RematchResponse.FromString(answer.body)
            self.ids[REMATCH] = follows.match_id
            self.tokens[REMATCH, seat] = follows.seat_token
            mirror.note("joined")
            await self.watch(seat, 0, views=seat % 2 == 0, match=REMATCH)
        self.label = "rematch dealt"
        self._deal(REMATCH)
        await self.settle()
        for seat in plan.persons:
            await self.watch(seat, 0, views=False, match=REMATCH)
            await self.call(seat, "GetMatch", self.request("GetMatch", REMATCH), match=REMATCH)
        if self._public() == STRANGER:
            await self.watch(STRANGER, 0, views=True, match=REMATCH)

    async def _close(self) -> None:
        """Drain the server under the eyes of everybody, and keep what the streams have brought."""
        self.label = "close"
        for watch in self.watches:
            watch.stream.open.set()
        await self.settle()
        self.scrape(whole=self.plan.rng("metrics").random() < 0.15)
        self.service.server.host.drain()
        if self.plan.rng("drain").random() < 0.3:
            await probes.after_drain(self)
        for watch in self.watches:
            if not watch.stream.task.done():
                await asyncio.wait_for(asyncio.shield(watch.stream.task), 20)
            self.keep(watch)
        await self.settle()

    def _deal(self, match: str) -> None:
        """Let the rules deal what the server has dealt."""
        mirror = self.mirrors[match]
        mirror.first_dealer = self._dealer(match).first_dealer()
        mirror.deal()

    def _dealer(self, match: str) -> Any:
        dealer = self._dealers.made.get(self.ids[match])
        if dealer is None:
            raise SurpriseError(f"{self.label}: nobody was asked to deal")
        return dealer

    def _decks(self, match: str) -> Decks:
        return lambda number: [TEXT[card] for card in self._dealer(match).deck(number)]

    def _entropy(self, seat: int) -> bytes:
        return self.plan.rng("entropy", seat).randbytes(32)

    def secrets(self) -> dict[str, str]:
        """Return the tokens of this run, by whose they are."""
        found = {
            f"token of {channel(who)} in {match}": token
            for (match, who), token in self.tokens.items()
        }
        for seat, token in self.invitations.items():
            found[f"invitation of {channel(seat)}"] = token
        return found


def _offer(kind: str) -> Any:
    if kind == "open":
        return pb.SeatOffer(open=pb.OpenSeat())
    if kind == "invited":
        return pb.SeatOffer(invited=pb.InvitedSeat())
    return pb.SeatOffer(bot=kind)
