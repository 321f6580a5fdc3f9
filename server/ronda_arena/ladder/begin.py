"""How a ladder is taken up: begun where there is none, else gone on with, and never another one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from ronda_arena.ladder.plan import Anchor, LadderError, LadderPlan
from ronda_arena.ladder.store import Folder, Store

_CALLED: Final[Mapping[str, str]] = {"length": "hands", "id": "name"}
"""What those who ask for it call fields of a plan."""
_TABLE: Final = ("rules", "players", "target", "length")


class AnotherLadderError(LadderError):
    """The folder holds another ladder than the one that is asked for."""


def kept(
    folder: Folder, plan: Callable[[LadderPlan | None], LadderPlan], given: Collection[str]
) -> Store:
    """Return the ladder of a folder, begun by this `plan` if there is none.

    `AnotherLadderError` where what of the plan was `given` is not that of the ladder that was
    begun, which `plan` is told.
    """
    found = folder.find()
    if found is None:
        return folder.begin(plan(None))
    if given:
        refuse_another(folder, found.plan, plan(found.plan), given)
    return found


def refuse_another(
    folder: Folder, begun: LadderPlan, asked: LadderPlan, fields: Collection[str]
) -> None:
    """Raise `AnotherLadderError` if what was begun differs in these fields."""
    differ = [
        field
        for field in asked.__struct_fields__
        if field in fields and getattr(begun, field) != getattr(asked, field)
    ]
    if not {*_TABLE}.isdisjoint(differ):  # what anchors are worth follows from those
        differ = [field for field in differ if field != "anchors"]
    if differ:
        changed = "; ".join(_changed(field, begun, asked) for field in differ)
        raise AnotherLadderError(
            f"another ladder was begun in {folder.path}: {changed}."
            " Take another folder, or go on with what it was begun with"
        )


def _changed(field: str, then: LadderPlan, now: LadderPlan) -> str:
    if field == "anchors":
        return f"anchors were {_listed(then.anchors)} and are now {_listed(now.anchors)}"
    before, after = (_said(getattr(one, field)) for one in (then, now))
    return f"{_CALLED.get(field, field)} was {before} and is now {after}"


def _listed(anchors: Sequence[Anchor]) -> str:
    return ",".join(f"{one.bot}={one.mean:g}" for one in anchors) or "none"


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None or value == 0 else str(value)
