"""What a driver asks to be hosted, and what the server says came of it."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from ronda_arena.clock import Clock
from ronda_arena.tournament.play import Dealt, dealt, game_id
from ronda_arena.tournament.tasks import Contract, Task, Thought
from ronda_bots.registry import BotInfo
from ronda_core.rules import Settings

LEAST_SECONDS: Final = 0.1
"""For a decision of a remote bot."""


def holds(clock: str | None) -> bool:
    """Say whether remote bots can be held to a clock: it is one, and has no bank."""
    if clock is None:
        return False
    times = Clock.parse(clock)
    return not times.bank and times.per_decision >= LEAST_SECONDS


class Wanted(NamedTuple):
    """A game that is to be hosted. It says all that a match is made of, the secret among it."""

    match_id: str
    """The same whenever the same game is asked for again, so that its match is found."""
    dealt: Dealt
    remote: frozenset[str]
    """Identities of the bots at this table that play over streams."""
    settings: Settings
    per_decision: int
    """Microseconds; 0: no limit."""
    rated: bool
    bots: tuple[BotInfo, ...] = ()
    """The other bots at this table, where the server may not know them."""

    def __repr__(self) -> str:
        return f"<Wanted: {self.match_id}>"

    @property
    def seats_of(self) -> Counter[str]:
        """Count the seats of each remote bot."""
        return Counter(name for name in self.dealt.seats if name in self.remote)


class Hosted(NamedTuple):
    """What came of a game: a record, or why there is none by no fault of a bot."""

    match_id: str
    record: str | None
    """Its line of JSON, sealed."""
    lost: str | None = None
    thoughts: tuple[Thought, ...] = ()
    seconds: float = 0.0

    def __repr__(self) -> str:
        return f"<Hosted: {self.match_id}, {'over' if self.record else 'lost'}>"


def wanted(contract: Contract, task: Task) -> Wanted:
    """Return what has to be hosted for a task.

    One that was lost has a match of its own at the next attempt.
    """
    plan = contract.plan
    game = dealt(contract, task)
    match_id = game_id(game.place)
    if task.attempt:
        match_id = f"{match_id}-{task.attempt}"
    per_decision = Clock.parse(plan.clock).per_decision if plan.clock else 0.0
    return Wanted(
        match_id,
        game,
        frozenset(game.seats) & frozenset(plan.remote),
        plan.settings,
        round(per_decision * 1e6),
        plan.rated,
    )
