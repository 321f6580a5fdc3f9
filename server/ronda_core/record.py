"""Records: one match as one line of JSON, and the scribe that writes them.

Source: docs/records.md. `read` refuses what it cannot understand; what it can, but what never
happened, is for `ronda_core.verify` to refuse. Records hold every secret of their match: no card,
deck, master or entropy stands in a repr or an error of this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ronda_core.cards import CARDS, BadCardError, Card, cards_text, parse_cards
from ronda_core.fair import Entry
from ronda_core.hand import Award, Dealt, Ended, Played, Revealed
from ronda_core.instants import instant
from ronda_core.match import Cause, Fault, Finished, Match, MatchEvent
from ronda_core.rules import Settings
from ronda_core.strict_json import Fields, RecordError, every, number, octets, only, parse

__all__ = ["FORMAT", "FairRecord", "HandRecord", "Record", "RecordError", "Scribe", "read", "write"]

FORMAT: Final = "ronda-record/1"

_CAUSES: Final[Mapping[str, Cause]] = {cause.value: cause for cause in Cause}


@dataclass(frozen=True, slots=True, repr=False)
class HandRecord:
    """One hand as it was dealt, played and paid."""

    dealer: int
    deck: tuple[Card, ...]
    """All 40 cards in dealing order."""
    plays: tuple[Card, ...]
    declared: Mapping[int, Mapping[int, str]]
    """Kind of set by seat, by batch; empty where nobody declared."""
    points: tuple[Award, ...]
    extra: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<HandRecord of {len(self.plays)} plays>"


@dataclass(frozen=True, slots=True, repr=False)
class FairRecord:
    """What proves the deals."""

    scheme: str
    scope: str
    commitment: str
    master: bytes | None
    """None while it is sealed."""
    entries: tuple[Entry, ...]
    extra: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<FairRecord, {'sealed' if self.master is None else 'open'}>"


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """One match."""

    id: str
    rules: str
    target: int
    """0: none."""
    players: int
    length: int
    """Hands of a match of fixed length; 0: none."""
    seats: tuple[str, ...]
    start: str
    end: str
    hands: tuple[HandRecord, ...]
    score: tuple[int, ...]
    winner: int | None
    outcome: str
    fault: Fault | None = None
    """Its cause is any text until the record is verified."""
    clock: object | None = None
    isolation: tuple[str, ...] | None = None
    rated: bool | None = None
    tournament: str | None = None
    block: int | None = None
    rotation: int | None = None
    fair: FairRecord | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    """Keys that this version does not know."""
    fault_extra: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Record of {len(self.hands)} hands of {len(self.seats)} seats>"


def read(line: str) -> Record:
    """Return the record that `line` holds, or raise `RecordError`."""
    top = Fields(parse(line))
    if top.take("format", str) != FORMAT:
        raise RecordError(f"format: {FORMAT} is expected")
    hands = top.take("hands", list)
    fault, fault_extra = _read_fault(top.left.pop("fault", None))
    fair = top.left.pop("fair", None)
    isolation = top.maybe("isolation", list)
    return Record(
        id=top.take("id", str),
        rules=top.take("rules", str),
        target=top.take("target", int),
        players=top.take("players", int),
        length=top.maybe("length", int) or 0,
        seats=every("seats", top.take("seats", list), str),
        start=top.take("start", str),
        end=top.take("end", str),
        hands=tuple([_read_hand(hand, f"hand {n}") for n, hand in enumerate(hands, 1)]),
        score=every("score", top.take("score", list), int),
        winner=top.take_or_null("winner", int),
        outcome=top.take("outcome", str),
        fault=fault,
        clock=top.left.pop("clock", None),
        isolation=None if isolation is None else every("isolation", isolation, str),
        rated=top.maybe("rated", bool),
        tournament=top.maybe("tournament", str),
        block=top.maybe("block", int),
        rotation=top.maybe("rotation", int),
        fair=None if fair is None else _read_fair(fair),
        extra=top.left,
        fault_extra=fault_extra,
    )


def write(record: Record) -> str:
    """Return `record` as one line of JSON, without the line's end."""
    data: dict[str, object] = {
        "format": FORMAT,
        "id": record.id,
        "rules": record.rules,
        "target": record.target,
        "players": record.players,
        "seats": record.seats,
        "start": record.start,
        "end": record.end,
        "hands": [_hand_data(hand) for hand in record.hands],
        "score": record.score,
        "winner": record.winner,
        "outcome": record.outcome,
    }
    optional: dict[str, object] = {
        "length": record.length or None,
        "clock": record.clock,
        "isolation": record.isolation,
        "rated": record.rated,
        "tournament": record.tournament,
        "block": record.block,
        "rotation": record.rotation,
        "fair": record.fair and _fair_data(record.fair),
        "fault": record.fault and _with(dict(record.fault._asdict()), record.fault_extra),
    }
    data.update((key, value) for key, value in optional.items() if value is not None)
    _with(data, record.extra, optional)
    try:
        line = _ENCODER.encode(data)
    except (TypeError, ValueError, RecursionError):
        line = ""
    if not line:
        raise RecordError("the clock or an unknown key holds what JSON cannot say")
    if "\\ud" in line:
        parse(line)  # refuses half of a surrogate pair
    return line


