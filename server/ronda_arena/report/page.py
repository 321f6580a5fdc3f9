"""One page of HTML that holds all that it shows: for people, at any width, in light and dark."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from ronda_arena.report import canvas, names, plots, reading, winner, words
from ronda_arena.report.summary import FaultRow, LuckRow, PairRow, Summary
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.tournament.entrants import TEAM
from ronda_arena.tournament.spec import Stop

MINUS: Final = "\N{MINUS SIGN}"
MOST_CROSSED: Final = 40
"""Entrants in the cross table: more would be no table but a wall."""
MOST_ROWS: Final = 60
"""Rows of a table that is as tall as they are; one of more scrolls by itself, and says so."""
_STEPS: Final = 12
_SHADES: Final = 4
_LONGEST_SENTENCE: Final = 2000
_HYPHEN: Final = re.compile(r"(?<=\s)-(?=\d)")
"""Of a number below zero, where a minus sign belongs."""
_STATES: Final = {
    "finished": "Finished",
    "stopped": "Stopped by its stop rule",
    "running": "Not over yet: numbers will change",
}


class Played(msgspec.Struct, frozen=True):
    """What the page tells of a plan."""

    id: str = "tournament"
    format: str = ""
    rules: str = ""
    players: int = 0
    target: int = 0
    length: int = 0
    rounds: int = 0
    challengers: int = 1
    seeded: bool = False
    clock: str | None = None
    isolation: str = ""
    rated: bool = False
    stop: Stop = Stop()


class Drawn(NamedTuple):
    """A picture, for both widths."""

    narrow: Markup
    wide: Markup


class Cell(NamedTuple):
    """How the entrant of a row fared against that of a column."""

    margin: Estimate
    los: str
    shade: str


@dataclass(frozen=True, slots=True)
class Cross:
    """A table of who beat whom."""

    names: tuple[str, ...]
    heads: tuple[str, ...]
    ranks: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    left_out: int


def render(summary: Summary) -> str:
    """Return the page. The same summary gives the same bytes."""
    played = msgspec.convert(summary.plan, Played)
    style = _read("page.css")
    faulty = reading.faulty(summary)
    shown = reading.followed(summary)
    table = _cross(summary)
    return _template().render(
        summary=summary,
        played=played,
        state=_STATES.get(summary.state, summary.state),
        style=Markup(style),  # noqa: S704 -- a file of ours
        policy=_policy(style),
        parts=tuple(_parts(summary)),
        facts=tuple(_facts(summary, played)),
        encounters=tuple(winner.lines(summary.course, str)) if summary.course else (),
        cross=table,
        luck=tuple(_luck(summary.luck)),
        progressed=names.labels([summary.entrants[at] for at in shown], 20),
        steps=tuple(_steps(summary, shown)),
        looked_at=reading.looked_at(summary),
        faulty=faulty,
        slowest=reading.slowest(summary),
        faultless=len(summary.faults) - len(faulty),
        causes=_causes(faulty),
        plots={
            "ratings": _drawn(plots.ratings, summary),
            "pairs": _drawn(plots.pairs, summary) if table.left_out else None,
            "positions": _drawn(plots.positions, summary),
            "progress": _drawn(plots.progress, summary),
            "faults": _drawn(plots.faults, summary),
            "thoughts": _drawn(plots.thoughts, summary),
        },
        most_rows=MOST_ROWS,
        too_few=words.TOO_FEW,
        points=words.points,
        elo=words.elo,
        share=words.share,
    )


def _cross(summary: Summary) -> Cross:
    """Return the table of who beat whom, of the strongest."""
    everyone = tuple(row.entrant for row in summary.ratings)
    those = everyone[:MOST_CROSSED]
    met = reading.meetings(summary)
    within = [one.margin.value for key, one in met.items() if {*key} <= {*those}]
    most = max((abs(value) for value in within if value is not None), default=0.0)
    rows = tuple(
        (row, tuple(_cell(met.get((row, column)), most) for column in those)) for row in those
    )
    ranks = tuple(reading.rank(at, row.margin) for at, row in enumerate(summary.ratings))
    return Cross(those, names.labels(those, 12), ranks, rows, len(everyone) - len(those))


def _cell(row: PairRow | None, most: float) -> Cell | None:
    if row is None:
        return None
    lead = reading.sure_lead(row.margin)
    depth = min(_SHADES, 1 + int(_SHADES * abs(lead) / most)) if lead else 0
    return Cell(row.margin, words.los(row.los), f"{'w' if lead > 0 else 'l'}{depth}")


def _drawn(plot: Callable[[Summary, int], Markup | None], summary: Summary) -> Drawn | None:
    narrow, wide = plot(summary, canvas.NARROW), plot(summary, canvas.WIDE)
    return None if narrow is None or wide is None else Drawn(narrow, wide)


def _parts(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "played", "What was played"
    if summary.verdict:
        yield "verdict", "Verdict"
    if summary.placings:
        yield "placings", "Placings"
    yield "ratings", "Ratings"
    if summary.bots:
        yield "bots", "Bots of the teams"
    yield "pairs", "Who beat whom"
    yield "places", "Places at the table"
    yield "luck", "Luck"
    yield "progress", "Progress"
    yield "faults", "Faults"
    yield "timing", "Timing"
    yield "how", "How this page was made"


def _facts(summary: Summary, played: Played) -> Iterator[tuple[str, str]]:
    rounds = summary.course.rounds if summary.course else played.rounds
    more = f", {words.counted(rounds, 'round')}" if rounds else ""
    if played.format == "gauntlet":
        more = f", {words.counted(played.challengers, 'challenger')}"
    yield "Format", f"{played.format}{more}"
    yield "Rules", f"{played.rules}, {words.counted(played.players, 'player')}"
    target, length = played.target, played.length
    yield "A game", f"a match to {target} points" if target else words.counted(length, "hand")
    planned = "" if summary.planned is None else f" of {words.count(summary.planned)} planned"
    yield "Blocks", f"{words.count(summary.blocks)}{planned}"
    yield "Games", words.count(summary.games)
    yield "Clock", _clock(played.clock)
    yield "Isolation of bots", played.isolation
    yield "Stop rule", _stop(played, summary.unit)
    seeded = "from a seed: the run can be repeated" if played.seeded else "drawn by chance"
    if summary.seed is not None:
        seeded = f"from the seed {summary.seed}"
    yield "Deals", seeded
    yield "Rated", "yes" if played.rated else "no"


def _clock(clock: str | None) -> str:
    if clock is None:
        return "none"
    decision, _, bank = clock.partition("+")
    return f"{decision} s a decision" + (f" and a bank of {bank} s a match" if bank else "")


def _stop(played: Played, unit: str) -> str:
    asked = played.stop
    if asked.sprt is not None:
        errors = f"{words.share(asked.sprt.alpha)} and {words.share(asked.sprt.beta)}"
        return f"an SPRT, {asked.sprt.elo0:g} or {asked.sprt.elo1:g} Elo, errors {errors}"
    if asked.sequential is not None:
        return f"a sequential test, error {words.share(asked.sequential)}"
    if asked.precision is not None:
        within = f"{asked.precision:g}"
        noun = "point" if within == "1" else "points"
        return f"when every rating is known to ±{within} {noun} a {unit} or better"
    return "none: all blocks are played"


def _luck(luck: LuckRow) -> Iterator[tuple[str, str, str, str]]:
    """Yield what was done, the variance left, the part saved, and how many games that is worth."""
    told = [("as they are", luck.plain), ("same cards to every seat", luck.rotated)]
    if luck.taken:
        told.append((f"less {luck.taken:.2f} of what the reference scores", luck.controlled))
    for name, left in told:
        if left is None:
            yield name, "not measured", "", ""
        elif name == told[0][0] or not luck.plain or not left:
            yield name, words.variance(left), "", ""
        else:
            saved = _typeset(words.share(1 - left / luck.plain))
            yield name, words.variance(left), saved, f"{luck.plain / left:.1f} games"


def _steps(
    summary: Summary, shown: tuple[int, ...]
) -> Iterator[tuple[object, tuple[Estimate, ...]]]:
    for step in reading.thinned(summary.progress, _STEPS):
        yield step, tuple(step.margins[at] for at in shown)


def _causes(rows: Sequence[FaultRow]) -> list[str]:
    return [cause.value for cause in words.CAUSES if any(row.causes.get(cause) for row in rows)]


def _policy(style: str) -> str:
    """Return what a browser is to allow the page: this style, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _typeset(number: str) -> str:
    return number.replace("-", MINUS)


