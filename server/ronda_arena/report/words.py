"""How a number is written: rounded, signed, and never without its interval.

Plain ASCII, for terminals too; the page sets a real minus sign.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from ronda_arena.statistics.estimate import DIGITS, Estimate
from ronda_core.match import Cause

TOO_FEW: Final = "too few blocks"
"""In the place of a number that would have no interval."""

Form = Callable[[float], str]

CAUSES: Final = {
    Cause.TIME: "out of time",
    Cause.CRASH: "crash",
    Cause.ILLEGAL: "illegal play",
    Cause.PROTOCOL: "broken protocol",
    Cause.NO_SHOW: "no show",
    Cause.RESIGNED: "resigned",
}
"""What ended a game by a bot's own fault, in the order in which it is told."""

_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def points(number: float) -> str:
    """Return points with their sign."""
    return _signed(number, 2)


def elo(number: float) -> str:
    """Return points of Elo with their sign."""
    return _signed(number, 0)


_DIGITS: Final[dict[Form, int]] = {points: 2, elo: 0}


def share(number: float) -> str:
    """Return a share as per cent."""
    return f"{100 * number:.1f} %"


def los(number: float | None) -> str:
    """Return a likelihood of superiority, which is never told as sure; empty where unknown."""
    if number is None:
        return ""
    if number > 0.9995:
        return "> 99.9 %"
    return "< 0.1 %" if number < 0.0005 else share(number)


def variance(number: float) -> str:
    """Return a variance: three digits that count."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def count(number: int) -> str:
    """Return a count with its thousands apart."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """Return a count with what was counted."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def record(won: int, drawn: int, lost: int) -> str:
    """Return how many games were won, drawn and lost."""
    return f"{count(won)}-{count(drawn)}-{count(lost)}"


def seconds(number: float) -> str:
    """Return a time as a person says it."""
    if not number:
        return "0 s"
    if number >= 99.5:
        minutes, rest = divmod(round(number), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
    scale, unit = next((one for one in _UNITS if number >= one[0] * 0.9995), _UNITS[-1])
    return f"{number / scale:.3g} {unit}"


def cause(name: str) -> str:
    """Return what a cause is called."""
    return CAUSES[Cause(name)]


def value(estimate: Estimate, form: Form) -> str:
    """Return the value, or that there is not enough to say."""
    if estimate.value is None or not estimate.known:
        return TOO_FEW
    return _exact(estimate, form)(estimate.value)


def interval(estimate: Estimate, form: Form) -> str:
    """Return the interval; empty where there is not enough to say."""
    if estimate.low is None or estimate.high is None or not estimate.known:
        return ""
    exact = _exact(estimate, form)
    return f"{exact(estimate.low)} to {exact(estimate.high)}"


def told(estimate: Estimate, form: Form) -> str:
    """Return the value with its interval and of how many blocks it is made."""
    blocks = counted(estimate.blocks, "block")
    if not estimate.known:
        return f"{TOO_FEW} ({estimate.blocks})"
    return f"{value(estimate, form)} (95 %: {interval(estimate, form)}, {blocks})"


def _exact(estimate: Estimate, form: Form) -> Form:
    """Return a form with as many digits as the end of an interval nearest to zero needs.

    Whether an interval leaves zero out is what is looked for: rounding must not hide it.
    """
    if form not in _DIGITS or estimate.low is None or estimate.high is None:
        return form
    digits = _DIGITS[form]
    near = round(min(abs(estimate.low), abs(estimate.high)), DIGITS)
    while near and not round(near, digits):
        digits += 1
    return partial(_signed, digits=digits)


def _signed(number: float, digits: int) -> str:
    rounded = round(number, digits) + 0.0  # and no -0.00
    return f"{rounded:+,.{digits}f}" if rounded else f"{rounded:.{digits}f}"
