"""Who won a Swiss or a knockout, in words and as rows: the result, which is not the strength."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ronda_arena.report import names, words
from ronda_arena.tournament.formats.course import Course, Standing, Tie

MOST_NAMED: Final = 8
"""Entrants that a sentence names; the rest is in the table."""

_STRENGTH: Final = (
    "That is the result; how sure it is who is stronger, which takes more games to show, follows."
)


def sentences(course: Course, placings: Sequence[str], *, stopped: bool) -> Iterator[str]:
    """Say who won, or how it stands; `placings` are of all entrants, the first first."""
    if stopped and not course.over:
        yield "The stop rule ended the tournament before anybody had won it."
    if course.standings:
        yield _swiss(course)
    elif course.brackets:
        yield _knockout(course, placings)
    else:
        yield "The first round is not over yet: nobody is ahead."
        return
    yield _STRENGTH if course.over else "How sure it is who is stronger follows."


def _swiss(course: Course) -> str:
    first, second = course.standings[:2]
    has = f"with {number(first.points)} of {words.counted(course.played, 'point')}"
    if course.over:
        return f"{first.entrant} won the Swiss {has}; second {_behind(first, second)}."
    return (
        f"After {course.played} of {words.counted(course.rounds, 'round')} {first.entrant} leads "
        f"the Swiss {has}; second {_behind(first, second)}."
    )


def _behind(first: Standing, second: Standing) -> str:
    name = second.entrant
    if second.points != first.points:
        return f"{name} with {number(second.points)}"
    for what, mine, other in (
        ("on the points of those that each has met (Buchholz)", second.buchholz, first.buchholz),
        ("on margin", second.margin, first.margin),
    ):
        if mine != other:
            return f"{name} with as many, behind {what}, {number(mine)} to {number(other)}"
    return f"{name} with as many of everything, and later in the list"


def _knockout(course: Course, placings: Sequence[str]) -> str:
    if not course.over:
        left = len(course.brackets[-1].ties) + len(course.brackets[-1].byes)
        named = ", ".join(placings[:left][:MOST_NAMED])
        more = f" and {left - MOST_NAMED} more" if left > MOST_NAMED else ""
        rounds = words.counted(course.rounds, "round")
        return f"After {course.played} of {rounds} these are still in the knockout: {named}{more}."
    first, second = placings[:2]
    [final] = course.brackets[-1].ties
    how = {
        "margin": "",
        "games": ", level on margin in the final and ahead on games won",
        "list": ", level in the final and earlier in the list",
    }[final.by]
    return f"{first} won the knockout{how}; second {second}."


class Line(NamedTuple):
    """An encounter of a knockout, or a bye, as it is told: who, and what it came to."""

    round: str
    entrants: tuple[str, ...]
    margins: str
    won: str
    extra: str
    winner: str


def lines(course: Course, called: names.Called) -> Iterator[Line]:
    """Yield every encounter and bye of a knockout, round by round; names as they are `called`."""
    for at, bracket in enumerate(course.brackets, 1):
        name = "final" if at == course.rounds else str(at)
        for tie in bracket.ties:
            yield _line(name, tie, called)
        for entrant in bracket.byes:
            yield Line(name, (called(entrant),), "", "", "", called(entrant))


def _line(name: str, tie: Tie, called: names.Called) -> Line:
    by = {"margin": "", "games": " (games)", "list": " (list)"}[tie.by]
    return Line(
        round=name,
        entrants=tuple(map(called, tie.entrants)),
        margins=" / ".join(signed(margin) for margin in tie.margins),
        won=" / ".join(number(won) for won in tie.won),
        extra=words.count(tie.extra) if tie.extra else "",
        winner=f"{called(tie.winner)}{by}",
    )


def number(value: float) -> str:
    """Return points or games, exact: parts of a draw are halves or thirds."""
    return f"{value + 0.0:,.2f}".rstrip("0").rstrip(".")  # and no -0


def signed(value: float) -> str:
    """Return a margin with its sign."""
    return f"+{number(value)}" if value > 0 else number(value)
