"""The command that plays a seeded tournament again, for a stranger who has ronda and the bots."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ronda_arena.tournament.spec import Plan


def command(plan: Plan, seed: int) -> str:
    """Return it; empty where no flags say who meets whom. It names the seed, so it is as secret."""
    if plan.format == "list":
        return ""
    return shlex.join(
        ("ronda", "tournament", "run", *_flags(plan), f"--seed={seed}", "--out=again")
    )


def _flags(plan: Plan) -> Iterator[str]:
    yield f"--bots={','.join(entrant.name for entrant in plan.entrants)}"
    yield f"--format={plan.format}"
    yield f"--rules={plan.rules}"
    yield f"--players={plan.players}"
    if plan.length:
        yield f"--hands={plan.length}"
    elif plan.target:
        yield f"--target={plan.target}"
    yield f"--blocks={plan.blocks}"
    if plan.rounds:
        yield f"--rounds={plan.rounds}"
    if plan.format == "gauntlet":
        yield f"--challengers={plan.challengers}"
    yield f"--name={plan.id}"
    if plan.clock is not None:
        yield f"--clock={plan.clock}"
    if plan.isolation != "auto":
        yield f"--isolation={plan.isolation}"
    if not plan.luck:
        yield "--no-luck"
    stop = plan.stop
    if stop.precision is not None:
        yield f"--precision={stop.precision!r}"
    if stop.sequential is not None:
        yield f"--sequential={stop.sequential!r}"
    if stop.sprt is not None:
        asked = stop.sprt
        yield f"--sprt={asked.elo0!r},{asked.elo1!r},{asked.alpha!r},{asked.beta!r}"
