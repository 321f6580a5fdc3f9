"""Records: what is read and written, what is proven, and what is refused and where."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ronda_core import fair, hand, match, rules, verify
from ronda_core.cards import PACK, TEXT, parse_cards
from ronda_core.match import Cause, Fault, Match
from ronda_core.record import FairRecord, Record, RecordError, Scribe, read, write

DATA = Path(__file__).parent.parent / "data"
TRUE = (DATA / "record-vectors.jsonl").read_text(encoding="utf-8").splitlines()
FORGED = (DATA / "record-forged.jsonl").read_text(encoding="utf-8").splitlines()
TABLES = [(name, n) for name, preset in rules.PRESETS.items() for n in preset.players]
START, END = "2026-01-01T00:00:00Z", "2026-01-01T01:10:00.25+01:00"

Data = dict[str, Any]
quick = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def judge(data: Data) -> verify.Verdict:
    return verify.verify(read(json.dumps(data)))


def played(
    name: str,
    players: int,
    rng: random.Random,
    *,
    length: int = 0,
    stop: int = -1,
    fault: Fault | None = None,
    tournament: str | None = None,
    sealed: bool = False,
) -> tuple[Record, list[verify.Step]]:
    """Play a match at random; before step number `stop` it is forfeited or cancelled."""
    seats = [f"bot{seat}@1.0.0" for seat in range(players)]
    entries = tuple(fair.Entry(seat, rng.randbytes(rng.choice((0, 16, 64)))) for seat in seats)
    scope = "local-3"
    if tournament:
        entries = tuple(fair.Entry(name) for name in sorted({*seats, "other@2.0"}))
        rng.shuffle(seats)
        scope = f"{tournament}/7"
    master = rng.randbytes(32)
    dealer = fair.Dealer(master, scope, entries, players)
    how = rules.settings(name, players, length=length)
    game = Match(how, dealer.first_dealer())
    scribe = Scribe(
        "a-match" if tournament else scope,
        how,
        seats,
        start=START,
        fair=FairRecord(
            fair.SCHEME,
            scope,
            fair.commitment(master, tournament or scope),
            None if sealed else master,
            entries,
        ),
        tournament=tournament,
        block=7 if tournament else None,
        rotation=1 if tournament else None,
        isolation=["trusted"] * players,
        clock={"bank": 60.5, "increment": 1},
        rated=False,
    )
    steps: list[verify.Step] = []

    def take(events: tuple[match.MatchEvent, ...]) -> None:
        scribe.take(game, events)
        steps.append(verify.Step(match.copy(game), events))

    while not game.result:
        now = game.hand
        if len(steps) == stop:
            take(match.forfeit(game, fault) if fault else match.cancel(game))
        elif number := game.needs_deck:
            take(match.deal(game, dealer.deck(number)))
        elif now and now.phase is hand.Phase.DECLARE:
            seat = rng.choice([seat for seat, answer in enumerate(now.answers) if answer is None])
            take(match.declare(game, seat, bool(hand.set_kind(now, seat)) and rng.random() < 0.8))
        elif now:
            take(match.play(game, now.turn, rng.choice(now.hands[now.turn])))
    return scribe.record(END), steps


# --- lines -----------------------------------------------------------------------------------


def canonical(line: str) -> str:
    """The line with `declared` where most vectors have it: some hands that a forfeit cut short
    have it last."""
    data = json.loads(line)
    for told in data["hands"]:
        if "declared" in told:
            rest = {key: told.pop(key) for key in ("declared", "plays", "points")}
            told.update(rest)
    return json.dumps(data)


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


def changed(path: str, value: object) -> str:
    """The first true line that has a place `path`, with `value` there; ... takes the key away."""
    *way, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for line in TRUE:
        data: Any = json.loads(line)
        place = data
        try:
            for key in way:
                place = place[key]
        except KeyError:
            continue
        if value is ...:
            del place[last]
        else:
            place[last] = value
        return json.dumps(data)
    raise AssertionError(path)


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


# --- verdicts --------------------------------------------------------------------------------


@pytest.mark.parametrize("line", TRUE, ids=[json.loads(line)["id"] for line in TRUE])
def test_a_true_record_is_proven(line: str) -> None:
    assert verify.verify(read(line)) == verify.Verdict(True)


PLACES = {
    "commitment": "fair, commitment",
    "dealer-out-of-range": "hand 1, dealer",
    "dealer": "hand ",
    "drop-play": "hand ",
    "entries-more": "fair, entries",
    "entry": "fair, entries",
    "fault-in-played-match": "fault",
    "hand-lost": "hand ",
    "hand-twice": "hand ",
    "hands-swapped": "hand ",
    "master": "fair, commitment",
    "outcome-unknown": "outcome",
    "point-lost": "hand ",
    "point-more": "hand ",
    "point-side": "hand ",
    "scope": "fair, scope",
    "score": "score",
    "seat-name": "fair, entries",
    "swap-deck": "hand ",
    "swap-plays": "hand ",
    "target": "target",
    "winner": "winner",
    "won-but-cancelled": "outcome",
    "won-but-forfeit": "outcome",
    "declared-kind": "hand 1, declared, batch ",
    "declared-negative-seat": "hand 1, declared, batch ",
    "declared-no-batch": "hand 1, declared, batch 99",
    "undeclare": "hand 1, declared, batch ",
}


@pytest.mark.parametrize("line", FORGED)
def test_a_forged_record_is_refused_and_the_place_is_named(line: str) -> None:
    record = read(line)
    verdict = verify.verify(record)
    assert not verdict.proven
    assert not verdict.unproven
    assert verdict.where.startswith(PLACES[str(record.extra["forged"])])
    assert verdict.problem


@pytest.mark.parametrize("line", [line for line in FORGED if '"swap-deck"' in line])
def test_the_hand_that_was_changed_is_the_one_named(line: str) -> None:
    record = read(line)
    assert record.fair
    assert record.fair.master
    dealer = fair.Dealer(record.fair.master, record.id, record.fair.entries, record.players)
    wrong = [n for n, told in enumerate(record.hands, 1) if told.deck != dealer.deck(n)]
    assert len(wrong) == 1
    assert verify.verify(record).where.startswith(f"hand {wrong[0]}, ")


@pytest.mark.parametrize("line", [line for line in FORGED if '"hand-twice"' in line])
def test_a_hand_after_the_end_is_named(line: str) -> None:
    verdict = verify.verify(read(line))
    assert verdict.where == f"hand {len(read(line).hands)}"
    assert verdict.problem == "the match was already over"


def test_an_unknown_outcome_is_named_although_the_match_was_not_played_out() -> None:
    record, _ = played("cafe", 3, random.Random(1), stop=9)
    assert verify.verify(record).proven
    assert verify.verify(replace(record, outcome="stopped")).where == "outcome"
    assert verify.verify(replace(record, outcome="target")).where.startswith("hand 1, play ")


def test_a_master_of_another_length_proves_nothing() -> None:
    told = FairRecord(fair.SCHEME, "m", fair.commitment(b"short", "m"), b"short", ())
    record, _ = played("cafe", 2, random.Random(1), stop=0)
    entries = tuple(map(fair.Entry, record.seats))
    record = replace(record, id="m", fair=replace(told, entries=entries))
    assert verify.verify(record).where == "fair, master"


def test_a_record_without_a_proof_or_with_a_sealed_one_is_unproven_but_not_false() -> None:
    sealed = json.loads(TRUE[3])
    sealed["fair"]["master"] = None
    bare = json.loads(TRUE[3])
    del bare["fair"]
    for data in (sealed, bare):
        verdict = judge(data)
        assert verdict.unproven
        assert not verdict.proven
        assert verdict.where.startswith("fair")
        data["score"][0] += 1
        assert judge(data) == verify.Verdict(False, "score", "it is not the sum of the points")


def test_a_false_record_is_not_saved_by_its_seal() -> None:
    data = json.loads(TRUE[3])
    data["fair"]["master"] = None
    for key, value in (("scope", "m4"), ("scheme", "x"), ("commitment", "AB"), ("entries", [])):
        verdict = judge(data | {"fair": data["fair"] | {key: value}})
        assert verdict.where == f"fair, {key}"
        assert not verdict.unproven


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


# --- scribe and replay -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "players", "length"),
    [
        (*table, length)
        for table in TABLES
        for length in (0, 1, 3)
        if table[0] != "arabic" or not length
    ],
)
def test_a_match_played_at_random_is_recorded_and_proven(
    name: str, players: int, length: int
) -> None:
    for seed in range(4):
        record, steps = played(name, players, random.Random(seed), length=length)
        assert verify.verify(record) == verify.Verdict(True)
        assert read(write(record)) == record
        assert {len(told.deck) for told in record.hands} == {40}
        assert sum(len(told.plays) for told in record.hands) == sum(
            isinstance(event, hand.Played) for step in steps for event in step.events
        )


@pytest.mark.parametrize(("name", "players"), TABLES)
@pytest.mark.parametrize("cause", [None, *Cause])
def test_a_match_that_is_stopped_at_any_step_is_recorded_and_proven(
    name: str, players: int, cause: Cause | None
) -> None:
    rng = random.Random(f"{name}{players}{cause}")
    stops = [*range(2 * players + 4), *rng.sample(range(10, 80), 6)]
    for stop in stops:
        fault = Fault(rng.randrange(players), cause, "as it was") if cause else None
        length = 0 if name == "arabic" else rng.choice((0, 2))
        record, _ = played(
            name, players, random.Random(stop % 3), length=length, stop=stop, fault=fault
        )
        assert verify.verify(record) == verify.Verdict(True)
        assert read(write(record)) == record
        if record.outcome in ("forfeit", "cancelled"):
            assert record.fault == fault
            assert {len(told.deck) for told in record.hands} <= {40}
        elif cause is None:
            assert record.fault is None


def test_answers_of_a_declaring_step_that_was_not_finished_are_in_no_record() -> None:
    """The seats' answers are secret until the last one, and a match may end before it."""
    game = Match(rules.settings("cafe", 3), 0)
    scribe = Scribe("m", game.settings, "abc", start=START)
    ranks = parse_cards("1O 1C 1E 2O 2C 2E 3O 3C 3E 4O 6O 10O 12O")
    deck = (*ranks, *(card for card in PACK if card not in ranks))
    scribe.take(game, match.deal(game, deck))
    scribe.take(game, match.declare(game, 2, True))
    scribe.take(game, match.declare(game, 0, True))
    scribe.take(game, match.forfeit(game, Fault(1, Cause.TIME)))
    record = scribe.record(END)
    assert record.hands[0].declared == {}
    assert record.hands[0].points == ()
    assert record.score == (0, 0, 0)
    assert verify.verify(record).unproven
    assert [len(step.events) for step in verify.replay(record)] == [1, 1]


