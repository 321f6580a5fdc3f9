"""A million hands against the second referee, and a million twin runs: `make fuzz`.

Exit code 0 if the referees never disagree and no viewer could tell two twins apart, else 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

_GROUPS = 9
"""Presets and seat counts."""


def main() -> int:
    """Run both, each to its end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hands", type=int, default=1_000_000)
    parser.add_argument("--twins", type=int, default=1_000_000, help="over all presets and seats")
    given = parser.parse_args()
    runs = (
        ("tests.fuzz_referees", "--hands", given.hands),
        ("tests.hidden.long", "--twins", -(-given.twins // _GROUPS)),
    )
    failed = 0
    for module, option, count in runs:
        command = [sys.executable, "-m", module, option, str(count)]
        failed |= subprocess.run(command, check=False).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
