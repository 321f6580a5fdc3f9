"""What a person writes, in a file or as flags: short ways to say it, and what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final

_PATH: Final = re.compile(r"`\$\.([a-z]+)(?:\.([a-z]+))?")
_UNKNOWN: Final = re.compile(r"unknown field `(.*?)`(?: - at `\$\.([a-z.]+)`)?\Z")
_STOPS: Final = ("precision", "sequential", "sprt")
_SPRT: Final = ("elo0", "elo1", "alpha", "beta")
_SECRET: Final = ("seed",)
_LONGEST: Final = 40

WANTED: Final[Mapping[str, str]] = {
    "bots": 'a list of names, such as ["random", "greedy"]',
    "format": "round-robin, gauntlet, swiss, knockout or list",
    "name": "at most 64 letters, digits, _ and -",
    "rules": "the name of a preset, see `ronda rules`",
    "players": "2, 3 or 4",
    "target": "a whole number of points",
    "hands": "a whole number from 0 on",
    "blocks": "a whole number from 1 to 10000000",
    "rounds": "a whole number from 0 to 1000",
    "challengers": "a whole number from 1 on",
    "pairings": 'a list of who meets whom, such as [["a", "b"], ["c", "a"]]',
    "seed": "a whole number",
    "clock": 'seconds a decision, such as 0.5, or with a bank, "0.5+10"',
    "isolation": "auto, trusted, process or sandbox",
    "rated": "true or false",
    "owners": 'a table of bots and who owns them, such as { mine = "ann" }',
    "luck": "true or false",
    "stop": "a table with precision, sequential or sprt",
    "precision": "a number of points above 0",
    "sequential": "a number from 1e-9 on and below 0.5",
    "sprt": 'elo0,elo1[,alpha,beta], such as "0,10" or "0,10,0.05,0.05",',
}
"""What each key takes."""


def whole(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with what may be said in short written out.

    A clock may be a number, a stop rule may stand outside of its table, and a list of pairings
    names its bots.
    """
    made = dict(values)
    clock = made.get("clock")
    if isinstance(clock, int | float) and not isinstance(clock, bool):
        made["clock"] = str(clock)
    rule = {name: made.pop(name) for name in _STOPS if name in made}
    if rule and isinstance(made.get("stop", {}), dict):
        made["stop"] = {**made.get("stop", {}), **rule}
    stop = made.get("stop")
    if isinstance(stop, dict) and "sprt" in stop:
        made["stop"] = {**stop, "sprt": _sprt(stop["sprt"])}
    if made.get("format") == "list" and "bots" not in made:
        pairings = made.get("pairings", ())
        if isinstance(pairings, list) and all(isinstance(one, list) for one in pairings):
            made["bots"] = list(dict.fromkeys(name for one in pairings for name in one))
    return made


def _sprt(given: object) -> object:
    """Return the hypotheses of ``0,10,0.05,0.05`` or a list by name; what is neither as it is."""
    words = given.split(",") if isinstance(given, str) else given
    if not isinstance(words, list) or not 2 <= len(words) <= len(_SPRT):
        return given
    try:
        return dict(zip(_SPRT, map(float, words), strict=False))
    except (TypeError, ValueError):
        return given


def problem(error: str, values: Mapping[str, Any]) -> str:
    """Return in words what msgspec finds wrong with the values."""
    unknown = _UNKNOWN.search(error)
    if unknown and "." not in (unknown[2] or ""):  # what is deeper is written as one value
        name, table = unknown.groups()
        return _unknown(name, f"{table}." if table else "", _STOPS if table else WANTED)
    if "missing required field" in error:
        return "name who takes part: bots"
    path = _PATH.search(error)
    if path is None:
        return error
    key, within = path.groups()
    value = values.get(key)
    if within is not None and isinstance(value, dict):
        key, value = within, value.get(within)
    given = "" if key in _SECRET else f", not {_shown(value)}"
    return f"{key}: {WANTED[key]} is expected{given}"


def _unknown(name: str, where: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, 1)
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return f"there is no {where}{name[:_LONGEST]}: {advice}"


def _shown(value: object) -> str:
    told = json.dumps(value, default=str)
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}..."
