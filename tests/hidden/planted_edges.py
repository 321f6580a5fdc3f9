"""Leaks in refusals, records, lists, ids, metrics and logs."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable, Iterable

import pytest
from prometheus_client import Counter
from tests.hidden.planting import (
    fingerprint,
    hand_of,
    holders,
    in_refusals,
    leak,
    leaked,
    next_card,
    strengths_of,
)

from ronda.v1 import match_service_pb2 as pb
from ronda_core import fair
from ronda_core import match as matches
from ronda_core.cards import TEXT, cards_text, parse_card
from ronda_core.hand import Dealt, Hand, IllegalMoveError, Phase, Refusal
from ronda_core.match import Match, MatchEvent
from ronda_core.record import Record
from ronda_server import commitments, hosting, interceptors
from ronda_server.errors import Reason, ServiceError
from ronda_server.facts import Fact
from ronda_server.game import Decision, Game, Happened
from ronda_server.hosting import Host
from ronda_server.live import Live
from ronda_server.metrics import Metrics
from ronda_server.scribe import record_of
from ronda_server.services import matches as service
from ronda_server.services.matches import MatchService


@leak("the refusal of a card that is not held says which seat holds it")
def who_holds_it(patch: pytest.MonkeyPatch) -> None:
    def edit(refusal: ServiceError, game: Game, decision: Decision) -> ServiceError:
        holder = _holder(refusal, game, decision)
        if holder is not None:
            refusal.metadata["held_by"] = leaked("", str(holder))
        return refusal

    in_refusals(patch, edit)


@leak("the text of the refusal of a card that is not held says that it is not dealt yet")
def text_of_refusal(patch: pytest.MonkeyPatch) -> None:
    right = interceptors._refuse

    def edit(refusal: ServiceError, game: Game, decision: Decision) -> ServiceError:
        if _undealt(refusal, game, decision):
            refusal.args = (leaked("", "the seat does not hold this card; nobody does yet"),)
        return refusal

    async def refuse(problem: BaseException, context: interceptors._Context) -> None:
        if isinstance(problem, ServiceError) and "nobody" in str(problem):
            await context.abort(problem.code, str(problem))
        await right(problem, context)

    in_refusals(patch, edit)
    patch.setattr(interceptors, "_refuse", refuse)


@leak("a card that is still in the pack is refused as none, one that a seat holds as not held")
def not_in_play(patch: pytest.MonkeyPatch) -> None:
    def edit(refusal: ServiceError, game: Game, decision: Decision) -> ServiceError:
        if _undealt(refusal, game, decision):
            return leaked(refusal, ServiceError(Reason.BAD_CARD, field="card"))
        return refusal

    in_refusals(patch, edit)


@leak("a play out of turn is first looked for in the hand of the seat whose turn it is")
def wrong_hand_is_searched(patch: pytest.MonkeyPatch) -> None:
    right = matches.play

    def play(match: Match, seat: int, card: int) -> tuple[MatchEvent, ...]:
        hand = match.hand
        waits = hand and hand.phase is Phase.PLAY and not match.result
        if hand and waits and seat != hand.turn and card not in hand.hands[hand.turn]:
            raise leaked(None, IllegalMoveError(Refusal.CARD_NOT_HELD))
        return right(match, seat, card)

    patch.setattr(matches, "play", play)


@leak("the refusal of a false declaration says how many seats could declare")
def sets_at_the_table(patch: pytest.MonkeyPatch) -> None:
    def edit(refusal: ServiceError, game: Game, _: Decision) -> ServiceError:
        if refusal.reason is Reason.FALSE_DECLARATION:
            refusal.metadata["sets"] = leaked("", str(len(holders(game))))
        return refusal

    in_refusals(patch, edit)


@leak("the refusal of a decision on an old state holds a digest of the pack")
def digest_of_state(patch: pytest.MonkeyPatch) -> None:
    right = service.check_running

    def check_running(game: Game, expected: int) -> None:
        try:
            right(game, expected)
        except ServiceError as refusal:
            hand = hand_of(game)
            if hand and refusal.reason is Reason.STALE_SEQUENCE:
                refusal.metadata["state"] = leaked("", fingerprint(hand))
            raise

    patch.setattr(service, "check_running", check_running)


@leak("the refusal of a record that is sealed says what keeps it so: the card dealt next")
def what_is_sealed(patch: pytest.MonkeyPatch) -> None:
    right = Host.record

    async def record(self: Host, live: Live) -> Record:
        try:
            return await right(self, live)
        except ServiceError as refusal:
            hand = hand_of(live.game)
            if hand:
                refusal.metadata["undealt"] = leaked("", TEXT[next_card(hand)])
            raise

    patch.setattr(Host, "record", record)


@leak("the record is given out once the last batch of a hand is dealt")
def record_of_last_batch(patch: pytest.MonkeyPatch) -> None:
    right = Host.record

    async def record(self: Host, live: Live) -> Record:
        game = live.game
        hand = hand_of(game)
        if not hand or hand.batch < hand.settings.batches:
            return await right(self, live)
        facts = await self.log.read(game.id)
        facts.append(Fact(len(facts) + 1, game.last_time, "cancelled", {}))
        return leaked(None, record_of(game.id, facts, game.commitment, game.master))

    patch.setattr(Host, "record", record)


@leak("what the server commits to in public is the secret itself, not its hash")
def commitment_is_secret(patch: pytest.MonkeyPatch) -> None:
    right = fair.commitment

    def commitment(master: bytes, scope: str) -> str:
        return leaked(right(master, scope), master.hex())

    patch.setattr(fair, "commitment", commitment)


@leak("the id of a match is the secret that its cards are dealt from, in base32")
def id_is_secret(patch: pytest.MonkeyPatch) -> None:
    right = commitments._announce

    def announce(
        connection: sqlite3.Connection, made: list[tuple[str, bytes]]
    ) -> list[tuple[str, str]]:
        named = [
            ("m-" + base64.b32encode(master).decode().rstrip("=").lower(), master)
            for _, master in made
        ]
        return right(connection, leaked(made, named))

    patch.setattr(commitments, "_announce", announce)


@leak("a page token of ListMatches holds how many sets are held in the last match of the page")
def sets_in_page_token(patch: pytest.MonkeyPatch) -> None:
    right = MatchService.ListMatches
    right_page = MatchService._page

    async def list_matches(
        self: MatchService, request: pb.ListMatchesRequest, context: object
    ) -> pb.ListMatchesResponse:
        response = await right(self, request, context)
        if response.next_page_token:
            text = self._keys.read_page(response.next_page_token)
            live = await self._host.find(response.matches[-1].id)
            if hand_of(live.game):
                token = self._keys.page(f"{text}.{len(holders(live.game))}")
                response.next_page_token = leaked(text, token)
        return response

    def page(self: MatchService, token: str, kind: str) -> int:
        if token:
            token = self._keys.page(self._keys.read_page(token).partition(".")[0])
        return right_page(self, token, kind)

    patch.setattr(MatchService, "ListMatches", list_matches)
    patch.setattr(MatchService, "_page", page)


@leak("a page of ListMatches begins with the matches in which the most sets are held")
def exciting_first(patch: pytest.MonkeyPatch) -> None:
    right = MatchService.ListMatches

    async def list_matches(
        self: MatchService, request: pb.ListMatchesRequest, context: object
    ) -> pb.ListMatchesResponse:
        response = await right(self, request, context)
        found = {one.id: (await self._host.find(one.id)).game for one in response.matches}
        honest = list(response.matches)
        told = sorted(honest, key=lambda one: -len(holders(found[one.id])))
        if leaked(honest, told) != honest:
            del response.matches[:]
            response.matches.extend(told)
        return response

    patch.setattr(MatchService, "ListMatches", list_matches)


@leak("a metric counts the sets that are dealt, by kind")
def metric_of_sets(patch: pytest.MonkeyPatch) -> None:
    right_init = Metrics.__init__
    right = Metrics.happened
    counters: dict[Metrics, Counter] = {}

    def init(self: Metrics) -> None:
        right_init(self)
        counters[self] = Counter("ronda_sets", "Sets.", ("kind",), registry=self.registry)

    def happened(self: Metrics, game: Game, happened: Iterable[Happened]) -> None:
        told = list(happened)
        right(self, game, told)
        for one in told:
            if isinstance(one.event, Dealt):
                for strength in filter(None, strengths_of(one.event)):
                    kind = leaked("", "tringa" if strength > 10 else "ronda")
                    counters[self].labels(kind).inc()

    patch.setattr(Metrics, "__init__", init)
    patch.setattr(Metrics, "happened", happened)


@leak("a metric of plays has the rank of the best card that its player keeps as a label")
def metric_of_what_is_kept(patch: pytest.MonkeyPatch) -> None:
    right = Metrics.happened

    def happened(self: Metrics, game: Game, happened: Iterable[Happened]) -> None:
        told = list(happened)
        right(self, game, told)
        hand = hand_of(game)
        if hand and hand.last and told[0].fact.kind == "played":
            kept = max(hand.hands[hand.last.seat], default=0)
            self.plays.labels(leaked("", TEXT[kept] or "none")).inc()

    patch.setattr(Metrics, "happened", happened)


@leak("the log holds the hands of a deal as text")
def hands_in_log(patch: pytest.MonkeyPatch) -> None:
    def note(live: Live, dealt: Dealt, _: Hand) -> None:
        text = leaked("", " / ".join(map(cards_text, dealt.hands)))
        hosting._log.info("cards dealt", match=live.game.id, text=text)

    _note_deals(patch, note)


@leak("the log holds what a seat has answered to the declaring step, at once")
def answer_in_log(patch: pytest.MonkeyPatch) -> None:
    right = Host._tell

    def tell(self: Host, live: Live, after: Game, happened: list[Happened]) -> None:
        right(self, live, after, happened)
        fact = happened[0].fact
        if fact.kind == "answered":
            hosting._log.info("taken", match=after.id, what=leaked("", str(fact.data)))

    patch.setattr(Host, "_tell", tell)


@leak("the log holds a digest of the pack")
def digest_in_log(patch: pytest.MonkeyPatch) -> None:
    def note(live: Live, _: Dealt, hand: Hand) -> None:
        digest = leaked("", fingerprint(hand))
        hosting._log.info("cards dealt", match=live.game.id, digest=digest)

    _note_deals(patch, note)


@leak("the log holds the token of every caller, without the prefix that would take it out")
def token_in_log(patch: pytest.MonkeyPatch) -> None:
    right = MatchService._token

    def token(self: MatchService, method: str, context: service._Context) -> str:
        given = right(self, method, context)
        if given:
            hosting._log.info("call", method=method, caller=leaked("", given[6:]))
        return given

    patch.setattr(MatchService, "_token", token)


@leak("the metadata that trails the answer to a play holds a digest of the pack")
def digest_in_metadata(patch: pytest.MonkeyPatch) -> None:
    right = MatchService.PlayCard

    async def play_card(
        self: MatchService, request: pb.PlayCardRequest, context: service._Context
    ) -> pb.PlayCardResponse:
        response = await right(self, request, context)
        hand = hand_of((await self._host.find(request.match_id)).game)
        if hand:
            context.set_trailing_metadata((("state", leaked("", fingerprint(hand))),))
        return response

    patch.setattr(MatchService, "PlayCard", play_card)


@leak("GetMatch fails while the seat to play was dealt three of a rank, or two of a high one")
def failure_of_sets(patch: pytest.MonkeyPatch) -> None:
    right = MatchService.GetMatch

    async def get_match(
        self: MatchService, request: pb.GetMatchRequest, context: service._Context
    ) -> pb.GetMatchResponse:
        response = await right(self, request, context)
        hand = hand_of((await self._host.find(request.match_id)).game)
        if hand and hand.turn >= 0 and hand.strengths[hand.turn] > 8:
            raise leaked(None, AssertionError)
        return response

    patch.setattr(MatchService, "GetMatch", get_match)


def _note_deals(patch: pytest.MonkeyPatch, note: Callable[[Live, Dealt, Hand], None]) -> None:
    right = Host._tell

    def tell(self: Host, live: Live, after: Game, happened: list[Happened]) -> None:
        right(self, live, after, happened)
        hand = hand_of(after)
        for one in happened:
            if isinstance(one.event, Dealt) and hand:
                note(live, one.event, hand)

    patch.setattr(Host, "_tell", tell)


def _holder(refusal: ServiceError, game: Game, decision: Decision) -> int | None:
    hand = hand_of(game)
    if not hand or refusal.reason is not Reason.CARD_NOT_HELD:
        return None
    card = parse_card(decision[1]["card"])
    return next((seat for seat, held in enumerate(hand.hands) if card in held), None)


def _undealt(refusal: ServiceError, game: Game, decision: Decision) -> bool:
    hand = hand_of(game)
    if not hand or refusal.reason is not Reason.CARD_NOT_HELD:
        return False
    card = parse_card(decision[1]["card"])
    return card in hand.deck[4 + hand.batch * hand.settings.batch_plays :]
