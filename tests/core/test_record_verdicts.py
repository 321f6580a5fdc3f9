"""Verdicts: what is proven, what is not, and which place is named."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from tests.core.records import FORGED, TRUE, judge, played

from ronda_core import fair, verify
from ronda_core.record import FairRecord, read

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
