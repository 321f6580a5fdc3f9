"""Bots in the seats of hosted matches, each run as the match says.

A bot is asked on a thread, so that one that takes long holds up its own match only, whether it
thinks in a worker of its own or, trusted, in this process. After a restart it is made anew and
lives its match again: the same views, the same events, the same chance.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar

from ronda_arena.clock import CEILING_SECONDS, Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import Level
from ronda_arena.seat import Seat
from ronda_arena.seating import Seating, seat_info
from ronda_arena.worker.seat import WorkerSeat
from ronda_bots.registry import Registry
from ronda_core.hand import Phase
from ronda_core.view import Event, View, view
from ronda_server import fold
from ronda_server.bot_logs import BotLogs
from ronda_server.facts import Fact
from ronda_server.game import Decision, Game, Happened, forfeit
from ronda_server.metrics import Metrics

T = TypeVar("T")

_QUICK: Final = 8
"""Bots that think at once: more would only wait for the interpreter, and the loop with them."""
_QUICK_SECONDS: Final = 0.1
_THREADS: Final = 1024
_NAME: Final = "ronda-bot"


class Threads:
    """Where bots think: a few at a time, but one that takes long makes room for the next."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix=_NAME)
        self._quick = asyncio.Semaphore(_QUICK)

    async def run(
        self, seconds: float, begins: Callable[[], None], think: Callable[..., T], *given: Any
    ) -> T:
        """Return what `think` returns, called with `given` on a thread.

        `begins` is called when its turn has come; `TimeoutError` after `seconds` from then.
        """
        loop = asyncio.get_running_loop()
        async with self._quick:
            begins()
            until = loop.time() + seconds
            thinking = loop.run_in_executor(self._pool, think, *given)
            try:
                await asyncio.wait((thinking,), timeout=min(_QUICK_SECONDS, seconds))
            except asyncio.CancelledError:
                thinking.cancel()
                raise
        async with asyncio.timeout_at(until):
            return await thinking

    def close(self) -> None:
        """Begin nothing more; what thinks on is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def end_threads(seconds: float) -> bool:
    """Wait up to `seconds` for the bots that still think, and say whether none does."""
    until = time.monotonic() + seconds
    thinking = [one for one in threading.enumerate() if one.name.startswith(_NAME)]
    for thread in thinking:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in thinking)


class Answer(NamedTuple):
    """What a bot decided."""

    seat: int
    opened: int
    """Number of the event that opened the decision."""
    decision: Decision

    def __repr__(self) -> str:
        return f"Answer(seat={self.seat})"


class HostedBots:
    """The bots of one match."""

    def __init__(
        self,
        registry: Registry,
        seating: Seating,
        game: Game,
        threads: Threads,
        metrics: Metrics,
        logs: BotLogs,
    ) -> None:
        self._registry = registry
        self._seating = seating
        self._threads = threads
        self._metrics = metrics
        self._logs = logs
        self._match_id = game.id
        self._identities = [seat.identity for seat in game.seats]
        self._faults: dict[int, BotFaultError] = {}
        self._seats = tuple(at for at, seat in enumerate(game.seats) if seat.hosted)
        self._bots: dict[int, Seat] = {}
        self._told = 0
        self._closed = False

    @staticmethod
    def wanted(game: Game, bots: HostedBots | None) -> bool:
        """Say whether a bot has to decide, or has not been told how the match ended."""
        if game.over:
            return bots is not None and bots._told < game.sequence
        return any(game.seats[seat].hosted for seat in game.waits_for)

    @property
    def in_workers(self) -> bool:
        """Whether one of them has a process of its own, where its seat measures its time."""
        return any(bot.isolation is not Level.TRUSTED for bot in self._bots.values())

    async def revive(
        self, facts: list[Fact], game: Game, seconds: float, begins: Callable[[], None]
    ) -> Answer | None:
        """Make the bots and let them live what has happened so far; a fault is an answer."""
        return await self._threads.run(seconds, begins, _blame, self._revive, facts, game)

    async def next(
        self, history: list[Happened], game: Game, seconds: float, begins: Callable[[], None]
    ) -> Answer | None:
        """Tell the bots what is new and ask one whose decision is open."""
        news = history[self._told :]
        return await self._threads.run(seconds, begins, _blame, self._next, news, game)

    async def end(self) -> None:
        """End the bots, and keep what they have printed."""
        await asyncio.to_thread(self.close)
        for seat in self._seats:
            bot, fault = self._bots.get(seat), self._faults.get(seat)
            printed = bot.log if isinstance(bot, WorkerSeat) else b""
            if fault or printed:
                at = (self._match_id, self._identities[seat], seat)
                self._logs.keep(*at, fault, fault.log or printed if fault else printed)

    def close(self) -> None:
        """End the bots; one that is being asked is answered for by nobody any more."""
        self._closed = True
        for bot in list(self._bots.values()):
            bot.close()

    def _revive(self, facts: list[Fact], game: Game) -> Answer | None:
        """Ask each bot again what it was asked, and tell it again what it was told."""
        assert game.dealer
        for seat in self._seats:
            with self._at(seat):
                self._bots[seat] = self._make(game, seat)
        if self._closed:  # while they were made
            self.close()
        asked: dict[int, View] = {}
        for state, happened in fold.replay(game.id, facts, game.commitment, game.master):
            first = happened[0].fact
            if first.kind in ("answered", "played") and first.data["seat"] in self._bots:
                self._ask(first.data["seat"], asked[first.data["seat"]])
            for one in happened:
                self._tell(one)
            asked = {
                seat: view(state.match, seat, state.sequence, _clock(state))
                for seat in state.waits_for
                if seat in self._bots and state.match
            }
        self._told = len(facts)
        return None

    def _make(self, game: Game, seat: int) -> Seat:
        assert game.dealer
        names = [one.identity for one in game.seats]
        return self._seating.sit(
            self._registry.find(names[seat]),
            seat_info(game.settings, seat, names),
            game.dealer.bot_seed(seat),
            Level(game.seats[seat].isolation),
            Clock(game.per_decision / 1e6) if game.per_decision else None,
        )

    def _next(self, news: list[Happened], game: Game) -> Answer | None:
        self._told += len(news)
        for one in news:
            self._tell(one)
        if game.over:
            for bot in self._bots.values():
                bot.finish()  # what one does wrong now changes nothing
            return None
        seat = next((at for at in game.waits_for if at in self._bots), -1)
        if seat < 0 or not game.match:
            return None
        began = time.perf_counter()
        decision = self._ask(seat, view(game.match, seat, game.sequence, _clock(game)))
        self._metrics.bot_seconds.observe(time.perf_counter() - began)
        return Answer(seat, game.opened, decision)

    def _ask(self, seat: int, seen: View) -> tuple[str, dict[str, Any]]:
        with self._at(seat):
            if seen.phase == Phase.DECLARE:
                return "answered", {"seat": seat, "declares": self._bots[seat].declare(seen)}
            return "played", {"seat": seat, "card": str(self._bots[seat].play(seen))}

    def _tell(self, one: Happened) -> None:
        for seat, bot in self._bots.items():
            told = one.by_seat[seat] if one.by_seat else one.public
            if isinstance(told, Event):
                bot.tell((told,))

    @contextlib.contextmanager
    def _at(self, seat: int) -> Iterator[None]:
        """Say whose fault a fault is."""
        try:
            yield
        except BotFaultError as fault:
            if not self._closed:  # else it was ended by us
                self._faults[seat] = fault
            raise _SeatFaultError(seat, fault) from None


class _SeatFaultError(Exception):
    def __init__(self, seat: int, fault: BotFaultError) -> None:
        super().__init__(seat)
        self.seat = seat
        self.fault = fault


def _blame(work: Callable[[Any, Game], Answer | None], given: Any, game: Game) -> Answer | None:
    """Do `work`; a bot's fault becomes the answer that forfeits the match."""
    try:
        return work(given, game)
    except _SeatFaultError as error:
        fault = error.fault
        return Answer(error.seat, game.opened, forfeit(error.seat, fault.cause, fault.detail))


def _clock(game: Game) -> float | None:
    return game.per_decision / 1e6 if game.per_decision else None


def patience(game: Game) -> float:
    """Return the seconds that a bot may take for one decision."""
    return _clock(game) or CEILING_SECONDS
