"""When to stop before all blocks are played."""

from __future__ import annotations

from typing import Protocol

from ronda_arena.report.summary import Verdict
from ronda_arena.tournament.results import Block
from ronda_arena.tournament.spec import Plan


class StopRule(Protocol):
    stopped: bool

    def add(self, block: Block) -> None: ...

    def verdict(self, *, over: bool) -> Verdict | None: ...


class _Never:
    stopped = False

    def add(self, block: Block) -> None:
        pass

    def verdict(self, *, over: bool) -> Verdict | None:
        return None


def stop_rule(_plan: Plan) -> StopRule:
    return _Never()