def test_a_match_that_goes_on_has_no_record() -> None:
    game = Match(rules.settings("playtash", 2), 0)
    scribe = Scribe("m", game.settings, "ab", start=START)
    scribe.take(game, match.deal(game, fair.deal(b"k", 2)[0]))
    with pytest.raises(RecordError):
        scribe.record(END)


def test_a_scribe_may_follow_copies_of_a_match() -> None:
    """A service may keep old states: what a scribe noted does not change with them."""
    rng = random.Random(2)
    game = Match(rules.settings("arabic", 2), 1)
    scribe = Scribe("m", game.settings, "ab", start=START)
    scribe.take(game, match.deal(game, fair.deal(b"k", 2)[0]))
    while not game.result:
        game = match.copy(game)
        assert game.hand
        scribe.take(
            game, match.play(game, game.hand.turn, rng.choice(game.hand.hands[game.hand.turn]))
        )
    assert verify.verify(scribe.record(END)).unproven


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_a_replay_takes_the_steps_of_the_match(name: str, players: int) -> None:
    record, steps = played(name, players, random.Random(11))
    again = [verify.Step(match.copy(step.match), step.events) for step in verify.replay(record)]
    assert len(again) == len(steps)
    for one, two in zip(again, steps, strict=True):
        assert state(one.match)[1:] == state(two.match)[1:]
        if not isinstance(one.events[0], hand.Answered):  # seats answer in another order
            assert one.events == two.events
            assert state(one.match) == state(two.match)


