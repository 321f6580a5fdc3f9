"""Every kind of single change to a true record: none is ever proven."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.core.records import TRUE, Data, judge

from ronda_core import rules
from ronda_core.cards import TEXT, parse_cards

# Every kind of single change: it changes `data` and returns how the named place starts.

Change = Callable[[Data, st.DataObject], str]

CHANGES: list[Change] = []


def single(change: Change) -> Change:
    CHANGES.append(change)
    return change


def one_of(data: st.DataObject, values: Any) -> Any:
    values = list(values)
    assume(values)
    return data.draw(st.sampled_from(values))


def other(data: st.DataObject, value: Any, values: Any) -> Any:
    return one_of(data, [new for new in values if new != value or type(new) is not type(value)])


def a_hand(record: Data, data: st.DataObject, whole: bool = False) -> tuple[int, Data]:
    numbers = [
        number
        for number, told in enumerate(record["hands"], 1)
        if not whole or len(told["plays"].split()) == 36
    ]
    number = one_of(data, numbers)
    return number, record["hands"][number - 1]


@single
def two_cards_of_a_deck(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    deck = told["deck"].split()
    one, two = data.draw(st.lists(st.integers(0, 39), min_size=2, max_size=2, unique=True))
    deck[one], deck[two] = deck[two], deck[one]
    told["deck"] = " ".join(deck)
    return f"hand {number}, "


@single
def one_card_of_a_deck(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    deck = told["deck"].split()
    at = data.draw(st.integers(0, 39))
    deck[at] = other(data, deck[at], TEXT[1:])
    told["deck"] = " ".join(deck)
    return f"hand {number}, deck"


@single
def the_length_of_a_deck(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    told["deck"] = data.draw(st.sampled_from([told["deck"] + " 1O", told["deck"][:-3].strip(), ""]))
    return f"hand {number}, deck"


@single
def the_card_of_a_play(record: Data, data: st.DataObject) -> str:
    # In a hand cut short, another card of the same seat may tell another true story: there, take
    # a card that is played anyway.
    number, told = a_hand(record, data)
    plays = told["plays"].split()
    assume(plays)
    at = data.draw(st.integers(0, len(plays) - 1))
    plays[at] = other(data, plays[at], TEXT[1:] if len(plays) == 36 else plays)
    told["plays"] = " ".join(plays)
    return f"hand {number}, "


@single
def two_plays_of_different_seats(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    plays = told["plays"].split()
    players = record["players"]
    one = one_of(data, range(len(plays)))
    two = one_of(data, [at for at in range(len(plays)) if (at - one) % players])
    plays[one], plays[two] = plays[two], plays[one]
    told["plays"] = " ".join(plays)
    return f"hand {number}, "


@single
def a_play_less_or_more(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data, whole=True)
    assume(number < len(record["hands"]) or record["outcome"] != "forfeit")
    plays = told["plays"].split()
    at = data.draw(st.integers(0, 35))
    if data.draw(st.booleans()):
        del plays[at]
    else:
        plays.insert(at, one_of(data, TEXT[1:]))
    told["plays"] = " ".join(plays)
    return "hand "


@single
def a_number_or_reason_of_an_award(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    at = one_of(data, range(len(told["points"])))
    field = data.draw(st.integers(0, 3))
    reasons = ["ronda", "tringa", "este", "missa", "penalty", "closing", "cards", "gift", ""]
    award = told["points"][at]
    award[field] = other(data, award[field], reasons if field == 2 else range(-1, 41))
    return f"hand {number}, award {at + 1}"


@single
def an_award_less(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    del told["points"][one_of(data, range(len(told["points"])))]
    return f"hand {number}, award "


@single
def an_award_twice(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    at = one_of(data, range(len(told["points"])))
    told["points"].insert(at, told["points"][at])
    return f"hand {number}, award "


@single
def two_awards_in_another_order(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    points = told["points"]
    at = one_of(data, [at for at in range(len(points) - 1) if points[at] != points[at + 1]])
    points[at], points[at + 1] = points[at + 1], points[at]
    return f"hand {number}, award {at + 1}"


def declarations(record: Data, most: int = 9) -> list[tuple[int, str, str]]:
    return [
        (number, batch, seat)
        for number, told in enumerate(record["hands"], 1)
        for batch, kinds in told.get("declared", {}).items()
        for seat in kinds
        if len(kinds) <= most
    ]


@single
def the_kind_of_a_declaration(record: Data, data: st.DataObject) -> str:
    number, batch, seat = one_of(data, declarations(record))
    kinds = record["hands"][number - 1]["declared"][batch]
    kinds[seat] = other(data, kinds[seat], ["ronda", "tringa", "", "Ronda"])
    return f"hand {number}, declared, batch {batch}, seat {seat}"


@single
def the_seat_of_a_declaration(record: Data, data: st.DataObject) -> str:
    number, batch, seat = one_of(data, declarations(record))
    kinds = record["hands"][number - 1]["declared"][batch]
    kinds[one_of(data, ["-1", "-4", "4", "17"])] = kinds.pop(seat)
    return f"hand {number}, declared, batch {batch}"


@single
def a_declaration_less(record: Data, data: st.DataObject) -> str:
    # Of three sets, the one below two that tie may change no points: then both stories are true.
    number, batch, seat = one_of(data, declarations(record, most=2))
    declared = record["hands"][number - 1]["declared"]
    del declared[batch][seat]
    if not declared[batch] and data.draw(st.booleans()):
        del declared[batch]
    return f"hand {number}, "


@single
def a_false_declaration_more(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    players = record["players"]
    batch = data.draw(st.integers(-1, 7))
    seat = data.draw(st.integers(0, players - 1))
    declared = told.setdefault("declared", {}).setdefault(str(batch), {})
    assume(str(seat) not in declared)
    kind = data.draw(st.sampled_from(["ronda", "tringa"]))
    if 1 <= batch <= 36 // (3 * players):
        starts = rules.settings(record["rules"], players, length=0).packets[told["dealer"]]
        at = starts[batch - 1][seat]
        ranks = {card.rank for card in parse_cards(told["deck"])[at : at + 3]}
        assume(kind != {1: "tringa", 2: "ronda", 3: ""}[len(ranks)])
    declared[str(seat)] = kind
    return f"hand {number}, declared"


@single
def the_score(record: Data, data: st.DataObject) -> str:
    score = record["score"]
    at = data.draw(st.integers(0, len(score) - 1))
    how = data.draw(st.sampled_from(["more", "less", "drop", "add"]))
    if how == "drop":
        del score[at]
    elif how == "add":
        score.append(0)
    else:
        score[at] += data.draw(st.integers(1, 99)) * (1 if how == "more" else -1)
    return "score"


@single
def the_winner(record: Data, data: st.DataObject) -> str:
    record["winner"] = other(data, record["winner"], [None, -1, 0, 1, 2, 3, 7])
    return "winner"


@single
def a_dealer(record: Data, data: st.DataObject) -> str:
    _, told = a_hand(record, data)
    told["dealer"] = other(data, told["dealer"], range(-4, 6))
    return "hand "


@single
def a_digit_of_the_commitment(record: Data, data: st.DataObject) -> str:
    return change_digit(record, data, "commitment")


@single
def a_digit_of_the_master(record: Data, data: st.DataObject) -> str:
    return change_digit(record, data, "master")


def change_digit(record: Data, data: st.DataObject, key: str) -> str:
    text = record["fair"][key]
    at = data.draw(st.integers(0, 63))
    record["fair"][key] = text[:at] + other(data, text[at], "0123456789abcdef") + text[at + 1 :]
    return "fair, commitment"


@single
def the_length_of_commitment_or_master(record: Data, data: st.DataObject) -> str:
    key = data.draw(st.sampled_from(["commitment", "master"]))
    record["fair"][key] = data.draw(
        st.sampled_from(["", record["fair"][key][2:], record["fair"][key] + "00"])
    )
    return "fair, "


@single
def the_scheme_or_scope(record: Data, data: st.DataObject) -> str:
    key = data.draw(st.sampled_from(["scheme", "scope"]))
    record["fair"][key] = data.draw(
        st.sampled_from(["", "m", record["fair"][key] + "1", record["fair"][key] + "/0"])
    )
    return f"fair, {key}"


@single
def an_entry(record: Data, data: st.DataObject) -> str:
    entries = record["fair"]["entries"]
    at = data.draw(st.integers(0, len(entries) - 1))
    how = data.draw(st.sampled_from(["name", "short", "long", "drop", "add", "turn"]))
    if how == "name":
        entries[at][0] += "x"
    elif how == "short":
        entries[at][1] = "00" * data.draw(st.sampled_from([1, 15, 65, 70_000]))
    elif how == "long":
        entries[at][1] = "00" * data.draw(st.integers(16, 64))
        return "hand " if record["hands"] else ""
    elif how == "drop":
        del entries[at]
    elif how == "add":
        entries.insert(at, ["bot0@1.0.0", ""])
    else:
        entries.append(entries.pop(0))
    return "fair, entries"


@single
def the_outcome(record: Data, data: st.DataObject) -> str:
    outcomes = ["target", "hand", "length", "forfeit", "cancelled", "draw", ""]
    record["outcome"] = other(data, record["outcome"], outcomes)
    return ""


@single
def the_fault(record: Data, data: st.DataObject) -> str:
    if "fault" not in record:
        record["fault"] = {"seat": 0, "cause": "time", "detail": ""}
        return "fault"
    how = data.draw(st.sampled_from(["gone", "seat", "cause"]))
    if how == "gone":
        del record["fault"]
    elif how == "seat":
        record["fault"]["seat"] = data.draw(st.sampled_from([-1, record["players"], 99]))
    else:
        record["fault"]["cause"] = data.draw(st.sampled_from(["", "TIME", "cheating"]))
    return "fault"


@single
def the_settings(record: Data, data: st.DataObject) -> str:
    key = data.draw(st.sampled_from(["rules", "target", "players", "length"]))
    if key == "rules":
        record[key] = data.draw(st.sampled_from(["", "Cafe", "french"]))
    elif key == "players":
        record[key] = data.draw(st.sampled_from([-1, 0, 1, 5, 10**9]))
    else:
        record[key] = data.draw(st.sampled_from([-1, 40, 1001] if key == "target" else [-1, 1001]))
    return key


@single
def the_seats(record: Data, data: st.DataObject) -> str:
    seats = record["seats"]
    at = data.draw(st.integers(0, len(seats) - 1))
    how = data.draw(st.sampled_from(["drop", "add", "empty", "control", "name", "turn"]))
    if how == "drop":
        del seats[at]
    elif how == "add":
        seats.append("bot9@1.0.0")
    elif how == "turn":
        seats.append(seats.pop(0))
    else:
        seats[at] = {"empty": "", "control": "bot0\x1b[2J", "name": "somebody@1"}[how]
    return "fair, entries" if how in {"name", "turn"} else "seats"


@single
def the_id(record: Data, data: st.DataObject) -> str:
    record["id"] = data.draw(st.sampled_from(["", "m 1", "m/1", "é", "x\n", "m1000"]))
    return "fair, scope" if record["id"] == "m1000" else "id"


@single
def what_stands_beside(record: Data, data: st.DataObject) -> str:
    bad = [
        ("start", ""),
        ("end", "yesterday"),
        ("end", "2026-13-01T00:00:00Z"),
        ("start", "2026-01-01 00:00:00Z"),
        ("start", "2026-01-01T00:00:00"),
        ("isolation", ["trusted"]),
        ("isolation", ["none"] * record["players"]),
        ("block", 0),
        ("rotation", 0),
    ]
    key, value = one_of(data, bad)
    record[key] = value
    return str(key)


@single
def a_hand_less_or_more(record: Data, data: st.DataObject) -> str:
    number, told = a_hand(record, data)
    if data.draw(st.booleans()):
        record["hands"].insert(number, told)
    else:
        # A match that was stopped may have been stopped a hand before.
        assume(number < len(record["hands"]) or record["outcome"] != "forfeit")
        del record["hands"][number - 1]
    return ""  # without its first hand a match may look like one with another first dealer


@pytest.mark.parametrize("single_change", CHANGES)
def test_no_single_change_is_ever_proven(single_change: Change) -> None:
    @given(st.data())
    @settings(
        max_examples=150,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    def check(data: st.DataObject) -> None:
        line = data.draw(st.sampled_from(TRUE))
        record = json.loads(line)
        place = single_change(record, data)
        assert record != json.loads(line)
        verdict = judge(record)
        assert not verdict.proven
        assert not verdict.unproven
        assert verdict.where
        assert verdict.where.startswith(place)

    check()
