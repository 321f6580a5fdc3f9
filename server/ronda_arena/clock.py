"""How long bots may think: a time for each decision, and a bank for the hard ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

CEILING_SECONDS: Final = 60.0
"""Most time that a decision may take where there is no clock."""

_TEXT: Final = re.compile(r"(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Clock:
    """What every seat of a match has: seconds."""

    per_decision: float
    """For each decision; what is left of it is lost."""
    bank: float = 0.0
    """For the whole match: what a decision takes beyond its time is taken from here."""

    def __post_init__(self) -> None:
        if not 0.001 <= self.per_decision <= 3600 or not 0 <= self.bank <= 86_400:
            raise ValueError("a decision has 0.001 to 3600 seconds, and a bank 0 to 86400")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the clock that a text such as ``0.5`` or ``0.5+10`` means, or `ValueError`."""
        found = _TEXT.fullmatch(text)
        if not found:
            raise ValueError("a clock is seconds a decision, such as 0.5, or with a bank, 0.5+10")
        return cls(float(found[1]), float(found[2] or 0))

    def __str__(self) -> str:
        """As it is written: ``0.5`` or ``0.5+10``."""
        bank = f"+{self.bank:g}" if self.bank else ""
        return f"{self.per_decision:g}{bank}"

    def to_json(self) -> dict[str, float]:
        """Return it as records say it."""
        bank = {"bank": self.bank} if self.bank else {}
        return {"per_decision": self.per_decision, **bank}


class SeatClock:
    """What one seat has left."""

    __slots__ = ("_bank", "_clock")

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._bank = clock.bank if clock else 0.0

    @property
    def left(self) -> float | None:
        """Seconds for the next decision; None: no limit that a bot is told of."""
        return self._clock.per_decision + self._bank if self._clock else None

    @property
    def limit(self) -> float:
        """Seconds after which it is late."""
        return CEILING_SECONDS if self._clock is None else self._clock.per_decision + self._bank

    @property
    def allowance(self) -> str:
        """What it has been given, in words: what is left of it says little."""
        if self._clock is None:
            return f"{CEILING_SECONDS:g} s"
        bank = f" and a bank of {self._clock.bank:g} s" if self._clock.bank else ""
        return f"{self._clock.per_decision:g} s{bank}"

    def spend(self, seconds: float) -> None:
        """Take a decision of so many seconds from what is left."""
        if self._clock:
            self._bank -= max(0.0, seconds - self._clock.per_decision)
