"""What a ladder plays: decided when it begins, and the same for as long as it lives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ronda_arena.clock import Clock
from ronda_arena.ladder.ratings import PRIOR_MEAN
from ronda_arena.tournament.entrants import Entrant, rotations, sides
from ronda_arena.tournament.spec import Isolation, Plan, Stop
from ronda_core.claims import is_id
from ronda_core.rules import Settings, settings

MOST_BOTS: Final = 200
"""That play at the same time."""
LONGEST_LOOK: Final = 86_400.0
"""Seconds: once a day at least it is looked who is installed."""


class LadderError(Exception):
    """A ladder that cannot be played as it is asked for; says what to change."""


class Anchor(msgspec.Struct, frozen=True):
    """A bot whose rating never moves, so that the others' mean the same next year."""

    bot: str
    """`name@version`."""
    mean: float


class LadderPlan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What is played. It holds no secret."""

    id: str
    rules: str
    players: int
    target: int
    """0: none."""
    length: int
    """Hands a match; 0: to the target."""
    clock: str | None
    isolation: Isolation
    rated: bool
    anchors: tuple[Anchor, ...]

    @property
    def settings(self) -> Settings:
        """Return what every match is played by."""
        return settings(self.rules, self.players, self.target or None, self.length)

    @property
    def seats(self) -> int:
        """Return how many bots meet at a table: at four seats a bot has both of its side."""
        return sides(self.players)

    @property
    def games(self) -> int:
        """Return how many games a block has: one in each rotation."""
        return rotations([Entrant(("",))] * self.seats, self.players)

    def games_plan(self, roster: Sequence[str], remote: Sequence[str] = ()) -> Plan:
        """Return what those are told who play the games: a bot's place is that in `roster`.

        `remote` are those of them that play over a stream.
        """
        return Plan(
            id=self.id,
            format="list",
            rules=self.rules,
            players=self.players,
            target=self.target,
            length=self.length,
            entrants=tuple(Entrant((bot,)) for bot in roster),
            blocks=1,
            rounds=0,
            challengers=1,
            pairings=(),
            seeded=False,
            clock=self.clock,
            isolation=self.isolation,
            rated=self.rated,
            luck=False,
            stop=Stop(),
            remote=tuple(remote),
        )


class _Gaps(NamedTuple):
    """How far `greedy` and `careful` are ahead of `random`: on blocks of a hand, and of matches."""

    hand: tuple[float, float]
    match: tuple[float, float]


_GAPS: Final[Mapping[tuple[str, int], _Gaps]] = {
    ("playtash", 2): _Gaps((6.9, 14.8), (17.3, 36.4)),
    ("playtash", 4): _Gaps((10.3, 16.2), (25.8, 38.8)),
    ("cafe", 2): _Gaps((7.4, 15.4), (18.5, 41.3)),
    ("cafe", 3): _Gaps((8.2, 15.7), (22.9, 41.6)),
    ("cafe", 4): _Gaps((9.5, 14.8), (22.3, 34.3)),
    ("arabic", 2): _Gaps((5.0, 14.6), (5.0, 14.6)),
    ("pagat", 2): _Gaps((7.4, 15.4), (18.5, 41.3)),
    ("pagat", 3): _Gaps((8.2, 15.7), (22.9, 41.6)),
    ("pagat", 4): _Gaps((9.5, 14.8), (22.3, 34.3)),
}
"""As they were measured: see docs/ladder.md."""


def made(
    ladder_id: str,
    table: Settings,
    *,
    clock: str | None = None,
    isolation: Isolation = "auto",
    rated: bool = False,
    anchors: Sequence[str] = (),
    identity: Callable[[str], str] = str,
) -> LadderPlan:
    """Return the plan of a ladder; `LadderError` for what cannot be played.

    An anchor is a name, or a name and its rating: ``greedy`` or ``mine=31.5``. `identity` finds
    the name@version that a name means.
    """
    if not is_id(ladder_id):
        raise LadderError("name: letters, digits, - and _ are expected")
    if clock is not None:
        try:
            Clock.parse(clock)
        except ValueError as problem:
            raise LadderError(f"clock: {problem}") from None
    pinned = tuple(_anchor(one, table, identity) for one in anchors)
    if len({anchor.bot for anchor in pinned}) < len(pinned):
        raise LadderError("every anchor is named once")
    return LadderPlan(
        ladder_id,
        table.preset.name,
        table.players,
        table.target,
        table.length,
        clock,
        isolation,
        rated,
        pinned,
    )


def _anchor(text: str, table: Settings, identity: Callable[[str], str]) -> Anchor:
    name, given, mean = text.partition("=")
    if not given:
        found = anchor_means(table).get(name.partition("@")[0])
        if found is None:
            raise LadderError(f"anchor {name}: nobody has measured it; say its rating: {name}=25")
        return Anchor(identity(name), found)
    try:
        value = float(mean)
    except ValueError:
        value = math.nan
    if not -1000 < value < 1000:
        raise LadderError(f"anchor {name}: {mean} is no rating")
    return Anchor(identity(name), value)


def anchor_means(table: Settings) -> dict[str, float]:
    """Return the pinned ratings of ronda's own anchors: `greedy` stands where newcomers start.

    What luck leaves of a gap shrinks with the hands of a match: the gap grows with their root.
    """
    gaps = _GAPS[table.preset.name, table.players]
    if table.length:
        factor, (greedy, careful) = math.sqrt(table.length), gaps.hand
    elif table.target:
        factor, (greedy, careful) = math.sqrt(table.target / table.preset.targets[0]), gaps.match
    else:
        factor, (greedy, careful) = 1.0, gaps.hand
    means = {"random": 0.0, "greedy": greedy, "careful": careful}
    return {
        name: round(PRIOR_MEAN + factor * (mean - greedy), 2) + 0.0 for name, mean in means.items()
    }
