"""The ladder of a folder: the one that was begun there, or a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ronda_cli import text, wishes
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ronda_arena.ladder.plan import LadderPlan
    from ronda_arena.ladder.store import Folder, Store
    from ronda_arena.tournament.spec import Isolation
    from ronda_bots.registry import Registry

_MOST_WAITED: Final = 4
"""Tables that are named where they do not end."""
DECIDED: Final = {
    "rules": "rules",
    "players": "players",
    "target": "target",
    "hands": "length",
    "clock": "clock",
    "isolation": "isolation",
    "rated": "rated",
    "name": "id",
    "anchors": "anchors",
}
"""Options that a ladder keeps for as long as it lives, and what its plan calls them."""
_TABLE: Final = ("rules", "players", "target", "hands")


class Wish(NamedTuple):
    """What the flags ask for."""

    rules: str
    players: int
    target: int | None
    hands: int | None
    clock: str | None
    isolation: Isolation
    rated: bool
    name: str
    anchors: tuple[str, ...]
    given: frozenset[str]
    """Of `DECIDED`: those that were written. A ladder that goes on is asked for nothing else."""


def taken_up(folder: Folder, wish: Wish, registry: Registry) -> Store:
    """Return the ladder of the folder, begun now or before; refuse another one in its place."""
    from ronda_arena.ladder import begin  # noqa: PLC0415 -- not for `--help`

    found = folder.find()
    if found is None:
        if wish.clock is None and wish.isolation != "trusted":
            raise Failure("--clock none is for --isolation trusted alone", ExitCode.USAGE)
        return folder.begin(_plan(wish, registry))
    if wish.given:
        asked = _plan(_filled_in(wish, found.plan), registry)
        try:
            begin.refuse_another(folder, found.plan, asked, [DECIDED[one] for one in wish.given])
        except begin.AnotherLadderError as problem:
            raise Failure(str(problem), ExitCode.USAGE) from None
    return found


def clock_of(written: str | None, isolation: str) -> str | None:
    """Return the clock of a new ladder: nobody is to hold up the others for ever.

    Bots of this process cannot be held to one.
    """
    from ronda_arena.customs import CLOCK  # noqa: PLC0415 -- not for `--help`

    if written is None:
        return None if isolation == "trusted" else str(CLOCK)
    return None if written == "none" else written


def stalled(plan: LadderPlan, games: Sequence[Sequence[str]], seconds: float) -> str:
    """Say whose games have not ended for so long, and what to do about the bots in them."""
    waited = f"no game has ended for {seconds:g} s"
    if not games:
        return f"{waited}; nothing is being played"
    met = dict.fromkeys(" with ".join(map(text.name, bots)) for bots in games)
    others = f", and {len(met) - _MOST_WAITED} more" if len(met) > _MOST_WAITED else ""
    told = f"{waited}. Not over are games of {', '.join([*met][:_MOST_WAITED])}{others}"
    if plan.isolation != "trusted" and plan.clock is not None:
        return f"{told}. Every bot has a clock, so this is no bot's doing"
    without = " and without --isolation=trusted" if plan.isolation == "trusted" else ""
    return f"{told}. Where one of them hangs, begin another ladder with a --clock{without}"


def _filled_in(wish: Wish, begun: LadderPlan) -> Wish:
    """Return the wish with what was not written as it was decided."""
    if {*_TABLE}.isdisjoint(wish.given):
        wish = wish._replace(target=begun.target or None, hands=begun.length or None)
    known = {
        flag: getattr(begun, DECIDED[flag])
        for flag in ("rules", "players", "clock", "isolation")
        if flag not in wish.given
    }
    return wish._replace(**known)


def _plan(wish: Wish, registry: Registry) -> LadderPlan:
    from ronda_arena.ladder.plan import made  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.local import find_bots  # noqa: PLC0415 -- not for `--help`

    return made(
        wish.name,
        wishes.wished(wish.rules, wish.players, wish.target, wish.hands),
        clock=wish.clock,
        isolation=wish.isolation,
        rated=wish.rated,
        anchors=wish.anchors,
        identity=lambda name: find_bots([name], registry)[0].identity,
    )
