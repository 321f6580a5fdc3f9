"""What a bot may read: its own files and those of what it requires, and nothing it merely names.

All that a distribution says of itself is a stranger's word. A folder is its own if it lists every
file there and nobody else lists any; a single file, if it knows the file's digest and nobody else
claims it. No link leads out of the folder where it is installed, and only a project that carries
the distribution's name is followed to where its code is written.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from importlib.metadata import Distribution, PackagePath
from pathlib import Path, PurePath
from typing import Final, cast

OURS: Final = "ronda"
"""The distribution of the bots that come with ronda."""
GROUP: Final = "ronda.bots"

_NEEDED: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_ONLY_WITH: Final = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_PTH: Final = ".pth"
_MOST_LINES: Final = 200
"""Requirements of a distribution that are looked at."""


class Site:
    """All that is installed, seen together."""

    def __init__(self, every: Iterable[Distribution]) -> None:
        self.by_name = {key(name_of(distribution)): distribution for distribution in every}

    @cached_property
    def sharing(self) -> dict[str, list[Distribution]]:
        """Who has something in a top-level file or folder."""
        sharing: dict[str, list[Distribution]] = {}
        for distribution in self.by_name.values():
            for top in _tops(distribution):
                sharing.setdefault(top, []).append(distribution)
        return sharing

    @cached_property
    def claims(self) -> Counter[str]:
        """How many distributions list a file, of those in places that several have."""
        claims: Counter[str] = Counter()
        for distribution in self.by_name.values():
            claims.update(
                {
                    str(file)
                    for file in _files(distribution)
                    if _is_inside(file) and len(self.sharing.get(file.parts[0], ())) > 1
                }
            )
        return claims


def reads(distribution: Distribution, site: Site) -> Iterator[str]:
    """Yield the files and folders of a distribution and of what it requires."""
    for needed in _with_what_it_needs(distribution, site):
        yield from _own_places(needed, site)


def elsewhere(distribution: Distribution, home: Path) -> list[str]:
    """Return the folders of its own project that an editable installation leads to."""
    if not _is_editable(distribution):
        return []
    folders: list[str] = []
    for file in _files(distribution):
        if str(file).endswith(_PTH) and len(file.parts) == 1:
            with suppress(OSError, UnicodeError):  # then it leads nowhere
                folders += (home / file).read_text(encoding="utf-8").splitlines()
    name = key(name_of(distribution))
    return [folder for folder in folders if _is_of_the_project(Path(folder), name, home)]


def _is_of_the_project(folder: Path, name: str, home: Path) -> bool:
    """Say whether the project of this name is in `folder`, or just above it."""
    if not folder.is_absolute() or not folder.is_dir() or home.is_relative_to(folder.resolve()):
        return False
    for place in (folder, folder.parent):
        with suppress(OSError, ValueError, LookupError, TypeError):  # no project that says its name
            text = (place / "pyproject.toml").read_text(encoding="utf-8")
            return key(str(tomllib.loads(text)["project"]["name"])) == name
    return False


def _is_editable(distribution: Distribution) -> bool:
    """Say whether the installer has noted that the code stays where it is written (PEP 660)."""
    try:
        noted = json.loads(distribution.read_text("direct_url.json") or "{}")
        return noted["dir_info"]["editable"] is True
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False  # nothing of the kind is noted


def _with_what_it_needs(distribution: Distribution, site: Site) -> Iterator[Distribution]:
    """Yield a distribution and those it requires, and so on; other bots' are not among them."""
    waiting: list[tuple[Distribution, frozenset[str]]] = [(distribution, frozenset())]
    seen = {(key(name_of(distribution)), frozenset[str]())}
    while waiting:
        one, extras = waiting.pop()
        if name_of(one) != OURS:  # ronda itself is there for everybody
            yield one
        for line in _requires(one):
            only_with = _ONLY_WITH.search(line)
            wanted = _NEEDED.match(line)
            if not wanted or (only_with and key(only_with[1]) not in extras):
                continue
            if name_of(one) == OURS and not only_with:
                continue  # what a server needs; a bot has what of it is loaded for everybody
            name = key(wanted[1])
            asked = frozenset(key(extra.strip()) for extra in (wanted[2] or "").split(","))
            needed = site.by_name.get(name)
            if needed is None or (name, asked) in seen or len(seen) > _MOST_LINES:
                continue
            seen.add((name, asked))
            # A rival's code is not to be read by requiring it.
            if name == OURS or not _has_bots(needed):
                waiting.append((needed, asked))


