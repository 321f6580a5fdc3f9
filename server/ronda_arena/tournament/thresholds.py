"""Which numbers a stop rule takes: beyond them no test is told in real numbers, or ever ends."""

from __future__ import annotations

from typing import Final

LEAST_ERROR: Final = 1e-9
"""The least chance of an error that can be asked for: no tail is known so far out as to ask for
less, and a test of it would hardly ever end."""
MOST_ERROR: Final = 0.5
"""Errors are below that: as often as a coin is wrong."""
LEAST_APART: Final = 0.01
"""Points of Elo between two hypotheses, at least: nearer ones take billions of blocks."""
MOST_ELO: Final = 600.0
"""Points of Elo that a hypothesis may say, either way."""


def error(rule: str, chance: float) -> str:
    """Return in words why no test errs so rarely, or so often; empty where one may."""
    if LEAST_ERROR <= chance < MOST_ERROR:
        return ""
    return (
        f"{rule}: a chance of an error is {LEAST_ERROR:g} at the least and below {MOST_ERROR:g},"
        f" as 0.05, not {chance:g}"
    )


def hypotheses(elo0: float, elo1: float, alpha: float, beta: float) -> str:
    """Return in words why no SPRT tells these two apart; empty where one does."""
    for elo in (elo0, elo1):
        if not -MOST_ELO <= elo <= MOST_ELO:
            return f"sprt: Elo is from {-MOST_ELO:g} to {MOST_ELO:g}, not {elo:g}"
    if not elo0 < elo1:
        return "sprt: elo0 is below elo1, as in 0,10"
    if elo1 - elo0 < LEAST_APART:
        return (
            f"sprt: elo1 is at least {LEAST_APART:g} above elo0, as in 0,10,"
            f" not {elo1 - elo0:.3g}: nothing nearer is told apart"
        )
    return error("sprt", alpha) or error("sprt", beta)
