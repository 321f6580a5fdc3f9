"""kill -9 of the real server while twenty matches run.

`python -m tests.long.crash --kills 1000` does the whole.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from .campaign import KINDS, Campaign

pytestmark = pytest.mark.thorough


async def test_a_server_that_is_killed_again_and_again_loses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    kills = 9
    campaign = Campaign(tmp_path, seed=1)
    async with asyncio.timeout(600):
        report = await campaign.run(kills)
    print(report)
    assert report.faults == []
    assert report.stops >= kills
    assert report.matches >= len(KINDS) == 20
    assert report.acknowledged > 300
    assert report.retries > 0
    assert report.resumes > report.stops