class Scribe:
    """Follows a running match and writes its record.

    Call `take` with what each step of `ronda_core.match` returned, from the first deal on.
    """

    __slots__ = ("_about", "_hands", "_now", "_result", "_settings")

    def __init__(
        self,
        match_id: str,
        settings: Settings,
        seats: Sequence[str],
        *,
        start: str,
        fair: FairRecord | None = None,
        isolation: Sequence[str] | None = None,
        clock: object | None = None,
        rated: bool | None = None,
        tournament: str | None = None,
        block: int | None = None,
        rotation: int | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        self._settings = settings
        self._about: dict[str, Any] = {
            "id": match_id,
            "seats": tuple(seats),
            "start": start,
            "fair": fair,
            "isolation": None if isolation is None else tuple(isolation),
            "clock": clock,
            "rated": rated,
            "tournament": tournament,
            "block": block,
            "rotation": rotation,
            "extra": dict(extra or {}),
        }
        self._hands: list[_HandNotes] = []
        self._now = _HandNotes(0, ())
        self._result: Finished | None = None

    def take(self, match: Match, events: Iterable[MatchEvent]) -> None:
        """Note what one step did; `match` is the state after it."""
        # It runs for every play of a tournament: plays come first, and all it does is append.
        now = self._now
        for event in events:
            if isinstance(event, Played):
                now.plays.append(event.card)
                if event.awards:
                    now.points += event.awards
            elif isinstance(event, Dealt):
                if event.batch == 1:
                    assert match.hand is not None
                    now = self._now = _HandNotes(event.dealer, match.hand.deck)
                    self._hands.append(now)
                now.points += event.awards
            elif isinstance(event, Revealed):
                if event.kinds:
                    now.declared[event.batch] = dict(event.kinds)
                now.points += event.awards
            elif isinstance(event, Ended):
                now.points += event.awards
            elif isinstance(event, Finished):
                self._result = event

    def record(self, end: str) -> Record:
        """Return the record of the match, which must be over.

        A clock may be put back while a match runs: an `end` before the start becomes the start.
        """
        result = self._result
        if result is None:
            raise RecordError("a match that goes on has no record yet")
        return Record(
            rules=self._settings.preset.name,
            target=self._settings.target,
            players=self._settings.players,
            length=self._settings.length,
            end=_no_sooner(end, self._about["start"]),
            hands=tuple([hand.record() for hand in self._hands]),
            score=result.scores,
            winner=None if result.winner < 0 else result.winner,
            outcome=result.outcome.value,
            fault=result.fault,
            **self._about,
        )


def _no_sooner(end: str, start: str) -> str:
    first, last = instant(start), instant(end)
    return start if first and last and last < first else end


class _HandNotes:
    """What a scribe has noted of one hand."""

    __slots__ = ("dealer", "deck", "declared", "plays", "points")

    def __init__(self, dealer: int, deck: tuple[int, ...]) -> None:
        self.dealer = dealer
        self.deck = deck
        self.plays: list[int] = []
        self.declared: dict[int, dict[int, str]] = {}
        self.points: list[Award] = []

    def record(self) -> HandRecord:
        return HandRecord(
            self.dealer,
            tuple([CARDS[card] for card in self.deck]),
            tuple([CARDS[card] for card in self.plays]),
            {batch: dict(kinds) for batch, kinds in self.declared.items()},
            tuple(self.points),
        )


def _read_hand(value: object, where: str) -> HandRecord:
    fields = Fields(value, where)
    points = fields.take("points", list)
    return HandRecord(
        dealer=fields.take("dealer", int),
        deck=_read_cards(fields, "deck"),
        plays=_read_cards(fields, "plays"),
        declared=_read_declared(fields.left.pop("declared", None), f"{where}, declared"),
        points=tuple(
            [_read_award(award, f"{where}, award {n}") for n, award in enumerate(points, 1)]
        ),
        extra=fields.left,
    )


def _read_cards(fields: Fields, key: str) -> tuple[Card, ...]:
    try:
        return parse_cards(fields.take(key, str))
    except BadCardError as error:
        problem = f"{fields.place(key)}: {error}"
    raise RecordError(problem)


def _read_declared(value: object, where: str) -> dict[int, dict[int, str]]:
    if value is None:
        return {}
    return {
        number(where, batch): {
            number(where, seat): only(where, kind, str)
            for seat, kind in Fields(kinds, where).left.items()
        }
        for batch, kinds in Fields(value, where).left.items()
    }


def _read_award(value: object, where: str) -> Award:
    parts = only(where, value, list)
    if len(parts) != 4:
        raise RecordError(f"{where}: [plays made, side, reason, points] is expected")
    plays, side, reason, points = parts
    return Award(
        only(where, plays, int),
        only(where, side, int),
        only(where, reason, str),
        only(where, points, int),
    )


def _read_fault(value: object) -> tuple[Fault | None, dict[str, Any]]:
    if value is None:
        return None, {}
    fields = Fields(value, "fault")
    cause = fields.take("cause", str)
    # A cause that is none is readable, and false.
    known = _CAUSES.get(cause, cast(Cause, cause))
    return Fault(fields.take("seat", int), known, fields.take("detail", str)), fields.left


def _read_fair(value: object) -> FairRecord:
    fields = Fields(value, "fair")
    master = fields.take_or_null("master", str)
    entries = fields.take("entries", list)
    return FairRecord(
        scheme=fields.take("scheme", str),
        scope=fields.take("scope", str),
        commitment=fields.take("commitment", str),
        master=None if master is None else octets("fair, master", master),
        entries=tuple([_read_entry(entry, f"fair, entry {n}") for n, entry in enumerate(entries)]),
        extra=fields.left,
    )


def _read_entry(value: object, where: str) -> Entry:
    parts = only(where, value, list)
    if len(parts) != 2:
        raise RecordError(f"{where}: [identity, entropy] is expected")
    return Entry(only(where, parts[0], str), octets(where, only(where, parts[1], str)))


_ENCODER: Final = json.JSONEncoder(allow_nan=False)


def _hand_data(hand: HandRecord) -> dict[str, object]:
    data: dict[str, object] = {"dealer": hand.dealer, "deck": cards_text(hand.deck)}
    if hand.declared:
        data["declared"] = hand.declared  # the encoder spells its whole numbers as keys
    data["plays"] = cards_text(hand.plays)
    data["points"] = hand.points
    return _with(data, hand.extra, ("declared",))


def _fair_data(fair: FairRecord) -> dict[str, object]:
    data: dict[str, object] = {
        "scheme": fair.scheme,
        "scope": fair.scope,
        "commitment": fair.commitment,
        "master": None if fair.master is None else fair.master.hex(),
        "entries": [[entry.identity, entry.entropy.hex()] for entry in fair.entries],
    }
    return _with(data, fair.extra)


def _with(
    data: dict[str, object], extra: Mapping[str, object], known: Iterable[str] = ()
) -> dict[str, object]:
    """Add the unknown keys, none of which may stand for a known one."""
    if extra and not extra.keys().isdisjoint((*data, *known)):
        raise RecordError("an unknown key has the name of a known one")
    data.update(extra)
    return data
