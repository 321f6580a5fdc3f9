"""How a ladder is taken up: begun where there is none, else gone on with, and never another one."""

from __future__ import annotations

from collections.abc import Callable

from ronda_arena.ladder.plan import LadderError, LadderPlan
from ronda_arena.ladder.store import Folder, Store


class AnotherLadderError(LadderError):
    """The folder holds another ladder than the one that is asked for."""


def kept(folder: Folder, plan: Callable[[], LadderPlan], *, given: bool) -> Store:
    """Return the ladder of a folder, begun by this `plan` if there is none.

    Where anything of the plan was `given`, `AnotherLadderError` if it is not that of the folder.
    """
    found = folder.find()
    if found is None:
        return folder.begin(plan())
    if not given:
        return found
    asked = plan()
    changed = [
        f"{field} was {getattr(found.plan, field)} and is now {getattr(asked, field)}"
        for field in asked.__struct_fields__
        if getattr(asked, field) != getattr(found.plan, field)
    ]
    if changed:
        raise AnotherLadderError(
            f"another ladder was begun in {folder.path}: {'; '.join(changed)}."
            " Take another folder, or go on with what it was begun with"
        )
    return found
