"""What the bots of a tournament are beyond their names: their code, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass

from ronda_arena.statistics.evidence import Evidence
from ronda_arena.tournament.spec import SHOWN_CODE, Plan


@dataclass(frozen=True, slots=True)
class HelpRow:
    """Games that a bot broke off and another one of the same owner won by that."""

    bot: str
    helped: str
    owner: str
    games: int


@dataclass(frozen=True, slots=True)
class CodeRow:
    """What a bot is by its code, as it was when the tournament began."""

    bot: str
    code: str
    """The beginning of the SHA-256 of its package or module; empty: nobody knows."""
    alike: tuple[str, ...]
    """The others that are the same code to the byte."""


def helped(evidence: Evidence, plan: Plan) -> tuple[HelpRow, ...]:
    """Return who broke off games in which another bot of its owner was ahead."""
    owners = dict(plan.owners)
    return tuple(
        HelpRow(bot, other, owners[bot], games)
        for (bot, other), games in sorted(evidence.helped.items())
        if games and bot in owners and owners[bot] == owners.get(other)
    )


def siblings(plan: Plan) -> dict[str, list[str]]:
    """Return the bots of each owner that has several of them."""
    by_owner: dict[str, list[str]] = {}
    for identity, owner in plan.owners:
        by_owner.setdefault(owner, []).append(identity)
    return {owner: bots for owner, bots in by_owner.items() if len(bots) > 1}


def codes(plan: Plan) -> tuple[CodeRow, ...]:
    """Return what each bot was when the tournament began."""
    group_of = {bot: group for group in plan.alike for bot in group}
    return tuple(
        CodeRow(bot, of[:SHOWN_CODE], tuple(one for one in group_of.get(bot, ()) if one != bot))
        for bot, of in plan.code
    )
