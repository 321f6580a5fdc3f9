"""The second referee against the worked vectors and the true records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .naive import Referee
from .naive_rules import (
    PRESETS,
)

if TYPE_CHECKING:
    pass
from .situations import (
    RECORDS,
    VECTORS,
    Vector,
    answer,
    as_points,
    at_the_last_card,
    cases,
    deck_with,
    happen,
    play_lowest,
    start_of,
)


@pytest.mark.parametrize("batch_ends", [False, True], ids=["in-a-batch", "ending-a-batch"])
@pytest.mark.parametrize(("vector", "rules"), cases("play"))
def test_a_play_vector_takes_and_pays_what_it_says(
    vector: Vector, rules: str, batch_ends: bool
) -> None:
    referee = start_of(vector, rules, batch_ends=batch_ends)
    leftovers = 0
    for step in vector["steps"]:
        if referee.phase == "declare":
            answer(referee, [])
        assert step["seat"] == referee.turn
        final = bool(step.get("final_card_of_hand"))
        played = referee.play(step["card"])
        assert (step["seat"], step["card"]) == (played.seat, played.card)
        assert set(step["captured"]) == played.captured
        assert set(step["reclaimed"]) == played.reclaimed
        # The count after the last card is no part of these vectors.
        assert step["points"] == as_points([a for a in played.awards if a.reason != "cards"])
        if final:
            left = set(step["table_after"])
            leftovers = len(left)
            assert referee.last_capturer is not None
            assert left <= referee.piles[referee.last_capturer]
            assert set() == referee.table
        else:
            assert set(step["table_after"]) == referee.table
    if "pile_counts_after" in vector:
        counts = [len(pile) for pile in referee.piles]
        if leftovers:
            assert referee.last_capturer is not None
            counts[referee.last_capturer] -= leftovers
        assert vector["pile_counts_after"][rules] == counts


@pytest.mark.parametrize(("vector", "rules"), cases("announce"))
def test_an_announce_vector_pays_the_sets_of_one_batch(vector: Vector, rules: str) -> None:
    players = vector["players"]
    for dealer in range(players):
        referee = Referee(rules, players, PRESETS[rules].targets[0])
        paid = list(referee.deal(deck_with(players, dealer, vector["hands"]), dealer))
        assert [set(hand) for hand in vector["hands"]] == referee.hands
        if PRESETS[rules].sets == "declared":
            assert paid == []
            paid += answer(referee, vector["declared_seats"])
        while referee.batch == 1:
            paid += [award for award in play_lowest(referee).awards if award.reason == "penalty"]
        points = [0] * referee.sides
        for award in paid:
            points[award.side] += award.points
        assert vector["points_per_side"] == points


@pytest.mark.parametrize(("vector", "rules"), cases("hand_end"))
def test_a_hand_end_vector_counts_the_piles_after_leftovers(vector: Vector, rules: str) -> None:
    players = vector["players"]
    referee, card = at_the_last_card(
        rules, players, vector["pile_counts"], vector["table_left"], vector["last_capturer_side"]
    )
    played = referee.play(card)
    counted = [0] * referee.sides
    for award in played.awards:
        if award.reason == "cards":
            counted[award.side] += award.points
            assert award.plays == 36
            assert award.points > 0
    assert vector["card_points"] == counted
    expected = list(vector["pile_counts"])
    expected[vector["last_capturer_side"]] += vector["table_left"]
    assert expected == referee.hand_counts


@pytest.mark.parametrize(("vector", "rules"), cases("initial_table"))
def test_an_initial_table_vector_is_dealt_or_refused(vector: Vector, rules: str) -> None:
    for players in PRESETS[rules].players:
        referee = Referee(rules, players, PRESETS[rules].targets[0])
        deck = deck_with(players, 0, table=vector["table"])
        if vector["legal"]:
            referee.deal(deck, 0)
            assert set(vector["table"]) == referee.table
        else:
            with pytest.raises(ValueError, match="illegal first table"):
                referee.deal(deck, 0)
            assert (referee.phase, referee.hand_number, referee.dealer) == ("deal", 0, None)


@pytest.mark.parametrize(("vector", "rules"), cases("match"))
def test_a_match_vector_ends_or_goes_on_as_it_says(vector: Vector, rules: str) -> None:
    expect = vector["expect"]
    target = {"M07": 21}.get(vector["id"], PRESETS[rules].targets[0])
    scores = list(vector["scores_before"])
    over_before_the_end = False
    referee = Referee(rules, vector["players"], target)
    for number, event in enumerate(vector["events"]):
        if over_before_the_end:
            # M21: what is listed after the winning play is not paid any more.
            break
        referee = happen(event, rules, vector, scores, target)
        scores = referee.scores
        if number == 0 and "after_event_0" in expect:
            over = expect["after_event_0"] == "match over"
            assert over == (referee.phase == "over")
        if number < len(vector["events"]) - 1:
            over_before_the_end = referee.phase == "over"
    assert expect["final"] == referee.scores
    assert expect["winner"] == referee.winner
    assert not referee.draw
    if expect["winner"] is None:
        assert expect["next"] == "play on"
        assert referee.phase in ("play", "declare", "deal")
        assert referee.outcome is None
    else:
        assert referee.phase == "over"
        assert referee.turn is None
        assert referee.outcome == ("hand" if rules == "arabic" else "target")
        held = [card for hand in referee.hands for card in hand]
        for card in held or ["1O"]:
            with pytest.raises(ValueError, match="no play in phase over"):
                referee.play(card)


def declared_as_in_a_record(referee: Referee) -> dict[str, dict[str, str]]:
    return {
        str(batch): {str(seat): kind for seat, kind in seats.items()}
        for batch, seats in referee.declared.items()
    }


@pytest.mark.parametrize("record", RECORDS, ids=[record["id"] for record in RECORDS])
def test_a_true_record_replays_to_its_points_and_winner(record: Vector) -> None:
    referee = Referee(record["rules"], record["players"], record["target"], record.get("length", 0))
    for number, hand in enumerate(record["hands"], 1):
        last_hand = number == len(record["hands"])
        declared = {
            int(batch): [int(seat) for seat in seats]
            for batch, seats in hand.get("declared", {}).items()
        }
        cards = hand["plays"].split()
        heard = list(referee.deal(hand["deck"].split(), hand["dealer"] if number == 1 else None))
        assert hand["dealer"] == referee.dealer
        assert number == referee.hand_number
        done = 0
        while referee.phase in ("declare", "play"):
            if referee.phase == "declare":
                nobody_goes_on = last_hand and done == len(cards)
                if nobody_goes_on and referee.batch not in declared:
                    break  # forfeited before, or without, anybody's declaration
                heard += answer(referee, declared.get(referee.batch, []))
            elif done == len(cards):
                break
            else:
                heard += referee.play(cards[done]).awards
                heard += referee.last_deal_awards
                done += 1
        assert done == len(cards)
        assert hand["points"] == [list(award) for award in referee.awards]
        assert heard == referee.awards
        assert hand.get("declared", {}) == declared_as_in_a_record(referee)
        if not last_hand:
            assert referee.phase == "deal"
            assert referee.hand_counts is not None
            assert sum(referee.hand_counts) == 40
    if record["outcome"] == "forfeit":
        assert referee.phase != "over"
        referee.forfeit(record["fault"]["seat"])
    assert referee.phase == "over"
    assert record["outcome"] == referee.outcome
    assert record["score"] == referee.scores
    assert record["winner"] == referee.winner
    assert referee.draw == (record["outcome"] != "forfeit" and record["winner"] is None)


def test_there_are_sixty_records_and_eighty_vectors() -> None:
    assert len(RECORDS) == 60
    assert len(VECTORS) == 80
    assert {record["rules"] for record in RECORDS} == set(PRESETS)
