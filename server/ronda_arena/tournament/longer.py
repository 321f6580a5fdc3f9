"""A tournament that is to have more blocks than it was begun with, and where that is refused.

Where pairings are known from the start, blocks are numbered with every pairing once, then every
pairing again: the schedule of more blocks begins with that of fewer, deal by deal. So whoever goes
on has what they would have had if they had asked for all of it at once. Where something was
decided, or told, that rests on the number of blocks, there is no going on.
"""

from __future__ import annotations

import msgspec

from ronda_arena.tournament.spec import Plan, SpecError


def longer(plan: Plan, blocks: int, *, stopped: bool, over: bool) -> Plan:
    """Return the plan with so many blocks a pairing, or raise `SpecError`, which says why not.

    `stopped` says whether its stop rule has decided, `over` whether nothing is left to be played.
    """
    why = _why_not(plan, blocks, stopped=stopped, over=over)
    if why:
        raise SpecError(f"it cannot go on to {blocks} blocks: {why}", "blocks")
    return msgspec.structs.replace(plan, blocks=blocks)


def _why_not(plan: Plan, blocks: int, *, stopped: bool, over: bool) -> str:
    if blocks < plan.blocks:
        return f"it was begun with {plan.blocks}, and what is begun is not made shorter"
    if plan.format in ("swiss", "knockout"):
        return f"the rounds of a {plan.format} follow from the blocks of the rounds before"
    if plan.stop.sequential is not None:
        return (
            "a sequential test looks at shares of the number of blocks that it was begun with;"
            " with another number its chance of error would not be what it promises"
        )
    if stopped:
        return "its stop rule has decided, and what is decided stands"
    if over and not plan.seeded:
        return (
            "it is over, so its records tell the secret of the deals, and whoever reads them"
            " knows those that would come"
        )
    return ""
