"""Logs: one line each, and never a card, a token or a seed in one."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import grpc
import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.conftest import stop
from tests.server.scraping import everything
from tests.server.tables import Table

from ronda_core.cards import PACK, Card
from ronda_server import logs

# Logs.

TOKENS = st.from_regex(r"rnd_[osi]_[A-Za-z0-9_-]{43}", fullmatch=True)


@dataclass
class Holder:
    """Something with a text form of its own."""

    inner: object

    def __str__(self) -> str:
        return f"holds {self.inner}"


class Pair(NamedTuple):
    """A tuple with names."""

    first: object
    second: object


def holders(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return containers of every kind."""
    words = st.text("abc", max_size=5)
    keys = words | secrets | st.sampled_from(sorted(logs._SECRET_KEYS))
    return (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Pair, inner, inner)
        | st.builds(Holder, inner)
        | st.sets(secrets, max_size=3)
        | st.frozensets(secrets, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
        | st.builds(lambda token: f"seat with {token} came", TOKENS)
    )


secrets = (
    st.sampled_from(PACK)
    | st.binary(min_size=4, max_size=20)
    | TOKENS
    | st.tuples(st.sampled_from(PACK), TOKENS)
)

VALUES = st.recursive(secrets | st.none() | st.booleans() | st.text("abc"), holders, max_leaves=8)


def rendered(event: dict[str, Any]) -> str:
    """Return the line that an event becomes."""
    logs.configure("debug")
    processors = structlog.get_config()["processors"]
    structlog.reset_defaults()
    told: Any = dict(event)
    for processor in processors:
        told = processor(None, "info", told)
    assert isinstance(told, str)
    return told


def leaves(value: Any) -> Iterator[Any]:
    """Yield every key and value of a parsed line."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


@given(st.dictionaries(st.sampled_from(["match", "problem", "what", "token", "hand"]), VALUES))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_card_token_or_bytes_are_ever_in_a_line_however_they_are_nested(
    event: dict[str, Any],
) -> None:
    line = rendered({"event": "something", **event})
    assert "\n" not in line
    told = json.loads(line)
    time = told.pop("timestamp")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", time)
    for leaf in leaves(told):
        # No number was put in: one that comes out is a card's.
        assert leaf is None or isinstance(leaf, bool | str), leaf
        if isinstance(leaf, str):
            assert "rnd_" not in leaf
            assert not re.search(r"\d", leaf), leaf
            assert "\\x" not in leaf


@pytest.mark.parametrize("key", sorted(logs._SECRET_KEYS))
def test_a_value_with_the_name_of_a_secret_is_taken_out_at_every_depth(key: str) -> None:
    line = rendered({"event": "x", key: "plain", "deep": [{"deeper": ({key: "plain"},)}]})
    assert "plain" not in line


def test_every_card_is_taken_out_by_its_type() -> None:
    for card in PACK:
        assert isinstance(card, Card)
        assert set(json.loads(rendered({"event": "x", "what": card}))["what"]) == {"•"}


def test_a_line_is_one_line_whatever_a_text_holds() -> None:
    line = rendered({"event": "x", "name": "a\nb\r\x1b[2J\u2028\u202e"})
    assert line.isprintable()
    assert json.loads(line)["name"] == "a\nb\r\x1b[2J\u2028\u202e"


async def test_a_whole_match_leaves_neither_card_nor_token_nor_entropy_in_the_log(
    start: Any,
) -> None:
    logs.configure("debug")
    lines = io.StringIO()
    structlog.configure(
        **structlog.get_config()
        | {
            "logger_factory": structlog.PrintLoggerFactory(lines),
            "cache_logger_on_first_use": False,
        }
    )
    try:
        client = await start()
        table = await everything(client)
        bots = Table(client, await client.create("greedy", "careful", rules="cafe", length=1))
        stream = bots.watch()
        while await stream.read() is not grpc.aio.EOF:
            pass  # to its end
        await stop(client)
    finally:
        structlog.reset_defaults()
    text = lines.getvalue()
    assert len(text.splitlines()) < 20, "events are logged, not calls"
    assert table.id in text
    for secret in (table.owner, *table.tokens.values(), "rnd_"):
        assert secret not in text
    assert not re.search(r"\b(1|2|3|4|5|6|7|10|11|12)[OCEB]\b", text)
    for line in text.splitlines():
        json.loads(line)
