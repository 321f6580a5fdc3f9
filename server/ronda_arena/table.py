"""One match between bots of this process, from the first deal to its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ronda_arena.clock import Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import IsolationError, Level
from ronda_arena.seat import Seat
from ronda_arena.seating import InProcess, Seating, seat_info
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
"""Called with a seat and what it did wrong: it has just forfeited, or could not bear to be told how
the match ended, which changes nothing. For its author: it may hold secrets."""


_HERE: Final = InProcess()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a match belongs to a tournament."""

    tournament: str
    block: int
    rotation: int
    paired: bool = True
    """Every rotation of the block is dealt the same decks."""

    @property
    def scope(self) -> str:
        """What the decks are dealt for: the block, or if it is not paired, this rotation of it."""
        block = f"{self.tournament}/{self.block}"
        return block if self.paired else f"{block}-{self.rotation}"


def play_match(
    match_id: str,
    settings: Settings,
    bots: Sequence[BotInfo],
    master: bytes,
    *,
    now: Callable[[], str],
    place: Place | None = None,
    entries: Sequence[Entry] | None = None,
    seating: Seating = _HERE,
    clock: Clock | None = None,
    on_step: OnStep | None = None,
    on_fault: OnFault | None = None,
    rated: bool = False,
) -> Record:
    """Play a match of `bots`, one a seat, to its end and return its record.

    Everything random comes from `master`: the decks, the first dealer and what the bots are
    given. `entries` (default: the seats in their order) are part of it. The record shows the
    master, so nothing else may still be dealt from it.

    `IsolationError` if a bot may not be run as `seating` would run it; a rated match wants all of
    them in a sandbox. `WorkerLostError` if a worker was lost by no fault of its bot: then there is
    no result, and the match has to be played again.
    """
    if len(bots) != settings.players:
        raise ValueError(f"{settings.players} seats need {settings.players} bots, not {len(bots)}")
    identities = tuple(bot.identity for bot in bots)
    levels = tuple(seating.level(bot) for bot in bots)
    if rated and any(level.weaker(Level.SANDBOX) for level in levels):
        raise IsolationError("a rated match wants every bot in a sandbox")
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
        isolation=tuple(level.value for level in levels),
        clock=clock.to_json() if clock else None,
        rated=rated,
        tournament=place.tournament if place else None,
        block=place.block if place else None,
        rotation=place.rotation if place else None,
    )
    table = _Table(Match(settings, dealer.first_dealer()), scribe, on_step, on_fault)
    try:
        for number, (bot, level) in enumerate(zip(bots, levels, strict=True)):
            about = seat_info(settings, number, identities)
            seed = dealer.bot_seed(number)
            if not table.seat(partial(seating.sit, bot, about, seed, level, clock)):
                break
        table.play(dealer)
        table.finish()
    finally:
        table.close()
    return table.record(now())


class _Table:
    """A match that goes on, its seats, and the number of its last event."""

    __slots__ = ("_blamed", "_match", "_on_fault", "_on_step", "_scribe", "_seats", "_sequence")

    def __init__(
        self, match: Match, scribe: Scribe, on_step: OnStep | None, on_fault: OnFault | None
    ) -> None:
        self._match = match
        self._scribe = scribe
        self._on_step = on_step
        self._on_fault = on_fault
        self._seats: list[Seat] = []
        self._sequence = 0
        self._blamed: tuple[int, BotFaultError] | None = None

    def seat(self, sit: Callable[[], Seat]) -> bool:
        """Make the bot of the next seat; one that cannot be made has forfeited."""
        try:
            self._seats.append(sit())
        except BotFaultError as fault:
            self._forfeit(len(self._seats), fault)
            return False
        return True

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

    def finish(self) -> None:
        """Let every bot know how it ended; what one does wrong now changes nothing."""
        for number, seat in enumerate(self._seats):
            if self._blamed and number == self._blamed[0]:
                continue  # it knows
            fault = seat.finish()
            if fault and self._on_fault:
                self._on_fault(number, fault)

    def close(self) -> None:
        """End every bot."""
        for seat in self._seats:
            seat.close()

    def record(self, end: str) -> Record:
        """Return the record; what a bot took that forfeited stands beside the cause."""
        record = self._scribe.record(end)
        seconds = self._blamed[1].seconds if self._blamed else None
        if seconds is None:
            return record
        return replace(record, fault_extra={"seconds": round(seconds, 6)})

    def _ask_play(self) -> None:
        match = self._match
        assert match.hand is not None
        turn = match.hand.turn
        seat = self._seats[turn]
        try:
            card = seat.play(view(match, turn, self._sequence, seat.time_left))
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
                answers.append(seat.declare(view(match, number, self._sequence, seat.time_left)))
            except BotFaultError as fault:
                self._forfeit(number, fault)
                return
        for number, answer in enumerate(answers):
            self._tell(matches.declare(match, number, answer))

    def _forfeit(self, seat: int, fault: BotFaultError) -> None:
        self._blamed = seat, fault
        if self._on_fault:
            self._on_fault(seat, fault)
        self._tell(matches.forfeit(self._match, Fault(seat, fault.cause, fault.detail)))

    def _tell(self, events: tuple[MatchEvent, ...]) -> None:
        """Write down what a step did, and keep it for those who want to know."""
        self._sequence += len(events)
        self._scribe.take(self._match, events)
        if self._on_step:
            self._on_step(self._match, events)
        for number, seat in enumerate(self._seats):
            if seat.observes:
                seat.tell(story(self._match, events, number))
