"""Ronda for learners: a PettingZoo environment, and the way back from it to a bot.

It needs the extra `gym`, and nothing else imports it. What a seat observes is `encode` of its
`ronda_core.view.View` and of nothing else, so that what has been learnt here can play as a bot.
"""

from __future__ import annotations

try:
    from ronda_arena.gym.environment import ILLEGAL_REWARD, env, raw_env
    from ronda_arena.gym.observation import (
        DECLARE,
        LAYOUT,
        SILENT,
        SIZE,
        UNITS,
        Observation,
        actions,
        declares,
        decode,
        encode,
        text,
    )
    from ronda_arena.gym.one_seat import OneSeat, against
except ModuleNotFoundError as error:
    if error.name not in ("gymnasium", "numpy", "pettingzoo"):
        raise
    raise ModuleNotFoundError(
        f"ronda_arena.gym needs the extra gym ({error.name} is missing): pip install 'ronda[gym]'",
        name=error.name,
    ) from error

__all__ = [
    "DECLARE",
    "ILLEGAL_REWARD",
    "LAYOUT",
    "SILENT",
    "SIZE",
    "UNITS",
    "Observation",
    "OneSeat",
    "actions",
    "against",
    "declares",
    "decode",
    "encode",
    "env",
    "raw_env",
    "text",
]
