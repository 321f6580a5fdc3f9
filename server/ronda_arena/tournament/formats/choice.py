"""Which format a plan asks for."""

from __future__ import annotations

from ronda_arena.tournament.formats import Format
from ronda_arena.tournament.formats.fixed import Fixed
from ronda_arena.tournament.formats.knockout import Knockout
from ronda_arena.tournament.formats.swiss import Swiss
from ronda_arena.tournament.spec import Plan


def format_of(plan: Plan) -> Format:
    """Return the format that the plan names."""
    if plan.format == "swiss":
        return Swiss(plan)
    if plan.format == "knockout":
        return Knockout(plan)
    return Fixed(plan)
