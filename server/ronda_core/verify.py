"""Replays of records, and the proof that a match follows from the rules and from its master.

Source: docs/fairness.md. A verdict names the place where a record breaks and what is wrong there,
never a card, a deck or a master.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ronda_core import hand as hands
from ronda_core import match as matches
from ronda_core.claims import contradictions, is_name
from ronda_core.commitments import CANCELLED, FINISHED, Commitments, ending_of
from ronda_core.fair import SCHEME, Dealer, commitment
from ronda_core.hand import (
    Answered,
    Award,
    Dealt,
    DeckError,
    Hand,
    IllegalMoveError,
    Phase,
    Refusal,
)
from ronda_core.match import Cause, Fault, Finished, Match, MatchEvent, Outcome
from ronda_core.record import FairRecord, HandRecord, Record
from ronda_core.rules import RulesError, Settings, settings

_UNPROVEN: Final = "unproven: "
_CAUSES: Final = frozenset(cause.value for cause in Cause)
_OUTCOMES: Final = frozenset(outcome.value for outcome in Outcome)
_COMMITMENT: Final = re.compile(r"[0-9a-f]{64}")
_LONGEST: Final = 0xFFFF
"""Bytes of a text that a deal may depend on: its length is two bytes."""


class ReplayError(Exception):
    """A record of something that cannot have happened."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class Step(NamedTuple):
    """One step of a replay."""

    match: Match
    """The state after the step; the next step advances it: copy what is to stay."""
    events: tuple[MatchEvent, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can be said of a record."""

    proven: bool
    """Rules and deals both hold, and the list of commitments where one was given."""
    where: str = ""
    problem: str = ""

    @property
    def unproven(self) -> bool:
        """Nothing is wrong as far as can be seen, but the deals cannot be checked (yet)."""
        return self.problem.startswith(_UNPROVEN)


def verify(record: Record, listed: Commitments | None = None) -> Verdict:
    """Judge `record`: by the rules first, then by the deals, then by the list of commitments.

    Without a list nothing is known of when its commitment was made: the deals of an invented match
    follow from a master that its inventor chose.
    """
    try:
        _check_rules(record)
        _check_frame(record)
        _check_deals(record)
        if listed is not None:
            _check_list(record, listed)
    except ReplayError as error:
        return Verdict(False, error.where, error.problem)
    return Verdict(True)


def replay(record: Record) -> Iterator[Step]:
    """Step through `record`: deals, answers of every seat, plays, and an early end.

    `ReplayError` comes at the step that cannot have happened. The recorded decks are dealt,
    whatever their master says.
    """
    match = Match(_settings(record), record.hands[0].dealer if record.hands else 0)
    for number, hand in enumerate(record.hands, 1):
        yield from _replay_hand(match, number, hand)
    yield from _replay_end(match, record)


def _settings(record: Record) -> Settings:
    try:
        return settings(record.rules, record.players, record.target, record.length)
    except RulesError as error:
        raise ReplayError(error.field, str(error)) from None


def _replay_hand(match: Match, number: int, told: HandRecord) -> Iterator[Step]:
    where = f"hand {number}"
    yield Step(match, _deal(match, number, told))
    hand = match.hand
    assert hand is not None
    for play, card in enumerate(told.plays, 1):
        if _declares(hand):
            yield from _replay_answers(match, hand, told.declared)
        seat = hand.turn
        try:
            events = matches.play(match, seat, card)
        except IllegalMoveError as error:
            stranger = error.reason is Refusal.CARD_NOT_HELD
            problem = f"seat {seat} did not hold the card" if stranger else "the hand was over"
            raise ReplayError(f"{where}, play {play}", problem) from None
        yield Step(match, events)
    # A match that stopped before anybody's set was told has no answers to replay.
    if _declares(hand) and hand.batch in told.declared:
        yield from _replay_answers(match, hand, told.declared)
    for batch in told.declared:
        if not hand.settings.declares:
            raise ReplayError(f"{where}, declared", "nothing is declared by these rules")
        if not 1 <= batch <= hand.batch:
            raise ReplayError(f"{where}, declared, batch {batch}", "no such batch was dealt")


def _declares(hand: Hand) -> bool:
    return hand.phase is Phase.DECLARE


def _deal(match: Match, number: int, told: HandRecord) -> tuple[MatchEvent, ...]:
    if match.result:
        raise ReplayError(f"hand {number}", "the match was already over")
    if match.needs_deck != number:
        raise _missing(match)
    if told.dealer != (match.first_dealer + number - 1) % match.settings.players:
        raise ReplayError(f"hand {number}, dealer", "it was not this seat's turn to deal")
    try:
        return matches.deal(match, told.deck)
    except DeckError as error:
        raise ReplayError(f"hand {number}, deck", str(error)) from None


def _replay_answers(
    match: Match, hand: Hand, declared: Mapping[int, Mapping[int, str]]
) -> Iterator[Step]:
    """Let every seat answer: yes where it stands in the record, else no."""
    where = f"hand {hand.number}, declared, batch {hand.batch}"
    told = declared.get(hand.batch, {})
    if not told and hand.batch in declared:
        raise ReplayError(where, "a batch in which nobody declared is left out")
    for seat, kind in told.items():
        if not 0 <= seat < hand.settings.players:
            raise ReplayError(f"{where}, seat {seat}", "there is no such seat")
        if kind != hands.set_kind(hand, seat):
            raise ReplayError(f"{where}, seat {seat}", "it was dealt no such set")
    for seat in range(hand.settings.players):
        yield Step(match, matches.declare(match, seat, seat in told))


def _replay_end(match: Match, record: Record) -> Iterator[Step]:
    if record.outcome not in _OUTCOMES:
        raise ReplayError("outcome", "there is no such outcome")
    if record.outcome in {Outcome.FORFEIT, Outcome.CANCELLED} and match.result:
        raise ReplayError("outcome", "the match had been played to its end")
    if record.outcome == Outcome.FORFEIT:
        yield Step(match, matches.forfeit(match, _fault(record)))
    elif record.fault is not None:
        raise ReplayError("fault", "only a forfeit is a seat's fault")
    elif record.outcome == Outcome.CANCELLED:
        yield Step(match, matches.cancel(match))
    elif match.result is None:
        raise _missing(match)
    elif match.result.outcome != record.outcome:
        raise ReplayError("outcome", "the match ended otherwise")


def _fault(record: Record) -> Fault:
    fault = record.fault
    if fault is None:
        raise ReplayError("fault", "a forfeit is some seat's fault")
    if not 0 <= fault.seat < record.players:
        raise ReplayError("fault, seat", "there is no such seat")
    if fault.cause not in _CAUSES:
        raise ReplayError("fault, cause", "there is no such cause")
    return fault


def _missing(match: Match) -> ReplayError:
    """Return the error of a record that stops while its match goes on."""
    hand = match.hand
    if hand is None or match.needs_deck:
        return ReplayError(f"hand {match.needs_deck}", "missing: the match goes on")
    return ReplayError(
        f"hand {hand.number}, play {len(hand.plays) + 1}", "missing: the hand goes on"
    )


def _check_rules(record: Record) -> None:
    """Play the match again, and compare what it pays and how it ends."""
    result: Finished | None = None
    paid = _Paid(record.hands)
    for step in replay(record):
        for event in step.events:
            if isinstance(event, Finished):
                result = event
            elif not isinstance(event, Answered):
                if isinstance(event, Dealt) and event.batch == 1:
                    paid.next_hand()
                for award in event.awards:
                    paid.compare(award)
    paid.next_hand()
    assert result is not None  # a replay that comes to its end has ended the match
    if record.score != result.scores:
        raise ReplayError("score", "it is not the sum of the points")
    if record.winner != (None if result.winner < 0 else result.winner):
        raise ReplayError("winner", "another side won, or none")


class _Paid:
    """Compares awards with those of the record, one by one as they are paid."""

    __slots__ = ("_at", "_hands", "_number", "_told")

    def __init__(self, told: Sequence[HandRecord]) -> None:
        self._hands = iter(told)
        self._number = 0
        self._told: tuple[Award, ...] = ()
        self._at = 0

    def next_hand(self) -> None:
        """End a hand, in which all that the record tells must have been paid."""
        if self._at < len(self._told):
            raise self._error()
        self._number += 1
        hand = next(self._hands, None)
        self._told = hand.points if hand else ()
        self._at = 0

    def compare(self, award: Award) -> None:
        """Take the next award."""
        if self._at == len(self._told) or self._told[self._at] != award:
            raise self._error()
        self._at += 1

    def _error(self) -> ReplayError:
        where = f"hand {self._number}, award {self._at + 1}"
        return ReplayError(where, "this is not what was earned")


def _check_frame(record: Record) -> None:
    """Check what stands around the hands."""
    for where, problem in contradictions(record):
        raise ReplayError(where, problem)


def _check_deals(record: Record) -> None:
    """Deal again from the master, and compare."""
    fair = record.fair
    if fair is None:
        raise ReplayError("fair", f"{_UNPROVEN}nothing tells where the deals came from")
    if fair.scheme != SCHEME:
        raise ReplayError("fair, scheme", f"{SCHEME} is expected")
    _check_scope(record, fair.scope)
    _check_entries(record, fair)
    if not _COMMITMENT.fullmatch(fair.commitment):
        raise ReplayError("fair, commitment", "64 hexadecimal digits in lower case are expected")
    if fair.master is None:
        raise ReplayError("fair, master", f"{_UNPROVEN}it is still sealed")
    if len(fair.master) != 32:
        raise ReplayError("fair, master", "32 bytes are expected")
    # A tournament commits once, for all its blocks.
    if fair.commitment != commitment(fair.master, record.tournament or fair.scope):
        raise ReplayError("fair, commitment", "the master is not the one committed to")
    dealer = Dealer(fair.master, fair.scope, fair.entries, record.players)
    if record.hands and record.hands[0].dealer != dealer.first_dealer():
        raise ReplayError("hand 1, dealer", "the master names another first dealer")
    for number, hand in enumerate(record.hands, 1):
        if hand.deck != dealer.deck(number):
            raise ReplayError(f"hand {number}, deck", "the master deals otherwise")


def _check_scope(record: Record, scope: str) -> None:
    if record.tournament is None:
        expected = {record.id}
    else:
        # Where a bot is remote or a person plays, every rotation has a deal of its own.
        block = f"{record.tournament}/{record.block}"
        expected = {block, f"{block}-{record.rotation}"}
    if scope not in expected or len(scope) > _LONGEST:
        raise ReplayError("fair, scope", "the deals are not of this match")


def _check_entries(record: Record, fair: FairRecord) -> None:
    """Check who the deals depend on: the seats, or all bots of the tournament."""
    names = [entry.identity for entry in fair.entries]
    if any(len(name.encode()) > _LONGEST for name in names):
        raise ReplayError("fair, entries", "a name is too long")
    if not all(map(is_name, names)):
        raise ReplayError("fair, entries", "a name cannot be read")
    if record.tournament is None:
        if names != [*record.seats]:
            raise ReplayError("fair, entries", "they are not the seats")
        if not all(len(entry.entropy) in {0, *range(16, 65)} for entry in fair.entries):
            raise ReplayError("fair, entries", "a seat gives nothing, or 16 to 64 bytes")
        return
    if names != sorted({*names}):
        raise ReplayError("fair, entries", "each bot once, in order, is expected")
    if not {*names}.issuperset(record.seats):
        raise ReplayError("fair, entries", "a seat is not in the roster")
    if any(entry.entropy for entry in fair.entries):
        raise ReplayError("fair, entries", "nobody adds to the deals of a tournament")


def _check_list(record: Record, listed: Commitments) -> None:
    """Check that the commitment was announced, and that its match ended as the list tells."""
    assert record.fair  # the deals were checked
    promise = listed.find(record.tournament or record.fair.scope)
    if promise is None:
        raise ReplayError("fair, scope", f"{_UNPROVEN}it is not in the list of commitments")
    if promise.commitment != record.fair.commitment:
        raise ReplayError("fair, commitment", "the list of commitments has another one")
    if not promise.ending:
        raise ReplayError("outcome", f"{_UNPROVEN}the list of commitments tells of no end yet")
    # A tournament that was cancelled has games that were not.
    ended = ending_of(Outcome(record.outcome))
    if promise.ending not in ({FINISHED, CANCELLED} if record.tournament else {ended}):
        raise ReplayError("outcome", "the list of commitments tells another end")
