"""How one game of a block is played: from a task to its record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from ronda_arena.advice import about_fault
from ronda_arena.clock import Clock
from ronda_arena.customs import is_quick
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import IsolationError, Level, WorkerLostError
from ronda_arena.seating import InProcess, Isolated, Seating
from ronda_arena.table import Place, play_match
from ronda_arena.timed import TimedSeat, TimedSeating
from ronda_arena.tournament.codes import check
from ronda_arena.tournament.entrants import Entrant, seats
from ronda_arena.tournament.luck import deals, luck
from ronda_arena.tournament.results import Blame, Game
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.tasks import Broken, Contract, Played, Task, Thought
from ronda_arena.whereabouts import place_in
from ronda_arena.worker.nursery import Nursery
from ronda_bots.installed import OURS
from ronda_bots.registry import BotInfo, Registry
from ronda_core.fair import Dealer, Entry
from ronda_core.match import Cause, Fault
from ronda_core.record import Record, write

Play = Callable[[Task], Played]


class Dealt(NamedTuple):
    """What one game is dealt from, and who sits there."""

    place: Place
    master: bytes
    entries: tuple[Entry, ...]
    """The roster: every bot once, in order."""
    seats: tuple[str, ...]
    """Identities, by seat."""

    def __repr__(self) -> str:
        return f"<Dealt for {self.place.scope}>"


def dealt(contract: Contract, task: Task) -> Dealt:
    """Return what the game of a task is dealt from: its tournament's secret, or its block's own."""
    plan = contract.plan
    at_table = [plan.entrants[at] for at in task.entrants]
    seated = seats(at_table, task.rotation, plan.players)
    paired = plan.paired(task.entrants)
    if task.deal is None:
        place = Place(plan.id, task.block, task.rotation, paired)
        return Dealt(place, contract.master, _roster(plan.entrants), seated)
    place = Place(task.deal.id, 0, task.rotation, paired)
    return Dealt(place, task.deal.master, _entries(at_table), seated)


_MOST_KINDS: Final = 1000
"""Of faults: a bot chooses how the exceptions are called that it raises."""
_LONGEST: Final = 500
"""Characters of a place or of advice."""
WEAK: Final = "RONDA_ALLOW_WEAK_ISOLATION"


@contextmanager
def table(contract: Contract, registry: Registry) -> Iterator[Play]:
    """Yield what plays the games of a contract in this process, with bots in workers of its own.

    `BotNotFoundError` if a bot of the plan is not installed here in that version, with that code;
    `IsolationError` if this machine cannot run it as the plan wants.
    """
    plan = contract.plan
    bots = {identity: registry.find(identity) for identity in plan.installed}
    check(plan, bots)
    rules = plan.settings
    clock = Clock.parse(plan.clock) if plan.clock else None
    news = _News(bots)
    with seating(plan, tuple(bots.values())) as seated:

        def play(task: Task) -> Played:
            timed = TimedSeating(seated)
            began = time.perf_counter()
            faults: list[tuple[int, BotFaultError]] = []
            game = dealt(contract, task)
            try:
                record = play_match(
                    game_id(game.place),
                    rules,
                    [bots[name] for name in game.seats],
                    game.master,
                    now=_now,
                    place=game.place,
                    entries=game.entries,
                    seating=timed,
                    clock=clock,
                    rated=plan.rated,
                    on_fault=lambda seat, fault: faults.append((seat, fault)),
                )
            except WorkerLostError as lost:
                return Played(task, None, None, str(lost), seconds=time.perf_counter() - began)
            return Played(
                task,
                result(record, game, plan),
                write(sealed(record)),
                None,
                tuple(map(_thought, timed.seats)),
                time.perf_counter() - began,
                news.of(faults, game.seats, record.fault),
            )

        yield play


class _News:
    """Tells each kind of fault of each bot once."""

    def __init__(self, bots: Mapping[str, BotInfo]) -> None:
        self._bots = bots
        self._told: set[tuple[str, Cause, str]] = set()

    def of(
        self,
        faults: Iterable[tuple[int, BotFaultError]],
        seated: Sequence[str],
        forfeit: Fault | None,
    ) -> tuple[Broken, ...]:
        """Return what is new in the faults of a game."""
        found = []
        for seat, fault in faults:
            bot = seated[seat]
            kind = bot, fault.cause, fault.detail
            if kind in self._told or len(self._told) >= _MOST_KINDS:
                continue
            self._told.add(kind)
            place, advice = place_in(fault), about_fault(fault, self._bots[bot])
            forfeits = forfeit is not None and forfeit.seat == seat
            found.append(
                Broken(
                    seat,
                    *kind,
                    fault.seconds,
                    place[:_LONGEST],
                    advice[:_LONGEST],
                    forfeits=forfeits,
                )
            )
        return tuple(found)


@contextmanager
def seating(plan: Plan, bots: Sequence[BotInfo]) -> Iterator[Seating]:
    """Yield what seats the bots of a plan.

    `auto` keeps ronda's own in this process where nothing is rated, of those on a clock only the
    quick ones, and everybody else's in a sandbox, or on a machine that has none as processes. What
    is asked for by name is not done by less, and what is rated is always in a sandbox.
    """
    auto = plan.isolation == "auto"

    def ours(info: BotInfo) -> bool:
        here = info.bot_class is not None and info.distribution == OURS
        timely = plan.clock is None or is_quick(info)
        return auto and here and timely and not plan.rated

    if plan.rated and plan.isolation in ("trusted", "process"):
        raise IsolationError("what is rated runs in a sandbox: leave the isolation out")
    if plan.isolation == "trusted" or all(map(ours, bots)):
        yield InProcess()
        return
    want = Level.SANDBOX if auto else Level(plan.isolation)
    weak = not plan.rated and (auto or bool(os.environ.get(WEAK)))
    with Nursery() as nursery:
        yield Isolated(nursery, want=want, minimum=Level.PROCESS if weak else want, trusted=ours)


def game_id(place: Place) -> str:
    """Return the id of a game's match."""
    return f"{place.tournament}-{place.block}-{place.rotation}"


def sealed(record: Record) -> Record:
    """Return a record without its master: others of the block are still to be played."""
    assert record.fair is not None
    return replace(record, fair=replace(record.fair, master=None))


def result(record: Record, game: Dealt, plan: Plan) -> Game:
    """Return what statistics know of a game that is over."""
    fault, told = record.fault, None
    dealer = Dealer(game.master, game.place.scope, game.entries, plan.players)
    if plan.luck:
        told = luck(plan.rules, plan.players, deals(plan, dealer, record.hands))
    return Game(
        rotation=game.place.rotation,
        dealer=dealer.first_dealer(),
        hands=len(record.hands),
        scores=record.score,
        winner=record.winner,
        fault=None if fault is None else Blame(fault.seat, fault.cause),
        luck=told,
    )


def _entries(entrants: Iterable[Entrant]) -> tuple[Entry, ...]:
    """Return what the deals depend on: every bot once, in order."""
    return tuple(map(Entry, sorted({*chain(*(one.members for one in entrants))})))


@lru_cache(maxsize=4)  # of a tournament it is the same for every game
def _roster(entrants: tuple[Entrant, ...]) -> tuple[Entry, ...]:
    return _entries(entrants)


def _thought(seat: TimedSeat) -> Thought:
    return Thought(seat.identity, seat.decisions, seat.seconds, seat.longest)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
