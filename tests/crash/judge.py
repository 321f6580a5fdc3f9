"""The judge of a journal: it holds what clients saw against the database.

Whatever was acknowledged must stand there once, at the number that was told; whatever was
streamed must be what stands there; what was refused must have been refusable at a moment between
question and answer.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ronda.v1 import event_pb2
from ronda_core.cards import TEXT
from ronda_core.fair import commitment
from ronda_core.hand import IllegalMoveError
from ronda_core.record import RecordError, read
from ronda_core.verify import verify
from ronda_server import fold
from ronda_server import game as games
from ronda_server.commitments import NO_HASH, entry_hash
from ronda_server.game import Game
from ronda_server.identity import Keys

from .history import (
    Answered,
    Clock,
    Ended,
    Entry,
    Opened,
    Recorded,
    Refused,
    Sent,
    Stopped,
    Told,
)
from .stored import Database, Row, row_to_fact


@dataclass
class Command:
    """One request id: what was asked, and all that came back."""

    sent: Sent
    knew: int
    """Number of the last event of its match that anyone had been told when it first went out."""
    at: int
    """Place in the journal where it first went out."""
    times: int = 1
    answer: Answered | None = None
    refused: str = ""
    refused_at: int = 0


@dataclass
class Report:
    """What was judged, and what is wrong with it."""

    faults: list[str] = field(default_factory=list)
    matches: int = 0
    commands: int = 0
    acknowledged: int = 0
    refused: int = 0
    unanswered: int = 0
    retries: int = 0
    events_told: int = 0
    streams: int = 0
    resumes: int = 0
    stops: int = 0
    rows: int = 0

    def __str__(self) -> str:
        return (
            f"{self.stops} kills, {self.matches} matches, {self.rows} events in the log;"
            f" {self.commands} commands: {self.acknowledged} acknowledged, {self.refused} refused,"
            f" {self.unanswered} never answered, {self.retries} retries; {self.streams} streams"
            f" resumed {self.resumes} times were told {self.events_told} events;"
            f" {len(self.faults)} faults"
        )

    def add(self, other: Report) -> None:
        """Count in what another journal came to."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


_TOLD_AS: Final = {
    "created": "match_created",
    "joined": "seat_joined",
    "ready": "seat_ready",
    "dealt": "cards_dealt",
    "answered": "declaration_answered",
    "revealed": "declarations_revealed",
    "played": "card_played",
    "hand_ended": "hand_ended",
    "cancel_agreed": "cancel_agreed",
    "cancelled": "match_ended",
    "forfeited": "match_ended",
    "match_ended": "match_ended",
}

_DERIVED: Final = frozenset({"dealt", "revealed", "hand_ended", "match_ended"})


def check(
    journal: Sequence[Entry], database: Database, keys: Keys, *, complete: bool = True
) -> Report:
    """Judge a journal. `complete`: every match was played to its end and every stream saw it."""
    return _Judge(journal, database, keys, complete).judge()


def check_log(database: Database, keys: Keys) -> Report:
    """Judge a database by itself: it replays, and its lists say what its logs say."""
    judge = _Judge([], database, keys, complete=False)
    judge.read_logs()
    judge.read_commitments()
    return judge.report


