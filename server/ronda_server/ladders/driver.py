"""The process that plays one hosted ladder: away from the server's loop, and killed at will.

It has the ladder's folder for itself, plays, and says what has changed. What it has said is on
disk, so whoever ends it, at whatever moment, loses time only. It ends with the server.
"""

from __future__ import annotations

import time
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from ronda_arena.discovery import discover
from ronda_arena.isolation import IsolationError
from ronda_arena.ladder import store
from ronda_arena.ladder.plan import LadderError
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.store import Folder
from ronda_arena.tournament.executors import Executor, ExecutorError
from ronda_arena.tournament.executors.chunks import fault_words
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.executors.processes import Processes
from ronda_arena.tournament.store import StoreError
from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import Registry
from ronda_server.claiming import patiently
from ronda_server.ladders.elsewhere import Elsewhere
from ronda_server.ladders.teller import Teller
from ronda_server.ladders.told import Orders
from ronda_server.tables.at_tables import longest

_PATIENCE: Final = 900.0
"""Seconds without a game that is over, after which something of ours hangs and the process ends."""


def drive(link: Connection, orders: Orders) -> None:
    """Play a ladder for ever, from wherever it stands."""
    teller = Teller(link)
    try:
        with patiently(lambda: store.claim(orders.folder)) as held:
            _play(held, teller, orders, link)
    except IsolationError as refused:
        teller.halt("isolation", str(refused))
    except ExecutorError as problem:
        teller.halt("workers", str(problem))
    except (StoreError, OSError) as problem:
        teller.halt("storage", getattr(problem, "strerror", None) or str(problem))
    except Exception as fault:  # noqa: BLE001 -- a fault of ours: named in the log, without its text
        teller.halt("workers", fault_words(fault))


def _play(held: Folder, teller: Teller, orders: Orders, link: Connection) -> None:
    kept = held.find()
    if kept is None or kept.plan != orders.plan:
        raise StoreError("the folder holds another ladder than it did")
    elsewhere = None
    if orders.remote:
        elsewhere = Elsewhere(link, teller.say, orders.plan, orders.absence)
    run = Run(
        kept,
        partial(_there, orders),
        wanted=orders.wanted,
        owners=orders.owners,
        tell=teller.step,
        told=teller.changed,
        guests=elsewhere,
        look_every=orders.look_every,
        patience=_PATIENCE + (longest(orders.plan.clock) if elsewhere else 0.0),
    )
    teller.open(run.ladder)
    if elsewhere:
        elsewhere.expect(run.ladder.bots)
        elsewhere.listen()
    rest = elsewhere.rest if elsewhere else time.sleep
    while True:
        try:
            run.play(partial(_place, orders, elsewhere))
        except LadderError as nobody:
            teller.wait(str(nobody))
        rest(orders.look_every)  # until it is looked again who is there


def _there(orders: Orders) -> Registry:
    """Return who is there: the one place that says so."""
    return discover(home=orders.home)


def _place(
    orders: Orders, elsewhere: Elsewhere | None, contract: Contract, registry: Registry
) -> Executor:
    """Return where games are played: the one place that says so."""
    place: Executor = (
        Here(contract, registry)
        if orders.workers == 1
        else Processes(contract, registry, orders.workers)
    )
    return elsewhere.place(place, contract, registry) if elsewhere else place
