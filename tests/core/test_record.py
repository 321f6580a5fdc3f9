"""Records as lines: what is read and written, and what is refused and where."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.records import FORGED, TRUE, canonical, changed, judge, played, quick

from ronda_core import verify
from ronda_core.cards import PACK, TEXT
from ronda_core.record import Record, RecordError, read, write


@pytest.mark.parametrize("lines", [TRUE, FORGED], ids=["true", "forged"])
def test_a_line_is_written_as_it_was_read(lines: list[str]) -> None:
    assert [write(read(line)) for line in lines] == [canonical(line) for line in lines]
    assert sum(write(read(line)) == line for line in lines) >= len(lines) - 16


@pytest.mark.parametrize("lines", [TRUE, FORGED], ids=["true", "forged"])
def test_what_is_written_reads_as_the_same_record(lines: list[str]) -> None:
    records = [read(line) for line in lines]
    assert [read(write(record)) for record in records] == records


def test_unknown_keys_are_kept_wherever_they_stand() -> None:
    data = json.loads(next(line for line in TRUE if '"fault"' in line))
    for place in (data, data["hands"][1], data["fair"], data["fault"]):
        place["new"] = {"a": [1, 2.5, None, True, "é\u2028", {}]}
    record = read(json.dumps(data))
    assert verify.verify(record).proven
    assert canonical(write(record)) == canonical(json.dumps(data))


def test_an_unknown_key_never_stands_for_a_known_one() -> None:
    record = read(TRUE[0])
    for key in ("id", "length", "rated"):
        with pytest.raises(RecordError):
            write(replace(record, extra={key: 3}))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), object(), "\ud800", {"k": "\udfff"}])
def test_what_json_cannot_say_is_not_written(bad: object) -> None:
    with pytest.raises(RecordError):
        write(replace(read(TRUE[0]), clock=bad))


def test_keys_that_do_not_apply_are_left_out() -> None:
    data = json.loads(write(read(TRUE[1])))
    assert not data.keys() & {"length", "fault", "clock", "isolation", "rated", "block"}
    assert "declared" not in data["hands"][0]
    nulls = dict.fromkeys(("clock", "fault", "isolation", "rated", "tournament", "block"))
    assert write(read(json.dumps(data | nulls))) == TRUE[1]


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("format", "ronda-record/2", "format"),
        ("format", 1, "format"),
        ("id", 7, "id"),
        ("rules", None, "rules"),
        ("target", "41", "target"),
        ("target", 41.0, "target"),
        ("target", True, "target"),
        ("players", False, "players"),
        ("length", 1.5, "length"),
        ("seats", "bot0", "seats"),
        ("seats/0", None, "seats"),
        ("start", 0, "start"),
        ("end", ..., "end"),
        ("hands", {}, "hands"),
        ("hands/0", [], "hand 1"),
        ("hands/0/dealer", True, "hand 1, dealer"),
        ("hands/1/deck", ["1O"], "hand 2, deck"),
        ("hands/1/deck", "1O 8O", "hand 2, deck"),
        ("hands/0/deck", "1O  2O", "hand 1, deck"),
        ("hands/0/deck", "01O", "hand 1, deck"),
        ("hands/0/plays", " 1O", "hand 1, plays"),
        ("hands/0/plays", "1o", "hand 1, plays"),
        ("hands/0/plays", None, "hand 1, plays"),
        ("hands/0/points", ..., "hand 1, points"),
        ("hands/0/points/0", [1, 2, "este"], "hand 1, award 1"),
        ("hands/0/points/0", [1, 2, "este", True], "hand 1, award 1"),
        ("hands/0/points/1", [1, 2, "este", 1, 1], "hand 1, award 2"),
        ("hands/0/points/0", {}, "hand 1, award 1"),
        ("hands/0/declared", [], "hand 1, declared"),
        ("hands/0/declared", {"1": "ronda"}, "hand 1, declared"),
        ("hands/0/declared", {"1": {"0": 1}}, "hand 1, declared"),
        ("hands/0/declared", {"01": {"0": "ronda"}}, "hand 1, declared"),
        ("hands/0/declared", {"1": {"+1": "ronda"}}, "hand 1, declared"),
        ("hands/0/declared", {"1": {"-0": "ronda"}}, "hand 1, declared"),
        ("hands/0/declared", {"1": {"\u0661": "ronda"}}, "hand 1, declared"),
        ("hands/0/declared", {"9" * 5000: {}}, "hand 1, declared"),
        ("score", None, "score"),
        ("score/0", "33", "score"),
        ("winner", ..., "winner"),
        ("winner", "0", "winner"),
        ("winner", True, "winner"),
        ("outcome", ..., "outcome"),
        ("fault", [], "fault"),
        ("fault/seat", None, "fault, seat"),
        ("fault/cause", 3, "fault, cause"),
        ("fault/detail", ..., "fault, detail"),
        ("isolation", "trusted", "isolation"),
        ("isolation", [1, 2], "isolation"),
        ("rated", 1, "rated"),
        ("tournament", 5, "tournament"),
        ("block", "7", "block"),
        ("rotation", True, "rotation"),
        ("fair", [], "fair"),
        ("fair/scheme", ..., "fair, scheme"),
        ("fair/commitment", None, "fair, commitment"),
        ("fair/master", ..., "fair, master"),
        ("fair/master", 7, "fair, master"),
        ("fair/master", "zz", "fair, master"),
        ("fair/master", "A0" * 32, "fair, master"),
        ("fair/master", "a0 " * 32, "fair, master"),
        ("fair/master", "a", "fair, master"),
        ("fair/entries", {}, "fair, entries"),
        ("fair/entries/0", ["bot0@1.0.0"], "fair, entry 0"),
        ("fair/entries/1", ["bot0@1.0.0", None], "fair, entry 1"),
        ("fair/entries/1", ["bot0@1.0.0", "", ""], "fair, entry 1"),
        ("fair/entries/0", ["bot0@1.0.0", "0x11"], "fair, entry 0"),
    ],
)
def test_a_wrong_kind_of_value_cannot_be_read(path: str, value: object, place: str) -> None:
    with pytest.raises(RecordError) as caught:
        read(changed(path, value))
    assert str(caught.value).split(":")[0] == place


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "[]",
        "7",
        '"ronda-record/1"',
        "{}",
        "\ufeff" + TRUE[0],
        TRUE[0] + TRUE[0],
        TRUE[0].replace('"target": 41', '"target": NaN'),
        TRUE[0].replace('"target": 41', '"target": -Infinity'),
        TRUE[0].replace('"target": 41', '"target": 41, "clock": NaN'),
        TRUE[0].replace('"target": 41', '"target": 41, "clock": 1e999'),
        TRUE[0].replace('"target": 41', '"target": 4' + "1" * 5000),
        TRUE[0].replace('"target": 41', '"target": 41, "new": 9007199254740993'),
        TRUE[0].replace('"target": 41', '"target": 41, "target": 41'),
        TRUE[0].replace('"dealer": 1', '"dealer": 1, "dealer": 1', 1),
        TRUE[0].replace('"detail": ""', '"detail": "", "new": {"a": {"b": 1, "b": 2}}'),
        TRUE[0].replace('"detail": ""', '"detail": "\\udc00"'),
        TRUE[0].replace('"detail": ""', '"detail": "\udc80"'),
        TRUE[0].replace('"detail": ""', '"detail": "\x00"'),
        TRUE[0].replace('"detail": ""', '"detail": "", "new": ' + "[" * 40 + "]" * 40),
        TRUE[0].replace('"detail": ""', '"detail": "", "new": ' + '{"a":' * 500 + "1" + "}" * 500),
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
    ids=range(24),
)
def test_a_line_that_is_no_plain_json_object_is_refused(line: str) -> None:
    with pytest.raises(RecordError) as caught:
        read(line)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None  # a parser's error carries the line, secrets and all


@given(st.data())
@quick
def test_no_mutated_line_does_worse_than_being_refused(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(TRUE + FORGED))
    raw = bytearray(line.encode())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "insert", "repeat", "number"]))
        if kind == "flip":
            raw[at] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "cut":
            del raw[at : at + data.draw(st.integers(1, 40))]
            raw = raw or bytearray(b"{")
        elif kind == "insert":
            raw[at:at] = data.draw(
                st.sampled_from([b"[", b"}", b'"', b",", b"-", b"e9", b"\\ud800"])
            )
        elif kind == "number" and raw[at : at + 1].isdigit():
            raw[at : at + 1] = data.draw(st.sampled_from([b"-1", b"99", b"1e2", b"true", b"null"]))
        else:
            raw[at:at] = raw[at : at + data.draw(st.integers(1, 60))]
    try:
        record = read(raw.decode(errors="surrogateescape"))
    except RecordError:
        return
    verdict = verify.verify(record)
    assert isinstance(verdict, verify.Verdict)
    assert read(write(record)) == record


@given(st.data())
@quick
def test_no_truncated_line_is_a_record(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(TRUE))
    with pytest.raises(RecordError):
        read(line[: data.draw(st.integers(0, len(line) - 1))])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
)


@given(st.data())
@quick
def test_any_value_anywhere_gives_a_verdict_or_is_refused(data: st.DataObject) -> None:
    record = json.loads(data.draw(st.sampled_from(TRUE)))
    place: Any = record
    while True:
        keys = list(range(len(place))) if isinstance(place, list) else list(place)
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(place[key], dict | list) and place[key]) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(json_values)
    try:
        verdict = judge(record)
    except RecordError:
        return
    assert verdict.proven == (verdict.problem == "")


@given(st.text())
@quick
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        read(text)


def secrets_of(record: Record) -> Iterator[str]:
    assert record.fair
    assert record.fair.master
    yield record.fair.master.hex()
    for told in record.hands:
        yield " ".join(map(str, told.deck[:3]))
    yield record.fair.entries[0].entropy.hex() or record.fair.master.hex()


def test_no_repr_and_no_verdict_tells_a_secret() -> None:
    record, steps = played("pagat", 4, random.Random(5))
    assert record.fair
    shown = repr((record, record.hands, record.fair, record.fair.entries, steps))
    shown += str([record]) + f"{record.fair}"
    words = {TEXT[card] for card in PACK}
    for bad in (*FORGED, changed("hands/0/deck", "1O")):
        verdict = verify.verify(read(bad))
        assert not words & set(str(verdict).replace("'", " ").split())
    assert not [secret for secret in secrets_of(record) if secret in shown]
    assert not words & set(shown.replace("'", " ").split())
