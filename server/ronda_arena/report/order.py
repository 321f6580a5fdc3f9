"""What is shown of the order of many: who leads, over whom, and in what groups the others stand.

With many entrants some two of equals are far apart by chance. So "surely" is said here of all
comparisons together, after a correction for how many they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Final, NamedTuple

from ronda_arena.report import words
from ronda_arena.report.comparison import Comparison, apart, points, within
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.ratings import Strengths

FEWEST: Final = 3
"""Entrants of which there is an order to tell: of two there is one comparison."""
MOST: Final = 60
"""Entrants of whom each is compared with each; of more the first alone, with all others."""

_NAMED: Final = 6
"""Entrants that are told one by one; of more it is told how many they are."""
_GROUPS: Final = 8
"""Groups that are told."""
_CLUSTERS: Final = 4
"""Runs of entrants that cannot be told apart, which are told."""


class Order(NamedTuple):
    """Who is surely stronger than whom."""

    names: tuple[str, ...]
    """Of all of whom enough is known, the strongest first."""
    sure: frozenset[tuple[int, int]]
    """Places in this order, of the stronger first: what is shown, all comparisons together."""
    among: int
    """Comparisons that there are."""
    whole: bool
    """Whether all of them were looked at."""


def found(names: Sequence[str], places: Sequence[int], strengths: Strengths) -> Order | None:
    """Return what is shown of these entrants of the plan, which come the strongest first.

    None where they are too few to have an order.
    """
    count = len(places)
    if count < FEWEST:
        return None
    whole = count <= MOST
    pairs = [pair for pair in combinations(range(count), 2) if whole or not pair[0]]
    among = comb(count, 2)
    told = strengths.differences([(places[one], places[other]) for one, other in pairs], among)
    sure = [pair for pair, by in zip(pairs, told, strict=True) if apart(by)]
    return Order(tuple(names[at] for at in places), frozenset(sure), among, whole)


def sentences(order: Order, leads: Estimate, unit: str) -> Iterator[str]:
    """Say who leads and what is shown, and what "surely" means; `leads` is the first's rating."""
    yield _lead(order, leads, unit)
    if order.sure and order.whole:
        yield from _shape(order)
    if order.sure:
        yield surely(order.among)


def surely(among: int) -> str:
    """Say what "surely" means where there are so many comparisons."""
    return (
        f"Surely: to 95 % for all {words.counted(among, 'comparison')} together (Bonferroni). "
        "Every interval is one of 95 % by itself: of twenty pairs of equals one looks different."
    )


def runs(order: Order) -> list[tuple[int, int]]:
    """Return the longest runs of places, first and last, in which nobody surely beats anybody."""
    found_, before = list[tuple[int, int]](), -1
    count = len(order.names)
    for first in range(count):
        last = first
        while last + 1 < count and not any(
            (at, last + 1) in order.sure for at in range(first, last + 1)
        ):
            last += 1
        if last > max(before, first):
            found_.append((first, last))
        before = max(before, last)
    return found_


def together(order: Order) -> Iterator[str]:
    """Say among whom it cannot be said who is stronger, in as few words as it takes."""
    open_ = runs(order)
    if not order.sure or not order.whole or not open_:
        return  # nobody is: that is said already; or nobody knows
    if _groups(order) == _with_single(open_, len(order.names)):
        yield "Within a group it cannot be said yet who is stronger."
        return
    told = "; nor of ".join(_run(order, *run) for run in open_[:_CLUSTERS])
    more = len(open_) - _CLUSTERS
    others = f"; nor in {words.counted(more, 'more run')} down the table" if more > 0 else ""
    yield f"It cannot be said yet who is stronger of {told}{others}."


