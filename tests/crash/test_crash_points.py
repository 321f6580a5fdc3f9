"""Stop the service at every statement, every await and every word to a client, and go on.

`python -m tests.long.crash` crashes a second time at every point of every recovery.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ronda_bots.registry import Registry

from .crashes import Crashes
from .scenarios import SCENARIOS
from .table import Scenario, Table

_RECOVERY = 211
"""Points within which a recovery is over: loading, and what was not answered is sent again."""


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_crash_at_any_point_loses_and_doubles_nothing(
    scenario: Scenario, registry: Registry, tmp_path: Path
) -> None:
    crashes = Crashes(registry, scenario, tmp_path)
    pictures = crashes.shoot()
    for picture in pictures:
        crashes.recover(picture)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert crashes.tally.report.stops == len(pictures)
    assert {"before COMMIT", "after COMMIT", "Answered is noted", "Told is noted"} <= set(
        crashes.tally.points
    )
    assert {"Host._drive", "Opening._create"} & set(crashes.tally.points)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_second_crash_while_the_first_is_mended_changes_nothing(
    scenario: Scenario, registry: Registry, tmp_path: Path
) -> None:
    crashes = Crashes(registry, scenario, tmp_path)
    pictures = crashes.shoot()
    for place, picture in enumerate(pictures[::5]):
        crashes.recover_twice(picture, 1 + place * 37 % _RECOVERY)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert crashes.tally.second > len(pictures) // 15


def test_a_server_that_is_killed_in_its_first_start_starts_the_next_time(
    registry: Registry, tmp_path: Path
) -> None:
    async def nothing(_table: Table) -> None:
        pass

    crashes = Crashes(registry, nothing, tmp_path, fresh=True)
    for picture in crashes.shoot():
        crashes.recover_everywhere(picture)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert {"os.link", "os.fsync", "after CREATE TABLE event"} <= set(crashes.tally.points)
