"""What an operator, or a stranger with access to them, reads: log lines and whatever is printed."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from collections.abc import Iterator
from typing import Any

import structlog

from ronda_server import logs


class Ears(io.TextIOBase):
    """Keeps every line that is written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._begun = ""

    def write(self, text: str) -> int:
        """Take text as it comes."""
        *whole, self._begun = (self._begun + text).split("\n")
        self.lines += whole
        return len(text)

    def take(self) -> list[str]:
        """Return what was written since the last time."""
        lines, self.lines = self.lines, []
        return lines


@contextlib.contextmanager
def listening() -> Iterator[Ears]:
    """Let the server log to an ear, at its most talkative, as `logs.configure` has it."""
    ears = Ears()
    before = structlog.get_config() if structlog.is_configured() else None
    handler = logging.StreamHandler(ears)
    root = logging.getLogger()
    level = root.level
    with contextlib.redirect_stdout(ears), contextlib.redirect_stderr(ears):
        logs.configure("debug")
        structlog.configure(cache_logger_on_first_use=False)
        _forget_cached()
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        try:
            yield ears
        finally:
            root.setLevel(level)
            root.removeHandler(handler)
            if before is None:
                structlog.reset_defaults()
            else:
                structlog.configure(**before)


def _forget_cached() -> None:
    """Let loggers that were bound to another configuration bind anew."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("ronda_server", "ronda_arena")):
            cached: Any = getattr(module, "_log", None)
            with contextlib.suppress(AttributeError, TypeError):  # it keeps nothing
                vars(cached).pop("bind", None)
