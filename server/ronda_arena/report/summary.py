"""What a tournament came to: every number that any form of the report tells, and no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from importlib.metadata import version
from itertools import count
from typing import Any, Final

import msgspec

from ronda_arena.report import again, comparison, who
from ronda_arena.report import sentences as words
from ronda_arena.report.order import found
from ronda_arena.report.verdict import Verdict
from ronda_arena.statistics import margins, pairs, positions
from ronda_arena.statistics.estimate import DIGITS, Estimate
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.tournament.formats.course import Course
from ronda_arena.tournament.results import Block
from ronda_arena.tournament.spec import Plan

THOUGHT_CLASSES: Final = tuple(
    round(digit * 10.0**power, 6) for power in range(-5, 2) for digit in (1.0, 2.0, 5.0)
)
"""Upper bounds of the classes of mean seconds a decision, 10 µs to 50 s; one more class is open."""

_STEPS: Final = 40
"""Looks at the margins on the way, at most, where there are few entrants."""


@dataclass(frozen=True, slots=True)
class RatingRow:
    """What one entrant has reached; the first row is the strongest, those not known are last."""

    entrant: str
    margin: Estimate
    """Points a hand or a game ahead of the mean of all entrants that have played: the linear model
    on margins."""
    elo: Estimate
    """The same on wins alone, on the scale of Elo: Bradley and Terry."""
    blocks: int
    games: int
    won: int
    """Alone; a draw of some of three is drawn for them, and lost for the other."""
    drawn: int
    lost: int
    faults: int
    """Games lost by a fault of its own, among those that it lost."""


@dataclass(frozen=True, slots=True)
class BotRow:
    """How strong one bot is by what its teams reached, if a team is the mean of its bots."""

    bot: str
    margin: Estimate
    elo: Estimate


@dataclass(frozen=True, slots=True)
class PairRow:
    """How the first of two entrants fared against the second, in all games that both played."""

    first: str
    second: str
    margin: Estimate
    """Points a hand or a game that the first made more than the second."""
    won: int
    """Games in which the first ended ahead of the second, whoever won."""
    drawn: int
    lost: int
    los: float | None = None
    """How likely it is by the margin that the first is the stronger; None where that is unknown."""


@dataclass(frozen=True, slots=True)
class PositionRow:
    """What a place at the table is worth."""

    position: int
    """0: the side that deals first; 1: the side that plays first; and so on in playing order."""
    margin: Estimate
    """Points a hand or a game ahead of the mean of the others, strength set aside."""
    share: Estimate
    """Of the games that this place won; a draw counts as parts."""


@dataclass(frozen=True, slots=True)
class LuckRow:
    """What the deals gave and took, and what was done about it.

    Variances of one game's margin, in squared points. None where nothing was measured.
    """

    games: int
    measured: int
    """Games of which the reference's score is known."""
    plain: float | None
    """Of games taken one by one."""
    rotated: float | None
    """Of a block's mean margin, times its games: what duplicate deals leave of it."""
    controlled: float | None
    """And with the reference's score on the same deals taken off."""
    taken: float
    """What was taken off every margin for each point of the reference's; 0: nothing, as where
    every rotation plays the same hands."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """How often a bot lost by its own fault, by cause."""

    bot: str
    games: int
    causes: dict[str, int]
    at_start: int = 0
    """Among these: it could not be made, and no card was dealt."""


@dataclass(frozen=True, slots=True)
class Step:
    """How the margins stood after so many blocks: for the picture of progress."""

    blocks: int
    margins: tuple[Estimate, ...]
    """By entrant, in the order of the plan."""


@dataclass(frozen=True, slots=True)
class ThoughtRow:
    """What one bot's decisions took: seconds. Timing, which no two runs share."""

    bot: str
    decisions: int
    mean: float
    longest: float
    counts: tuple[int, ...]
    """Of games by their mean seconds a decision, in the classes of `THOUGHT_CLASSES`."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What depends on the machine and the day: left out where runs are compared."""

    seconds: float
    """Of all games together, wherever they were played."""
    lost: int
    """Games that were begun and lost by no fault of a bot, and played again."""
    late: int
    """Games that were over after the decision, and count for nothing."""
    thoughts: tuple[ThoughtRow, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a tournament came to."""

    plan: dict[str, object]
    """What was played, as JSON data; no secret among it."""
    state: str
    """`finished`, `stopped` (by its stop rule) or `running`."""
    unit: str
    """`hand` or `game`: what margins are told a."""
    blocks: int
    """That count here: whole ones, in schedule order up to the end or the decision."""
    planned: int | None
    """None where it depends on results."""
    games: int
    ratings: tuple[RatingRow, ...]
    bots: tuple[BotRow, ...]
    """Where there are mixed teams, by strength; else empty."""
    pairs: tuple[PairRow, ...]
    positions: tuple[PositionRow, ...]
    luck: LuckRow
    faults: tuple[FaultRow, ...]
    verdict: Verdict | None
    progress: tuple[Step, ...]
    sentences: tuple[str, ...]
    """The same in words, what matters first."""
    placings: tuple[str, ...]
    """Of Swiss and knockout: entrants from the first to the last; else empty."""
    timing: Timing
    entrants: tuple[str, ...] = ()
    """Names in the order of the plan, which `progress` follows."""
    commitment: str | None = None
    """Of the master of all deals, in hex: made before the first game."""
    course: Course | None = None
    """Of Swiss and knockout: what the rounds came to."""
    ronda: str = ""
    """The version of ronda that counted."""
    helped: tuple[who.HelpRow, ...] = ()
    """Where one owner has several bots."""
    code: tuple[who.CodeRow, ...] = ()
    """By bot; empty where nobody has looked."""
    plan_digest: str = ""
    """The SHA-256 of the plan, in hex: told when it was begun, and again when blocks were added."""
    seed: int | None = field(default=None, repr=False)
    """Of a seeded run that is over: what all of its deals come from. None while it is played."""
    again: str = field(default="", repr=False)
    """The command that plays it again; empty where there is none."""


def gather(
    plan: Plan,
    blocks: Iterable[Block],
    *,
    verdict: Verdict | None,
    state: str,
    planned: int | None,
    placings: Sequence[int],
    timing: Timing,
    commitment: str | None = None,
    course: Course | None = None,
    seed: int | None = None,
) -> Summary:
    """Return what these blocks come to, read once and in the order of the schedule."""
    evidence = Evidence(plan.entrants, plan.players, plan.hands_a_game)
    progress: list[Step] = []
    looks = _looks(planned, len(plan.entrants))
    look = next(looks)
    for block in blocks:
        evidence.add(block)
        if evidence.blocks == look:
            look = next(looks)
            progress.append(_step(evidence, Strengths(evidence)))
    strengths = Strengths(evidence)
    if evidence.blocks and (not progress or progress[-1].blocks != evidence.blocks):
        progress.append(_step(evidence, strengths))
    ratings = _ratings(evidence, strengths)
    kinds, taken = strengths.kinds, strengths.taken
    meetings = pairs.meetings(evidence, kinds, taken)
    variances = margins.luck(kinds, taken, measured=evidence.measured > 0)
    luck = _luck(evidence, taken.points, variances)
    places = _positions(evidence, strengths)
    faults, helped = _faults(evidence), who.helped(evidence, plan)
    names = [entrant.name for entrant in plan.entrants]
    placed = tuple(names[at] for at in placings)
    playing = [names.index(row.entrant) for row in ratings if row.blocks]
    gauntlet = plan.format == "gauntlet"
    known = [names.index(row.entrant) for row in ratings if row.margin.known and not gauntlet]
    return Summary(
        plan=_plan(plan),
        state=state,
        unit=plan.unit,
        blocks=evidence.blocks,
        planned=planned,
        games=evidence.games,
        ratings=ratings,
        bots=_bots(evidence, strengths),
        pairs=_pairs(evidence, meetings),
        positions=places,
        luck=luck,
        faults=faults,
        verdict=verdict,
        progress=tuple(progress),
        sentences=words.sentences(
            words.Matter(
                plan=plan,
                blocks=evidence.blocks,
                planned=planned,
                state=state,
                verdict=verdict,
                comparisons=(
                    comparison.challenges(
                        names,
                        playing,
                        plan.challengers,
                        partial(pairs.margins, evidence, kinds, taken),
                    )
                    if gauntlet
                    else comparison.neighbours(names, playing, strengths)
                ),
                order=found(names, known, strengths),
                positions=places,
                luck=luck,
                faults=faults,
                placings=placed,
                course=course,
                ratings=ratings,
                helped=helped,
                left=None if variances is None else variances.left(evidence.blocks),
                unpaired=evidence.unpaired,
            )
        ),
        placings=placed,
        timing=timing,
        entrants=tuple(names),
        commitment=commitment,
        course=course,
        ronda=version("ronda"),
        helped=helped,
        code=who.codes(plan),
        plan_digest=plan.digest,
        seed=seed,
        again="" if seed is None else again.command(plan, seed),
    )


def to_json(summary: Summary) -> dict[str, object]:
    """Return a summary as JSON data; what no two runs share is under `timing`, and last."""
    data: dict[str, object] = _data(summary)
    data["timing"] = data.pop("timing")
    return data


def _looks(planned: int | None, entrants: int) -> Iterator[int]:
    """Yield after how many blocks to look: evenly to a known end, else ever more rarely."""
    steps = max(4, min(_STEPS, 1600 // entrants))
    if planned:
        yield from count(*[max(1, -(-planned // steps))] * 2)
    look = 1
    while True:
        yield look
        look = max(look + 1, look * 7 // 5)


def _step(evidence: Evidence, strengths: Strengths) -> Step:
    return Step(evidence.blocks, tuple(strengths.margins()))


def _ratings(evidence: Evidence, strengths: Strengths) -> tuple[RatingRow, ...]:
    rows = [
        RatingRow(
            entrant=entrant.name,
            margin=rating.margin,
            elo=rating.elo,
            blocks=score.blocks,
            games=score.games,
            won=score.won,
            drawn=score.drawn,
            lost=score.lost,
            faults=score.faults,
        )
        for entrant, rating, score in zip(
            evidence.entrants, strengths.ratings(), evidence.scores, strict=True
        )
    ]
    return tuple(sorted(rows, key=lambda row: _by_strength(row.margin, row.entrant, row.won)))


def _bots(evidence: Evidence, strengths: Strengths) -> tuple[BotRow, ...]:
    if all(len(entrant.members) == 1 for entrant in evidence.entrants):
        return ()
    rows = [BotRow(bot, *rating) for bot, rating in strengths.bots().items()]
    return tuple(sorted(rows, key=lambda row: _by_strength(row.margin, row.bot)))


def _by_strength(margin: Estimate, name: str, won: int = 0) -> tuple[bool, float, str]:
    """Return what to sort by: the strongest first; of whom too little is known last, by wins."""
    if margin.value is None or not margin.known:
        return True, -won, name
    return False, -round(margin.value, DIGITS), name


def _pairs(evidence: Evidence, met: dict[tuple[int, int], pairs.Meeting]) -> tuple[PairRow, ...]:
    rows = []
    for (first, second), (margin, los) in met.items():
        score = evidence.pairs[first, second]
        one, other = evidence.entrants[first].name, evidence.entrants[second].name
        rows.append(PairRow(one, other, margin, score.won, score.drawn, score.lost, los))
    return tuple(rows)


def _positions(evidence: Evidence, strengths: Strengths) -> tuple[PositionRow, ...]:
    if not evidence.blocks:
        return ()
    won = positions.shares(strengths.kinds, evidence.blocks)
    both = zip(strengths.places(), won, strict=True)
    return tuple(PositionRow(at, *told) for at, told in enumerate(both))


def _luck(evidence: Evidence, taken: float, told: margins.Luck | None) -> LuckRow:
    plain, rotated, controlled = told[:3] if told else (None, None, None)
    return LuckRow(evidence.games, evidence.measured, plain, rotated, controlled, taken)


def _faults(evidence: Evidence) -> tuple[FaultRow, ...]:
    return tuple(
        FaultRow(
            bot,
            evidence.bot_games[bot],
            {str(cause): times for cause, times in sorted(evidence.faults.get(bot, {}).items())},
            evidence.at_start[bot],
        )
        for bot in sorted(evidence.bot_games)
    )


def _plan(plan: Plan) -> dict[str, object]:
    data: dict[str, object] = msgspec.to_builtins(plan)
    data["entrants"] = [entrant.name for entrant in plan.entrants]
    return data


def _data(value: Any) -> Any:
    if isinstance(value, Estimate):
        return value.to_json()
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0  # and no -0.0
    if is_dataclass(value):
        return {one.name: _data(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {key: _data(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_data(one) for one in value]
    return value