def _breaking(name: str) -> Markup:
    """Return a name that may go on in a new line where its version begins."""
    return (
        escape(names.shown(name)).replace("@", Markup("<wbr/>@")).replace(TEAM, Markup("+<wbr/>"))
    )


def _said(sentence: str) -> str:
    """Return a sentence, in which names stand, as it may be shown."""
    shown = names.shown(sentence, _LONGEST_SENTENCE)
    return _HYPHEN.sub(MINUS, shown).replace(" %", "\N{NO-BREAK SPACE}%")


def _read(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]


def _template() -> Template:
    return _environment().get_template("page.html.jinja")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("ronda_arena.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        shown=names.shown,
        said=_said,
        breaking=_breaking,
        place=reading.place,
        count=words.count,
        counted=words.counted,
        seconds=words.seconds,
        record=lambda row: words.record(row.won, row.drawn, row.lost).replace("-", "\N{EN DASH}"),
        labelled=lambda those: names.labels(those, 18),
        cause=words.cause,
        told=words.told,
        minus=_typeset,
        rank=lambda margin, at: reading.rank(at, margin),
        number=winner.number,
        signed=winner.signed,
        value=lambda estimate, form: _typeset(words.value(estimate, form)),
        interval=lambda estimate, form: _typeset(words.interval(estimate, form)),
    )
    return made
