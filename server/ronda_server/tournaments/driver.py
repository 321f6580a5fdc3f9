"""The process that plays one hosted tournament: away from the server's loop, and killed at will.

It has the tournament's folder for itself, plays what is left, and says how far it is. What it has
said to be over is on disk, so whoever ends it, at whatever moment, loses time only. It ends with
the server.
"""

from __future__ import annotations

import contextlib
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from ronda_arena.isolation import IsolationError
from ronda_arena.tournament import store
from ronda_arena.tournament.deliver import summary, write_report
from ronda_arena.tournament.executors import Executor, ExecutorError
from ronda_arena.tournament.executors.chunks import fault_words
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.run import Run, Standing
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.store import Store, StoreError
from ronda_bots.registry import BotNotFoundError
from ronda_server.claiming import patiently
from ronda_server.tables.at_tables import AtTables, longest
from ronda_server.tournaments.told import Halted, Orders, Over, Reported, Stood

_PATIENCE: Final = 900.0
"""Seconds without a game that is over, after which something of ours hangs and the process ends."""
_STAND_SECONDS: Final = 0.5
"""Between two words on how far it is."""
_REPORT_SECONDS: Final = 1.0
"""Between two reports, at least."""
_REPORT_PART: Final = 10
"""And so many times as long as the last one took to make."""


def drive(link: Connection, orders: Orders) -> None:
    """Play a tournament to its end, from wherever it stands."""
    try:
        link.send(Over(_play(link, orders)))
    except BotNotFoundError as missing:
        link.send(Halted("bot_missing", str(missing)))
    except IsolationError as refused:
        link.send(Halted("isolation", str(refused)))
    except ExecutorError as problem:
        link.send(Halted("workers", str(problem)))
    except (StoreError, OSError) as problem:
        link.send(Halted("storage", getattr(problem, "strerror", None) or str(problem)))
    except Exception as fault:  # noqa: BLE001 -- a fault of ours: named in the log, without its text
        link.send(Halted("workers", fault_words(fault)))


def _play(link: Connection, orders: Orders) -> str:
    with patiently(lambda: store.claim(orders.folder)) as held:
        kept = held.find() or held.begin(orders.contract)
        if (kept.plan, kept.contract.master) != (orders.contract.plan, orders.contract.master):
            raise StoreError("the folder holds another tournament")
        teller = _Teller(link, kept, orders.folder)
        run = teller.run
        teller.begin()
        if not run.ledger.over:
            with _executor(orders, link) as place:
                run.play(place)
        teller.report()
        return "stopped" if run.ledger.stopped else "finished"


def _executor(orders: Orders, link: Connection) -> Executor:
    contract, here = orders.contract, orders.workers == 1
    others: Executor = (
        Here(contract, orders.registry)
        if here
        else Processes(contract, orders.registry, orders.workers)
    )
    if not contract.plan.remote:
        return others
    place = AtTables(others, contract, link.send)
    threading.Thread(target=_listen, args=(link, place), daemon=True).start()
    return place


def _listen(link: Connection, place: AtTables) -> None:
    """Hand on what the server says; when it is gone, so is this process."""
    with contextlib.suppress(EOFError, OSError):  # the server is gone
        while True:
            place.hear(link.recv())


def _patience(plan: Plan) -> float:
    """Return the seconds within which some game ends."""
    return _PATIENCE + (longest(plan.clock) if plan.remote else 0.0)


class _Teller:
    """Says how far a run is, and writes down what it has come to, both at a bounded rate."""

    def __init__(self, link: Connection, kept: Store, folder: Path) -> None:
        self._link = link
        self._kept = kept
        self._folder = folder
        self._stood = 0.0
        self._next_report = 0.0
        self._blocks = -1
        self.run = Run(kept, tell=self._step, patience=_patience(kept.plan))

    def begin(self) -> None:
        """Say where it stands before the first game."""
        self._link.send(Stood(*self.run.standing[:5]))
        self.report()

    def report(self) -> None:
        """Write the report, and say that it is written."""
        began = time.monotonic()
        told = summary(self._kept, self.run)
        write_report(told, self._folder)
        now = time.monotonic()
        pause = max(_REPORT_SECONDS, _REPORT_PART * (now - began))
        self._next_report = now + pause if told.blocks else 0.0  # the first block is told at once
        self._blocks = told.blocks
        self._link.send(Stood(*self.run.standing[:5]))
        self._link.send(Reported(told.blocks))

    def _step(self, standing: Standing) -> None:
        now = time.monotonic()
        if standing.blocks > self._blocks and now >= self._next_report:
            self.report()
        elif now >= self._stood + _STAND_SECONDS:
            self._stood = now
            self._link.send(Stood(*standing[:5]))
