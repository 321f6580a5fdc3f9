"""What is asked in between: questions, reconnections, and everything that must be refused.

Each probe is asked by one caller, whose `chance` decides the rest. A caller may use what its seat
holds; whether a probe is asked at all, and what comes of it, never depends on that, so the number
of answers of each code is public.
"""

from __future__ import annotations

import random
from typing import Any, Final

from tests.hidden.callers import ABSENT, MAIN, Callers, SurpriseError
from tests.hidden.obs import NUMBER
from tests.hidden.plan import OWNER, STRANGER
from tests.referee.naive_rules import FULL_PACK, side_of

from ronda.v1 import match_pb2, match_service_pb2
from ronda.v1.bot_service_pb2 import ListBotsRequest

pb: Any = match_service_pb2

_STREAMS: Final = 9
_BAD_CARDS: Final = (0, 41, 99, -1)
_NO_TOKEN: Final = "rnd_s_" + "A" * 43
_QUIET_SECONDS: Final = 10.5


async def unheld(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Play a card that the seat does not hold, mostly one that it has not seen."""
    held, known = run.holds(who), run.mirror.events[-1].known(who)
    pack = random.Random(chance).sample(FULL_PACK, 40)
    unseen = [card for card in pack if card not in known]
    others = [card for card in pack if card not in held]
    await _play(run, who, (unseen if unseen and chance % 5 else others)[0], request_id)


async def early(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Play a card of one's own when it is not the seat's turn."""
    held = run.holds(who)
    if held and run.mirror.referee.turn != who:
        await _play(run, who, held[chance % len(held)], request_id)


async def stale(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Decide on what is long past, or what has not come."""
    held = run.holds(who) or FULL_PACK
    old = chance % 4 > 0
    number = (chance >> 8) % run.mirror.opened if old else run.mirror.sequence + 3
    request = run.request(
        "PlayCard", card=NUMBER[held[0]], expected_sequence=number, request_id=request_id
    )
    await run.call(who, "PlayCard", request)


async def bad_card(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Play what is no card."""
    request = run.request(
        "PlayCard",
        card=_BAD_CARDS[chance % len(_BAD_CARDS)],
        expected_sequence=run.mirror.sequence,
        request_id=request_id,
    )
    await run.call(who, "PlayCard", request)


async def answer_again(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Declare where nothing is to be declared, or not any more."""
    referee = run.mirror.referee
    if referee.phase != "declare" or who in referee.answers:
        await _declare(run, who, chance % 2 == 0, request_id)


async def false_declaration(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Declare a set that the seat does not hold; that it holds one, or none, is noted."""
    referee = run.mirror.referee
    if referee.phase == "declare" and who not in referee.answers:
        run.holding[who] = who in referee.dealt_sets
        if not run.holding[who]:
            await _declare(run, who, True, request_id)


async def retry(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Send the last command again."""
    if who in run.last:
        method, request = run.last[who]
        await run.call(who, method, request)


async def reuse(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Send another command with the last one's request id."""
    if who in run.last:
        method, request = run.last[who]
        other = type(request)()
        other.CopyFrom(request)
        other.expected_sequence += 1
        await run.call(who, method, other)


async def foreign_token(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Play, and watch, with a token that is none, or not of this match."""
    request = run.request("PlayCard", card=1 + chance % 40, request_id=request_id)
    token = (_NO_TOKEN, run.foreign, "")[chance % 3]
    await run.call(who, "PlayCard", request, token=token)
    await run.watch(who, 0, views=False, token=_NO_TOKEN)


async def with_invitation(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Use an invitation that has been taken: it only lets in, and is no seat."""
    if run.invitations:
        seat = sorted(run.invitations)[chance % len(run.invitations)]
        token = run.invitations[seat]
        held = run.holds(seat)
        card = next(card for card in FULL_PACK if card not in held)
        request = run.request("PlayCard", card=NUMBER[card], request_id=request_id)
        await run.call(OWNER, "PlayCard", request, token=token)
        await run.watch(OWNER, 0, views=True, token=token)


async def get(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Look at the match."""
    await run.call(who, "GetMatch", run.request("GetMatch"))


async def list_matches(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Turn the pages of the list of matches."""
    states = (match_pb2.Match.STATE_UNSPECIFIED, match_pb2.Match.STATE_RUNNING)
    page = ""
    for _ in range(2):
        request = pb.ListMatchesRequest(
            state=states[chance % 2], page_size=1 + chance % 3, page_token=page
        )
        answer = await run.call(who, "ListMatches", request, match="")
        page = pb.ListMatchesResponse.FromString(answer.body).next_page_token
        if not page:
            return


async def record(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Ask for the record too early."""
    if run.mirror.referee.phase != "over":
        await run.call(who, "GetRecord", run.request("GetRecord"))


async def commitments(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Turn the pages of the list of commitments."""
    page = ""
    for _ in range(2):
        request = pb.ListCommitmentsRequest(page_size=1 + chance % 40, page_token=page)
        answer = await run.call(who, "ListCommitments", request, match="")
        page = pb.ListCommitmentsResponse.FromString(answer.body).next_page_token


async def bots(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Ask which bots there are."""
    await run.call(who, "ListBots", ListBotsRequest(page_size=1 + chance % 3), match="")


async def watch(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Open another stream from somewhere; on a seat it takes over."""
    if len(run.watches) < _STREAMS:
        now = run.mirror.sequence
        recent = max(1, now - (chance >> 8) % 12)
        after = (0, now, now + 5, recent, recent, 1 + (chance >> 8) % now)[chance % 6]
        await run.watch(who, after, views=(chance >> 4) % 3 == 0)


async def leave(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Hang up a stream."""
    mine = [one for one in run.watches if one.who == who and not one.stream.task.done()]
    if mine:
        await mine[chance % len(mine)].stream.close()


async def pause(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Stop reading a stream, or begin to read it again."""
    if run.service.simulated:
        gate = run.watches[chance % len(run.watches)].stream.open
        if gate.is_set():
            gate.clear()
        else:
            gate.set()


async def scrape(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Read the metrics."""
    run.scrape()


async def wait(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Let so much time pass that streams show that they live, but no decision comes late."""
    spent = (run.service.now() - run.opened_at) / 1e6
    limit = run.plan.clock
    if run.service.simulated and (not limit or spent + _QUIET_SECONDS < limit - 1):
        await run.service.advance(_QUIET_SECONDS)


async def ready_again(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Give entropy when all of it is in."""
    await run.call(who, "ReadySeat", run.request("ReadySeat", request_id=request_id))


async def rematch_early(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Ask for another match before this one is over."""
    if run.mirror.referee.phase != "over":
        await run.call(who, "Rematch", run.request("Rematch", request_id=request_id))


async def agree(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Agree to cancel, unless everybody would then have agreed."""
    players = run.plan.setup.players
    sides = {side_of(seat, players) for seat in run.plan.persons}
    agreed = {side_of(seat, players) for seat in (*run.agreed, who)}
    if who not in run.agreed and run.mirror.referee.phase != "over" and not sides <= agreed:
        run.agreed.add(who)
        await run.must(who, "CancelMatch", run.request("CancelMatch", request_id=request_id))
        run.mirror.note("cancel_agreed")


async def cancel(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Let the owner cancel what has begun."""
    referee = run.mirror.referee
    if referee.hand_number > 1 or referee.plays_made:
        await run.call(OWNER, "CancelMatch", run.request("CancelMatch", request_id=request_id))


async def join_late(run: Callers, who: int, chance: int, request_id: str) -> None:
    """Ask for a seat where none is left."""
    request = run.request("JoinMatch", name="Late", request_id=request_id)
    await run.call(STRANGER, "JoinMatch", request)


async def at_the_end(run: Callers) -> None:
    """Look at everything where the twins differ for certain."""
    playing = run.mirror.referee.phase != "over"
    rng = run.plan.rng("at the end")
    for who in run.plan.persons:
        for probe in (unheld, unheld, stale):
            if playing:
                await probe(run, who, rng.getrandbits(32), run.request_id())
    if playing:
        await false_declaration(run, run.plan.prober, 0, run.request_id())
    for who in run.everybody:
        await run.watch(who, 0, views=False)
    if rng.random() < 0.25:  # all that was, once more
        for who in (STRANGER, run.plan.persons[-1]):
            await run.watch(who, 1, views=False)
    if rng.random() < 0.6:
        await wait(run, STRANGER, 0, "")
    await with_invitation(run, OWNER, 0, run.request_id())
    if run.plan.visibility == match_pb2.VISIBILITY_PRIVATE:
        await _nothing_there(run)
    if playing:
        await record(run, STRANGER, 0, "")
        await record(run, run.plan.persons[0], 0, "")
    await run.call(STRANGER, "GetMatch", run.request("GetMatch"))
    for size in (0, 1):
        request = pb.ListMatchesRequest(page_size=size)
        await run.call(STRANGER, "ListMatches", request, match="")


async def _nothing_there(run: Callers) -> None:
    """See that a private match answers a stranger as one that does not exist."""
    for token in ("", _NO_TOKEN, run.foreign):
        for method in ("GetMatch", "GetRecord", "JoinMatch", "PlayCard", "Rematch"):
            requests = [run.request(method, match) for match in (MAIN, ABSENT)]
            there, absent = [
                await run.call(STRANGER, method, request, token=token, match="")
                for request in requests
            ]
            if there != absent:
                raise SurpriseError(f"a private match answers {method}: {there}, not {absent}")
        streams = [
            await run.watch(STRANGER, 0, views=False, match=match, token=token)
            for match in (MAIN, ABSENT)
        ]
        if streams[0].frames or streams[0].end != streams[1].end:
            raise SurpriseError(f"a private match answers a stream: {streams[0].end}")


async def look_around(run: Callers) -> None:
    """Look at a match that is over, but not at its record, which tells all."""
    for who in (run.plan.persons[0], STRANGER):
        await run.call(who, "GetMatch", run.request("GetMatch"))
        await run.watch(who, 0, views=False)
    await list_matches(run, STRANGER, 0, "")
    await commitments(run, STRANGER, 2, "")
    await _play(run, run.plan.persons[0], "1O", run.request_id())


async def after_drain(run: Callers) -> None:
    """Ask a server that shuts down."""
    for who in (run.plan.persons[0], STRANGER):
        await run.call(who, "GetMatch", run.request("GetMatch"))
        await run.watch(who, max(1, run.mirror.sequence - 2), views=False)
        await _play(run, who, "12B", run.request_id())


async def _play(run: Callers, who: int, card: str, request_id: str) -> None:
    request = run.request(
        "PlayCard",
        card=NUMBER[card],
        expected_sequence=run.mirror.sequence,
        request_id=request_id,
    )
    await run.call(who, "PlayCard", request)


async def _declare(run: Callers, who: int, declares: bool, request_id: str) -> None:
    request = run.request(
        "Declare",
        declare=declares,
        expected_sequence=run.mirror.sequence,
        request_id=request_id,
    )
    await run.call(who, "Declare", request)
