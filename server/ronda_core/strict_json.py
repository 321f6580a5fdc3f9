"""Strict JSON: one value of which every part is what it claims to be, or an error.

No error of this module holds a part of the text, which may be secret: only where it stands and
what was expected.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, TypeVar

_T = TypeVar("_T")
_KINDS: Final = {str: "text", int: "a whole number", bool: "true or false", list: "a list"}
_MOST: Final = 2**53
"""Beyond it, readers in other languages disagree about a number."""
_DEPTH: Final = 32
"""Most levels of a value: nothing that handles one recurses further."""


class RecordError(ValueError):
    """A line that is no record, or a record that cannot be written."""


def parse(line: str) -> object:
    """Return what the JSON in `line` says."""
    # The parser's own errors carry the line: none of them may travel along with ours.
    try:
        value: object = json.loads(
            line,
            object_pairs_hook=_object,
            parse_int=_whole,
            parse_float=_float,
            parse_constant=_constant,
        )
        if "\\u" in line or not line.isascii():
            # Half of a surrogate pair is no text: it would break in a digest, or in a terminal.
            json.dumps(value, ensure_ascii=False).encode()
        _check_depth(value)
    except RecordError:
        raise
    except json.JSONDecodeError as error:
        problem = f"not JSON, at character {error.pos + 1}"
    except RecursionError:
        problem = "nested too deeply"
    except UnicodeEncodeError:
        problem = "text that is not Unicode"
    else:
        return value
    raise RecordError(problem)


class Fields:
    """The keys of one object, taken out one by one; what is left over is unknown."""

    __slots__ = ("_where", "left")

    def __init__(self, value: object, where: str = "") -> None:
        if not isinstance(value, dict):
            raise RecordError(f"{where or 'the line'}: an object is expected")
        self.left: dict[str, Any] = value
        self._where = where

    def place(self, key: str) -> str:
        """Return where `key` stands, for an error."""
        return f"{self._where}, {key}" if self._where else key

    def take(self, key: str, kind: type[_T]) -> _T:
        """Return what stands under `key`, which must be a `kind`."""
        value = self.maybe(key, kind)
        if value is None:
            raise RecordError(f"{self.place(key)}: missing")
        return value

    def take_or_null(self, key: str, kind: type[_T]) -> _T | None:
        """Return what stands under `key`, which must be there but may be null."""
        if key not in self.left:
            raise RecordError(f"{self.place(key)}: missing")
        return self.maybe(key, kind)

    def maybe(self, key: str, kind: type[_T]) -> _T | None:
        """Return what stands under `key`, if anything does."""
        value = self.left.pop(key, None)
        return None if value is None else only(self.place(key), value, kind)


def only(where: str, value: object, kind: type[_T]) -> _T:
    """Return `value` if it is a `kind` and nothing like it: true is no number."""
    if type(value) is not kind:
        raise RecordError(f"{where}: {_KINDS[kind]} is expected")
    return value


def every(where: str, values: list[object], kind: type[_T]) -> tuple[_T, ...]:
    """Return `values` if each of them is a `kind`."""
    return tuple([only(where, value, kind) for value in values])


def number(where: str, text: str) -> int:
    """Return the whole number that a key spells, in the one way to spell it."""
    digits = text.removeprefix("-")
    if len(digits) < 16 and digits.isascii() and digits.isdigit() and str(int(text)) == text:
        return int(text)
    raise RecordError(f"{where}: its keys are whole numbers")


def octets(where: str, text: str) -> bytes:
    """Return the bytes that hexadecimal text spells, in the one way to spell them."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if data.hex() != text:
        raise RecordError(f"{where}: hexadecimal digits in lower case are expected")
    return data


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RecordError("a key is given twice")
    return found


def _whole(text: str) -> int:
    value = int(text) if len(text) < 18 else _MOST + 1
    if abs(value) > _MOST:
        raise RecordError("a number is too large")
    return value


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RecordError("a number is too large")
    return value


def _constant(_: str) -> object:
    raise RecordError("a number is not finite")


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise RecordError("nested too deeply")
