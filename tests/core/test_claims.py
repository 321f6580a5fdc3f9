"""What a record says around its hands: refused where the record alone contradicts it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.records import END, START, TABLES, TRUE, played

from ronda_core import fair, match, rules, verify
from ronda_core.claims import ISOLATIONS, LONGEST_DETAIL, contradictions, is_name
from ronda_core.instants import instant
from ronda_core.match import Cause, Fault
from ronda_core.record import Record, Scribe, read

RECORDS = [read(line) for line in TRUE]
FORGED = (Path(__file__).parent.parent / "data" / "record-forged.jsonl").read_text().splitlines()
FORFEITS = [record for record in RECORDS if record.outcome == "forfeit"]
PLAYED = [record for record in RECORDS if record.outcome != "forfeit"]
quick = settings(max_examples=300, deadline=None)
each_table = pytest.mark.parametrize(("name", "players"), TABLES)
each_table_of_several_hands = pytest.mark.parametrize(
    ("name", "players"), [table for table in TABLES if table[0] != "arabic"]
)


def where(record: Record, **changes: Any) -> str:
    """Where a record breaks after a change, empty if it does not."""
    return verify.verify(replace(record, **changes)).where


# --- times -----------------------------------------------------------------------------------

moments = st.timedeltas(timedelta(days=400), timedelta(days=3_650_000)).map(
    lambda since: datetime(1, 1, 1, tzinfo=UTC) + since
)
offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(moments, moments, offsets, offsets)
@quick
def test_two_times_are_in_the_order_of_their_instants_whatever_their_offsets(
    one: datetime, two: datetime, here: timezone, there: timezone
) -> None:
    first, second = (
        instant(at.astimezone(zone).isoformat()) for at, zone in ((one, here), (two, there))
    )
    assert first is not None
    assert second is not None
    assert (first < second, first == second) == (one < two, one == two)


@given(st.integers(0, 9999), st.integers(0, 99), st.integers(0, 99))
@quick
def test_a_date_is_one_that_the_calendar_has(year: int, month: int, day: int) -> None:
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    lengths[1] += year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    real = 1 <= month <= 12 and 1 <= day <= lengths[month - 1]
    assert (instant(f"{year:04}-{month:02}-{day:02}T12:00:00Z") is not None) == real


@given(moments, offsets)
@quick
def test_a_leap_second_stands_only_in_the_last_minute_of_a_month_of_utc(
    at: datetime, zone: timezone
) -> None:
    at = at.replace(second=0, microsecond=0)
    last = (at.replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=0)
    for minute in (at, at.replace(hour=23, minute=59), last - timedelta(minutes=1)):
        text = minute.astimezone(zone).isoformat()
        found = instant(f"{text[:17]}60{text[19:]}")
        assert (found is not None) == (minute + timedelta(minutes=1) == last)
        if found:
            before = instant(minute.replace(second=59, microsecond=999_999).isoformat())
            after = instant(last.isoformat())
            assert before is not None
            assert after is not None
            assert before < found < after


@pytest.mark.parametrize(
    "text",
    [
        "2016-12-31T23:59:60Z",
        "2016-12-31T15:59:60.75-08:00",
        "0000-02-29t00:00:00z",
        "9999-12-31T23:59:59.999999999999-23:59",
        "2026-01-01T00:00:00-00:00",
    ],
)
def test_what_rfc_3339_allows_is_an_instant(text: str) -> None:
    assert instant(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-02-31T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-00-10T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z",
        "2026-01-01T00:00:60Z",
        "2016-12-31T23:59:60+01:00",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00Z\n",
        "\u0662026-01-01T00:00:00Z",
        "12026-01-01T00:00:00Z",
    ],
)
def test_what_is_no_instant_is_refused_as_start_and_as_end(text: str) -> None:
    assert instant(text) is None
    for key in ("start", "end"):
        assert where(RECORDS[0], **{key: text}) == key


@given(st.text() | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]*)?[Z+-]?"))
@quick
def test_any_text_is_an_instant_or_none_and_its_case_does_not_matter(text: str) -> None:
    found = instant(text)
    assert found is None or found == instant(text.lower()) == instant(text.upper())


@given(st.sampled_from(RECORDS), moments, moments)
@quick
def test_no_record_ends_before_it_starts(record: Record, one: datetime, two: datetime) -> None:
    first, last = sorted((one, two))
    assert not where(record, start=first.isoformat(), end=last.isoformat())
    assert not where(record, start=first.isoformat(), end=first.isoformat())
    if first < last:
        assert where(record, start=last.isoformat(), end=first.isoformat()) == "end"


def test_the_smallest_fraction_of_a_second_counts() -> None:
    tiny = "2026-01-01T00:00:00.00000000000000000000000001Z"
    assert where(RECORDS[0], start=tiny, end="2026-01-01T00:00:00.0Z") == "end"
    same = tiny.replace("1Z", "10Z")
    assert not where(RECORDS[0], start=tiny, end=same)
    assert not where(RECORDS[0], start=same, end=tiny)


@given(moments, moments)
@quick
def test_a_clock_that_is_put_back_makes_no_record_that_is_refused(
    start: datetime, end: datetime
) -> None:
    game = match.Match(rules.settings("cafe", 2), 0)
    scribe = Scribe("m", game.settings, "ab", start=start.isoformat())
    scribe.take(game, match.cancel(game))
    record = scribe.record(end.isoformat())
    assert record.end == max(start, end).isoformat()
    assert verify.verify(record).unproven


# --- faults ----------------------------------------------------------------------------------


@given(st.sampled_from(FORFEITS), st.text(max_size=2 * LONGEST_DETAIL))
@quick
def test_a_detail_of_a_fault_can_be_printed_and_is_short(record: Record, detail: str) -> None:
    assert record.fault
    fine = len(detail) <= LONGEST_DETAIL and detail.isprintable()
    found = where(record, fault=record.fault._replace(detail=detail))
    assert found == ("" if fine else "fault, detail")


def test_a_detail_of_a_fault_may_be_as_long_as_the_limit_and_no_longer() -> None:
    for record in FORFEITS:
        assert record.fault
        for longer in (0, 1, 10**6):
            fault = record.fault._replace(detail="a" * (LONGEST_DETAIL + longer))
            assert where(record, fault=fault) == ("fault, detail" if longer else "")


@pytest.mark.parametrize("mark", ["\n", "\0", "\x1b[2J", "\x9b", "\u202e", "\u2028", "\u200b"])
def test_nothing_that_steers_a_terminal_is_a_detail(mark: str) -> None:
    for record in FORFEITS:
        assert record.fault
        detail = f"it crashed{mark}"
        assert where(record, fault=record.fault._replace(detail=detail)) == "fault, detail"


@each_table
@pytest.mark.parametrize("cause", Cause)
def test_the_seat_at_fault_exists_and_is_never_on_the_side_that_won(
    name: str, players: int, cause: Cause
) -> None:
    rng = random.Random(f"{name}{players}{cause}")
    side_of = rules.settings(name, players).side_of
    for stop in rng.sample(range(20), 4):
        fault = Fault(rng.randrange(players), cause)
        record, _ = played(name, players, rng, stop=stop, fault=fault)
        assert record.outcome == "forfeit"
        assert not where(record)
        for seat in range(-players - 1, players + 2):
            found = where(record, fault=fault._replace(seat=seat))
            if not 0 <= seat < players:
                assert found == "fault, seat"
            elif record.winner == side_of[seat]:
                assert found == "winner"


# --- length and target -----------------------------------------------------------------------


@each_table_of_several_hands
def test_the_length_is_the_number_of_hands_that_a_match_of_that_length_played(
    name: str, players: int
) -> None:
    for length in (1, 2, 4):
        record, _ = played(name, players, random.Random(length), length=length)
        assert (record.outcome, len(record.hands)) == ("length", length)
        for other in range(-1, rules.MAX_LENGTH + 2):
            assert (where(record, length=other) != "") == (other != length)


@each_table_of_several_hands
def test_a_match_that_was_stopped_had_a_hand_left_to_play(name: str, players: int) -> None:
    rng = random.Random(f"{name}{players}")
    for stop in (1, 40, 50, 90):
        record, _ = played(name, players, rng, length=4, stop=stop)
        assert record.outcome == "cancelled"
        assert not where(record)
        whole = [hand for hand in record.hands if len(hand.plays) == 36]
        for length in range(1, 5):
            refused = length < len(record.hands) or length == len(whole)
            assert (where(record, length=length) != "") == refused


@pytest.mark.parametrize("record", PLAYED, ids=lambda record: record.id)
def test_no_end_before_the_target_or_the_last_hand_is_called_an_end(record: Record) -> None:
    for kept in range(len(record.hands)):
        hands = record.hands[:kept]
        for outcome in ("target", "hand", "length"):
            found = where(record, hands=hands, outcome=outcome)
            assert found == f"hand {kept + 1}"
    last = record.hands[-1]
    for plays in range(0, len(last.plays), 5):
        cut = replace(last, plays=last.plays[:plays])
        assert where(record, hands=(*record.hands[:-1], cut)).startswith("hand ")


@pytest.mark.parametrize("record", PLAYED, ids=lambda record: record.id)
def test_a_match_that_was_played_out_was_neither_forfeited_nor_cancelled(record: Record) -> None:
    for seat in range(record.players):
        fault = Fault(seat, Cause.CRASH)
        assert where(record, outcome="forfeit", fault=fault) == "outcome"
    assert where(record, outcome="cancelled", winner=None) == "outcome"


# --- conditions ------------------------------------------------------------------------------


@given(st.data())
@quick
def test_a_match_with_a_trusted_seat_is_never_rated(data: st.DataObject) -> None:
    record = data.draw(st.sampled_from(RECORDS))
    each = st.sampled_from(sorted(ISOLATIONS))
    isolation = tuple(data.draw(st.lists(each, min_size=record.players, max_size=record.players)))
    for rated in (None, False):
        assert not where(record, isolation=isolation, rated=rated)
    expected = "rated" if "trusted" in isolation else ""
    assert where(record, isolation=isolation, rated=True) == expected


# --- names -----------------------------------------------------------------------------------

BLANKS = " \u3164\u2800\u115f\u1160\uffa0\u034f\ufe0f\U000e0100\u180b"


def named(record: Record, seat: int, name: str) -> Record:
    """A record whose context names a seat so, as a forger would write it."""
    seats = list(record.seats)
    seats[seat] = name
    assert record.fair
    entries = tuple(map(fair.Entry, seats))
    return replace(record, seats=tuple(seats), fair=replace(record.fair, entries=entries))


@given(st.sampled_from(RECORDS), st.text(st.sampled_from(BLANKS)), st.data())
@quick
def test_no_seat_has_a_name_without_ink(record: Record, name: str, data: st.DataObject) -> None:
    seat = data.draw(st.integers(0, record.players - 1))
    assert not is_name(name)
    assert where(named(record, seat, name)) == "seats"
    assert is_name(name + "a" + name)


@given(st.text(max_size=8))
@quick
def test_a_name_that_is_refused_holds_what_cannot_be_printed_or_only_blanks(name: str) -> None:
    assert is_name(name) or not name.isprintable() or not set(name) - set(BLANKS)


@pytest.mark.parametrize(
    "name",
    ["careful@1.0.0", "p-3f9a", "\u0623\u064f\u0633\u064e\u0627\u0645\u0629", "\u3131", "a b", "é"],
)
def test_a_name_in_any_script_is_a_name(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", " ", "\u3164", "a\x1b[2J", "\u202eb"])
def test_every_bot_of_a_roster_has_a_name_that_can_be_read(name: str) -> None:
    record, _ = played("cafe", 2, random.Random(1), tournament="cup")
    assert record.fair
    entries = tuple(fair.Entry(one) for one in sorted(["bot0@1.0.0", "bot1@1.0.0", name]))
    assert where(record, fair=replace(record.fair, entries=entries)) == "fair, entries"


# --- all of it -------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [*TRUE, *FORGED])
def test_no_vector_contradicts_itself_around_its_hands(line: str) -> None:
    assert list(contradictions(read(line))) == []


@each_table
def test_what_is_claimed_truly_is_accepted_in_every_preset(name: str, players: int) -> None:
    record, _ = played(name, players, random.Random(3))
    assert (record.start, record.end) == (START, END)
    assert list(contradictions(record)) == []
    assert verify.verify(record).proven


def test_several_contradictions_are_told_in_their_order() -> None:
    record = replace(RECORDS[0], id="", seats=("", ""), start="", end="", block=1)
    found = [place for place, _ in contradictions(record)]
    assert found[:4] == ["id", "seats", "start", "end"]
    assert found[-1] == "block"
    assert verify.verify(record).where == "id"


def test_no_contradiction_tells_what_the_record_says() -> None:
    data = json.loads(TRUE[0])
    data |= {"id": "s3cret!", "start": "s3cret", "seats": ["s3cret\n"], "isolation": ["s3cret"]}
    told = list(contradictions(read(json.dumps(data))))
    assert len(told) >= 4
    assert "s3cret" not in str(told)
