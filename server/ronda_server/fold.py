"""A hosted match as a fold of its facts: the lobby, then the game.

`apply` is the only function that changes a `Game`, for a new command as for a recovery: it takes
what somebody decided and returns everything that follows from it, numbered. What follows (a
deal, a reveal, a count, an end) stands in the log as rows of its own, whose content is derived.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ronda_core import fair
from ronda_core import match as matches
from ronda_core.cards import parse_card
from ronda_core.hand import Answered, Dealt, Ended, Played, Revealed
from ronda_core.match import Cause, Fault, Finished, Match, MatchEvent
from ronda_core.rules import settings
from ronda_core.view import Event, story
from ronda_server.errors import LogError
from ronda_server.facts import Fact
from ronda_server.game import (
    BOT,
    PERSON,
    TRUSTED,
    CancelAgreed,
    Game,
    Happened,
    MatchCreated,
    SeatJoined,
    SeatReady,
    SeatState,
    Table,
    Told,
)

_NOTHING: Final[dict[str, Any]] = {}
OPENERS: Final = frozenset({"dealt", "revealed", "played"})
"""Kinds of event that open a decision."""


def create(
    match_id: str, fact: Fact, commitment: str, master: bytes
) -> tuple[Game, list[Happened]]:
    """Return the match that its first fact makes, dealt at once if nobody is waited for."""
    game = _offered(match_id, fact, commitment, master)
    happened = [Happened(fact, MatchCreated(game.created_seats))]
    return game, happened + _number(game, _start_if_ready(game), fact.time)


def _offered(match_id: str, fact: Fact, commitment: str, master: bytes) -> Game:
    data = fact.data
    game = Game(
        id=match_id,
        settings=settings(
            data["rules"], len(data["seats"]), data["target"] or None, data["length"]
        ),
        per_decision=data["per_decision"],
        visibility=data["visibility"],
        commitment=commitment,
        master=master,
        owner=bytes.fromhex(data["owner"]),
        created=fact.time,
        seats=[_seat(seat) for seat in data["seats"]],
        sequence=1,
        last_time=fact.time,
        table=table_of(fact),
    )
    game.created_seats = tuple(game.seats)
    return game


def table_of(created: Fact) -> Table | None:
    """Return where a match belongs by its first fact; None if it is one of its own.

    `LogError` where that cannot be read.
    """
    try:
        if "table" not in created.data:
            return None
        data = created.data["table"]
        return Table(**data | {"roster": tuple(data["roster"])})
    except (KeyError, TypeError) as problem:
        raise LogError("its first event does not say where it belongs") from problem


def apply(
    game: Game,
    kind: str,
    data: dict[str, Any],
    time: int,
    request: bytes | None = None,
    content: bytes | None = None,
) -> list[Happened]:
    """Advance `game` by one decision and return all that happened, the decision first.

    `IllegalMoveError` where the rules forbid it: then `game` may be half changed and is to be
    thrown away.
    """
    happened = _number(game, _STEPS[kind](game, data), time)
    first = happened[0]
    fact = Fact(first.fact.sequence, first.fact.time, kind, data, request, content)
    happened[0] = Happened(fact, first.public, first.by_seat, first.event)
    return happened


def _number(game: Game, steps: Iterator[_Step], time: int) -> list[Happened]:
    """Give each step its number and time."""
    happened: list[Happened] = []
    for kind, public, by_seat, event in steps:
        game.sequence += 1
        happened.append(Happened(Fact(game.sequence, time, kind, _NOTHING), public, by_seat, event))
        if kind in OPENERS:
            game.opened = game.sequence
            game.opened_at = time
        if kind == "joined" and game.full:
            game.filled_at = time
    game.last_time = time
    if game.match and not game.started:
        game.started = time
    return happened


_Step = tuple[str, Told, tuple[Event, ...] | None, MatchEvent | None]
"""Kind, what a spectator is told, what each seat is told, what the match says."""


def _joined(game: Game, data: dict[str, Any]) -> Iterator[_Step]:
    at = data["seat"]
    seat = _joining(data)
    _sit(game, at, seat)
    yield "joined", SeatJoined(at, seat.identity, seat.name, seat.client_commitment), None, None
    yield from _start_if_ready(game)


def _joining(data: dict[str, Any]) -> SeatState:
    return SeatState(
        kind=PERSON,
        identity=data["identity"],
        name=data["name"],
        digest=bytes.fromhex(data["digest"]),
        client_commitment=data["commitment"],
        ready=not data["commitment"],
    )


def _ready(game: Game, data: dict[str, Any]) -> Iterator[_Step]:
    at = data["seat"]
    seat = _readied(game.seats[at], data)
    _sit(game, at, seat)
    yield "ready", SeatReady(at, seat.entropy), None, None
    yield from _start_if_ready(game)


def _readied(seat: SeatState, data: dict[str, Any]) -> SeatState:
    return SeatState(
        seat.kind,
        seat.identity,
        seat.name,
        seat.digest,
        None,
        seat.client_commitment,
        bytes.fromhex(data["entropy"]),
        True,
    )


def _answered(game: Game, data: dict[str, Any]) -> Iterator[_Step]:
    assert game.match
    events = matches.declare(game.match, data["seat"], data["declares"])
    yield from _tell(game, events)


def _played(game: Game, data: dict[str, Any]) -> Iterator[_Step]:
    assert game.match
    events = matches.play(game.match, data["seat"], int(parse_card(data["card"])))
    yield from _tell(game, events)


def _cancel_agreed(game: Game, data: dict[str, Any]) -> Iterator[_Step]:
    game.cancel_agreed |= {data["seat"]}
    yield "cancel_agreed", CancelAgreed(data["seat"]), None, None
    # A bot agrees to everything; a seat that nobody has taken yet, to nothing.
    others = {at for at, seat in enumerate(game.seats) if seat.kind != BOT}
    sides = {game.settings.side_of[at] for at in others}
    agreed = {game.settings.side_of[at] for at in game.cancel_agreed}
    if sides <= agreed:
        yield from _tell(game, matches.cancel(_match(game)))


def _cancelled(game: Game, _data: dict[str, Any]) -> Iterator[_Step]:
    yield from _tell(game, matches.cancel(_match(game)))


def _forfeited(game: Game, data: dict[str, Any]) -> Iterator[_Step]:
    fault = Fault(data["seat"], Cause(data["cause"]), data["detail"])
    yield from _tell(game, matches.forfeit(_match(game), fault))


_STEPS: Final = {
    "joined": _joined,
    "ready": _ready,
    "answered": _answered,
    "played": _played,
    "cancel_agreed": _cancel_agreed,
    "cancelled": _cancelled,
    "forfeited": _forfeited,
}


def _seat(data: dict[str, Any]) -> SeatState:
    invitation = data.get("invitation")
    return SeatState(
        kind=data["kind"],
        identity=data.get("identity", ""),
        invitation=bytes.fromhex(invitation) if invitation else None,
        ready=data["kind"] == BOT,
        isolation=data.get("isolation", TRUSTED) if data["kind"] == BOT else "",
    )


def _sit(game: Game, at: int, seat: SeatState) -> None:
    """Put `seat` in its place, in a new list: copies of the game share the old one."""
    game.seats = [*game.seats[:at], seat, *game.seats[at + 1 :]]


def _match(game: Game) -> Match:
    """Return the match; one that ends before its first deal has none yet."""
    if game.match is None:
        game.match = Match(game.settings, 0)
    return game.match


def _start_if_ready(game: Game) -> Iterator[_Step]:
    """Deal the first hand once every seat is taken and ready."""
    if not game.full or not all(seat.ready for seat in game.seats):
        return
    game.dealer = fair.Dealer(game.master, *dealt_for(game), game.settings.players)
    game.match = Match(game.settings, game.dealer.first_dealer())
    yield from _deal(game)


def dealt_for(game: Game) -> tuple[str, tuple[fair.Entry, ...]]:
    """Return the scope of a match's deals, and whom they depend on."""
    if game.table:
        return game.table.scope, tuple(map(fair.Entry, game.table.roster))
    return game.id, tuple(fair.Entry(seat.identity, seat.entropy) for seat in game.seats)


