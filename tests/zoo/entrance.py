"""The zoo as a distribution: written into a folder beside a rival's, as installers leave them."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.bots.plugins import bot_module, install, known

from ronda_bots.installed import installed
from ronda_bots.registry import BotInfo

_HERE: Final = Path(__file__).parent / "ronda_zoo"
_NOT_BOTS: Final = ("__init__", "visitor", "raises_on_import", "exits_on_import")
_ODD: Final = {
    "no-class": "ronda_zoo.broken:no_class",
    "no-such-class": "ronda_zoo.broken:NoSuchClass",
    "no-such-module": "ronda_zoo.nowhere:Bot",
    "raises-on-import": "ronda_zoo.raises_on_import:Bot",
    "exits-on-import": "ronda_zoo.exits_on_import:Bot",
}
"""Entry points that name no class, and what they try."""
_TRIES: Final = {
    "no-class": "Is a function.",
    "no-such-class": "Is not in its module.",
    "no-such-module": "Is in no module.",
    "raises-on-import": "Cannot be imported.",
    "exits-on-import": "Ends whoever imports it.",
}


def inhabitants() -> dict[str, str]:
    """Return what the entry point of each bot names, by the bot's name."""
    return {name: value for name, value, _ in _classes()} | _ODD


def tries() -> dict[str, str]:
    """Return what each bot tries, by its name."""
    return {name: told for name, _, told in _classes()} | _TRIES


def _classes() -> Iterator[tuple[str, str, str]]:
    for file in sorted(_HERE.glob("*.py")):
        if file.stem in _NOT_BOTS:
            continue
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                name = re.sub(
                    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", node.name
                ).lower()
                yield name, f"ronda_zoo.{file.stem}:{node.name}", ast.get_docstring(node) or ""


def write(site: Path, where: Mapping[str, Any]) -> None:
    """Write the zoo and its rival into `site`; `where` is what the bots know of the machine."""
    rival = bot_module("0.9") + '\nSECRET = "how a rival plays"\n'
    install(site, "ronda-rival", {"rival": "ronda_rival:Bot"}, modules={"ronda_rival": rival})
    install(site, "ronda-zoo", inhabitants(), requires=["ronda-rival"])
    package = site / "ronda_zoo"
    shutil.copytree(_HERE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "where.json").write_text(json.dumps(dict(where)), encoding="utf-8")
    for distribution, top in (("ronda_zoo", "ronda_zoo"), ("ronda_rival", "ronda_rival.py")):
        info = site / f"{distribution}-0.9.dist-info"
        files = [site / top, info] if (site / top).is_file() else [*package.iterdir(), info]
        names = [str(file.relative_to(site)) for file in files if file.is_file()]
        names += [str(file.relative_to(site)) for file in (*info.iterdir(), info / "RECORD")]
        rows = "".join(f"{name},{known(site / name)},\n" for name in names)
        (info / "RECORD").write_text(rows, encoding="utf-8")


def infos(site: Path) -> dict[str, BotInfo]:
    """Return every bot that is installed in `site`, by name, without asking any what it is."""
    plugins, broken = installed([str(site)])
    assert not broken
    return {
        one.name: BotInfo(one.name, "1.0.0", one.distribution, "0.9", "", None, one.origin)
        for one in plugins
    }
