"""What a ladder of the server is, as a file says it: the flags of `ronda ladder run` as keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import msgspec

from ronda_arena.customs import CLOCK
from ronda_arena.ladder.plan import LONGEST_LOOK, LadderError, LadderPlan, made
from ronda_arena.tournament.spec import Isolation, SpecError, data
from ronda_core.rules import RulesError, settings
from ronda_server.errors import ConfigError

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANCHORS: Final = ("random", "greedy", "careful")


class Asked(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One ladder. Where it goes on with what its folder holds, only `dir` is needed."""

    dir: str
    """Its folder, beside the file if it is not absolute."""
    name: str = "ladder"
    rules: str = "playtash"
    players: int = 2
    target: int | None = None
    hands: int = 0
    clock: str | None = None
    isolation: Isolation = "auto"
    rated: bool = False
    anchors: tuple[str, ...] = _ANCHORS
    bots: tuple[str, ...] = ()
    """Who plays beside the anchors; empty: all that are installed."""
    owners: dict[str, str] = {}
    """Whose bots are, by name; who is not in it owns itself."""
    look_every: Annotated[float, msgspec.Meta(ge=0.1, le=LONGEST_LOOK)] = 60.0
    """Seconds after which it is looked again who is installed."""
    remote: bool | None = None
    """Whether remote bots play too; left out: where they can be held to the clock."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1
    """Processes that play its games."""


_DECIDED: Final = {
    "name": "id",
    "rules": "rules",
    "players": "players",
    "target": "target",
    "hands": "length",
    "clock": "clock",
    "isolation": "isolation",
    "rated": "rated",
    "anchors": "anchors",
}
"""What a ladder keeps for as long as it lives, and what its plan calls that."""
_REMOTE_CLOCK: Final = "10"
"""Of a new ladder that takes remote bots: seconds a decision, and no bank."""


class Wanted(msgspec.Struct, frozen=True):
    """What a file asks for."""

    asked: Asked
    folder: Path
    given: frozenset[str]
    """What it says of what a ladder keeps, as its plan calls that."""

    def plan(self, identity: Callable[[str], str], begun: LadderPlan | None) -> LadderPlan:
        """Return what is to be played; `LadderError` for what cannot be.

        `identity` finds the name@version that a name means. What the file leaves out is as it was
        `begun`.
        """
        asked = self.asked if begun is None else self._filled_in(begun)
        if not _NAME.fullmatch(asked.name):
            raise LadderError("name: at most 64 letters, digits, `-` and `_`")
        try:
            table = settings(asked.rules, asked.players, asked.target, asked.hands)
        except RulesError as problem:
            raise LadderError(f"{problem.field}: {problem}") from None
        return made(
            asked.name,
            table,
            clock=asked.clock or _clock(asked),
            isolation=asked.isolation,
            rated=asked.rated,
            anchors=asked.anchors,
            identity=identity,
        )

    def _filled_in(self, begun: LadderPlan) -> Asked:
        table = {
            "rules": begun.rules,
            "players": begun.players,
            "target": begun.target or None,
            "hands": begun.length,
        }
        left_out = {key: told for key, told in table.items() if _DECIDED[key] not in self.given}
        return msgspec.structs.replace(self.asked, **left_out)


def _clock(asked: Asked) -> str | None:
    """Return the clock of a new ladder: nobody is to hold up the others for ever.

    Bots of this process cannot be held to one, and remote bots have no bank.
    """
    if asked.isolation == "trusted":
        return None
    return str(CLOCK) if asked.remote is False else _REMOTE_CLOCK


def read(file: Path) -> Wanted:
    """Return what a file asks for; `ConfigError` where it cannot be read."""
    try:
        values = data(file.read_text(encoding="utf-8"))
        asked = msgspec.convert(values, Asked)
    except OSError as problem:
        raise ConfigError(f"{file} cannot be read: {problem.strerror or problem}") from None
    except (SpecError, UnicodeDecodeError, msgspec.ValidationError) as problem:
        raise ConfigError(f"{file}: {problem}") from None
    if "\0" in asked.dir:
        raise ConfigError(f"{file}: dir: no folder's name has a zero character in it")
    return Wanted(
        asked,
        file.parent / asked.dir,
        frozenset(_DECIDED[key] for key in _DECIDED if key in values),
    )
