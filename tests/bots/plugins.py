"""Installed packages made of two files, as `pip install --target` leaves them."""

from __future__ import annotations

import base64
import hashlib
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_BOT = '''
class Bot:
    """Plays the first card.

    Second paragraph.
    """
    version = "{version}"
    def __init__(self, seat, rng): pass
    def play(self, view): return view.hand[0]
'''


def bot_module(version: str) -> str:
    """The source of a module with a bot."""
    return _BOT.format(version=version)


def install(
    folder: Path,
    distribution: str,
    bots: Mapping[str, str],
    *,
    version: str = "0.9",
    modules: Mapping[str, str] | None = None,
    requires: Sequence[str] = (),
) -> None:
    """Write a distribution with the entry points `bots` and the `modules` they name."""
    folder.mkdir(parents=True, exist_ok=True)
    info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    lines = "".join(f"{name} = {value}\n" for name, value in bots.items())
    (info / "entry_points.txt").write_text(f"[ronda.bots]\n{lines}", encoding="utf-8")
    for name, source in (modules or {}).items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")


def known(file: Path) -> str:
    """Return the digest of a file as an installer notes it; none of what is not there."""
    if not file.is_file() or file.name == "RECORD":
        return ""
    digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
    return f"sha256={digest.decode().rstrip('=')}"


def list_files(folder: Path, info: Path, *files: str) -> None:
    """Write the list that an installer leaves of the files that it has installed."""
    rows = "".join(f"{file},{known(folder / file)},\n" for file in files)
    (info / "RECORD").write_text(rows, encoding="utf-8")


def install_built_in(folder: Path) -> None:
    """Write what installing ronda leaves of its bots: the entry points of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(folder, "ronda", project["entry-points"]["ronda.bots"], version=project["version"])


@contextmanager
def importable(*folders: Path) -> Iterator[list[str]]:
    """Put `folders` on sys.path, and forget afterwards whatever was imported from them."""
    path, modules = list(sys.path), set(sys.modules)
    sys.path[:0] = [str(folder) for folder in folders]
    try:
        yield [str(folder) for folder in folders]
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if any(Path(file).is_relative_to(folder) for folder in folders):
                del sys.modules[name]
