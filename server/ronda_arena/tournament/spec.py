"""What a tournament is: who plays whom, by which rules, how long and under which conditions.

A spec is what a person writes, as flags or TOML; a plan is what comes of it, with every bot known
by name and version and every default spelled out. A plan holds no secret: it is written down
beside the results, and a run that is to go on must have the same one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from math import ceil, log2
from typing import Annotated, Any, Final, Literal

import msgspec

from ronda_arena.clock import Clock
from ronda_arena.tournament import given, thresholds
from ronda_arena.tournament.entrants import TEAM, Entrant, readings, rotations, sides
from ronda_core.cards import PACK
from ronda_core.rules import RulesError, Settings, settings

Format = Literal["round-robin", "gauntlet", "swiss", "knockout", "list"]
Isolation = Literal["auto", "trusted", "process", "sandbox"]

SHOWN_CODE: Final = 16
"""Letters of the digest of a bot's code that are told: 64 bits."""
_MOST_BOTS: Final = 200
_Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
_Count = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]


class SpecError(ValueError):
    """A tournament that cannot be played as it is described; says what to change."""

    def __init__(self, problem: str, field: str = "bots") -> None:
        super().__init__(problem)
        self.field = field
        """What has to be changed, as a spec calls it."""


class Sprt(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Two hypotheses of how many points of Elo the first of two entrants is ahead."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    """The chance that the second is accepted where the first is true."""
    beta: float = 0.05
    """The chance that the first is accepted where the second is true."""


class Stop(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """When to stop before all blocks are played. None of these: play them all."""

    precision: Annotated[float, msgspec.Meta(gt=0, le=1000)] | None = None
    """Stop when every rating is known to within this many points: half of its interval."""
    sequential: float | None = None
    """Of two entrants: stop when one is shown to be stronger. The chance that of two equals one is
    called so, both ways together: 0.05 is usual."""
    sprt: Sprt | None = None
    """Of two entrants: stop when one of two hypotheses is accepted."""


class Spec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """What a person asks for."""

    bots: tuple[str, ...]
    """Names, or name@version; at four players also teams of two: ``careful+solver``."""
    format: Format = "round-robin"
    name: _Name | None = None
    """The first part of the ids of its games; None: `tournament` and what tells it from others."""
    rules: str = "playtash"
    players: Literal[2, 3, 4] = 2
    target: int | None = None
    hands: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Play so many hands a match instead of to a target; 0: a whole match."""
    blocks: _Count = 20
    """A pairing: of a round, in formats with rounds."""
    rounds: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Of Swiss; 0: as many as it takes to tell the first, log2 of the entrants, rounded up."""
    challengers: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Of a gauntlet: how many of the first meet all others, and not each other; None: one."""
    pairings: tuple[tuple[str, ...], ...] = ()
    """Of a list: who meets, in this order."""
    seed: int | None = None
    """Make it repeatable; then nothing of it is rated."""
    clock: str | None = None
    """As ``0.5+10``: seconds a decision and a bank a match."""
    isolation: Isolation = "auto"
    rated: bool = False
    owners: dict[str, str] = {}
    """Who owns bots, by their names or name@version; who is not named owns itself."""
    luck: bool = True
    """Play each deal with a reference bot too, to tell what was luck."""
    stop: Stop = Stop()

    def __repr__(self) -> str:
        return f"<Spec of {self.format}, {len(self.bots)} bots>"  # a seed is not to be read here


class Plan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What is played: a spec with everything decided."""

    id: str
    format: Format
    rules: str
    players: int
    target: int
    """0: none."""
    length: int
    """Hands a match; 0: to the target."""
    entrants: tuple[Entrant, ...]
    """In the order of the spec."""
    blocks: int
    rounds: int
    challengers: int
    pairings: tuple[tuple[int, ...], ...]
    """Of a list: places in `entrants`."""
    seeded: bool
    clock: str | None
    isolation: Isolation
    rated: bool
    luck: bool
    stop: Stop
    code: tuple[tuple[str, str], ...] = ()
    """The digests of the bots' code by identity, sorted; empty where nobody has looked."""
    owners: tuple[tuple[str, str], ...] = ()
    """Of those bots whose owner was named, by identity, sorted."""
    remote: tuple[str, ...] = ()
    """Identities of bots that play over a stream, at the tables of a server."""

    @property
    def digest(self) -> str:
        """Return the SHA-256 of what is played, in hex: for all to compare."""
        return sha256(msgspec.json.encode(self)).hexdigest()

    @property
    def settings(self) -> Settings:
        """Return what every match is played by."""
        return settings(self.rules, self.players, self.target or None, self.length)

    @property
    def roster(self) -> tuple[str, ...]:
        """Return the identities of all bots, each once, sorted: the context of the deals."""
        return tuple(sorted({member for entrant in self.entrants for member in entrant.members}))

    @property
    def alike(self) -> list[tuple[str, ...]]:
        """Return the bots that are the same code under several names, those of a code together."""
        by_code: dict[str, list[str]] = {}
        for identity, of in self.code:
            if of:
                by_code.setdefault(of, []).append(identity)
        return [tuple(same) for same in by_code.values() if len(same) > 1]

    @property
    def installed(self) -> tuple[str, ...]:
        """Return the identities of the bots that are run by who plays the games."""
        return tuple(identity for identity in self.roster if identity not in self.remote)

    @property
    def names(self) -> frozenset[str]:
        """Return what its bots are called, without their versions."""
        return frozenset(bot.partition("@")[0] for bot in self.roster)

    @property
    def walkover(self) -> float:
        """Return by how many points a game is lost by who does not play it.

        As if the others had reached the target, or where there is none, had taken every card.
        """
        rules = self.settings
        return float(rules.target or (len(PACK) - rules.fair_share) * max(1, rules.length))

    def games_of(self, entrants: Sequence[int]) -> int:
        """Return how many games a block of these entrants has."""
        return rotations([self.entrants[at] for at in entrants], self.players)

    def paired(self, entrants: Sequence[int]) -> bool:
        """Say whether every rotation of a block of these entrants is dealt the same decks.

        Not where a remote bot takes part, which could remember them.
        """
        members = {member for at in entrants for member in self.entrants[at].members}
        return members.isdisjoint(self.remote)

    @property
    def unit(self) -> str:
        """What margins are a number of points of."""
        return "hand" if not self.target else "game"

    @property
    def hands_a_game(self) -> int:
        """Hands by which margins are divided: where their number is fixed, it is told a hand."""
        return 1 if self.target else max(1, self.length)


def data(text: str) -> dict[str, Any]:
    """Return the plain values that TOML holds, or raise `SpecError`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"this is no TOML: {error}", "") from None


def of(values: dict[str, Any]) -> Spec:
    """Return the spec of plain values, or raise `SpecError`."""
    values = given.whole(values)
    if values.get("format") == "list" and not values.get("pairings"):
        raise SpecError(
            "the format list needs a file that names who meets whom:"
            ' pairings = [["a", "b"], ["c", "a"]]',
            "pairings",
        )
    try:
        return msgspec.convert(values, Spec)
    except msgspec.ValidationError as error:
        raise SpecError(given.problem(str(error), values), _place(str(error))) from None


def _place(problem: str) -> str:
    """Return the field that msgspec finds wrong, empty where it is none in particular."""
    found = re.search(r"\$\.(\w+)", problem)
    return found[1] if found else ""


def plan(spec: Spec, identity: Callable[[str], str], token: Callable[[], str]) -> Plan:
    """Return what `spec` comes to.

    `identity` finds the name@version that a name means, `token` makes the part of the id that
    tells two tournaments without a seed apart. Where there is a seed and no name, what is played
    tells them apart. `SpecError` for what cannot be played.
    """
    rules = _rules(spec)
    named = cache(partial(_entrant, players=spec.players, identity=identity))
    entrants = tuple(map(named, spec.bots))
    _check_once(entrants)
    _check_count(spec, len(entrants))
    if spec.rated and spec.seed is not None:
        raise SpecError("a seed makes the deals known: what is rated has none", "rated")
    if spec.rated and spec.isolation in ("trusted", "process"):
        raise SpecError("what is rated runs in a sandbox: leave the isolation out", "isolation")
    _check_stop(spec, len(entrants))
    if spec.clock is not None:
        try:
            Clock.parse(spec.clock)
        except ValueError as problem:
            raise SpecError(f"clock: {problem}", "clock") from None
    made = Plan(
        id=spec.name or "tournament",
        format=spec.format,
        rules=spec.rules,
        players=spec.players,
        target=rules.target,
        length=rules.length,
        entrants=entrants,
        blocks=spec.blocks,
        rounds=spec.rounds,
        challengers=spec.challengers or 1,
        pairings=_pairings(spec, entrants, named),
        seeded=spec.seed is not None,
        clock=spec.clock,
        isolation=spec.isolation,
        rated=spec.rated,
        luck=spec.luck,
        stop=spec.stop,
    )
    made = msgspec.structs.replace(made, owners=_owners(spec, made.roster))
    if spec.seed is None:
        return msgspec.structs.replace(made, id=f"{made.id}-{token()}")
    if spec.name is None:
        return msgspec.structs.replace(made, id=f"{made.id}-{_digest(made)}")
    return made


def _owners(spec: Spec, roster: Sequence[str]) -> tuple[tuple[str, str], ...]:
    named = {bot: {bot, bot.partition("@")[0]} for bot in roster}
    unknown = [name for name in spec.owners if not any(name in names for names in named.values())]
    if unknown:
        raise SpecError(f"owners: {unknown[0]} is none of the bots", "owners")
    found = [
        (bot, max(names & spec.owners.keys(), key=len, default="")) for bot, names in named.items()
    ]
    return tuple((bot, spec.owners[name]) for bot, name in found if name)


def _check_once(entrants: Sequence[Entrant]) -> None:
    """Refuse who is there twice: the seats of a team are of nobody's in particular."""
    known: dict[tuple[str, ...], str] = {}
    for entrant in entrants:
        bots = tuple(sorted(entrant.members))
        before = known.get(bots)
        if before is not None:
            again = "" if before == entrant.name else f", as {entrant.name} too"
            raise SpecError(f"every entrant takes part once, but {before} is there twice{again}")
        known[bots] = entrant.name


def _digest(plan: Plan) -> str:
    """Return a short name for who plays whom by which rules.

    No seed goes into it: an id is public. And nothing that says how long it is played, how it is
    run or what is measured: what has the same deals with more blocks or in a sandbox keeps them.
    """
    what = (plan.format, plan.rules, plan.players, plan.target, plan.length, plan.entrants)
    how = (plan.rounds, plan.challengers, plan.pairings)
    return sha256(msgspec.json.encode((what, how))).hexdigest()[:6]


def _rules(spec: Spec) -> Settings:
    try:
        return settings(spec.rules, spec.players, spec.target, spec.hands)
    except RulesError as error:
        raise SpecError(f"{error.field}: {error}", error.field) from None


def bots_of(text: str, players: int) -> tuple[str, ...]:
    """Return the bots that an entrant of a spec names; `SpecError` where that can be read twice."""
    found = readings(text)
    if len(found) > 1 and players == 4:
        raise SpecError(
            f"{text} can be read in two ways, as a team and as a version with a plus in it: name"
            f" both bots of a team with their versions, or one bot twice, {text}+{text}"
        )
    return found[0] if found else tuple(text.split(TEAM))


def _entrant(text: str, players: int, identity: Callable[[str], str]) -> Entrant:
    members = tuple(identity(name) for name in bots_of(text, players))
    if len(members) > 1 and players != 4:
        raise SpecError(f"{text} is a team: teams play at four seats")
    if len(members) > 2:
        raise SpecError(f"{text}: a team has two bots")
    return Entrant(members[:1] if len(set(members)) == 1 else members)


def _check_count(spec: Spec, count: int) -> None:
    table = sides(spec.players)
    if not table <= count <= _MOST_BOTS:
        raise SpecError(f"{spec.players} players need {table} to {_MOST_BOTS} entrants")
    challengers = spec.challengers or 1
    if spec.format == "gauntlet" and count - challengers < table - 1:
        problem = f"a gauntlet of {challengers} needs {table - 1} more to be met"
        raise SpecError(problem, "challengers")
    if spec.format == "knockout" and table == 3 and count % 2 == 0:
        raise SpecError("a knockout at three seats needs an odd number: each table sends two home")
    if (spec.format == "list") != bool(spec.pairings):
        raise SpecError("pairings belong to the format list, and it needs them", "pairings")
    if spec.rounds and spec.format != "swiss":
        problem = f"rounds belong to the format swiss, and this is {spec.format}"
        raise SpecError(problem, "rounds")
    if spec.challengers is not None and spec.format != "gauntlet":
        problem = f"challengers belong to the format gauntlet, and this is {spec.format}"
        raise SpecError(problem, "challengers")


def _check_stop(spec: Spec, count: int) -> None:
    alpha, sprt = spec.stop.sequential, spec.stop.sprt
    if alpha is None and sprt is None:
        return
    if count != 2 or spec.format != "round-robin":
        problem = "a sequential test is about two entrants: name two, or take a precision"
        raise SpecError(problem, "stop")
    if sum(rule is not None for rule in (alpha, sprt, spec.stop.precision)) > 1:
        problem = "a tournament has one stop rule: a precision, a sequential test or an SPRT"
        raise SpecError(problem, "stop")
    if sprt is not None:
        problem = thresholds.hypotheses(sprt.elo0, sprt.elo1, sprt.alpha, sprt.beta)
    else:
        problem = thresholds.error("sequential", alpha or 0.0)
    if problem:
        raise SpecError(problem, "stop")
    if alpha is None:
        return
    fewest = ceil(log2(2 / alpha))  # all for one of two equals come as rarely as that
    if spec.blocks < fewest:
        problem = f"a sequential test of {alpha:g} can decide nothing before {fewest} blocks"
        raise SpecError(problem, "blocks")


def _pairings(
    spec: Spec, entrants: Sequence[Entrant], named: Callable[[str], Entrant]
) -> tuple[tuple[int, ...], ...]:
    place = {name: at for at, one in enumerate(entrants) for name in (one.turned, one.name)}
    return tuple(_pairing(one, place, named, spec.players) for one in spec.pairings)


def _pairing(
    names: Sequence[str], place: Mapping[str, int], named: Callable[[str], Entrant], players: int
) -> tuple[int, ...]:
    table = sides(players)
    found = [named(name).name for name in names]
    unknown = [name for name in found if name not in place]
    if unknown:
        raise SpecError(f"pairings: {unknown[0]} is none of the bots", "pairings")
    meet = tuple(place[name] for name in found)
    if len(set(meet)) != table or len(meet) != table:
        problem = f"pairings: {table} different entrants meet at {players} seats"
        raise SpecError(problem, "pairings")
    return meet
