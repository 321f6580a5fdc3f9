"""The ladder of a folder: the one that was begun there, or a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ronda_cli import wishes
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_arena.ladder.plan import LadderPlan
    from ronda_arena.ladder.store import Folder, Store
    from ronda_arena.tournament.spec import Isolation
    from ronda_bots.registry import Registry

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
        return folder.begin(_plan(wish, registry))
    if wish.given:
        asked = _plan(_filled_in(wish, found.plan), registry)
        try:
            begin.refuse_another(folder, found.plan, asked, [DECIDED[one] for one in wish.given])
        except begin.AnotherLadderError as problem:
            raise Failure(str(problem), ExitCode.USAGE) from None
    return found


def _filled_in(wish: Wish, begun: LadderPlan) -> Wish:
    """Return the wish with what was not written as it was decided."""
    if {*_TABLE}.isdisjoint(wish.given):
        wish = wish._replace(target=begun.target or None, hands=begun.length or None)
    known = {
        flag: getattr(begun, DECIDED[flag])
        for flag in ("rules", "players")
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
