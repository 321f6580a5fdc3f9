"""Wheels written by hand: honest ones, and each that no builder would write."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ronda_bots.about import UnfitError
from ronda_bots.installed import Plugin

NOW = "2026-01-01T00:00:00Z"

BOT = '''
class Bot:
    """Plays the first card."""
    version = "{version}"
    def __init__(self, seat, rng): pass
    def play(self, view): return view.hand[0]
'''


def wheel(
    folder: Path,
    name: str = "mine",
    version: str = "1.0",
    *,
    bots: Mapping[str, str] | None = None,
    files: Mapping[str, bytes | str] | None = None,
    requires: Sequence[str] = (),
    told: tuple[str, str] | None = None,
    metadata: str = "",
    tag: str = "py3-none-any",
    info: str = "",
    wheel_file: str = "Wheel-Version: 1.0\nTag: py3-none-any\n",
    record: Callable[[str], str] = lambda text: text,
    unlisted: Sequence[str] = (),
    change: Callable[[zipfile.ZipInfo], None] = lambda entry: None,
    after: Callable[[zipfile.ZipFile], None] = lambda archive: None,
) -> Path:
    """Write a wheel with the bot `mine`, and with whatever is wrong with it."""
    module = name.replace("-", "_")
    info = info or f"{module}-{version}.dist-info"
    told_name, told_version = told or (name, version)
    content: dict[str, bytes | str] = dict(
        {f"{module}.py": BOT.format(version=version)} if files is None else files
    )
    points = {name: f"{module}:Bot"} if bots is None else bots
    lines = "".join(f"{key} = {value}\n" for key, value in points.items())
    if points:
        content[f"{info}/entry_points.txt"] = f"[ronda.bots]\n{lines}"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    content[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {told_name}\nVersion: {told_version}\n{needs}{metadata}"
    )
    content[f"{info}/WHEEL"] = wheel_file
    listed = ""
    for path, data in content.items():
        raw = data.encode() if isinstance(data, str) else data
        digest = base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).rstrip(b"=").decode()
        if path not in unlisted:
            listed += f"{path},sha256={digest},{len(raw)}\n"
    content[f"{info}/RECORD"] = record(f"{listed}{info}/RECORD,,\n")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in content.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            change(entry)
            archive.writestr(entry, data)
        after(archive)
    return file


def ask(plugin: Plugin) -> tuple[str, str]:
    """Answer for a bot by its source, where no process is worth its while."""
    (folder, *_) = plugin.origin.path
    source = Path(folder, f"{plugin.origin.module}.py").read_text(encoding="utf-8")
    if "version" not in source:
        raise UnfitError(f"{plugin.value} has no version")
    return source.partition('version = "')[2].partition('"')[0], "Plays the first card."