def _deal(game: Game) -> Iterator[_Step]:
    assert game.match
    assert game.dealer
    number = game.match.needs_deck
    if number:
        yield from _tell(game, matches.deal(game.match, game.dealer.deck(number)))


def _tell(game: Game, events: tuple[MatchEvent, ...]) -> Iterator[_Step]:
    """Tell what a step of the match brought, then deal the next hand if one is due."""
    assert game.match
    told = story(game.match, events)
    for event, public in zip(events, told, strict=True):
        by_seat = None
        if isinstance(event, Dealt):
            seats = range(game.settings.players)
            by_seat = tuple(story(game.match, (event,), seat)[0] for seat in seats)
        if isinstance(event, Finished):
            game.result = event
        yield _KINDS[type(event)], public, by_seat, event
    if game.dealer and not game.result:
        yield from _deal(game)


_KINDS: Final[dict[type, str]] = {
    Dealt: "dealt",
    Answered: "answered",
    Revealed: "revealed",
    Played: "played",
    Ended: "hand_ended",
    Finished: "match_ended",
}


def replay(
    match_id: str, facts: list[Fact], commitment: str, master: bytes
) -> Iterator[tuple[Game, list[Happened]]]:
    """Yield the match after each of its decisions, and what that decision brought.

    `LogError` when the log does not hold what follows from its own facts.
    """
    game, happened = create(match_id, facts[0], commitment, master)
    at = 0
    while True:
        logged = [row.kind for row in facts[at : at + len(happened)]]
        if [one.fact.kind for one in happened] != logged:
            raise LogError(f"match {match_id}: event {at + 1} does not replay")
        yield game, happened
        at += len(happened)
        if at == len(facts):
            return
        fact = facts[at]
        happened = apply(game, fact.kind, fact.data, fact.time, fact.request, fact.content)


def latest(
    match_id: str, facts: list[Fact], commitment: str, master: bytes
) -> tuple[Game, list[Happened]]:
    """Return a match as its log leaves it, and all that happened in it."""
    try:
        steps = list(replay(match_id, facts, commitment, master))
    except LogError:
        raise
    except Exception as problem:  # whatever a damaged row makes of it
        raise LogError(f"match {match_id} does not replay") from problem
    return steps[-1][0], [one for _, happened in steps for one in happened]


def nothing_after(game: Game, time: int) -> None:
    """Let what a game waits for have begun by `time`; its facts keep the times that they have."""
    game.opened_at = min(game.opened_at, time)
    game.filled_at = min(game.filled_at, time)
    game.last_time = min(game.last_time, time)


def ended(
    match_id: str, lobby: list[Fact], commitment: str, sequence: int, time: int, result: Finished
) -> Game:
    """Return a match that is over as a list shows it, without replaying a single card.

    `lobby` is what happened before the first deal.
    """
    first, *rest = lobby
    game = _offered(match_id, first, commitment, b"")
    for fact in rest:
        at = fact.data["seat"]
        seat = _joining(fact.data) if fact.kind == "joined" else _readied(game.seats[at], fact.data)
        _sit(game, at, seat)
    game.sequence = sequence
    game.last_time = time
    game.result = result
    return game
