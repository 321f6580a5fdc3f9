"""A bot's fault: the cause of a forfeit, and what only the bot's author may read of it."""

from __future__ import annotations

from ronda_core.match import Cause


class BotFaultError(Exception):
    """A bot broke its contract: its side forfeits.

    Its detail names an exception's type at most: the text of one could hold a card. A crash in
    this process has the exception as its `__cause__`.
    """

    def __init__(
        self,
        cause: Cause,
        detail: str,
        answer: object = None,
        *,
        seconds: float | None = None,
        log: bytes = b"",
    ) -> None:
        super().__init__(f"{cause.value}: {detail}")
        self.cause = cause
        self.detail = detail
        self.answer = answer
        """What it answered, for its author alone: it may tell a hand, and is never written down."""
        self.seconds = seconds
        """What the decision took, as far as it got; None where nobody measures."""
        self.log = log
        """What the bot has printed, for its owner alone."""


def crash_name(name: str) -> str:
    """Return what may be told of an exception's type: a bot chooses its name, and could say a card.

    Kept is what Python itself would take for a name.
    """
    return name[:40] if name.isascii() and name.isidentifier() else "an exception"
