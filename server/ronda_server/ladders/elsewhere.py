"""The remote bots of a ladder, as its driver has them: who is there, and games at tables."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Final

from ronda_arena.ladder.guests import Guest
from ronda_arena.ladder.plan import LadderPlan
from ronda_arena.ladder.standings import QUARANTINE_FAULTS, Bot
from ronda_arena.tournament.executors import Executor
from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import BotInfo, BotNotFoundError, Registry
from ronda_server.ladders.attendance import Attendance
from ronda_server.ladders.told import Attendee, Attending, CallOff
from ronda_server.tables.at_tables import AtTables
from ronda_server.tables.told import Hosted, Wanted

_GAMES: Final = QUARANTINE_FAULTS - 1
"""Of one bot at once: who leaves in the middle of them loses them, and is not in quarantine."""


class Elsewhere:
    """Of one driver, which hears its server on a thread of its own."""

    def __init__(
        self,
        link: Connection,
        send: Callable[[Wanted | CallOff], None],
        plan: LadderPlan,
        absence: float,
    ) -> None:
        self._link = link
        self._send = send
        self._plan = plan
        self._attendance = Attendance(absence, time.monotonic)
        self._lock = threading.Lock()
        self._place: AtTables | None = None
        self._news = threading.Event()

    def listen(self) -> None:
        """Begin to hear what the server says."""
        threading.Thread(target=self._listen, name="server", daemon=True).start()

    def expect(self, bots: Sequence[Bot]) -> None:
        """Wait for remote bots that were there when the one before was ended."""
        self._attendance.expect(
            {bot.identity: bot.owner for bot in bots if bot.remote and bot.present}
        )

    def place(self, others: Executor, contract: Contract, registry: Registry) -> AtTables:
        """Return what plays from now on, which goes on with what is hosted."""

        def ask(one: Wanted) -> None:
            self._send(one._replace(bots=_known(registry, one)))

        place = AtTables(others, contract, ask)
        with self._lock:
            if self._place:
                place.go_on(self._place)
            self._place = place
        return place

    def rest(self, seconds: float) -> None:
        """Wait so long, or until somebody comes or goes."""
        if self._news.wait(seconds):
            self._news.clear()

    def there(self) -> Mapping[str, Guest]:
        """Return the bots that are there."""
        return self._attendance.there()

    def renew(self, contract: Contract) -> None:
        """Ask for games under another contract from now on."""
        if self._place:
            self._place.renew(contract)

    def leave(self) -> None:
        """Let what is hosted be for whoever plays next."""
        if self._place:
            self._place.leave()

    def void(self, blocks: Sequence[str]) -> None:
        """Call off what is still hosted of blocks."""
        if self._place:
            self._place.forget(blocks)
        self._send(CallOff(tuple(blocks)))

    def _listen(self) -> None:
        """Take in what the server says; when it is gone, so is this process."""
        with contextlib.suppress(EOFError, OSError):  # the server is gone
            while True:
                if self._link.poll(self._attendance.wait()):
                    self._hear(self._link.recv())
                else:
                    self._attendance.look()
                    self._wake()

    def _hear(self, told: Hosted | Attending) -> None:
        if isinstance(told, Hosted):
            with self._lock:
                if self._place:
                    self._place.hear(told)
            return
        self._attendance.come({name: self._guest(bot) for name, bot in told.bots.items()})
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        with self._lock:
            if self._place:
                self._place.wake()

    def _guest(self, bot: Attendee) -> Guest:
        """Return in how many blocks a bot can be at once: in one at least, game by game."""
        plan = self._plan
        seats = plan.players // plan.seats * plan.games
        return Guest(bot.account, max(1, min(bot.max_seats // seats, _GAMES // plan.games)))


def _known(registry: Registry, one: Wanted) -> tuple[BotInfo, ...]:
    """Return the other bots of a game, but for those that are gone by now."""
    found = []
    for identity in sorted(set(one.dealt.seats) - one.remote):
        with contextlib.suppress(BotNotFoundError):  # then the server says so, or has it still
            found.append(registry.find(identity))
    return tuple(found)
