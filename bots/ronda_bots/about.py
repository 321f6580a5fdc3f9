"""What a class says of itself: whether it is a bot, its version, and a line about it."""

from __future__ import annotations

import re
from typing import Final

_VERSION: Final = re.compile(r"[A-Za-z0-9.+_-]{1,64}", re.ASCII)


class UnfitError(Exception):
    """Something that an entry point names is no bot."""


def about(bot_class: object) -> tuple[str, str]:
    """Return version and description of a bot class, or raise `UnfitError`."""
    if not isinstance(bot_class, type):
        raise UnfitError("is no class")
    if not callable(getattr(bot_class, "play", None)):
        raise UnfitError("has no method play(self, view)")
    version = getattr(bot_class, "version", None)
    if not isinstance(version, str):
        raise UnfitError('has no version: a class attribute such as version = "1.0.0"')
    if not is_version(version):
        raise UnfitError("has a version of other than 1 to 64 letters, digits and . + - _")
    lines = (bot_class.__doc__ or "").strip().splitlines()
    return version, lines[0].strip() if lines else ""


def is_version(text: str) -> bool:
    """Return whether a text can be the version of a bot."""
    return bool(_VERSION.fullmatch(text))


def said(error: BaseException) -> str:
    """Return an exception's type and its text, in one line that is not long."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:200] if text else type(error).__name__
