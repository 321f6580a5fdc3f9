"""At whatever point an install or an uninstall ends, there is a whole bot or none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.arena.home.wheels import wheel

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("how", ["killed", "full"])
@pytest.mark.parametrize("what", ["install", "uninstall"])
def test_no_end_leaves_half_a_bot(what: str, how: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-B", "-m", "tests.arena.home.dying"),
            *(str(tmp_path / "home"), str(wheel(tmp_path)), what, how),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