class _Judge:
    def __init__(
        self, journal: Sequence[Entry], database: Database, keys: Keys, complete: bool
    ) -> None:
        self.journal = journal
        self.database = database
        self.keys = keys
        self.complete = complete
        self.report = Report()
        self.commands: dict[str, Command] = {}
        self.told: dict[tuple[str, int | None, int], bytes] = {}
        self.high: Counter[str] = Counter()
        """The last number of each match that anyone has been told."""
        self.streams: dict[str, Opened] = {}
        self.last: dict[str, int] = {}
        self.over: set[str] = set()
        self.states: dict[str, list[Game]] = {}
        """The game after each of its decisions."""

    def judge(self) -> Report:
        for at, entry in enumerate(self.journal):
            self._walk(at, entry)
        self.read_logs()
        self._commands()
        self._order()
        self._told()
        self._ends()
        self.read_commitments()
        report = self.report
        report.matches = len(self.database.matches)
        report.rows = sum(map(len, self.database.rows.values()))
        report.commands = len(self.commands)
        report.acknowledged = sum(1 for one in self.commands.values() if one.answer)
        report.refused = sum(1 for one in self.commands.values() if one.refused)
        report.unanswered = report.commands - report.acknowledged - report.refused
        report.retries = sum(one.times - 1 for one in self.commands.values())
        report.streams = len(self.streams)
        report.events_told = sum(1 for entry in self.journal if isinstance(entry, Told))
        return report

    def fault(self, text: str) -> None:
        self.report.faults.append(text)

    # What the clients saw, in the order of time ---------------------------------------------

    def _walk(self, at: int, entry: Entry) -> None:
        match entry:
            case Sent():
                self._sent(at, entry)
            case Answered():
                self._answered(entry)
            case Refused():
                self._refused(at, entry)
            case Opened():
                self._opened(entry)
            case Told():
                self._tell(entry)
            case Ended():
                self.over.add(entry.stream)
                if entry.number != self.last[entry.stream]:
                    self.fault(f"{entry.stream}: ended at {entry.number} unseen")
            case Stopped():
                self._stopped(entry.left)
            case Recorded():
                self._record(entry)
            case Clock():
                pass  # nothing follows from it

    def _sent(self, at: int, sent: Sent) -> None:
        known = self.commands.get(sent.request_id)
        if known is None:
            self.commands[sent.request_id] = Command(sent, self.high[sent.match], at)
        elif known.sent != sent:
            self.fault(f"{sent.request_id}: a client sent it with other content")
        else:
            known.times += 1

    def _answered(self, told: Answered) -> None:
        command = self.commands[told.request_id]
        if command.answer and command.answer != told:
            self.fault(f"{told.request_id}: the second answer is not the first")
        if command.refused:
            self.fault(f"{told.request_id}: acknowledged after {command.refused}")
        command.answer = told
        self.high[told.match] = max(self.high[told.match], told.sequence)

    def _refused(self, at: int, told: Refused) -> None:
        command = self.commands[told.request_id]
        if command.answer:
            self.fault(f"{told.request_id}: {told.reason} after it was acknowledged")
        if not command.refused:
            command.refused = told.reason
            command.refused_at = at

    def _opened(self, opened: Opened) -> None:
        before = self.streams.setdefault(opened.stream, opened)
        if before is not opened:
            self.report.resumes += 1
            if opened.after != self.last[opened.stream]:
                self.fault(f"{opened.stream}: a client resumed at a wrong number")
        self.last[opened.stream] = opened.after

    def _tell(self, told: Told) -> None:
        stream = self.streams[told.stream]
        expected = self.last[told.stream] + 1
        if told.number != expected:
            self.fault(f"{told.stream}: event {told.number} where {expected} was due")
        self.last[told.stream] = told.number
        key = (stream.match, stream.seat, told.number)
        if self.told.setdefault(key, told.event) != told.event:
            self.fault(f"{told.stream}: event {told.number} has changed")
        self.high[stream.match] = max(self.high[stream.match], told.number)

    def _stopped(self, left: Database) -> None:
        """Compare what a killed server left with what was told before and with the end."""
        self.report.stops += 1
        for match, high in self.high.items():
            if match and high > len(left.rows.get(match, ())):
                self.fault(f"{match}: event {high} was told and was lost by a kill")
        for match, rows in left.rows.items():
            if self.database.rows.get(match, [])[: len(rows)] != rows:
                self.fault(f"{match}: the log has changed since a kill")
        if not left.masters.items() <= self.database.masters.items():
            self.fault("a secret has changed since a kill: deals would differ")
        if self.database.commitments[: len(left.commitments)] != left.commitments:
            self.fault("the list of commitments has changed since a kill")

    # What is stored ---------------------------------------------------------------------------

    def read_logs(self) -> None:
        for match, rows in self.database.rows.items():
            if [row.sequence for row in rows] != list(range(1, len(rows) + 1)):
                self.fault(f"{match}: the log has a gap")
                continue
            if match not in self.database.matches:
                self.fault(f"{match}: events of no match")
            seen: Counter[bytes] = Counter(row.request for row in rows if row.request)
            if seen and max(seen.values()) > 1:
                self.fault(f"{match}: a command was applied twice")
            try:
                steps = self._replay(match)
            except Exception as problem:  # noqa: BLE001 -- whatever it is, it is wrong
                self.fault(f"{match}: the log does not replay: {problem}")
                continue
            self.states[match] = steps
            self._state(match, steps[-1])

    def _replay(self, match: str) -> list[Game]:
        """Return the game after each of its decisions."""
        facts = [row_to_fact(row) for row in self.database.rows[match]]
        master = self.database.masters[match]
        told = commitment(master, match)
        return [games.copy(game) for game, _ in fold.replay(match, facts, told, master)]

    def _state(self, match: str, game: Game) -> None:
        stored = self.database.matches[match]
        if stored.state != game.state:
            self.fault(f"{match}: the list says {stored.state}, the log {game.state}")
        if game.over and stored.ended != game.last_time:
            self.fault(f"{match}: the list has another end than the log")
        if self.complete and not game.over:
            self.fault(f"{match}: it did not go on to its end")

    # Commands ---------------------------------------------------------------------------------

    def _commands(self) -> None:
        stored: dict[bytes, list[tuple[str, Row]]] = defaultdict(list)
        for match, rows in self.database.rows.items():
            for row in rows:
                if row.request:
                    stored[row.request].append((match, row))
                elif row.kind not in _DERIVED:
                    self._by_itself(match, row)
        known: set[bytes] = set()
        for command in self.commands.values():
            if command.sent.kind == "created":
                self._creation(command)
                continue
            key = _caller(command.sent) + self.keys.request(command.sent.request_id)
            known.add(key)
            self._command(command, stored.get(key, []))
        for key, found in stored.items():
            if key not in known:
                self.fault(f"{found[0][0]}: event {found[0][1].sequence} is nobody's command")

    def _by_itself(self, match: str, row: Row) -> None:
        """Check that only bots and clocks act without a request."""
        if row.kind == "created":
            return
        made = json.loads(self.database.rows[match][0].data)
        data = json.loads(row.data)
        bot = "seat" in data and made["seats"][data["seat"]]["kind"] == "bot"
        late = row.kind == "forfeited" and data["cause"] in ("time", "no_show")
        silent = row.kind == "answered" and made["per_decision"] and not data["declares"]
        if not (bot or late or silent):
            self.fault(f"{match}: event {row.sequence}, {row.kind}, has no author")

    def _creation(self, command: Command) -> None:
        key = self.keys.request(command.sent.request_id)
        made = [match for match in self.database.matches.values() if match.request == key]
        if len(made) > 1:
            self.fault(f"{command.sent.request_id}: made {len(made)} matches")
        if command.answer and [one.id for one in made] != [command.answer.match]:
            self.fault(f"{command.sent.request_id}: the match that was acknowledged is not there")
        if command.refused and made:
            self.fault(f"{command.sent.request_id}: {command.refused}, and yet made")

    def _command(self, command: Command, found: list[tuple[str, Row]]) -> None:
        sent, name = command.sent, command.sent.request_id
        if len(found) > 1:
            self.fault(f"{name}: applied {len(found)} times")
        if command.refused and found:
            self.fault(f"{name}: {command.refused}, and yet applied")
        if command.answer and not found:
            self.fault(f"{name}: {sent.kind} was acknowledged and is lost")
        for match, row in found:
            if command.answer:
                told = command.answer
                if match != told.match or (told.sequence and row.sequence != told.sequence):
                    self.fault(f"{name}: acknowledged at {told.sequence}, stored elsewhere")
            kind = "joined" if sent.kind == "rematch" else sent.kind
            if row.kind != kind or not sent.data.items() <= json.loads(row.data).items():
                self.fault(f"{name}: what is stored is not what was asked")
            if match == sent.match and row.sequence <= command.knew:
                self.fault(f"{name}: stored before it was sent")

    # Order --------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Check that each refusal was true at a moment between question and answer."""
        refused: dict[str, list[Command]] = defaultdict(list)
        sent_later: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for command in self.commands.values():
            if command.refused and command.sent.kind in ("played", "answered"):
                refused[command.sent.match].append(command)
            elif command.answer and command.answer.sequence:
                sent_later[command.answer.match].append((command.at, command.answer.sequence))
        for match, commands in refused.items():
            for command in commands:
                self._refusal(command, self.states.get(match, []), sent_later[match])

    def _refusal(self, command: Command, states: list[Game], later: list[tuple[int, int]]) -> None:
        before = min((at for sent, at in later if sent > command.refused_at), default=0)
        possible = [
            game
            for game in states
            if game.sequence >= command.knew and (not before or game.sequence < before)
        ]
        if not any(refusal(game, command.sent) == command.refused for game in possible):
            self.fault(f"{command.sent.request_id}: {command.refused} was never true meanwhile")

    # Streams ------------------------------------------------------------------------------------

    def _told(self) -> None:
        alike: dict[tuple[str, int], bytes] = {}
        for (match, _, number), data in self.told.items():
            rows = self.database.rows.get(match, [])
            if number > len(rows):
                self.fault(f"{match}: event {number} was told and is not stored")
                continue
            row = rows[number - 1]
            event = event_pb2.Event.FromString(data)
            micros = event.event_time.seconds * 1_000_000 + event.event_time.nanos // 1000
            if event.WhichOneof("kind") != _TOLD_AS[row.kind] or micros != row.time:
                self.fault(f"{match}: event {number} was told otherwise than it is stored")
            elif row.kind == "played" and not _same_play(event, row):
                self.fault(f"{match}: event {number} was told with another card")
            if row.kind == "dealt":  # all of an event is alike but the hand of its seat
                event.cards_dealt.ClearField("hand")
            public = event.SerializeToString(deterministic=True)
            if alike.setdefault((match, number), public) != public:
                self.fault(f"{match}: event {number} is not alike for all")

    def _ends(self) -> None:
        if not self.complete:
            return
        for name, opened in self.streams.items():
            if self.last[name] != len(self.database.rows.get(opened.match, ())):
                self.fault(f"{name}: it was not told all that is stored")
            if name not in self.over:
                self.fault(f"{name}: it was not told the end")

    # Records and deals --------------------------------------------------------------------------

    def _record(self, recorded: Recorded) -> None:
        match = recorded.match
        try:
            record = read(recorded.line)
        except RecordError as problem:
            self.fault(f"{match}: the record cannot be read: {problem}")
            return
        verdict = verify(record)
        if not verdict.proven:
            self.fault(f"{match}: the record: {verdict.where}: {verdict.problem}")
        played = [
            json.loads(row.data)["card"]
            for row in self.database.rows.get(match, ())
            if row.kind == "played"
        ]
        if [TEXT[card] for hand in record.hands for card in hand.plays] != played:
            self.fault(f"{match}: the record has other plays than the log")

    def read_commitments(self) -> None:
        previous = NO_HASH
        ended: Counter[str] = Counter()
        for at, (number, scope, told, ending, before, own) in enumerate(
            self.database.commitments, 1
        ):
            if number != at or before != previous:
                self.fault(f"commitment {number}: the chain is broken")
            if own != entry_hash(number, scope, told, ending, before):
                self.fault(f"commitment {number}: its hash is wrong")
            if told != commitment(self.database.masters[scope], scope):
                self.fault(f"commitment {number}: it does not commit to the stored secret")
            previous = own
            ended[scope] += bool(ending)
        for match in self.database.matches.values():
            if ended[match.id] != (match.state in ("finished", "cancelled")):
                self.fault(f"{match.id}: it ended {ended[match.id]} times on the public list")


def refusal(game: Game, sent: Sent) -> str:
    """Say why a declaration or a play is refused by a game as it stands, empty if it is not."""
    if game.over:
        return "MATCH_OVER"
    if not game.match:
        return "MATCH_NOT_STARTED"
    if not game.opened <= sent.expected <= game.sequence:
        return "STALE_SEQUENCE"
    try:
        fold.apply(games.copy(game), sent.kind, sent.data, game.last_time)
    except IllegalMoveError as problem:
        return problem.reason.value
    return ""


def _caller(sent: Sent) -> bytes:
    """Return what tells the callers of one match apart."""
    if sent.kind == "joined":
        return b"join"
    if sent.kind == "rematch":
        return b"rematch" + bytes([sent.seat])
    return b"owner" if sent.seat < 0 else bytes([sent.seat])


def _same_play(event: event_pb2.Event, row: Row) -> bool:
    told = event.card_played.play
    return bool(json.loads(row.data) == {"seat": told.seat, "card": TEXT[told.card]})