def challenged(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Say of each challenger of a gauntlet how many of those that it met it surely beats."""
    for name in dict.fromkeys(one.first for one in comparisons):
        own = [one for one in comparisons if one.first == name]
        better, worse = (
            sum(one.stands and sign * (one.by.value or 0) > 0 for one in own) for sign in (1, -1)
        )
        open_ = [one.second for one in own if not one.stands]
        met = f"the {len(own)} that it met" if len(own) > 1 else "the one that it met"
        of = f"{better or worse} of {met}"
        if len(own) == 1 or not (open_ or better * worse):
            of = {1: met, 2: "both that it met"}.get(len(own), f"all {met[4:]}")
        if not better + worse:
            yield f"Of {name} nothing is shown yet against {met}."
            continue
        how = f"stronger than {of}" if better else f"weaker than {of}"
        under = f", surely weaker than {worse}" if better and worse else ""
        rest = f"; of {listed(open_)} it cannot be said yet" if open_ else ""
        yield f"{name} is surely {how}{under}{rest}."
    if any(one.stands for one in comparisons):
        yield surely(len(comparisons))


def listed(names: Sequence[str]) -> str:
    """Return names as a person lists them, the last ones as a number if they are many."""
    told = list(names)
    if len(told) > _NAMED:
        told[_NAMED - 1 :] = [f"{len(told) - _NAMED + 1} others"]
    *others, last = told
    return f"{', '.join(others)} and {last}" if others else last


def _lead(order: Order, leads: Estimate, unit: str) -> str:
    first, *others = order.names
    ahead = f"{points(leads)} points a {unit} above the mean of all ({within(leads)})"
    if not order.sure:
        many = len(order.names)
        return (
            f"None of the {many} is shown to be stronger than another yet, all "
            f"{words.counted(order.among, 'comparison')} taken together: {first} leads, {ahead}, "
            "which may be chance."
        )
    open_ = [name for at, name in enumerate(others, 1) if (0, at) not in order.sure]
    beaten = len(others) - len(open_)
    if not beaten:
        return f"{first} leads, {ahead}, but is surely stronger than nobody yet."
    if not open_:
        all_ = "both others" if beaten == 2 else f"all {beaten} others"
        return f"{first} leads, {ahead}, and is surely stronger than {all_}."
    return (
        f"{first} leads, {ahead}, and is surely stronger than {beaten} of {len(others)} others; of "
        f"{listed(open_)} it cannot be said yet. Nobody is surely stronger than it."
    )


def _shape(order: Order) -> Iterator[str]:
    """Say in what groups they stand, or where nobody is apart from the next, which ends are."""
    groups, count = _groups(order), len(order.names)
    if len(groups) == count:
        yield "The whole order is shown: each is surely stronger than all below it."
    elif len(groups) > 1 and count > FEWEST:
        told = "; then ".join(_run(order, *group) for group in groups[:_GROUPS])
        left = len(groups) - _GROUPS
        more = f"; then {words.counted(left, 'more group')}" if left > 0 else ""
        yield f"In groups, everybody surely stronger than all in later ones: {told}{more}."
    else:
        first, last = _ends(order)
        if first > 1:
            best, worst = _run(order, 0, first - 1), _run(order, count - last, count - 1)
            each = "each of " if last > 1 else ""
            yield f"Each of {best} is surely stronger than {each}{worst}."


def _run(order: Order, first: int, last: int) -> str:
    """Name those from one place to another."""
    names = order.names[first : last + 1]
    if len(names) <= _NAMED:
        return listed(names)
    return f"the {len(names)} from {names[0]} to {names[-1]}"


def _reach(order: Order) -> list[int]:
    """Return for each the place from which on it is surely stronger than everybody."""
    count = len(order.names)
    reach = []
    for at in range(count):
        least = count
        while least - 1 > at and (at, least - 1) in order.sure:
            least -= 1
        reach.append(least)
    return reach


def _groups(order: Order) -> list[tuple[int, int]]:
    """Return first and last places of groups, each of which surely beats all that come after."""
    groups, start, far = list[tuple[int, int]](), 0, 0
    for at, reach in enumerate(_reach(order)):
        far = max(far, reach)
        if far == at + 1 or at + 1 == len(order.names):
            groups.append((start, at))
            start = at + 1
    return groups


def _ends(order: Order) -> tuple[int, int]:
    """Return how many of the first are surely stronger than how many of the last: most of all."""
    count, far, best = len(order.names), 0, (0, 0)
    for first, reach in enumerate(_reach(order), 1):
        far = max(far, reach)
        best = max(best, (first, count - far), key=lambda ends: ends[0] * ends[1])
    return best


def _with_single(runs: Sequence[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Return these runs and, one by one, everybody in none of them."""
    inside = {at for first, last in runs for at in range(first, last + 1)}
    return sorted([*runs, *((at, at) for at in range(count) if at not in inside)])