def state(game: Match) -> tuple[object, ...]:
    now = game.hand
    assert now
    return (
        now.answers if now.phase is not hand.Phase.DECLARE else None,
        now.number,
        now.batch,
        now.hands,
        now.table,
        now.plays,
        now.piles,
        now.scores,
        game.result,
    )


def test_a_replay_says_where_it_cannot_go_on() -> None:
    record = read(TRUE[0])
    broken = replace(record.hands[2], plays=(*record.hands[2].plays[:11], record.hands[2].plays[0]))
    record = replace(record, hands=(*record.hands[:2], broken, *record.hands[3:]))
    steps = verify.replay(record)
    taken = 0
    with pytest.raises(verify.ReplayError) as caught:
        for _ in steps:
            taken += 1
    assert caught.value.where == "hand 3, play 12"
    assert "did not hold" in caught.value.problem
    assert taken == 37 + 37 + 1 + 11


def test_a_record_without_a_proof_can_be_replayed() -> None:
    record = replace(read(TRUE[2]), fair=None)
    *_, last = verify.replay(record)
    assert last.match.result
    assert last.match.scores == record.score


# --- tournaments -----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_a_tournament_commits_once_and_deals_by_block(name: str, players: int) -> None:
    record, _ = played(name, players, random.Random(players), tournament="cup-2026")
    assert record.fair
    assert verify.verify(record) == verify.Verdict(True)
    assert read(write(record)) == record
    moved = replace(record, block=8)
    assert verify.verify(moved).where == "fair, scope"
    elsewhere = replace(
        record, tournament="cup-2027", fair=replace(record.fair, scope="cup-2027/7")
    )
    assert verify.verify(elsewhere).where == "fair, commitment"
    assert verify.verify(replace(record, tournament=None)).where == "block"


