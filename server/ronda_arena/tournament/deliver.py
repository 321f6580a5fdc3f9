"""What a run leaves in its folder beside its state: records, the report as data and as a page."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path

from ronda_arena.report.summary import (
    THOUGHT_CLASSES,
    Summary,
    ThoughtRow,
    Timing,
    gather,
    to_json,
)
from ronda_arena.tournament import records
from ronda_arena.tournament.files import PAGE, RECORDS, REPORT
from ronda_arena.tournament.formats.choice import format_of
from ronda_arena.tournament.run import Run
from ronda_arena.tournament.store import Store
from ronda_arena.tournament.tasks import Thought
from ronda_core.fair import commitment


def summary(store: Store, run: Run) -> Summary:
    """Return what a tournament has come to, as far as it is."""
    ledger, plan = run.ledger, store.plan
    return gather(
        plan,
        store.blocks(ledger.blocks),
        verdict=ledger.verdict,
        state="stopped" if ledger.stopped else "finished" if ledger.over else "running",
        planned=run.standing.planned,
        placings=ledger.placings(),
        timing=timing(store, ledger.blocks, ledger.late),
        commitment=commitment(store.contract.master, plan.id),
        course=format_of(plan).course(ledger.rounds),
        seed=store.seed() if ledger.over else None,  # while it is played, deals of it are to come
    )


def deliver(store: Store, run: Run, folder: Path) -> Summary:
    """Write everything to the folder, each file whole or not at all, and return what it tells.

    A page beside a report that says the same stays as it is: pictures take seconds.
    """
    told = summary(store, run)
    records.write(store, folder / RECORDS, run.ledger.blocks, over=run.ledger.over)
    report = _as_json(told)
    if (folder / PAGE).exists() and _holds(folder / REPORT, report):
        return told
    from ronda_arena.report.page import render  # noqa: PLC0415 -- pictures take a second to import

    page = render(told).encode()
    with records.replacing(folder / PAGE) as file:
        file.write(page)
    write_report(told, folder)
    return told


def write_report(told: Summary, folder: Path) -> None:
    """Write the report as data, whole or not at all."""
    with records.replacing(folder / REPORT) as file:
        file.write(_as_json(told))


def _as_json(told: Summary) -> bytes:
    data = json.dumps(to_json(told), indent=1, ensure_ascii=True, allow_nan=False)
    return f"{data}\n".encode()


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except FileNotFoundError:
        return False


def timing(store: Store, end: int, late: int) -> Timing:
    """Return what depends on the machine and the day, of the blocks before `end`."""
    total = 0.0
    thinkers: dict[str, _Thinker] = {}
    for block, seconds, thoughts in store.thoughts():
        if block >= end:
            break
        total += seconds
        for bot, of_bot in _by_bot(thoughts).items():
            thinkers.setdefault(bot, _Thinker()).add(of_bot)
    rows = tuple(thinker.row(bot) for bot, thinker in sorted(thinkers.items()))
    return Timing(seconds=total, lost=store.lost(), late=late, thoughts=rows)


def _by_bot(thoughts: Iterable[Thought]) -> dict[str, list[Thought]]:
    told: dict[str, list[Thought]] = {}
    for thought in thoughts:
        told.setdefault(thought.bot, []).append(thought)
    return told


class _Thinker:
    """What one bot's decisions took in many games."""

    def __init__(self) -> None:
        self._decisions = 0
        self._seconds = 0.0
        self._longest = 0.0
        self._counts = [0] * (len(THOUGHT_CLASSES) + 1)

    def add(self, of_game: Iterable[Thought]) -> None:
        """Count a game, in which it may have sat in more than one seat."""
        decisions, seconds = 0, 0.0
        for thought in of_game:
            decisions += thought.decisions
            seconds += thought.seconds
            self._longest = max(self._longest, thought.longest)
        if decisions:
            self._counts[bisect_left(THOUGHT_CLASSES, seconds / decisions)] += 1
        self._decisions += decisions
        self._seconds += seconds

    def row(self, bot: str) -> ThoughtRow:
        mean = self._seconds / self._decisions if self._decisions else 0.0
        return ThoughtRow(bot, self._decisions, mean, self._longest, tuple(self._counts))
