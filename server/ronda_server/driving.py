"""What makes the bots of this server decide: one driver for each match that waits for one.

A bot's time begins when it is asked, not while it waits for its turn to think; what comes too late
is first judged by its seat, which can measure, and else here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, Protocol

import structlog

from ronda_arena.isolation import IsolationError, WorkerLostError
from ronda_arena.seating import Seating
from ronda_bots.registry import BotNotFoundError, Registry
from ronda_core.match import Cause
from ronda_server.bot_logs import BotLogs
from ronda_server.bots import Answer, HostedBots, Threads, patience
from ronda_server.errors import ServiceError
from ronda_server.game import forfeit
from ronda_server.live import Live
from ronda_server.log import SqliteLog
from ronda_server.metrics import Metrics

_log = structlog.get_logger(__name__)

_RETRY_SECONDS: Final = 1.0
_MAKING_SECONDS: Final = 60.0
"""Time to make the bots of a match."""
_SLACK_SECONDS: Final = 1.0
"""Time that a bot in a worker is given beyond its own: its seat judges first, and says why."""
_QUEUE_MICROS: Final = 600_000_000
"""How long a bot may wait for its turn to think."""


class Hosting(Protocol):
    """What drivers need of whoever hosts the matches."""

    log: SqliteLog
    draining: bool
    registry: Registry
    """Those that can be seated."""

    def now(self) -> int:
        """Return the time in microseconds since 1970."""
        ...

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` beside the rest."""
        ...

    async def take_answer(self, live: Live, answer: Answer) -> None:
        """Take what a bot has decided."""
        ...

    def go_on(self, live: Live) -> None:
        """See what a match waits for."""
        ...


class Drivers:
    """The drivers of all matches."""

    def __init__(
        self,
        host: Hosting,
        seating: Seating,
        metrics: Metrics,
        logs: BotLogs,
        bot_delay: float,
    ) -> None:
        self._host = host
        self._seating = seating
        self._metrics = metrics
        self._logs = logs
        self._bot_delay = bot_delay
        self._threads = Threads()

    def look(self, live: Live) -> None:
        """Let the bots of a match decide if it waits for one, or be told how it ended."""
        if live.driver is None and not self._host.draining and self._wanted(live):
            live.driver = self._host.spawn(self._drive(live))

    def dismiss(self, live: Live) -> None:
        """End the bots of a match, if it has any; to be made anew if they are wanted again."""
        bots, live.bots = live.bots, None
        if bots:
            self._host.spawn(bots.end())

    def close(self) -> None:
        """Let nobody think any more."""
        self._threads.close()

    def _wanted(self, live: Live) -> bool:
        return HostedBots.wanted(live.game, live.bots)

    async def _drive(self, live: Live) -> None:
        """Ask bots until nothing waits for one; what they answer goes the way of all commands."""
        try:
            while self._wanted(live) and not self._host.draining:
                answer = await self._ask(live)
                if answer:
                    if self._bot_delay and not live.game.table:
                        self._grant(live, self._bot_delay + _SLACK_SECONDS)  # it has decided
                        await asyncio.sleep(self._bot_delay)  # for people to follow
                    await self._host.take_answer(live, answer)
        except (BotNotFoundError, IsolationError) as problem:
            # It was uninstalled while its match was open, or this machine does not shut it in as
            # the match says; when that is mended, a restart goes on.
            _log.error("a bot is gone", match=live.game.id, problem=type(problem).__name__)
        except WorkerLostError:
            # Nobody's fault but ours: the bots are made anew and live the match again.
            _log.warning("workers were lost", match=live.game.id)
            self._again(live)
        except ServiceError as problem:
            # The storage is away. What a bot has answered is lost: one that lives the match again
            # answers the same.
            _log.warning("bots wait", match=live.game.id, reason=problem.reason.value)
            self._again(live)
        except Exception as problem:  # noqa: BLE001 # a fault of ours is told and tried again
            self._metrics.errors.inc()
            _log.error("a driver failed", match=live.game.id, problem=type(problem).__name__)
            self._again(live)
        finally:
            live.driver = None
            if live.game.over:
                self.dismiss(live)

    def _again(self, live: Live) -> None:
        """Begin anew with new bots, in a moment: what is wrong may last."""
        self.dismiss(live)
        asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._host.go_on, live)

    async def _ask(self, live: Live) -> Answer | None:
        game = live.game
        limit = patience(game)
        live.granted = self._host.now() + _QUEUE_MICROS  # while it waits to be asked
        try:
            if live.bots is None:
                facts = await self._host.log.read(game.id)
                live.bots = HostedBots(
                    self._host.registry,
                    self._seating,
                    game,
                    self._threads,
                    self._metrics,
                    self._logs,
                )
                # It takes all its decisions again: a restart of ours is not to be its fault, and
                # no clock counts how it is made.
                seconds = _MAKING_SECONDS + limit * game.sequence
                answer = await live.bots.revive(
                    facts[: game.sequence], game, seconds, lambda: self._grant(live, seconds)
                )
                if answer:
                    return answer
                live.granted = self._host.now() + _QUEUE_MICROS
            if live.bots.in_workers:
                limit += _SLACK_SECONDS
            history = live.audience.history
            return await live.bots.next(history, live.game, limit, lambda: self._grant(live, limit))
        except TimeoutError:
            self.dismiss(live)  # it may never come back; a later one lives the match again
            late = next((at for at in game.waits_for if game.seats[at].hosted), -1)
            return None if late < 0 else Answer(late, game.opened, forfeit(late, Cause.TIME))

    def _grant(self, live: Live, seconds: float) -> None:
        """Let the bot that is asked have its time from now on."""
        live.granted = self._host.now() + int(seconds * 1e6)
        self._host.go_on(live)
