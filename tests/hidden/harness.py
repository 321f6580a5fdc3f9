"""One run of a plan through the real service, and the twin of one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from tests.hidden import in_thread, over_grpc, simulated, spies
from tests.hidden.callers import MAIN, REMATCH
from tests.hidden.course import Course
from tests.hidden.deals import Deal, Dealers, deck_of_sets
from tests.hidden.ears import Ears, listening
from tests.hidden.obs import Mirror, Playout, Step, random_deck
from tests.hidden.plan import Plan
from tests.hidden.service import Service
from tests.hidden.store import store
from tests.hidden.tape import Entry, Tape
from tests.hidden.twins import Fixed, Tally, another_deal, twin
from tests.referee.biased import biased_deck

from ronda_bots.registry import Registry


@dataclass(frozen=True)
class Script:
    """What one of two twins is dealt, and what its persons decide."""

    main: Deal | None
    rematch: Deal | None
    steps: tuple[Step, ...] | None = None
    """None: by chance, as it goes."""


@dataclass(frozen=True)
class Result:
    """What a run leaves."""

    plan: Plan
    tape: Tape
    mirrors: dict[str, Mirror]
    playout: Playout
    script: Script
    fixed: Fixed
    ids: dict[str, str]
    """Of matches, by what they are here."""
    secrets: dict[str, str]
    """Tokens, by whose they are."""
    problem: str
    """What the service did that the rules do not say, or nothing."""


Place = Callable[[Registry], AbstractAsyncContextManager[Service]]
"""Where a service runs."""


def base_script(plan: Plan) -> Script:
    """Return the deals of a run that nothing is compared with yet."""
    if plan.dealt_by_server:
        return Script(None, None)
    hands = 3 if plan.steps > 36 else 1
    return Script(_deal(plan, "main", hands), _deal(plan, "rematch", plan.ending == "rematch"))


def _deal(plan: Plan, match: str, hands: int) -> Deal:
    """Return decks of which most make hard hands; later hands are dealt without thought."""
    rng = plan.rng("decks", match)
    players = plan.setup.players
    decks = [_deck(plan, rng, players) for _ in range(hands)]
    return Deal(plan.dealer, tuple(decks), f"{plan.seed}/{match}")


def _deck(plan: Plan, rng: random.Random, players: int) -> tuple[str, ...]:
    if plan.sets:
        return deck_of_sets(rng, players, (plan.prober - plan.dealer - 1) % players)
    return tuple(biased_deck(rng, players)) if rng.random() < 0.7 else random_deck(rng, players)


def twin_script(
    base: Result, viewer: int | None, rng: random.Random, tally: Tally
) -> Script | None:
    """Return what a twin of `base` for `viewer` is dealt and does, or None if there is none."""
    other = twin(base.playout, base.mirrors[MAIN], viewer, rng, tally, base.fixed)
    if other is None:
        return None
    beyond = f"{base.plan.seed}/twin/{rng.random()}"
    return Script(
        Deal(other.dealer, other.decks, beyond),
        _twin_rematch(base, viewer, rng, beyond),
        _persons_steps(base, other.steps),
    )


def _twin_rematch(base: Result, viewer: int | None, rng: random.Random, beyond: str) -> Deal | None:
    dealt = base.script.rematch
    mirror = base.mirrors.get(REMATCH)
    if dealt is None or mirror is None or not mirror.decks:
        return dealt
    playout = Playout(mirror.setup, mirror.first_dealer, (mirror.decks[0],), ())
    other = another_deal(playout, viewer, rng) or playout
    return Deal(other.dealer, other.decks, beyond)


def _persons_steps(base: Result, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the decisions that are scripted: bots make their own."""
    return tuple(step for step in steps if step[0] == "late" or step[1] not in base.plan.bots)


async def perform(plan: Plan, script: Script, place: Place) -> Result:
    """Run a plan on a server of its own."""
    kept = store()
    deals = [_neighbours_deal(plan)] if plan.neighbour else []
    dealers = Dealers(kept.scopes, [*deals, script.main, script.rematch], plan.seed)
    with listening() as ears, dealers.dealing():
        return await _perform(plan, script, place, ears, dealers)


async def _perform(
    plan: Plan, script: Script, place: Place, ears: Ears, dealers: Dealers
) -> Result:
    problem = ""
    held: list[Course] = []

    def heard(seat: int, what: str, value: Any) -> None:
        course = held[0]
        known, cards = getattr(value, "sequence", 0), spies.cards_in(value)
        text = spies.plain(value).encode()
        entry = Entry(course.service.now(), what, text, "", MAIN, known, cards)
        course.tape.add(f"seat {seat}", entry)

    def decided(step: Step) -> None:
        held[0].decided.append(step)

    async with place(spies.spied_on(heard, decided)) as served:
        course = Course(plan, served, ears, dealers, script.steps)
        held.append(course)
        problem = await _problem(course.run)
    mirror = course.mirrors.get(MAIN) or Mirror(plan.setup, plan.dealer, lambda _: ())
    playout = Playout(plan.setup, mirror.first_dealer, tuple(mirror.decks), tuple(course.steps))
    return Result(
        plan=plan,
        tape=course.tape,
        mirrors=course.mirrors,
        playout=playout,
        script=Script(script.main, script.rematch, tuple(course.taken)),
        fixed=Fixed(plan.bots, course.holding),
        ids=course.ids,
        secrets=course.secrets(),
        problem=problem,
    )


async def _problem(work: Callable[[], Awaitable[None]]) -> str:
    try:
        await work()
    except Exception as problem:  # noqa: BLE001 # whatever it is, it is a finding
        return f"{type(problem).__name__}: {problem}"
    return ""


def in_simulated_time(plan: Plan, script: Script) -> Result:
    """Run a plan without sockets, in simulated time."""
    store()  # made on a loop of its own
    return simulated.run(perform(plan, script, in_thread.serve))


def on_loopback(plan: Plan, script: Script) -> Result:
    """Run a plan over real gRPC."""
    store()
    return asyncio.run(perform(plan, script, over_grpc.serve))


def _neighbours_deal(plan: Plan) -> Deal:
    rng = plan.rng("neighbour")
    deck = deck_of_sets(rng, 2, 0) if rng.random() < 0.7 else random_deck(rng, 2)
    return Deal(0, (deck,), f"{plan.seed}/neighbour")
