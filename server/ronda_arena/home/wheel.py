"""A wheel as a package: who it is, what it brings, and whether all of it stays in one directory.

What is refused here: files that Python would run by itself, scripts, data for other places, byte
code, and modules in the place of Python's or of ronda's.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from ronda_arena.home.archive import Archive, WheelError, load
from ronda_bots.about import said
from ronda_bots.installed import GROUP, OURS, entry_problem

if TYPE_CHECKING:
    from importlib.metadata._meta import SimplePath  # what the library's own types are made of

_OURS: Final = ("ronda", "ronda_core", "ronda_bots", "ronda_arena", "ronda_server", "ronda_cli")
_TAKEN: Final = frozenset(
    name.casefold() for name in (*sys.stdlib_module_names, *_OURS, "sitecustomize", "usercustomize")
)
_RUN_BY_ITSELF: Final = (".pth", ".start", ".egg-link")
"""Endings of files beside packages that Python or its tools act upon at every start."""
_BYTE_CODE: Final = (".pyc", ".pyo")
_LONGEST_NAME: Final = 64
_MOST_BOTS: Final = 256
_MOST_REQUIREMENTS: Final = 200


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel that may be unpacked into a directory of its own."""

    file: str
    """Its name, without the folder where it was found."""
    archive: Archive
    name: str
    """As PEP 503 compares names."""
    version: Version
    info: str
    """Its folder of metadata."""
    requires: tuple[Requirement, ...]
    bots: tuple[EntryPoint, ...]

    @property
    def folder(self) -> str:
        """`name-version`, as a folder may be called."""
        return f"{self.name.replace('-', '_')}-{self.version}"


def read_wheel(path: Path) -> Wheel:
    """Look at all of a wheel; `WheelError`, with the file's name, where it is not to be installed.

    Nothing of it is run, and nothing is written.
    """
    try:
        return _read(path)
    except WheelError as error:
        raise WheelError(f"{path.name} is not installed: {error}") from None


def _read(path: Path) -> Wheel:
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
    except (InvalidWheelFilename, InvalidVersion):
        raise WheelError(
            "it is not named as a wheel is, such as my_bot-1.0-py3-none-any.whl"
        ) from None
    if len(name) > _LONGEST_NAME or len(str(version)) > _LONGEST_NAME:
        raise WheelError(f"its name or version has more than {_LONGEST_NAME} letters")
    if name == OURS:
        raise WheelError("it is ronda itself")
    if tags.isdisjoint(sys_tags()):
        raise WheelError("it is for another Python or another kind of machine")
    archive = load(path)
    info = _info(archive)
    _check_places(archive, info)
    for needed in ("METADATA", "WHEEL", "RECORD"):
        if f"{info}/{needed}" not in archive.files:
            raise WheelError(f"it has no {needed}")
    archive.check_content(info)
    package = _Package(archive, info)
    try:
        _check_format(package.read_text("WHEEL") or "")
        _check_identity(package.field("Name"), package.field("Version"), name, version)
        _check_identity(*info.removesuffix(".dist-info").rpartition("-")[::2], name, version)
        _check_python(package.field("Requires-Python"))
        requires, bots = _requires(package), _bots(package, archive)
    except WheelError:
        raise
    except Exception as error:  # noqa: BLE001 -- a stranger's metadata: any fault is named
        raise WheelError(f"its metadata cannot be read: {said(error)}") from None
    return Wheel(path.name, archive, name, version, info, requires, bots)


def _info(archive: Archive) -> str:
    tops = {path.partition("/")[0] for path in archive.files if "/" in path}
    infos = [top for top in tops if top.casefold().endswith(".dist-info")]
    if len(infos) != 1:
        raise WheelError("it has not one folder of metadata, as wheels have")
    return infos[0]


def _check_places(archive: Archive, info: str) -> None:
    for path in archive.files:
        top, _, rest = path.partition("/")
        if top == info:
            continue
        folded = top.casefold()
        if folded.endswith(".data"):
            raise WheelError(f"{path} is meant for another place than its own directory")
        if not rest and folded.endswith(_RUN_BY_ITSELF):
            raise WheelError(f"{path} would be acted upon at every start of Python")
        if path.endswith(_BYTE_CODE) or "__pycache__" in path.split("/"):
            raise WheelError(f"{path} is byte code: build it again without")
        if folded.partition(".")[0] in _TAKEN:
            raise WheelError(f"{path} would take the place of a module of Python or of ronda")


def _check_identity(name: str, version: str, of_name: str, of_version: Version) -> None:
    try:
        same = canonicalize_name(name) == of_name and Version(version) == of_version
    except InvalidVersion:
        same = False
    if not same:
        raise WheelError(f"in it stands another name or version: {name} {version}"[:200])


def _check_format(text: str) -> None:
    lines = (line.partition(":") for line in text.splitlines())
    version = next((value for key, _, value in lines if key.lower() == "wheel-version"), "")
    if not version.strip().startswith("1."):
        raise WheelError("its format is not that of wheels 1.x")


def _check_python(wanted: str) -> None:
    try:
        fits = SpecifierSet(wanted).contains(platform.python_version(), prereleases=True)
    except InvalidSpecifier:
        raise WheelError("its Requires-Python cannot be read") from None
    if not fits:
        raise WheelError(f"it wants Python {wanted}, and this is {platform.python_version()}")


class _Package(Distribution):
    """What a wheel says of itself, read from the wheel."""

    def __init__(self, archive: Archive, info: str) -> None:
        self._archive = archive
        self._info = info

    def read_text(self, filename: str) -> str | None:
        """Return a file of metadata, if it is there."""
        path = f"{self._info}/{filename}"
        if path not in self._archive.files:
            return None
        return self._archive.read(path).decode("utf-8")

    def locate_file(self, path: str | os.PathLike[str]) -> SimplePath:
        """Say that nothing of it lies anywhere."""
        raise FileNotFoundError(path)

    def field(self, name: str) -> str:
        """Return a line of its metadata; empty where there is none."""
        return str(self.metadata[name]).strip() if name in self.metadata else ""


def _requires(package: _Package) -> tuple[Requirement, ...]:
    lines = package.requires or []
    if len(lines) > _MOST_REQUIREMENTS:
        raise WheelError(f"it requires more than {_MOST_REQUIREMENTS} packages")
    try:
        return tuple(map(Requirement, lines))
    except InvalidRequirement:
        raise WheelError("what it requires cannot be read") from None


def _bots(package: _Package, archive: Archive) -> tuple[EntryPoint, ...]:
    found = [point for point in package.entry_points if point.group == GROUP]
    if len(found) > _MOST_BOTS:
        raise WheelError(f"it has more than {_MOST_BOTS} bots")
    tops = {path.partition("/")[0].partition(".")[0] for path in archive.files}
    for point in found:
        problem = entry_problem(point)
        if not problem and point.module.partition(".")[0] not in tops:
            problem = f"{point.module} is no module of it"
        if problem:
            raise WheelError(f"bot {point.name}: {problem}"[:200])
    if len({point.name for point in found}) < len(found):
        raise WheelError("it names a bot twice")
    return tuple(found)
