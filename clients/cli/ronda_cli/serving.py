"""An installed bot that plays on a server from here: its seats, its threads, and its stream."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

import grpc

from ronda_arena.fault import BotFaultError
from ronda_arena.trusted import TrustedSeat
from ronda_bots.registry import BotInfo
from ronda_cli import blame
from ronda_cli.bot_client import (
    Asked,
    BotStream,
    CaughtUp,
    Choice,
    Dropped,
    Heard,
    Offer,
    Over,
    SeatKey,
    Started,
    StreamEnded,
    Told,
    Welcomed,
)
from ronda_cli.channel import Target
from ronda_cli.convert import EventReader
from ronda_cli.follow import Patience
from ronda_cli.output import ExitCode, Failure
from ronda_cli.refusal import Refusal
from ronda_cli.text import name
from ronda_cli.updates import RefusedError
from ronda_core.hand import Phase
from ronda_core.match import Cause

_HELLO_WITHIN: Final = 20.0
"""Seconds in which a server says Welcome."""
_SILENT: Final = 3
"""Heartbeats after which a stream without any is taken for dead."""
_NO_KEY: Final = "the key is not one of this server, or no longer: check --key-file"
_LAST: Final = {
    "taken_over": "another connection of this bot has taken over",
    "key_revoked": "the key was revoked: ask whoever runs the server for another",
}
_ENDED: Final = 1024
"""Seats that are remembered to be over: their end may be told twice."""
_UNKNOWN_PHASE: Final = "UnknownPhase"
"""What is said of a decision of a later version of the game, which nobody here can take."""


class _Decided(NamedTuple):
    key: SeatKey
    decision_id: str
    choice: Choice

    def __repr__(self) -> str:
        return f"_Decided({self.decision_id})"


class Player:
    """One seat: a bot made for it, on a thread of its own; one that never comes back is left."""

    def __init__(
        self,
        bot: BotInfo,
        started: Started,
        tell: Callable[[_Decided], None],
        say: Callable[[Sequence[str]], None],
    ) -> None:
        self._bot = bot
        self._started = started
        self._tell = tell
        self._say = say
        self._asked_at = 0.0
        self._due: float | None = None
        self._inbox: queue.SimpleQueue[Told | Asked | None] = queue.SimpleQueue()
        self._reader = EventReader()
        self._seat: TrustedSeat | None = None
        self._fault: BotFaultError | None = None
        self.after = 0
        """Number of the last event that was passed on."""
        self.asked = ""
        """The last decision that the bot was asked for."""
        self.open = ""
        """The decision that the stream of now has told; an answer waits until it has."""
        self.decided: _Decided | None = None
        self.thread = threading.Thread(target=self._run, name=f"ronda-{bot.name}", daemon=True)

    def hear(self, item: Told | Asked) -> None:
        """Pass on what the server says, each event and each decision once."""
        if isinstance(item, Told):
            if item.sequence <= self.after:
                return
            self.after = item.sequence
            self._inbox.put(item)
            return
        self.open = item.decision_id
        now = time.monotonic()
        self._due = None if item.allowed is None else now + item.allowed
        if item.decision_id == self.asked:
            if self.decided and self.decided.decision_id == item.decision_id:
                self._tell(self.decided)  # whether it was read before the stream broke, who knows
            return
        self.asked = item.decision_id
        self._asked_at = now
        self._inbox.put(item)

    def leave(self) -> None:
        """End when all is told."""
        self._inbox.put(None)

    @property
    def thinks(self) -> bool:
        """Whether the bot has yet to answer what it was asked last."""
        return self.asked != (self.decided.decision_id if self.decided else "")

    def late(self, did: str) -> str:
        """Return that it `did` something after its time, as far as is known here; else nothing."""
        now = time.monotonic()
        if self._due is None or now < self._due:
            return ""
        took, allowed = now - self._asked_at, self._due - self._asked_at
        key = self._started.key
        told = f"{name(key.match_id)}, seat {key.seat}: {did} after {took:.1f} s"
        return f"{told}, the clock allows {allowed:.1f} s"

    def time_is_up(self) -> str:
        """Take it from the server; return that there is no answer, where there is none."""
        if self._due is not None:
            self._due = min(self._due, time.monotonic())
        return self.late("no answer") if self.thinks else ""

    def _run(self) -> None:
        """Make the bot, then tell and ask it until it is to leave."""
        with self._blamed():
            self._seat = TrustedSeat(self._bot, self._started.info, self._started.seed)
        while (item := self._inbox.get()) is not None:
            if isinstance(item, Told):
                self._observe(item)
            else:
                choice = self._decide(item)
                if late := self.late("answered"):
                    self._say([late])
                self.decided = _Decided(item.key, item.decision_id, choice)
                self._tell(self.decided)
        self._finish()

    def _finish(self) -> None:
        if self._seat and not self._fault:
            self._seat.finish()  # what it does wrong now changes nothing

    def _observe(self, item: Told) -> None:
        event = self._reader.read(item.event)
        if event is not None and self._seat:
            self._seat.tell((event,))

    def _decide(self, item: Asked) -> Choice:
        self._reader.seen(item.view)
        if item.view.phase not in (Phase.DECLARE, Phase.PLAY):
            return {"crash": _UNKNOWN_PHASE}
        declares = item.view.phase == Phase.DECLARE
        if self._seat and not self._fault:
            with self._blamed():
                if declares:
                    return {"declare": self._seat.declare(item.view)}
                return {"card": int(self._seat.play(item.view))}
        fault = self._fault
        assert fault
        if fault.cause is Cause.ILLEGAL:  # the server judges what it is sent
            return {"declare": True} if declares else {"card": int(cast("int", fault.answer))}
        return {} if fault.cause is Cause.PROTOCOL else {"crash": fault.detail.partition(" ")[0]}

    @contextlib.contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except BotFaultError as fault:
            self._fault = fault
            key = self._started.key
            self._say(blame.elsewhere(self._bot.name, key.match_id, key.seat, fault))


@dataclass(slots=True)
class Served:
    """A bot that is offered, and what has become of it so far."""

    bot: BotInfo
    name: str
    """What it is offered as."""
    seats: int
    say: Callable[[str], None]
    matches: int = 0
    """Seats to play to their end before it leaves; 0: it stays."""
    patience: Patience = field(default_factory=lambda: Patience(float("inf"), longest=5.0))
    players: dict[SeatKey, Player] = field(default_factory=dict)
    over: int = 0
    _stream: BotStream | None = None
    _told: set[SeatKey] = field(default_factory=set)
    """Seats that the stream of now has told."""
    _ended: deque[SeatKey] = field(default_factory=lambda: deque(maxlen=_ENDED))
    _heartbeat: float = _HELLO_WITHIN / _SILENT
    _lost: bool = False
    _asked_again: bool = False
    """Whether a stream was opened again only to read why the last was refused."""

    async def serve(self, where: Target, key: str) -> None:
        """Play until enough matches are over; come back whenever the connection is lost."""
        while not self._enough():
            reason, problem = "the stream broke off", None
            try:
                reason = await self._connect(where, key)
            except RefusedError as error:
                problem = error.why
                if problem.unread and not self._asked_again:
                    self._asked_again = True
                    continue
                if problem.reason in ("BAD_TOKEN", "TOKEN_REQUIRED"):
                    raise Failure(_NO_KEY, ExitCode.REFUSED) from None
                if not _may_pass(problem):
                    raise problem.failure(where) from None
                reason = problem.text_of(where)
            if self._enough():
                return
            if not self._lost:
                self._lost = True
                self.say(f"{reason}: trying again")
            if problem and problem.retry_after:
                await asyncio.sleep(problem.retry_after)  # as the server asks for
            await self.patience.failed()

    async def _connect(self, where: Target, key: str) -> str:
        """Play on one stream to its end, and return why it ended."""
        stream = self._stream = BotStream(where, key)
        about = self.bot
        offer = Offer(self.name, about.version, about.description[:200], self.seats)
        places = {key: player.after for key, player in self.players.items() if player.after}
        self._heartbeat = _HELLO_WITHIN / _SILENT
        self._told.clear()
        for player in self.players.values():
            player.open = ""
        try:
            async with contextlib.aclosing(stream.connect(offer, places)) as heard:
                while not self._enough():
                    try:
                        # Not wait_for(): Python 3.11's swallows a cancellation with a message.
                        async with asyncio.timeout(self._heartbeat * _SILENT):
                            item = await anext(heard)
                    except StopAsyncIteration:
                        break
                    except TimeoutError:
                        return "nothing was heard for too long"
                    if isinstance(item, StreamEnded):
                        return _why(item.why)
                    self._take(item)
        finally:
            self._stream = None
            await stream.close()
        return "the stream broke off"

    def _enough(self) -> bool:
        return 0 < self.matches <= self.over

    def _take(self, item: Heard) -> None:
        match item:
            case Welcomed():
                again = " again" if self._lost else ""
                self.say(f"connected{again} as {name(item.identity)}, {item.max_seats} seats")
                self._lost = self._asked_again = False
                self._heartbeat = item.heartbeat or self._heartbeat
                self.patience.succeeded()
            case Started():
                self._start(item)
            case Told() | Asked():
                if player := self.players.get(item.key):
                    player.hear(item)
            case CaughtUp():
                self._forget()
            case Dropped(why="already_answered"):
                pass  # it was said twice, and the first counts
            case Dropped():
                self.say(f"an answer was dropped: {item.why} ({name(item.decision_id, 80)})")
            case Over():
                self._end(item)

    def _start(self, started: Started) -> None:
        self._told.add(started.key)
        if started.key in self.players:
            return
        loop = asyncio.get_running_loop()

        def tell(decided: _Decided) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._answer, decided)

        def say(lines: Sequence[str]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
                loop.call_soon_threadsafe(self._say_all, lines)

        player = self.players[started.key] = Player(self.bot, started, tell, say)
        info = started.info
        others = [name(one) for seat, one in enumerate(info.opponents) if seat != info.seat]
        against = ", ".join(others)
        self.say(f"{name(started.key.match_id)}: seat {info.seat}, {info.rules} against {against}")
        player.thread.start()

    def _say_all(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.say(line)

    def _answer(self, decided: _Decided) -> None:
        player = self.players.get(decided.key)
        if self._stream and player and player.open == decided.decision_id:
            self._stream.answer(decided.decision_id, decided.choice)

    def _end(self, over: Over) -> None:
        if over.key in self._ended:
            return
        end = over.end
        player = self.players.get(over.key)
        timed_out = end.fault_cause == Cause.TIME and end.fault_seat == over.key.seat
        if timed_out and player and (late := player.time_is_up()):
            self.say(late)
        self._leave(over.key)
        score = "-".join(map(str, end.scores))
        what = f"{end.outcome} {score}".strip()
        if end.fault_cause:
            what += f", by {end.fault_cause} of seat {end.fault_seat}"
        self.say(f"{name(over.key.match_id)}: seat {over.key.seat} is over: {what}")

    def _forget(self) -> None:
        """Leave the seats of which the server tells nothing any more."""
        for key in [key for key in self.players if key not in self._told]:
            self._leave(key)
            self.say(f"{name(key.match_id)}: seat {key.seat} is over: no more is told of it")

    def _leave(self, key: SeatKey) -> None:
        player = self.players.pop(key, None)
        if player:
            player.leave()
        self._ended.append(key)
        self.over += 1


def _may_pass(problem: Refusal) -> bool:
    """Say whether another attempt may mend it; a limit says so itself, by a time to wait."""
    if problem.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return problem.retry_after is not None or not problem.reason
    return problem.retried or problem.code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)


def _why(ended: str) -> str:
    """Return why a stream ended that is to be opened again, or raise where it is not."""
    if ended in _LAST:
        raise Failure(_LAST[ended], ExitCode.REFUSED)
    return "the server restarts" if ended == "draining" else f"the server ended it: {ended}"
