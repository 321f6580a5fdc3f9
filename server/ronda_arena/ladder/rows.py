"""How a ladder stands, as rows: what every form of the standings tells, and no more."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

from ronda_arena.ladder.ratings import NORMAL_95, Rating
from ronda_arena.ladder.residuals import EFFECT, THRESHOLD
from ronda_arena.ladder.standings import Bot, Ladder
from ronda_arena.tournament.spec import SHOWN_CODE

DIGITS: Final = 6
ANCHOR: Final = "anchor"
ACTIVE: Final = "active"
INACTIVE: Final = "inactive"
QUARANTINED: Final = "quarantined"
BOT_STATES: Final = (ANCHOR, ACTIVE, INACTIVE, QUARANTINED)


@dataclass(frozen=True, slots=True)
class Row:
    """How one bot stands."""

    bot: str
    owner: str
    rating: float
    low: float
    """The interval that holds 95 % of what is thought possible, as wide as the anchors of this
    ladder show that it has to be; of an anchor its rating."""
    high: float
    conservative: float
    """What it is worth almost surely: bots are ranked by it."""
    blocks: int
    games: int
    won: int
    drawn: int
    lost: int
    faults: dict[str, int]
    opponents: int
    """Owners that it has met."""
    state: str
    """`anchor`, `active`, `inactive` (its interval grows) or `quarantined`."""
    note: str
    """Why it does not play, as what is said of it; empty: it does, or it is gone."""
    provisional: bool
    """Too little is known to place it: it stands behind those that are placed."""
    last: int
    """When its last block was over: seconds since 1970, 0: never."""
    code: str = ""
    """The beginning of the digest of its code; empty: nobody knows."""
    changed: int = 0
    """How often that was another one, under the same version."""
    alike: tuple[str, ...] = ()
    """Bots that are the same code under other names: they never meet."""
    predecessor: str = ""
    """The version from which its rating started; empty: none."""
    remote: bool = False
    """It plays over a stream, at the tables of a server."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        data = asdict(self)
        for name in ("rating", "low", "high", "conservative"):
            data[name] = round(data[name], DIGITS)
        return data


@dataclass(frozen=True, slots=True)
class Pair:
    """How one bot fared where another sat too, beyond what both ratings say."""

    first: str
    second: str
    meetings: int
    margin_score: float
    """Standard errors that the first's margins are off."""
    wins_score: float

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        data = asdict(self)
        for name in ("margin_score", "wins_score"):
            data[name] = round(data[name], DIGITS)
        return data


def standings(ladder: Ladder) -> list[Row]:
    """Return a row for each bot: the placed ones first, by what they are worth almost surely."""
    return in_order(row(ladder, bot) for bot in ladder.bots)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows as they are ranked."""
    return sorted(rows, key=rank)


def rank(one: Row) -> tuple[bool, float, str]:
    """Return what rows are ordered by."""
    return one.provisional, -one.conservative, one.bot


def row(ladder: Ladder, bot: Bot) -> Row:
    """Return how one bot stands."""
    return Row(
        bot.identity,
        bot.owner,
        *told(ladder.shown(bot), ladder.misfit, pinned=bot.pinned),
        bot.blocks,
        bot.games,
        bot.won,
        bot.drawn,
        bot.lost,
        dict(sorted(bot.faults.items())),
        ladder.opponents(bot),
        _state(bot),
        _note(bot),
        ladder.provisional(bot),
        bot.last,
        bot.code[:SHOWN_CODE],
        bot.changed,
        tuple(one.identity for one in ladder.alike(bot)),
        bot.predecessor,
        bot.remote,
    )


class Told(NamedTuple):
    """A rating, as a row tells it."""

    rating: float
    low: float
    high: float
    conservative: float


def told(rating: Rating, misfit: float, *, pinned: bool) -> Told:
    """Return a rating with its interval, which nothing pinned has.

    The anchors show by how much it has to be wider than its sigma says: `misfit`.
    """
    mean = rating.mean
    if pinned:
        return Told(mean, mean, mean, mean)
    known = Rating(mean, math.hypot(rating.sigma, misfit))
    half = NORMAL_95 * known.sigma
    return Told(mean, mean - half, mean + half, known.conservative)


def rated(one: Row, rating: Rating, misfit: float) -> Row:
    """Return a row with another rating; by time and by what anchors show nothing else changes."""
    return replace(one, **told(rating, misfit, pinned=False)._asdict())


def pairs(ladder: Ladder) -> list[Pair]:
    """Return a row for each ordered pair that met, the oddest first."""
    found = []
    for one, two in ladder.residuals.met():
        for first, second in ((one, two), (two, one)):
            excess = ladder.residuals.of(first, second)
            names = ladder.bots[first].identity, ladder.bots[second].identity
            found.append(Pair(*names, excess.meetings, *excess.scores))
    return sorted(found, key=_oddness)


def _oddness(pair: Pair) -> tuple[float, str, str]:
    return -max(abs(pair.margin_score), abs(pair.wins_score)), pair.first, pair.second


def reviews(ladder: Ladder) -> list[dict[str, Any]]:
    """Return who should be looked at, as JSON data; it is nobody's guilt."""
    found = []
    for one in ladder.reviews():
        data = one._asdict()
        for name in ("first_score", "second_score", "effect"):
            data[name] = round(data[name], DIGITS)
        found.append(data)
    return found


def _state(bot: Bot) -> str:
    if not bot.present:
        return QUARANTINED if bot.rests == QUARANTINED else INACTIVE
    if bot.quarantined:
        return QUARANTINED
    return ANCHOR if bot.pinned else ACTIVE


def _note(bot: Bot) -> str:
    """Return why a bot does not play; where bots are kept, that comes before the ladder."""
    if bot.rests:
        return bot.why_rests
    return f"is in quarantine on the ladder: it {bot.quarantined}" if bot.quarantined else ""


REVIEW_RULE: Final = (
    f"both at least {THRESHOLD:g} standard errors and {EFFECT:g} standard deviations a meeting from"
    " what their ratings say: for somebody to look at, not a verdict"
)
