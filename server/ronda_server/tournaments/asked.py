"""What a request asks for as a tournament, and what no tournament may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec
from google.protobuf.duration_pb2 import Duration

from ronda.v1 import tournament_pb2
from ronda_arena.clock import Clock
from ronda_arena.tournament import spec as specs
from ronda_arena.tournament.entrants import rotations, sides
from ronda_arena.tournament.formats.choice import format_of
from ronda_arena.tournament.formats.knockout import REPLAYS
from ronda_arena.tournament.spec import Plan, SpecError
from ronda_bots.registry import BotInfo, BotNotFoundError
from ronda_server.errors import Reason, ServiceError
from ronda_server.hosting import Host
from ronda_server.remote_bot import RemoteBot
from ronda_server.tables.told import holds
from ronda_server.tournaments.messages import format_name

_MOST_ENTRANTS: Final = 200
_LONGEST: Final = 257
"""Characters of an entrant: two identities of 128, and what joins them."""
DEFAULT_CLOCK: Final = "10"
"""Where remote bots play and nothing is said: seconds a decision."""
LONGEST_SECONDS: Final = 60.0
"""For a decision where remote bots play: one that is silent holds up whoever waits for that."""
_REASONS: Final = {
    "rules": Reason.BAD_RULES,
    "players": Reason.BAD_SEAT_COUNT,
    "target": Reason.BAD_TARGET,
    "length": Reason.BAD_LENGTH,
}
_FIELDS: Final = {"bots": "entrants", "hands": "length", "seed": "rated"}
"""What a request calls otherwise than a spec."""


def plan_of(asked: tournament_pb2.TournamentSpec, host: Host, isolation: specs.Isolation) -> Plan:
    """Return what a request comes to, but for its id; `ServiceError` where nothing can be."""
    remote: dict[str, RemoteBot] = {}

    @cache
    def identity(name: str) -> str:
        found = _bot(name, host)
        if isinstance(found, RemoteBot):
            remote[found.identity] = found
        return found.identity

    try:
        wanted = specs.of(_values(asked, isolation))
        plan = specs.plan(wanted, identity, lambda: "")
    except SpecError as problem:
        raise _refused(problem.field) from None
    return _with_remote(plan, remote) if remote else plan


def _with_remote(plan: Plan, remote: Mapping[str, RemoteBot]) -> Plan:
    """Return a plan in which remote bots play: never without a clock."""
    if not all(
        bot.plays(plan.settings) and bot.max_seats >= _seats_of(identity, plan)
        for identity, bot in remote.items()
    ):
        raise ServiceError(Reason.BOT_DECLINES, field="spec.entrants")
    clock = plan.clock or DEFAULT_CLOCK
    if not holds(clock) or Clock.parse(clock).per_decision > LONGEST_SECONDS:
        raise _refused("clock")
    owners = tuple((identity, bot.account) for identity, bot in sorted(remote.items()))
    return msgspec.structs.replace(plan, clock=clock, remote=tuple(sorted(remote)), owners=owners)


def _refused(field: str) -> ServiceError:
    field = _FIELDS.get(field, field)
    reason = _REASONS.get(field, Reason.BAD_TOURNAMENT)
    return ServiceError(reason, field=f"spec.{field}" if field else "spec")


def _seats_of(identity: str, plan: Plan) -> int:
    """Return how many seats a bot may have at one table: it may be in more than one entrant."""
    each = plan.players // sides(plan.players)
    has = sorted(
        each * entrant.members.count(identity) // len(entrant.members) for entrant in plan.entrants
    )
    return sum(has[-sides(plan.players) :])


def _bot(name: str, host: Host) -> BotInfo | RemoteBot:
    """Return a bot that is installed here, or a remote one that is connected."""
    bot = host.remotes.find(name)  # no installed one has its name
    if bot is not None:
        return bot
    try:
        return host.registry.find(name)
    except BotNotFoundError:
        raise ServiceError(Reason.BOT_NOT_FOUND, field="spec.entrants") from None


def _values(asked: tournament_pb2.TournamentSpec, isolation: specs.Isolation) -> dict[str, Any]:
    """Return the words of a spec; what was left out is left out there too."""
    entrants = list(asked.entrants)
    if len(entrants) > _MOST_ENTRANTS or any(len(name) > _LONGEST for name in entrants):
        raise _refused("entrants")
    values: dict[str, Any] = {
        "bots": entrants,
        "format": format_name(asked.format) or "",
        "rules": asked.rules,
        "players": asked.players,
        "hands": asked.length,
        "isolation": isolation,
        "rated": asked.rated,
        "pairings": [_names(pairing, entrants) for pairing in asked.pairings],
        "stop": _stop(asked.stop),
    }
    for name in ("name", "target", "blocks", "rounds", "challengers"):
        if given := getattr(asked, name):
            values[name] = given
    if asked.HasField("clock"):
        values["clock"] = _clock(asked.clock)
    return values


def _names(pairing: tournament_pb2.Pairing, entrants: list[str]) -> list[str]:
    if any(at >= len(entrants) for at in pairing.entrants):
        raise _refused("pairings")
    return [entrants[at] for at in pairing.entrants]


def _stop(asked: tournament_pb2.StopRule) -> dict[str, Any]:
    given: dict[str, Any] = _given(precision=asked.precision, sequential=asked.sequential)
    if asked.HasField("sprt"):
        sprt = asked.sprt
        elo = {"elo0": sprt.elo0, "elo1": sprt.elo1}
        given["sprt"] = {**_given(alpha=sprt.alpha, beta=sprt.beta), **elo}
        _given(**elo)
    return given


def _given(**numbers: float) -> dict[str, float]:
    """Return those that are not 0, which stands for what was left out."""
    if not all(map(math.isfinite, numbers.values())):
        raise _refused("stop")
    return {name: number for name, number in numbers.items() if number}


def _clock(asked: tournament_pb2.TournamentClock) -> str:
    return f"{_seconds(asked.per_decision):.6f}+{_seconds(asked.bank):.6f}"


def _seconds(asked: Duration) -> float:
    if asked.seconds < 0 or not 0 <= asked.nanos < 1_000_000_000:
        raise _refused("clock")
    return asked.seconds + asked.nanos / 1e9


def most_games(plan: Plan) -> int:
    """Return to how many games a tournament may come, at the most."""
    blocks = format_of(plan).planned
    if blocks is None:  # knockout: each encounter sends somebody home
        blocks = (len(plan.entrants) - 1) * (plan.blocks + REPLAYS)
    return blocks * rotations(plan.entrants, plan.players)
