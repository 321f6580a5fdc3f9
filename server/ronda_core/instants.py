"""Instants as RFC 3339 writes them, compared without a clock and without rounding."""

from __future__ import annotations

import re
from datetime import date
from typing import Final, NamedTuple

_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]"
    r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_DAY: Final = 24 * 60
_CYCLE: Final = 146_097
"""Days of 400 years, after which the calendar repeats: dates of Python begin with the year 1."""


class Instant(NamedTuple):
    """A moment; the later one is the greater one."""

    minute: int
    """In UTC."""
    second: int
    """60 in a leap second."""
    fraction: str
    """Its digits, without zeros at the end."""


def instant(text: str) -> Instant | None:
    """Return the moment that `text` names, or None if there is no such moment.

    A leap second stands where it can: in the last minute of a month in UTC.
    """
    found = _TIME.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    try:
        days = date(2000 + year % 400, month, day).toordinal() + year // 400 * _CYCLE
    except ValueError:
        return None
    minutes = days * _DAY + hour * 60 + minute
    if found[8]:
        offset = int(found[9]) * 60 + int(found[10])
        minutes -= offset if found[8] == "+" else -offset
    if second == 60 and not _ends_a_month(minutes):
        return None
    return Instant(minutes, second, (found[7] or "").rstrip("0"))


def _ends_a_month(minute: int) -> bool:
    days, rest = divmod(minute + 1, _DAY)
    return not rest and date.fromordinal((days - 1) % _CYCLE + 1).day == 1
