"""Running the zoo as a user without rights, where the tests run as root."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.bots.plugins import ROOT

_NOBODY: Final = 65534
_NEEDED: Final = "import msgspec, landlockpy, pyseccomp, ronda_arena, tests.zoo"


def as_user(*arguments: str) -> str:
    """Return what Python says when a user without rights calls it so."""
    if os.getuid() != 0:
        pytest.skip("this is no root: the other tests have run as a user already")
    python = _python()
    if not python:
        pytest.skip("no Python here may be run by another user: they are in root's own folders")
    return _run(python, *arguments).stdout


@functools.cache
def _python() -> str:
    """Return a Python of this version that any user may run, with what is installed for this."""
    version = f"python3.{sys.version_info.minor}"
    for folder in (str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin"):
        found = shutil.which(version, path=folder)
        if found:
            try:
                _run(found, "-c", _NEEDED)
            except (OSError, subprocess.CalledProcessError):
                continue  # not for others, or without what is needed
            return found
    return ""


def _run(python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    standard = str(Path(os.__file__).parent)
    path = [
        folder
        for folder in sys.path
        if Path(folder).is_dir() and folder != standard and not folder.endswith("lib-dynload")
    ]
    return subprocess.run(
        [python, "-B", *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=150,
        user=_NOBODY,
        group=_NOBODY,
        extra_groups=[],
        env={"PYTHONPATH": os.pathsep.join(path), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