def _has_bots(distribution: Distribution) -> bool:
    try:
        return any(point.group == GROUP for point in distribution.entry_points)
    except Exception:  # noqa: BLE001 -- metadata of others: what cannot be read may be anything
        return True


def _own_places(distribution: Distribution, site: Site) -> Iterator[str]:
    """Yield the folders of a distribution; of those that are not all its own, its files."""
    home = Path(str(distribution.locate_file(""))).resolve()
    by_top: dict[str, list[PackagePath]] = {}
    for file in _files(distribution):
        if _is_inside(file) and file.parts[0] != "__pycache__":
            by_top.setdefault(file.parts[0], []).append(file)
    for top, files in sorted(by_top.items()):
        place = home / top
        if not place.resolve().is_relative_to(home) or place.is_symlink():
            continue
        alone = len(site.sharing.get(top, ())) <= 1
        if alone and place.is_dir() and _lists_all(place, {str(file) for file in files}, home):
            yield str(place)
        else:
            yield from (str(home / file) for file in files if _is_its_own(file, home, site))


def _lists_all(folder: Path, listed: set[str], home: Path) -> bool:
    """Say whether every file in a folder is listed, but for what Python has compiled."""
    for place, _, names in os.walk(folder):
        inside = Path(place).relative_to(home)
        if inside.name == "__pycache__":
            continue
        if any((inside / name).as_posix() not in listed for name in names):
            return False
    return True


def _is_its_own(file: PackagePath, home: Path, site: Site) -> bool:
    """Say whether a distribution knows the content of a file, and nobody else lists it."""
    place = home / file
    known = file.hash
    if known is None or known.mode != "sha256" or site.claims[str(file)] > 1:
        return False
    try:
        if place.is_symlink() or not place.resolve().is_relative_to(home) or not place.is_file():
            return False
        digest = hashlib.sha256(place.read_bytes()).digest()
    except OSError:
        return False  # it is not there to be read
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == known.value


def _tops(distribution: Distribution) -> set[str]:
    return {file.parts[0] for file in _files(distribution) if _is_inside(file)} - {"__pycache__"}


def _is_inside(file: PurePath) -> bool:
    """Say whether a file that a distribution names is in the folder where it is installed."""
    return not file.is_absolute() and ".." not in file.parts and len(file.parts) > 0


def _files(distribution: Distribution) -> list[PackagePath]:
    try:
        return list(distribution.files or ())
    except Exception:  # noqa: BLE001 -- metadata of others: what cannot be read lists nothing
        return []


def _requires(distribution: Distribution) -> list[str]:
    try:
        return list(distribution.requires or ())[:_MOST_LINES]
    except Exception:  # noqa: BLE001 -- metadata of others: what cannot be read requires nothing
        return []


def key(name: str) -> str:
    """Return a name as PEP 503 compares them: ronda_bot.echo is ronda-bot-echo."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(distribution: Distribution) -> str:
    """Return the name of a distribution, ``?`` where it has none that can be read."""
    return metadata(distribution, "Name") or "?"


def metadata(distribution: Distribution, key_: str) -> str:
    """Return a line of a distribution's metadata; empty where there is none that can be read."""
    try:
        # A folder without a METADATA file is no reason to stop.
        found = cast("object", distribution.metadata)
        return "" if found is None else str(distribution.metadata[key_] or "")
    except Exception:  # noqa: BLE001 -- metadata of others: what cannot be read says nothing
        return ""
