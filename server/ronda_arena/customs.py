"""What a bot meets on a server, in one place, so that its author can meet it at home first."""

from __future__ import annotations

from typing import Final

from ronda_arena.clock import Clock
from ronda_bots.installed import OURS
from ronda_bots.registry import BotInfo

CLOCK: Final = Clock(per_decision=0.5, bank=10.0)
"""What a bot should be able to live with: a match may be made with more time, or less."""

OWN: Final = frozenset({"random", "greedy", "careful", "counter", "sampler", "solver"})
"""What ronda's own bots are called: nobody else's can be called so."""
_QUICK: Final = frozenset({"random", "greedy", "careful"})


def is_quick(info: BotInfo) -> bool:
    """Say whether a bot is one of ours that decides in microseconds: it needs no worker."""
    return info.bot_class is not None and info.distribution == OURS and info.name in _QUICK
