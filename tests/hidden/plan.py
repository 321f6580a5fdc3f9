"""What a run asks of the service, beside the play itself: a function of a seed.

A plan never looks at a card. What it asks for by chance ("a card that this seat does not hold") is
resolved when it is asked, so that both twins are asked the same as far as a viewer can know.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tests.hidden.obs import Setup
from tests.referee.naive_rules import PRESETS

from ronda.v1 import match_pb2

GROUPS: Final = [
    (rules, players) for rules, preset in PRESETS.items() for players in preset.players
]
"""Every preset at every number of players."""

STRANGER: Final = -1
OWNER: Final = -2
TURN: Final = -3
"""Whoever is to play."""

_PROBES: Final = {
    "unheld": 6,
    "early": 4,
    "stale": 3,
    "bad_card": 1,
    "answer_again": 4,
    "false_declaration": 5,
    "retry": 3,
    "reuse": 1,
    "foreign_token": 1,
    "get": 3,
    "list_matches": 3,
    "record": 2,
    "commitments": 1,
    "bots": 1,
    "watch": 6,
    "leave": 1,
    "pause": 3,
    "scrape": 3,
    "wait": 2,
    "ready_again": 1,
    "rematch_early": 1,
    "agree": 1,
    "cancel": 1,
    "join_late": 1,
    "with_invitation": 1,
}
"""What is asked in between, and how often; a method of `probes` each."""


class Probe(NamedTuple):
    """Something asked in between: what, by whom, and a number that decides the rest."""

    kind: str
    who: int
    chance: int


@dataclass(frozen=True)
class Plan:
    """One run."""

    seed: str
    setup: Setup
    dealer: int
    steps: int
    """Decisions of persons until it ends."""
    seats: tuple[str, ...]
    """open, invited, or a bot's name."""
    contributors: frozenset[int] = frozenset()
    """Seats that give entropy."""
    clock: float = 0.0
    visibility: match_pb2.Visibility.ValueType = match_pb2.VISIBILITY_PUBLIC
    neighbour: bool = False
    """Another match is in the lists."""
    ending: str = "none"
    prober: int = 0
    """The one seat that tries false declarations."""
    sets: bool = False
    """Several seats are dealt sets."""
    willing: float = 0.7
    """How often a set is declared."""
    slow: bool = False
    """Somebody reads nothing until the end, and then all at once."""
    restart: int = -1
    """The step before which the server is started again; -1: never."""
    dealt_by_server: bool = False
    """The decks are the server's own: no twin, but the scan sees real deals."""
    probing: float = 1.0

    @property
    def persons(self) -> tuple[int, ...]:
        """Seats whose decisions are scripted."""
        return tuple(at for at, kind in enumerate(self.seats) if kind in ("open", "invited"))

    @property
    def bots(self) -> frozenset[int]:
        """Seats of bots."""
        return frozenset(range(self.setup.players)) - set(self.persons)

    def rng(self, *purpose: object) -> random.Random:
        """Return a generator of its own for each purpose."""
        return random.Random("/".join(map(str, (self.seed, *purpose))))

    def probes(self, step: int) -> list[Probe]:
        """Return what is asked before a step."""
        rng = self.rng("probes", step)
        if rng.random() >= self.probing:
            return []
        count = rng.choices((0, 1, 2, 3), (40, 30, 20, 10))[0]
        kinds = rng.choices(list(_PROBES), list(_PROBES.values()), k=count)
        return [Probe(kind, self._who(kind, rng), rng.getrandbits(32)) for kind in kinds]

    def _who(self, kind: str, rng: random.Random) -> int:
        if kind == "false_declaration":
            return self.prober
        if kind in ("unheld", "stale") and rng.random() < 0.7:
            return TURN
        anyone = [*self.persons, STRANGER, OWNER]
        return rng.choice(anyone if kind in _FOR_ANYONE else self.persons)


_FOR_ANYONE: Final = frozenset({"get", "list_matches", "record", "commitments", "bots", "watch"})


def plan(seed: str, rules: str, players: int) -> Plan:
    """Return a run with a person in every seat."""
    rng = random.Random(f"{seed}/plan")
    clock = 60.0 if rng.random() < 0.5 else 0.0
    endings = {"none": 55, "resign": 12, "agree": 8, "rematch": 12, "timeout": 8 if clock else 0}
    return Plan(
        seed=seed,
        setup=_setup(rng, rules, players),
        dealer=rng.randrange(players),
        steps=_steps(rng, rules, players),
        seats=tuple(rng.choices(("open", "invited"), (80, 20), k=players)),
        contributors=frozenset(seat for seat in range(players) if rng.random() < 0.15),
        clock=clock,
        visibility=rng.choices(_VISIBILITIES, (84, 8, 8))[0],
        neighbour=rng.random() < 0.5,
        ending=rng.choices(list(endings), list(endings.values()))[0],
        prober=rng.randrange(players),
        slow=rng.random() < 0.15,
        restart=rng.randrange(12) if rng.random() < 0.12 else -1,
    )


def plan_of_sets(seed: str, rules: str, players: int) -> Plan:
    """Return a short run in which several seats are dealt sets, and have declared them."""
    made = plan(seed, rules, players)
    answers = players if PRESETS[rules].sets == "declared" else 0
    steps = answers + made.rng("sets").randrange(3)
    return replace(made, sets=True, willing=0.9, steps=steps, restart=-1)


def plan_of_answers(seed: str, rules: str, players: int) -> Plan:
    """Return a short run that stops when some have answered, and some have not."""
    made = plan(seed, rules, players)
    steps = made.rng("answers").randrange(1, players)
    return replace(made, sets=True, willing=0.5, steps=steps, ending="none", restart=-1)


def plan_with_bots(seed: str, rules: str, players: int, bots: tuple[str, ...]) -> Plan:
    """Return a run with at least one bot and at least one person."""
    rng = random.Random(f"{seed}/plan")
    seats = ["open"] * players
    for seat in rng.sample(range(players), rng.randrange(1, players)):
        seats[seat] = rng.choice(bots)
    return Plan(
        seed=seed,
        setup=_setup(rng, rules, players),
        dealer=rng.randrange(players),
        steps=_steps(rng, rules, players) // 2,
        seats=tuple(seats),
        prober=next(at for at, kind in enumerate(seats) if kind == "open"),
        ending=rng.choice(("none", "none", "resign")),
        probing=0.5,
        restart=rng.randrange(8) if rng.random() < 0.2 else -1,
    )


_VISIBILITIES: Final = (
    match_pb2.VISIBILITY_PUBLIC,
    match_pb2.VISIBILITY_UNLISTED,
    match_pb2.VISIBILITY_PRIVATE,
)


def _setup(rng: random.Random, rules: str, players: int) -> Setup:
    preset = PRESETS[rules]
    if not preset.single_hand and rng.random() < 0.2:
        return Setup(rules, players, 0, rng.randint(2, 4))
    return Setup(rules, players, rng.choice(preset.targets))


def _steps(rng: random.Random, rules: str, players: int) -> int:
    if rng.random() < 0.08:
        return rng.randint(40, 110)  # into a second or third hand
    if PRESETS[rules].sets == "declared" and rng.random() < 0.4:
        # Some have answered and some have not, or all have and little is played.
        batch = rng.randrange(36 // (3 * players) - 1 or 1)
        return 4 * players * batch + rng.randrange(players + 3)
    return rng.choice((0, rng.randint(0, 8), rng.randint(0, 36), rng.randint(0, 36)))