def test_a_rotation_may_have_a_deal_of_its_own() -> None:
    """A block with a remote bot or a person is not paired."""
    record, _ = played("cafe", 2, random.Random(1), tournament="cup")
    assert record.fair
    own = replace(record, fair=replace(record.fair, scope="cup/7-1"))
    assert verify.verify(own).where.startswith("hand 1, d")  # the scope is fine, the deck is not
    assert verify.verify(replace(own, rotation=0)).where == "fair, scope"


@pytest.mark.parametrize(
    "names",
    [
        ["bot1@1.0.0", "bot0@1.0.0", "other@2.0"],
        ["bot0@1.0.0", "bot0@1.0.0", "bot1@1.0.0"],
        ["bot0@1.0.0", "other@2.0"],
        [],
    ],
)
def test_the_entries_of_a_tournament_are_its_roster(names: list[str]) -> None:
    record, _ = played("cafe", 2, random.Random(1), tournament="cup")
    assert record.fair
    entries = tuple(fair.Entry(name) for name in names)
    changed = replace(record, fair=replace(record.fair, entries=entries))
    assert verify.verify(changed).where == "fair, entries"
    entries = tuple(entry._replace(entropy=b"0" * 16) for entry in record.fair.entries)
    changed = replace(record, fair=replace(record.fair, entries=entries))
    assert verify.verify(changed).where == "fair, entries"


@pytest.mark.parametrize(("block", "rotation"), [(None, 0), (0, None), (-1, 0), (0, -1), (0, 2)])
def test_block_and_rotation_are_in_range(block: int | None, rotation: int | None) -> None:
    record, _ = played("cafe", 2, random.Random(1), tournament="cup")
    verdict = verify.verify(replace(record, block=block, rotation=rotation))
    assert verdict.where in {"block", "rotation"}


def test_a_sealed_block_is_unproven_until_its_master_is_revealed() -> None:
    record, _ = played("pagat", 3, random.Random(4), tournament="cup", sealed=True)
    assert verify.verify(record).unproven
    assert json.loads(write(record))["fair"]["master"] is None
    assert read(write(record)) == record
    opened, _ = played("pagat", 3, random.Random(4), tournament="cup")
    assert opened.fair
    assert record.fair
    revealed = replace(record, fair=replace(record.fair, master=opened.fair.master))
    assert verify.verify(revealed).proven
    assert write(revealed) == write(opened)


def test_names_that_are_too_long_for_the_scheme_are_refused_not_crashed_on() -> None:
    record = read(TRUE[0])
    assert record.fair
    name = "x" * 70_000
    seats = (name, *record.seats[1:])
    entries = (fair.Entry(name), *record.fair.entries[1:])
    long_seat = replace(record, seats=seats, fair=replace(record.fair, entries=entries))
    assert verify.verify(long_seat).where == "fair, entries"
    long_id = replace(record, id=name, fair=replace(record.fair, scope=name))
    assert verify.verify(long_id).where == "fair, scope"
