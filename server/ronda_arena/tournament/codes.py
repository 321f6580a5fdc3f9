"""The code that a tournament is played with: noted when it begins, and the same to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from ronda_arena.code import code
from ronda_arena.tournament.spec import SHOWN_CODE, Plan
from ronda_bots.registry import BotInfo, BotNotFoundError, Registry

_NONE: Final = "none that can be read"


class BotChangedError(BotNotFoundError):
    """A bot is not, under its name and version, what it was when a tournament began."""


def noted(plan: Plan, registry: Registry) -> Plan:
    """Return the plan with the code of all its bots but the remote ones."""
    found = {identity: code(registry.find(identity)) for identity in plan.installed}
    return msgspec.structs.replace(plan, code=tuple(sorted(found.items())))


def check(plan: Plan, bots: Mapping[str, BotInfo]) -> None:
    """Raise `BotChangedError` where a bot has other code than the plan says."""
    for identity, then in plan.code:
        now = code(bots[identity])
        if then and now != then:
            raise BotChangedError(
                f"{identity} is not what it was when {plan.id} began: the digest of its code was"
                f" {then[:SHOWN_CODE]}, and is now {now[:SHOWN_CODE] or _NONE}. Put that version"
                " back, or begin another tournament, with another version or in another folder"
            )
