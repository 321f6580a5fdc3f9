"""What to do about a fault that comes of how a bot is run: for its author, who may not see why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final

from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import ALLOWED
from ronda_bots.installed import GROUP, OURS
from ronda_bots.registry import BotInfo

_REFUSED: Final = re.compile(r"PermissionError: [^\n']*'([^'\n]+)")
_BREAKPOINT: Final = "breakpoint() needs --isolation trusted"


def about_fault(fault: BotFaultError, bot: BotInfo) -> str:
    """Return what the author of a bot may do about a fault in a worker; often there is nothing."""
    if fault.seconds is None:  # it ran in this process
        return ""
    if fault.detail.startswith("BdbQuit"):
        return _BREAKPOINT
    if not fault.detail.startswith("PermissionError"):
        return ""
    reads = bot.origin.reads if bot.origin else ()
    return about_refusal(fault.log.decode("utf-8", "replace"), bot.distribution, reads)


def about_import(problem: str, distribution: str, reads: Iterable[str]) -> str:
    """Return what may be done about a bot that cannot be imported in a sandbox."""
    if "cannot be imported: BdbQuit" in problem:
        return _BREAKPOINT
    if "cannot be imported: PermissionError" in problem:
        return about_refusal(problem, distribution, reads)
    return ""


def about_refusal(told: str, distribution: str, reads: Iterable[str]) -> str:
    """Say why a file is refused that a text names: of a package that is not required, or any."""
    files = _REFUSED.findall(told)
    owner = _owner(Path(files[-1]), reads) if files else ""
    if owner in ("", OURS, distribution):
        return ALLOWED
    return (
        f"{owner} is installed, but {distribution} does not require it: add"
        f' "{owner}" to dependencies in its pyproject.toml and install it again'
    )


def _owner(file: Path, reads: Iterable[str]) -> str:
    """Return the package that a file belongs to, if requiring it would help; else nothing."""
    if any(file.is_relative_to(one) for one in reads):
        return ""
    for one in distributions():
        home = Path(str(one.locate_file(""))).resolve()
        if file.is_relative_to(home) and _brought(one, file.relative_to(home)):
            rival = any(point.group == GROUP for point in one.entry_points)
            return "" if rival else str(one.metadata["Name"] or "")
    return ""


def _brought(one: Distribution, file: Path) -> bool:
    return any(known.parts == file.parts for known in one.files or ())
