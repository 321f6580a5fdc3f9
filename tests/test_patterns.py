"""What validates a name, an id, a version, a token or a card takes all of a text, or refuses it.

In Python `$` matches before a line's end too, so that `name\\n` would be a name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest
from tests.arena.tournament.plans import plan

from ronda.v1 import bot_service_pb2
from ronda_arena.clock import Clock
from ronda_arena.home.shelf import KeptBot, Note
from ronda_arena.ladder.plan import LadderError, made
from ronda_arena.starter import check_name
from ronda_bots.about import is_version
from ronda_bots.installed import GROUP, entry_problem
from ronda_core.cards import parse_card
from ronda_core.claims import is_id, is_name
from ronda_core.commitments import NO_HASH, read_entry
from ronda_core.instants import instant
from ronda_core.rules import settings
from ronda_server.errors import ServiceError
from ronda_server.frames import about
from ronda_server.identity import Keys, is_api_key

ROOT = Path(__file__).parent.parent
_WHOLE = "re.compile", "re.match", "re.search", "re.fullmatch", "re.sub", "re.findall"


def test_no_pattern_ends_before_the_end_of_a_text() -> None:
    found = list(_patterns())
    assert len(found) > 40
    ends = [f"{place}: {text}" for place, text, many in found if not many and _has_dollar(text)]
    assert ends == []


def test_what_a_struct_holds_a_field_to_begins_and_ends_with_the_text() -> None:
    held = [(place, text) for place, text, _ in _patterns() if place.endswith("Meta")]
    assert len(held) >= 2
    assert [place for place, text in held if not re.fullmatch(r"\^.*\\Z", text)] == []


def _patterns() -> Iterator[tuple[str, str, bool]]:
    """Yield where a pattern stands, the pattern, and whether it is of several lines."""
    for folder in ("server", "bots", "clients/cli", "benchmarks", "proto"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            if "gen" in file.relative_to(ROOT).parts:
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if not isinstance(node, ast.Call):
                    continue
                called = ast.unparse(node.func)
                given = [word.value for word in node.keywords if word.arg == "pattern"]
                texts = node.args[:1] if called in _WHOLE else given
                for one in texts:
                    if isinstance(one, ast.Constant):
                        text = one.value if isinstance(one.value, str) else one.value.decode()
                        place = f"{file.relative_to(ROOT)}:{node.lineno} {called.split('.')[-1]}"
                        yield place, text, "MULTILINE" in ast.unparse(node)


def _has_dollar(pattern: str) -> bool:
    return "$" in re.sub(r"\[[^]]*\]", "", re.sub(r"\\.", "", pattern))


def _says(check: Callable[[str], object], *refusals: type[Exception]) -> Callable[[str], bool]:
    """Return whether a check that raises takes a text."""

    def takes(text: str) -> bool:
        try:
            check(text)
        except refusals:
            return False
        return True

    return takes


def _of_a_hello(field: str) -> Callable[[str], bool]:
    sound = {"name": "mine", "version": "1.0"}
    return _says(lambda text: about(bot_service_pb2.Hello(**{**sound, field: text})), ServiceError)


def _of_an_entry(field: str) -> Callable[[str], bool]:
    sound = {
        "number": 1,
        "scope": "m",
        "commitment": NO_HASH,
        "ending": "",
        "previous_hash": NO_HASH,
        "hash": NO_HASH,
    }
    return _says(
        lambda text: read_entry(msgspec.json.encode({**sound, field: text}).decode()), ValueError
    )


def _note(folder: str) -> Note:
    bot = KeptBot("mine", "1.0", "", "mine", "Bot")
    sound = Note("mine", "1.0", {}, "", (), (), (bot,), {})
    return msgspec.convert({**msgspec.to_builtins(sound), "path": [folder]}, Note)


@pytest.mark.parametrize(
    ("takes", "sound"),
    [
        (is_id, "b-1_x"),
        (is_name, "mine@1.0"),
        (is_version, "1.0+x"),
        (_says(parse_card, ValueError), "12E"),
        (lambda text: instant(text) is not None, "2026-01-01T00:00:00Z"),
        (_says(Clock.parse, ValueError), "0.5+10"),
        (_says(check_name, ValueError), "mine"),
        (lambda text: not entry_problem(EntryPoint(text, "mine:Bot", GROUP)), "mine"),
        (_says(lambda text: plan(2, name=text), ValueError), "spring-3"),
        (
            _says(
                lambda text: made(
                    text,
                    settings("cafe", 2),
                    clock=None,
                    isolation="auto",
                    rated=False,
                    anchors=(),
                    identity=str,
                ),
                LadderError,
            ),
            "ladder",
        ),
        (_says(_note, msgspec.ValidationError), "bot"),
        (_says(_note, msgspec.ValidationError), "needs/numpy-2.0"),
        (_of_a_hello("name"), "mine"),
        (_of_a_hello("version"), "1.0"),
        (_of_a_hello("description"), "plays well"),
        (is_api_key, Keys(bytes(32)).api_key(b"r")[1]),
        (_of_an_entry("scope"), "m-1"),
        (_of_an_entry("commitment"), NO_HASH),
        (_of_an_entry("ending"), "finished"),
        (_of_an_entry("hash"), NO_HASH),
    ],
)
@pytest.mark.parametrize("beside", ["\n", "\r", "\r\n", "\u2028", "\0"])
def test_what_has_a_line_end_behind_it_or_before_it_is_refused(
    takes: Callable[[str], bool], sound: str, beside: str
) -> None:
    assert takes(sound)
    assert not takes(sound + beside)
    assert not takes(beside + sound)
