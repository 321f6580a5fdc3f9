"""Plans, their twins and the scan, put together: what the tests, the long run and `detect` call."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.hidden import harness, tape
from tests.hidden.harness import Result, Script
from tests.hidden.plan import Plan
from tests.hidden.scan import scan
from tests.hidden.twins import Tally

Perform = Callable[[Plan, Script], Result]
"""Runs a plan somewhere."""


def findings(
    plan: Plan, perform: Perform, tally: Tally, viewers: int | None = None
) -> Iterator[str]:
    """Yield what is wrong with one plan: in itself, and beside a twin for each viewer.

    `viewers` is how many of them, chosen by the plan's chance; None for all.
    """
    base = perform(plan, harness.base_script(plan))
    tally["run"] += 1
    if base.problem:
        yield f"{plan.setup}, {plan.seed!r}: {base.problem}"
        return
    for problem in scan(base):
        yield f"{plan.setup}, {plan.seed!r}: {problem}"
    if not plan.dealt_by_server:
        yield from _beside_twins(base, perform, tally, viewers)


def _beside_twins(
    base: Result, perform: Perform, tally: Tally, viewers: int | None
) -> Iterator[str]:
    plan = base.plan
    everybody = [None, *range(plan.setup.players)]
    chosen = plan.rng("viewers").sample(everybody, viewers or len(everybody))
    for viewer in chosen:
        script = harness.twin_script(base, viewer, plan.rng("twin", viewer), tally)
        if script is None:
            continue
        twin = perform(plan, script)
        tally["run"] += 1
        who = "a spectator" if viewer is None else f"seat {viewer}"
        if twin.problem:
            yield f"{plan.setup}, {plan.seed!r}, a twin for {who}: {twin.problem}"
        for difference in tape.differences(base.tape, twin.tape, viewer):
            yield f"{plan.setup}, {plan.seed!r}, a twin for {who}: {difference}"
