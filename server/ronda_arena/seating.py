"""Who runs how: the level that each bot gets, and the seat made for it.

Nothing is ever run more weakly than asked without being told; what is rated is not run so at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from ronda_arena.clock import Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import Check, IsolationError, IsolationReport, Level, WorkerLostError
from ronda_arena.seat import Seat
from ronda_arena.trusted import TrustedSeat
from ronda_arena.worker.canaries import NAMES
from ronda_arena.worker.nursery import Cradle, Nursery
from ronda_arena.worker.seat import WorkerSeat
from ronda_arena.worker.wire import Ask, Say
from ronda_arena.worker.worker import Worker
from ronda_bots.api import SeatInfo
from ronda_bots.registry import BotInfo
from ronda_core.rules import Settings

_PROBE_SECONDS: Final = 10.0


class Seating(Protocol):
    """Makes the seats of matches."""

    @property
    def want(self) -> Level:
        """How bots are to be run."""

    @property
    def granted(self) -> Level:
        """How they are run, which may be less."""

    @property
    def report(self) -> IsolationReport:
        """What was found that this machine enforces."""

    def level(self, info: BotInfo) -> Level:
        """Return how a bot is run here; `IsolationError` where it may not be run at all."""

    def sit(
        self, info: BotInfo, seat: SeatInfo, seed: int, level: Level, clock: Clock | None = None
    ) -> Seat:
        """Make a bot for a seat of one match, run at `level`.

        `BotFaultError` where the bot cannot be made, `IsolationError` where not at this level.
        """


def seat_info(settings: Settings, seat: int, identities: Sequence[str]) -> SeatInfo:
    """Return what the bot of a seat is told when it is made."""
    return SeatInfo(
        seat,
        settings.side_of[seat],
        settings.players,
        settings.preset.name,
        settings.target,
        settings.length,
        tuple(identities),
    )


class InProcess:
    """Everybody in this process, as `trusted`: for one's own bots, and never rated."""

    want: Final = Level.TRUSTED
    granted: Final = Level.TRUSTED
    report: Final = IsolationReport(Level.TRUSTED, (), 0, "nobody has looked")

    def level(self, info: BotInfo) -> Level:
        """Return `trusted`."""
        if info.origin and info.origin.installation:
            raise IsolationError(
                f"{info.identity} is installed apart from ronda: it runs in a process of its own"
            )
        return Level.TRUSTED

    def sit(
        self,
        info: BotInfo,
        seat: SeatInfo,
        seed: int,
        level: Level,
        clock: Clock | None = None,  # noqa: ARG002 -- see below
    ) -> Seat:
        """Make a bot here; its clock is for its host to judge, who cannot stop it."""
        if level is not Level.TRUSTED:
            raise IsolationError(f"in this process nothing enforces {level.value}")
        return TrustedSeat(info, seat, seed)


class Isolated:
    """Bots in workers of their own, but for those that may run in this process."""

    def __init__(
        self,
        nursery: Nursery,
        *,
        want: Level = Level.SANDBOX,
        minimum: Level = Level.SANDBOX,
        trusted: Callable[[BotInfo], bool] = lambda _: False,
    ) -> None:
        """Run as `want`, or as weakly as `minimum` allows, whoever is not `trusted`.

        `IsolationError` if this machine does not even enforce `minimum`.
        """
        self.want = want
        self._nursery = nursery
        self._trusted = trusted
        self.report = probe(nursery)
        self.granted = min(want, self.report.level, key=lambda level: level.strength)
        if self.granted.weaker(minimum):
            raise IsolationError(
                f"this machine cannot enforce {minimum.value}: {self.report.problem}"
            )

    def level(self, info: BotInfo) -> Level:
        """Return how a bot is run."""
        if self._trusted(info):
            return Level.TRUSTED
        if info.origin is None:
            raise IsolationError(f"{info.identity} is no installed bot: it runs only as trusted")
        return self.granted

    def sit(
        self, info: BotInfo, seat: SeatInfo, seed: int, level: Level, clock: Clock | None = None
    ) -> Seat:
        """Make a bot, here or in a worker of its own; a clock is only held to there."""
        if self.granted.weaker(level):
            raise IsolationError(f"this machine does not enforce {level.value} any more")
        if level is Level.TRUSTED:
            return TrustedSeat(info, seat, seed)
        return WorkerSeat(info, seat, seed, self._nursery, level, clock)


_PROBING: Final = threading.Lock()


def probe(nursery: Nursery) -> IsolationReport:
    """Let canaries try in a worker what no bot may do here, and report what was held."""
    with _PROBING:
        nursery.start()
        if nursery.problem:
            return IsolationReport(Level.PROCESS, (), nursery.landlock_abi, nursery.problem)
        try:
            worker = Worker(nursery, Cradle(Level.SANDBOX))
            said, body = worker.ask(Ask.CANARIES, b"", _PROBE_SECONDS)
            worker.end()
        except BotFaultError as fault:
            problem = f"a sandboxed worker does not start here: {fault.detail}"
            return IsolationReport(Level.PROCESS, (), nursery.landlock_abi, problem)
        except WorkerLostError as lost:
            raise IsolationError("no worker can be started here") from lost
    assert said == Say.TEXT
    assert isinstance(body, bytes)
    told = msgspec.json.decode(body, type=list[tuple[str, bool, str]])
    checks = tuple(Check(*one) for one in told)
    free = [check.name for check in checks if not check.held]
    if free or tuple(check.name for check in checks) != NAMES:
        problem = f"a sandboxed worker could {', '.join(free)}"
        return IsolationReport(Level.PROCESS, checks, nursery.landlock_abi, problem)
    return IsolationReport(Level.SANDBOX, checks, nursery.landlock_abi)
