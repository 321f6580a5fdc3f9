"""The public list of commitments, checked as a whole: what was promised, and how it ended.

Source: docs/fairness.md. The list is a chain: every entry holds the hash of the one before. Who
has kept one hash knows of everything before it whether it is still as it was.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

from ronda_core.claims import is_id
from ronda_core.match import Outcome
from ronda_core.strict_json import Fields, RecordError, parse

NO_HASH: Final = "0" * 64
"""What stands before the first entry."""
FINISHED: Final = "finished"
FORFEITED: Final = "forfeited"
CANCELLED: Final = "cancelled"

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_ENDING: Final = re.compile(r"[a-z_]{0,32}")
_LONGEST_SCOPE: Final = 256


class BrokenListError(ValueError):
    """A list that is not what was promised: changed, cut or told in two ways."""


class Listed(NamedTuple):
    """One entry of the list."""

    number: int
    scope: str
    commitment: str
    ending: str
    """Empty in the entry that announces the commitment."""
    previous_hash: str
    hash: str


class Promise(NamedTuple):
    """What the list tells of one scope."""

    commitment: str
    ending: str
    """Empty as long as none is told."""


def ending_of(outcome: Outcome) -> str:
    """Return the word by which the list tells how a match ended."""
    return {Outcome.FORFEIT: FORFEITED, Outcome.CANCELLED: CANCELLED}.get(outcome, FINISHED)


def entry_hash(number: int, scope: str, commitment: str, ending: str, previous: str) -> str:
    """Return the hash of an entry: SHA-256 over its fields, each with its length before it."""
    parts = ("ronda-fair/1/entry", str(number), scope, commitment, ending, previous)
    texts = [part.encode() for part in parts]
    data = b"".join(len(text).to_bytes(2, "big") + text for text in texts)
    return hashlib.sha256(data).hexdigest()


def read_entry(line: str) -> Listed:
    """Return the entry that a line of JSON holds, or raise `RecordError`."""
    fields = Fields(parse(line))
    entry = Listed(
        fields.take("number", int),
        fields.take("scope", str),
        fields.take("commitment", str),
        fields.take("ending", str),
        fields.take("previous_hash", str),
        fields.take("hash", str),
    )
    if entry.number < 1:
        raise RecordError("number: entries count from 1")
    if not is_id(entry.scope) or len(entry.scope) > _LONGEST_SCOPE:
        raise RecordError("scope: letters, digits, - and _ are expected")
    if not _ENDING.fullmatch(entry.ending):
        raise RecordError("ending: a word in lower case, or nothing, is expected")
    for name in ("commitment", "previous_hash", "hash"):
        if not _DIGEST.fullmatch(getattr(entry, name)):
            raise RecordError(f"{name}: 64 hexadecimal digits in lower case are expected")
    return entry


class Commitments:
    """A list as far as it was read, every link of it checked."""

    __slots__ = ("_promises", "last_hash", "length")

    def __init__(self) -> None:
        self._promises: dict[str, Promise] = {}
        self.length = 0
        self.last_hash = NO_HASH

    def append(self, entry: Listed) -> None:
        """Take the next entry, or raise `BrokenListError`."""
        number, scope, commitment, ending, previous, own = entry
        if number != self.length + 1:
            raise BrokenListError(f"entry {self.length + 1} is expected here")
        if previous != self.last_hash:
            raise BrokenListError("it does not hold the hash of the entry before")
        if own != entry_hash(number, scope, commitment, ending, previous):
            raise BrokenListError("its hash is not the one of its fields")
        told = self._promises.get(scope)
        if not ending and told:
            raise BrokenListError("its scope was announced before")
        if ending and (not told or told.commitment != commitment):
            raise BrokenListError("it ends what was not announced")
        if ending and told and told.ending:
            raise BrokenListError("its scope had ended before")
        self._promises[scope] = Promise(commitment, ending)
        self.length, self.last_hash = number, own

    def find(self, scope: str) -> Promise | None:
        """Return what was promised for `scope`, if anything was."""
        return self._promises.get(scope)
