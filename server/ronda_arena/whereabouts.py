"""Where in its own code a bot broke: for its author, and in no record and no log of a server."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from types import FrameType
from typing import Final

from ronda_arena.fault import BotFaultError

_ARENA: Final = "ronda_arena"
_PLACE: Final = re.compile(r'^  File "([^"]+)", line (\d+)', re.MULTILINE)


def place_in(fault: BotFaultError) -> str:
    """Return where the bot's own code was, as FILE:LINE; empty where nobody knows."""
    error = fault.__cause__
    return place_of(error) if error else _printed_place(fault.log)


def frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """Return the frames of an exception and their lines, those of the arena aside."""
    found = list(traceback.walk_tb(error.__traceback__))
    while found and _package(found[0][0]) == _ARENA:
        del found[0]
    return found


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def place_of(error: BaseException) -> str:
    """Return where the bot's own code was when it broke; empty where it had not begun."""
    found = frames(error)
    own = [(frame, line) for frame, line in found if _package(frame) == _package(found[0][0])]
    if own:
        frame, line = own[-1]
        return f"{frame.f_code.co_filename}:{line}"
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return ""


def _printed_place(log: bytes) -> str:
    """Return where the bot's own code was when it broke, by the last traceback in its log."""
    last = log.decode("utf-8", "replace").rpartition("Traceback (most recent call last)")[2]
    found = [(file, line) for file, line in _PLACE.findall(last) if file[0] != "<"]
    if not found:
        return ""
    try:
        home = _package_of(Path(found[0][0]))
    except OSError:  # it printed what is no file's name: this is a stranger's text
        return ""
    file, line = next(one for one in reversed(found) if Path(one[0]).is_relative_to(home))
    return f"{file}:{line}"


def _package_of(file: Path) -> Path:
    """Return the folder of the outermost package that a file belongs to, or the file itself."""
    home = file
    while home.name and home.with_name("__init__.py").is_file():
        home = home.parent
    return home
