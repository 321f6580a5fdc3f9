"""What every worker may read is the system, Python and ronda, and nothing that others installed."""

from __future__ import annotations

import ctypes
import sysconfig
from pathlib import Path

import pytest

import ronda_arena
import ronda_bots
import ronda_core
from ronda_arena.isolation import Level
from ronda_arena.seating import probe
from ronda_arena.worker import confine, template
from ronda_arena.worker.nursery import Nursery

OURS = [package.__path__[0] for package in (ronda_core, ronda_bots, ronda_arena)]


def tree(folder: Path, *files: str) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("", encoding="utf-8")
    return folder


def may_read(path: Path, read: list[str]) -> bool:
    return any(path.is_relative_to(folder) for folder in read)


def test_where_python_is_the_systems_own_what_is_installed_there_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = tree(
        tmp_path,
        "libpython.so",
        "python3.11/os.py",
        "python3.11/json/__init__.py",
        "python3.11/lib-dynload/_json.so",
        "python3.11/site-packages/ronda_rival/__init__.py",
        "python3.11/site-packages/other.py",
        "python3/dist-packages/apt.py",
    )
    python = lib / "python3.11"
    monkeypatch.setattr(template, "_SYSTEM", (str(lib), "/nowhere"))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(python))
    path = [str(python), str(python / "lib-dynload"), str(python / "site-packages")]
    path += [str(lib / "python3/dist-packages"), "/nowhere.zip"]
    read, split = template._readable(path)
    assert read[-3:] == OURS
    for file in ("libpython.so", "python3.11/os.py", "python3.11/json/__init__.py"):
        assert may_read(lib / file, read)
    assert may_read(python / "lib-dynload/_json.so", read)
    assert not may_read(python / "site-packages/ronda_rival/__init__.py", read)
    assert not may_read(python / "site-packages/other.py", read)
    assert not may_read(lib / "python3/dist-packages/apt.py", read)
    assert {str(lib), str(python)} <= {*split}  # to import from it, its names must be seen


def test_where_packages_are_elsewhere_folders_are_read_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = tree(tmp_path / "lib", "python3.11/os.py")
    elsewhere = tree(tmp_path / "venv", "site-packages/rival.py")
    monkeypatch.setattr(template, "_SYSTEM", (str(lib),))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(lib / "python3.11"))
    read, split = template._readable([str(lib / "python3.11"), str(elsewhere / "site-packages")])
    assert read == [str(lib), str(lib / "python3.11"), *OURS]
    assert split == []


def test_a_link_leads_nowhere_that_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tree(tmp_path / "real", "python3.11/site-packages/rival.py", "python3.11/os.py")
    (tmp_path / "link").symlink_to(packages)
    monkeypatch.setattr(template, "_SYSTEM", (str(tmp_path / "link"),))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(packages / "python3.11"))
    read, _ = template._readable([str(packages / "python3.11/site-packages")])
    opened = [Path(one).resolve() for one in read]
    assert may_read(packages / "python3.11/os.py", list(map(str, opened)))
    assert not may_read(packages / "python3.11/site-packages/rival.py", list(map(str, opened)))


def test_a_machine_that_has_what_a_sandbox_needs_has_a_sandbox() -> None:
    """Tests of the sandbox skip where there is none: here it is seen that this hides no fault."""
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp is not installed")
    if not confine.landlock_abi():
        pytest.skip("the kernel has no Landlock")
    with Nursery() as nursery:
        report = probe(nursery)
    assert report.level is Level.SANDBOX, report.problem
