"""Everybody who calls the service in one run, and what each of them gets."""

from __future__ import annotations

import uuid
from typing import Any, Final, NamedTuple

from tests.hidden.ears import Ears
from tests.hidden.obs import TEXT, Mirror, Step
from tests.hidden.plan import OWNER, STRANGER, Plan
from tests.hidden.service import Answer, Service, Stream
from tests.hidden.tape import Entry, Tape, log_text, metrics_text

from ronda.v1 import match_service_pb2

pb: Any = match_service_pb2

MAIN: Final = "main"
REMATCH: Final = "rematch"
NEIGHBOUR: Final = "neighbour"
ABSENT: Final = "absent"


class SurpriseError(AssertionError):
    """The service did what the rules do not say."""


class Watch(NamedTuple):
    """A stream: whose, of which match, and what it is called on the tape."""

    who: int
    match: str
    name: str
    stream: Stream


class Callers:
    """The tokens, the streams and the tape, and the match as the rules have it."""

    def __init__(self, plan: Plan, service: Service, ears: Ears) -> None:
        self.plan = plan
        self.service = service
        self.tape = Tape()
        self.ids: dict[str, str] = {ABSENT: "m-aaaaaaaaaaaaaaaa"}
        """Of matches, by what they are here."""
        self.tokens: dict[tuple[str, int], str] = {}
        self.invitations: dict[int, str] = {}
        self.mirrors: dict[str, Mirror] = {}
        self.watches: list[Watch] = []
        self.last: dict[int, tuple[str, Any]] = {}
        """The last command of a seat that was taken: its method and the request."""
        self.decided: list[Step] = []
        """By bots, and not yet in the mirror."""
        self.steps: list[Step] = []
        """All decisions so far."""
        self.holding: dict[int, bool] = {}
        """Seats that may have tried a false declaration in this batch: whether they hold a set."""
        self.agreed: set[int] = set()
        """Seats that have agreed to cancel."""
        self.foreign = ""
        """A token of another match."""
        self.replayed = 0
        """Decisions that bots will make once more, as they live their match again."""
        self.opened_at = 0
        self.label = "start"
        self._ears = ears
        self._request_ids = plan.rng("request ids")

    @property
    def mirror(self) -> Mirror:
        """The match on trial, as the rules have it."""
        return self.mirrors[MAIN]

    @property
    def everybody(self) -> list[int]:
        """Persons, a stranger and the owner."""
        return [*self.plan.persons, STRANGER, OWNER]

    def holds(self, seat: int) -> list[str]:
        """Return the hand of a seat."""
        return sorted(self.mirror.referee.hands[seat])

    def request_id(self) -> str:
        """Return the next request id."""
        return str(uuid.UUID(int=self._request_ids.getrandbits(128), version=4))

    def request(self, method: str, match: str = MAIN, **fields: Any) -> Any:
        """Return a request about a match."""
        kind = getattr(pb, f"{method}Request")
        if "request_id" in kind.DESCRIPTOR.fields_by_name:
            fields.setdefault("request_id", self.request_id())
        return kind(match_id=self.ids[match], **fields)

    async def call(
        self, who: int, method: str, request: Any, *, token: str | None = None, match: str = MAIN
    ) -> Answer:
        """Call a method and keep what the caller gets."""
        name = "BotService" if method == "ListBots" else "MatchService"
        given = self.tokens.get((match, who), "") if token is None else token
        answer = await self.service.unary(f"/ronda.v1.{name}/{method}", request, given)
        now, what = self.service.now(), f"{self.label}, {method} {answer.code}"
        if answer.ok:
            known = self.mirrors[match].sequence if match in self.mirrors else 0
            self.tape.add(channel(who), Entry(now, what, answer.body, method, match, known))
        self.tape.add(channel(who), Entry(now, f"{what}, status", _status(answer)))
        self._hear()
        return answer

    async def must(self, who: int, method: str, request: Any, **how: Any) -> Answer:
        """Call a method that the rules allow."""
        answer = await self.call(who, method, request, **how)
        if not answer.ok:
            raise SurpriseError(f"{self.label}: refused, {answer.code} {answer.trailing!r}")
        return answer

    async def watch(
        self, who: int, after: int, *, views: bool, match: str = MAIN, token: str | None = None
    ) -> Stream:
        """Open a stream."""
        given = self.tokens.get((match, who), "") if token is None else token
        request = pb.WatchMatchRequest(
            match_id=self.ids[match], after_sequence=after, include_views=views
        )
        stream = self.service.watch("/ronda.v1.MatchService/WatchMatch", request, given)
        name = f"stream {len(self.watches)} from {after}, opened at {self.label!r}"
        self.watches.append(Watch(who, match, name, stream))
        await self.settle()
        return stream

    def scrape(self, *, whole: bool = False) -> None:
        """Read the metrics; the whole text as it is served takes a while to write."""
        served = self.service.metrics
        text = metrics_text(served()) if whole else self.service.samples()
        self.tape.add("metrics", Entry(self.service.now(), self.label, text.encode()))

    async def settle(self) -> None:
        """Let happen what follows, and let the rules follow what bots have done."""
        await self.service.settle([watch.stream for watch in self.watches])
        while self.decided and MAIN in self.mirrors and self.mirror.decks:
            word, seat, answer = self.decided.pop(0)
            if self.replayed:
                self.replayed -= 1
                continue
            self.follow((word, seat, TEXT[answer] if word == "play" else answer))
        self._hear()

    def follow(self, step: Step) -> None:
        """Let the rules follow what was decided."""
        mirror = self.mirror
        before = len(mirror.decks), len(mirror.packets)
        mirror.take(step)
        self.steps.append(step)
        self.opened_at = self.service.now()
        if (len(mirror.decks), len(mirror.packets)) != before:
            self.holding.clear()

    def keep(self, watch: Watch) -> None:
        """Keep what a stream has brought."""
        stream = watch.stream
        known = self.mirrors[watch.match].sequence if watch.match in self.mirrors else 0
        for at, (time, frame) in enumerate(stream.frames):
            what = f"{watch.name}, frame {at}"
            self.tape.add(channel(watch.who), Entry(time, what, frame, "frame", watch.match, known))
        end = _status(stream.end) if stream.end else b"hung up"
        self.tape.add(channel(watch.who), Entry(0, f"{watch.name}, end", end))

    def _hear(self) -> None:
        for line in self._ears.take():
            self.tape.add("log", Entry(0, self.label, log_text(line).encode()))


def channel(who: int) -> str:
    """Return the name of what a caller receives."""
    return {STRANGER: "stranger", OWNER: "owner"}.get(who, f"seat {who}")


def _status(answer: Answer) -> bytes:
    return repr((answer.code, answer.details, answer.trailing)).encode()
