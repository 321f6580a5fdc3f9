"""One match between bots of this process, from the first deal to its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ronda_arena.seat import BotFaultError, Seat
from ronda_bots.api import SeatInfo
from ronda_bots.registry import BotInfo
from ronda_core import match as matches
from ronda_core.fair import SCHEME, Dealer, Entry, commitment
from ronda_core.hand import Phase
from ronda_core.match import Fault, Match, MatchEvent
from ronda_core.record import FairRecord, Record, Scribe
from ronda_core.rules import Settings
from ronda_core.view import private, story, view

OnStep = Callable[[Match, tuple[MatchEvent, ...]], None]
"""Called with the state after each step and what the step did. It must change nothing."""

OnFault = Callable[[int, BotFaultError], None]
"""Called with the seat that has just forfeited and why. For its author: it may hold secrets."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a match belongs to a tournament."""

    tournament: str
    block: int
    rotation: int

    @property
    def scope(self) -> str:
        """What the decks of the block are dealt for, in every rotation alike."""
        return f"{self.tournament}/{self.block}"


def play_match(
    match_id: str,
    settings: Settings,
    bots: Sequence[BotInfo],
    master: bytes,
    *,
    now: Callable[[], str],
    place: Place | None = None,
    entries: Sequence[Entry] | None = None,
    on_step: OnStep | None = None,
    on_fault: OnFault | None = None,
    rated: bool = False,
) -> Record:
    """Play a match of `bots`, one a seat, to its end and return its record.

    Everything random comes from `master`: the decks, the first dealer and what the bots are
    given. `entries` (default: the seats in their order) are part of it. The record shows the
    master, so nothing else may still be dealt from it.
    """
    if len(bots) != settings.players:
        raise ValueError(f"{settings.players} seats need {settings.players} bots, not {len(bots)}")
    identities = tuple(bot.identity for bot in bots)
    entries = tuple(Entry(name) for name in identities) if entries is None else tuple(entries)
    scope = place.scope if place else match_id
    dealer = Dealer(master, scope, entries, settings.players)
    scribe = Scribe(
        match_id,
        settings,
        identities,
        start=now(),
        fair=FairRecord(
            SCHEME, scope, commitment(master, place.tournament if place else scope), master, entries
        ),
        isolation=(Seat.isolation,) * settings.players,
        rated=rated,
        tournament=place.tournament if place else None,
        block=place.block if place else None,
        rotation=place.rotation if place else None,
    )
    table = _Table(Match(settings, dealer.first_dealer()), scribe, on_step, on_fault)
    table.seat(bots, identities, dealer)
    table.play(dealer)
    return scribe.record(now())


class _Table:
    """A match that goes on, its seats, and the number of its last event."""

    __slots__ = ("_match", "_observers", "_on_fault", "_on_step", "_scribe", "_seats", "_sequence")

    def __init__(
        self, match: Match, scribe: Scribe, on_step: OnStep | None, on_fault: OnFault | None
    ) -> None:
        self._match = match
        self._scribe = scribe
        self._on_step = on_step
        self._on_fault = on_fault
        self._seats: list[Seat] = []
        self._observers: list[tuple[int, Seat]] = []
        self._sequence = 0

    def seat(self, bots: Sequence[BotInfo], identities: tuple[str, ...], dealer: Dealer) -> None:
        """Make a bot for each seat; the first that cannot be made has forfeited."""
        settings = self._match.settings
        for number, info in enumerate(bots):
            about = SeatInfo(
                number,
                settings.side_of[number],
                settings.players,
                settings.preset.name,
                settings.target,
                settings.length,
                identities,
            )
            try:
                seat = Seat(info, about, dealer.bot_seed(number))
            except BotFaultError as fault:
                self._forfeit(number, fault)
                return
            self._seats.append(seat)
            if seat.observes:
                self._observers.append((number, seat))

    def play(self, dealer: Dealer) -> None:
        """Deal, ask and step until the match is over."""
        match = self._match
        while match.result is None:
            number = match.needs_deck
            if number:
                self._tell(matches.deal(match, dealer.deck(number)))
            elif match.hand is not None and match.hand.phase is Phase.DECLARE:
                self._ask_declarations()
            else:
                self._ask_play()

    def _ask_play(self) -> None:
        match = self._match
        assert match.hand is not None
        turn = match.hand.turn
        try:
            card = self._seats[turn].play(view(match, turn, self._sequence))
        except BotFaultError as fault:
            self._forfeit(turn, fault)
        else:
            self._tell(matches.play(match, turn, card))

    def _ask_declarations(self) -> None:
        """Take every seat's answer before any is told."""
        match = self._match
        answers: list[bool] = []
        for number, seat in enumerate(self._seats):
            if not seat.decides:  # the answer is known, and a whole view costs more than it
                answers.append(private(match, number).may_declare)
                continue
            try:
                answers.append(seat.declare(view(match, number, self._sequence)))
            except BotFaultError as fault:
                self._forfeit(number, fault)
                return
        for number, answer in enumerate(answers):
            if match.result is not None:  # somebody could not bear to be told
                return
            self._tell(matches.declare(match, number, answer))

    def _forfeit(self, seat: int, fault: BotFaultError) -> None:
        if self._match.result is None:
            if self._on_fault:
                self._on_fault(seat, fault)
            self._tell(matches.forfeit(self._match, Fault(seat, fault.cause, fault.detail)))

    def _tell(self, events: tuple[MatchEvent, ...]) -> None:
        """Write down what a step did, and tell those who want to know."""
        self._sequence += len(events)
        self._scribe.take(self._match, events)
        if self._on_step:
            self._on_step(self._match, events)
        blame: tuple[int, BotFaultError] | None = None
        for number, seat in self._observers:
            try:
                for event in story(self._match, events, number):
                    seat.observe(event)
            except BotFaultError as fault:
                blame = blame or (number, fault)
        if blame:  # not before all have been told: who comes later in the row misses nothing
            self._forfeit(*blame)
