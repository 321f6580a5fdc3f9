"""The second referee against the worked vectors, the true records and the facts of the rules."""

from __future__ import annotations

import json
import random
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .biased import biased_deck, biased_declare, biased_play
from .naive import (
    FULL_PACK,
    PRESETS,
    RANKS,
    SUITS,
    Award,
    Play,
    Referee,
    is_legal_first_table,
    rank_of,
    set_in,
    side_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Vector = dict[str, Any]

DATA = Path(__file__).parent.parent / "data"
VECTORS: list[Vector] = json.loads((DATA / "vectors.json").read_text(encoding="utf-8"))["vectors"]
RECORDS: list[Vector] = [
    json.loads(line)
    for line in (DATA / "record-vectors.jsonl").read_text(encoding="utf-8").splitlines()
]
TABLES = [(rules, players) for rules, preset in PRESETS.items() for players in preset.players]


def cases(kind: str) -> list[Any]:
    """One parameter per vector of a kind and preset."""
    return [
        pytest.param(vector, rules, id=f"{vector['id']}-{rules}")
        for vector in VECTORS
        if vector["kind"] == kind
        for rules in vector["rulesets"]
    ]


def others(*used: Sequence[str]) -> list[str]:
    """The cards of the pack that are in none of the given collections."""
    taken = {card for cards in used for card in cards}
    return [card for card in FULL_PACK if card not in taken]


def position(
    rules: str,
    players: int,
    hands: Sequence[Sequence[str]],
    table: Sequence[str],
    *,
    dealer: int,
    turn: int,
    stock: Sequence[str] = (),
    plays_made: int = 0,
    last_capturer: int | None = None,
    piles: Sequence[Sequence[str]] | None = None,
    scores: Sequence[int] | None = None,
    target: int | None = None,
) -> Referee:
    """A referee in the middle of a hand, with no chain running."""
    referee = Referee(rules, players, PRESETS[rules].targets[0] if target is None else target)
    referee.hand_number = 1
    referee.batch = 1
    referee.dealer = dealer
    referee.phase = "play"
    referee.turn = turn
    referee.hands = [set(hand) for hand in hands]
    referee.table = set(table)
    referee.stock = list(stock)
    referee.plays_made = plays_made
    referee.last_capturer = last_capturer
    if piles is not None:
        referee.piles = [set(pile) for pile in piles]
    if scores is not None:
        referee.scores = list(scores)
    return referee


def deck_with(
    players: int,
    dealer: int,
    hands: Sequence[Sequence[str]] | None = None,
    table: Sequence[str] | None = None,
) -> list[str]:
    """A deck that deals these hands (by seat) in batch 1 and this first table."""
    free = others(*(hands or []), table or [])
    if table is None:
        lowest_of_rank = {rank_of(card): card for card in reversed(free)}
        table = [lowest_of_rank[rank] for rank in sorted(lowest_of_rank)[::2]][:4]
        free = others(*(hands or []), table)
    dealt: list[str] = []
    for step in range(1, players + 1):
        if hands is None:
            dealt += [free.pop() for _ in range(3)]
        else:
            dealt += hands[(dealer + step) % players]
    return dealt + list(table) + free


def answer(referee: Referee, declaring: Sequence[int] | None = None) -> list[Award]:
    """Let every seat answer; None lets everyone declare who holds a set."""
    paid: list[Award] = []
    for seat in range(referee.players):
        holds = seat in referee.dealt_sets
        declares = holds if declaring is None else seat in declaring
        paid += referee.declare(seat, declares)
    return paid


def play_lowest(referee: Referee) -> Play:
    """Play some card of the seat to move."""
    assert referee.turn is not None
    return referee.play(min(referee.hands[referee.turn]))


def lay(referee: Referee, card: str) -> None:
    """Play a card that must take nothing."""
    played = referee.play(card)
    assert not played.captured
    assert not played.reclaimed


def as_points(awards: Sequence[Award]) -> dict[str, dict[str, int]]:
    """Awards in the shape that the vectors use."""
    points: dict[str, dict[str, int]] = {}
    for award in awards:
        points.setdefault(str(award.side), {})[award.reason] = award.points
    return points


def start_of(vector: Vector, rules: str, *, batch_ends: bool) -> Referee:
    """The position of a play vector.

    Hands hold exactly the cards of the steps (up to the next batch), and one more per seat unless
    the last step is to end the batch; the stock deals the steps of the next batch.
    """
    players = vector["players"]
    dealer = vector["dealer"]
    steps = vector["steps"]
    table = vector["start_table"]
    used = [step["card"] for step in steps]
    free = others(used, table)
    now: list[list[str]] = [[] for _ in range(players)]
    later: list[list[str]] = [[] for _ in range(players)]
    current = now
    for step in steps:
        if step.get("new_batch_before"):
            current = later
        current[step["seat"]].append(step["card"])
    final = bool(steps[-1].get("final_card_of_hand"))
    two_batches = any(later)
    stock: list[str] = []
    if not final:
        if not two_batches and not batch_ends:
            for hand in now:
                hand.append(free.pop())
        for move in range(1, players + 1):
            packet = later[(dealer + move) % players]
            while len(packet) < 3:
                packet.append(free.pop())
            stock += packet
        stock += free
    return position(
        rules,
        players,
        now,
        table,
        dealer=dealer,
        turn=steps[0]["seat"],
        stock=stock,
        plays_made=36 - len(steps) if final else 4,
        last_capturer=vector["last_capturer_side"],
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


def at_the_last_card(
    rules: str,
    players: int,
    counts: Sequence[int],
    table_left: int,
    last_capturer: int,
    scores: Sequence[int] | None = None,
    target: int | None = None,
) -> tuple[Referee, str]:
    """A position before the 36th card, and the card, after which piles and table are as given.

    The dealer, of the side that is to capture last, takes one card with a rank that no preset
    rewards and leaves the others; too many for that, and the dealer lays a card on them.
    """
    dealer = last_capturer
    before = list(counts)
    left = [f"{rank}O" for rank in (2, 4, 6, 10, 1, 3, 5, 7)]
    if table_left <= len(left):
        table, card = [*left[:table_left], "11O"], "11C"
        before[side_of(dealer, players)] -= 2
    else:
        assert table_left == 9
        table, card = left, "11C"
    free = others(table, [card])
    piles = [[free.pop() for _ in range(count)] for count in before]
    hands: list[list[str]] = [[] for _ in range(players)]
    hands[dealer] = [card]
    referee = position(
        rules,
        players,
        hands,
        table,
        dealer=dealer,
        turn=dealer,
        plays_made=35,
        last_capturer=last_capturer,
        piles=piles,
        scores=scores,
        target=target,
    )
    return referee, card


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


def este_position(
    rules: str, players: int, scores: Sequence[int], side: int, target: int, *, last: bool = False
) -> tuple[Referee, str]:
    """A position whose next play is an este of a side; `last` makes it the 36th card."""
    before = (side - 1) % players
    hands: list[list[str]] = [[] for _ in range(players)]
    hands[before] = ["6O"]
    hands[side] = ["6C"]
    stock: list[str] = []
    if not last:
        hands = [[*hand, card] for hand, card in zip(hands, ["12O", "12C", "12E"], strict=False)]
        stock = others(*hands, ["2O"])
    referee = position(
        rules,
        players,
        hands,
        ["2O"],
        dealer=side if last else before,
        turn=before,
        stock=stock,
        plays_made=34 if last else 6,
        last_capturer=side,
        scores=scores,
        target=target,
    )
    lay(referee, "6O")
    return referee, "6C"


def counts_for(rules: str, players: int, points: Sequence[int]) -> list[int]:
    """Pile sizes of 40 cards that count to these points."""
    free = 0 if PRESETS[rules].every_card_counts else 13 if players == 3 else 20
    counts = [free + point if point else 0 for point in points]
    rest = 40 - sum(counts)
    for side, point in enumerate(points):
        if point == 0:
            counts[side] = min(free, rest)
            rest -= counts[side]
    assert rest == 0
    return counts


def happen(event: Vector, rules: str, vector: Vector, scores: list[int], target: int) -> Referee:
    """Make one event of a match vector happen in a position of its own; the referee after it."""
    players = vector["players"]
    if "hand_end" in event:
        counts = counts_for(rules, players, event["hand_end"])
        counts[0] -= 1  # and one card is left to side 0, so that the last card is no missa
        referee, card = at_the_last_card(rules, players, counts, 1, 0, scores, target)
        referee.play(card)
        return referee
    if "play_36" in event:
        side = event["play_36"]["side"]
        referee, card = este_position(rules, players, scores, side, target, last=True)
        # The count that is listed next would be due: side 1 holds 10 cards over 20.
        (unpaid,) = (other["hand_end"] for other in vector["events"] if "hand_end" in other)
        free = others(["2O", "6O", "6C"])
        counts = counts_for(rules, players, unpaid)
        referee.piles = [set(free[: counts[0] - 3]), set(free[counts[0] - 3 :])]
        assert counts[1] == len(referee.piles[1])
        assert as_points(referee.play(card).awards) == {str(side): {"este": 1}}
        assert (referee.plays_made, referee.hand_counts) == (36, None)
        assert referee.table == {"2O"}
        return referee
    if "bonus" in event:
        return position(
            rules,
            players,
            [["2O"], ["3O"]],
            [],
            dealer=1,
            turn=0,
            scores=[score + bonus for score, bonus in zip(scores, event["bonus"], strict=True)],
        )
    if "penalties" in event:
        hands = [["5O"] if seat == 1 else [] for seat in range(players)]
        referee = position(
            rules,
            players,
            hands,
            ["2O"],
            dealer=1,
            turn=1,
            stock=others(["5O", "2O"]),
            plays_made=5,
            scores=scores,
            target=target,
        )
        referee.dealt_sets = {
            hidden["seat"]: (hidden["kind"], 7) for hidden in event["penalties"]["undeclared"]
        }
        referee.play("5O")
        return referee
    if "tie_ronda" in event or "declared" in event:
        seats = [0, 1] if "tie_ronda" in event else [int(seat) for seat in event["declared"]]
        dealt = [["1O", "3C", "5E"], ["2O", "4C", "6E"], ["1E", "3B", "5O"], ["2E", "4B", "6O"]]
        dealt = dealt[:players]
        dealt[seats[0]] = ["7O", "7C", "12O"]
        dealt[seats[1]] = ["7E", "7B", "12C"]
        referee = Referee(rules, players, target)
        referee.scores = scores
        referee.deal(deck_with(players, 0, dealt), 0)
        answer(referee)
        return referee
    if "one_play" in event:
        referee = position(
            rules,
            players,
            [["6C", "12O"], ["6O", "12C"]],
            [],
            dealer=0,
            turn=1,
            stock=others(["6C", "12O", "6O", "12C"]),
            scores=scores,
            target=target,
        )
        lay(referee, "6O")
        referee.play("6C")
        return referee
    side = event["side"]
    if "este" in event:
        referee, card = este_position(rules, players, scores, side, target)
        assert as_points(referee.play(card).awards) == {str(side): {"este": 1}}
        return referee
    if "missa" in event:
        hands = [["6O", "12O"] if seat == side else ["12C"] for seat in range(players)]
        referee = position(
            rules, players, hands, ["6C"], dealer=1, turn=side, scores=scores, target=target
        )
        assert as_points(referee.play("6O").awards) == {str(side): {"missa": 1}}
        return referee
    if "ronda" in event:
        referee = Referee(rules, players, target)
        referee.scores = scores
        dealt = [["1O", "3C", "5E"], ["2O", "4C", "6E"]]
        dealt[side] = ["7O", "7C", "12O"]
        referee.deal(deck_with(players, 0, dealt), 0)
        return referee
    raise AssertionError(f"unknown event {event}")


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


def test_a_ronda_is_in_2186_and_a_tringa_in_40_of_10000_hands_of_three() -> None:
    found = [set_in(set(hand)) for hand in combinations(FULL_PACK, 3)]
    assert len(found) == 9880
    kinds = [kind_and_rank[0] for kind_and_rank in found if kind_and_rank is not None]
    assert round(100 * kinds.count("ronda") / 9880, 2) == 21.86
    assert round(100 * kinds.count("tringa") / 9880, 3) == 0.405


def test_51968_of_91390_first_tables_are_legal() -> None:
    assert comb(40, 4) == 91390
    legal_ranks = [
        ranks
        for ranks in combinations(RANKS, 4)
        if is_legal_first_table([f"{rank}O" for rank in ranks])
    ]
    assert len(legal_ranks) * len(list(product(SUITS, repeat=4))) == 51968
    assert not is_legal_first_table(["3O", "3C", "5E", "7B"])


@pytest.mark.parametrize(
    ("rules", "players", "target", "length"),
    [
        ("ronda", 2, 41, 0),
        ("playtash", 3, 41, 0),
        ("playtash", 2, 25, 0),
        ("playtash", 2, 0, 0),
        ("cafe", 5, 41, 0),
        ("cafe", 1, 41, 0),
        ("cafe", 2, 42, 0),
        ("cafe", 2, 0, 0),
        ("cafe", 2, 41, 1),
        ("cafe", 2, 0, -1),
        ("arabic", 2, 41, 0),
        ("arabic", 2, 0, 1),
        ("arabic", 3, 0, 0),
        ("arabic", 4, 0, 0),
        ("pagat", 2, 21, 0),
    ],
)
def test_a_match_that_the_rules_do_not_allow_is_refused(
    rules: str, players: int, target: int, length: int
) -> None:
    with pytest.raises(ValueError, match=r"."):
        Referee(rules, players, target, length)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_every_allowed_target_and_length_opens_a_match(rules: str, players: int) -> None:
    for target in PRESETS[rules].targets:
        assert Referee(rules, players, target).phase == "deal"
    if rules != "arabic":
        assert Referee(rules, players, 0, 3).length == 3


def test_a_deal_needs_forty_cards_and_the_right_dealer() -> None:
    deck = deck_with(2, 0)
    referee = Referee("playtash", 2, 0, 2)
    for bad in (deck[:-1], [*deck[:-1], deck[0]], [*deck, deck[0]], [*deck[:-1], "8O"]):
        with pytest.raises(ValueError, match="40 cards"):
            referee.deal(bad, 0)
    for dealer in (None, -1, 2):
        with pytest.raises(ValueError, match=r"seat|dealer"):
            referee.deal(deck, dealer)
    referee.deal(deck, 1)
    with pytest.raises(ValueError, match="no deal"):
        referee.deal(deck, 0)
    while referee.phase == "play":
        play_lowest(referee)
    with pytest.raises(ValueError, match="passes to seat 0"):
        referee.deal(deck, 1)
    referee.deal(deck)
    assert referee.dealer == 0
    assert referee.turn == 1


def test_a_card_that_is_not_held_is_refused_and_changes_nothing() -> None:
    referee = Referee("playtash", 2, 41)
    with pytest.raises(ValueError, match="no play"):
        referee.play("1O")
    referee.deal(deck_with(2, 0), 0)
    before = referee.view(1)
    for card in ("8O", min(referee.hands[0]), min(referee.table)):
        with pytest.raises(ValueError, match="does not hold"):
            referee.play(card)
    assert before == referee.view(1)


def test_a_false_second_or_late_declaration_is_refused_and_changes_nothing() -> None:
    referee = Referee("pagat", 2, 41)
    hands = [["7O", "7C", "1E"], ["2O", "3C", "4E"]]
    with pytest.raises(ValueError, match="no declaration"):
        referee.declare(0, False)
    referee.deal(deck_with(2, 0, hands), 0)
    with pytest.raises(ValueError, match="no play"):
        referee.play("2O")
    for seat in (-1, 2):
        with pytest.raises(ValueError, match="no seat"):
            referee.declare(seat, False)
    with pytest.raises(ValueError, match="holds no set"):
        referee.declare(1, True)
    assert referee.declare(0, True) == ()
    with pytest.raises(ValueError, match="has answered"):
        referee.declare(0, True)
    assert referee.scores == [0, 0]
    assert referee.declare(1, False) == (Award(0, 0, "ronda", 1),)
    assert referee.declared == {1: {0: "ronda"}}
    with pytest.raises(ValueError, match="no declaration"):
        referee.declare(1, False)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_the_dealer_plays_last_and_the_deal_passes_on_every_hand(rules: str, players: int) -> None:
    hands = 1 if rules == "arabic" else players + 1
    referee = Referee(rules, players, 0, 0 if rules == "arabic" else hands)
    for number in range(hands):
        dealer = (1 + number) % players
        referee.deal(deck_with(players, dealer), 1 if number == 0 else None)
        assert dealer == referee.dealer
        assert len(referee.stock) == 36 - 3 * players
        order = []
        while referee.phase in ("declare", "play"):
            if referee.phase == "declare":
                answer(referee)
            else:
                order.append(play_lowest(referee).seat)
        assert len(order) == 36
        assert referee.batch == 36 // (3 * players)
        assert order == [(dealer + 1 + play) % players for play in range(36)]
        assert referee.hand_counts is not None
        assert sum(referee.hand_counts) == 40
    assert referee.phase == "over"
    assert referee.outcome == ("hand" if rules == "arabic" else "length")


def test_four_players_are_two_sides_for_every_dealer() -> None:
    for dealer in range(4):
        referee = position(
            "playtash", 4, [["1O", "2O"]] * 4, ["1C"], dealer=dealer, turn=(dealer + 1) % 4
        )
        played = referee.play("1O")
        assert [(a.side, a.reason) for a in played.awards] == [((dealer + 1) % 2, "missa")]
        assert len(referee.piles[(dealer + 1) % 2]) == 2
        assert referee.last_capturer == (dealer + 1) % 2


@pytest.mark.parametrize(
    ("scores", "winner"), [([5, 5], None), ([4, 5], 1), ([45, 5], 0), ([41, 41], None)]
)
def test_a_fixed_length_has_no_target_and_equal_is_a_draw(
    scores: list[int], winner: int | None
) -> None:
    for rules in ("playtash", "cafe", "pagat"):
        referee, card = at_the_last_card(rules, 2, [20, 20], 0, 0, scores)
        referee.target, referee.length = 0, 1
        referee.play(card)
        assert (referee.phase, referee.outcome) == ("over", "length")
        assert winner == referee.winner
        assert referee.draw == (winner is None)


def test_a_fixed_length_is_not_won_in_the_middle_of_a_hand() -> None:
    referee, card = este_position("cafe", 2, [60, 0], 0, 41)
    referee.target, referee.length = 0, 3
    referee.play(card)
    assert referee.phase == "play"
    assert referee.scores == [61, 0]


@pytest.mark.parametrize("rules", ["playtash", "cafe", "pagat"])
def test_equal_sides_over_the_target_play_another_hand(rules: str) -> None:
    referee, card = at_the_last_card(rules, 2, [20, 20], 0, 0, [44, 44])
    referee.play(card)
    assert (referee.phase, referee.winner, referee.outcome) == ("deal", None, None)


@pytest.mark.parametrize(("scores", "winner"), [([20, 20], None), ([10, 0], 0)])
def test_an_arabic_hand_with_equal_totals_is_a_draw(scores: list[int], winner: int | None) -> None:
    referee, card = at_the_last_card("arabic", 2, [19, 20], 1, 0, scores)
    referee.play(card)
    assert (referee.phase, referee.outcome, referee.winner) == ("over", "hand", winner)
    assert referee.draw == (winner is None)


@pytest.mark.parametrize(
    ("players", "scores", "seat", "winner"),
    [
        (2, [9, 0], 0, 1),
        (4, [9, 0], 2, 1),
        (4, [9, 0], 3, 0),
        (3, [9, 2, 3], 0, 2),
        (3, [9, 2, 3], 1, 0),
        (3, [3, 9, 4], 2, 1),
        (3, [9, 3, 3], 0, None),
    ],
)
def test_a_forfeit_gives_the_match_to_the_other_or_the_higher_of_the_others(
    players: int, scores: list[int], seat: int, winner: int | None
) -> None:
    referee = Referee("cafe", players, 41)
    referee.deal(deck_with(players, 0), 0)
    referee.scores = scores
    referee.forfeit(seat)
    assert (referee.phase, referee.outcome, referee.winner) == ("over", "forfeit", winner)
    assert referee.turn is None
    with pytest.raises(ValueError, match="over"):
        referee.forfeit(seat)
    with pytest.raises(ValueError, match="no declaration"):
        referee.declare(0, False)
    with pytest.raises(ValueError, match="no deal"):
        referee.deal(deck_with(players, 1))


def test_the_pending_pack_waits_for_exactly_one_play() -> None:
    referee = position(
        "cafe",
        3,
        [["6O", "12O", "6B"], ["6C", "12C"], ["6E", "12E"]],
        ["7O", "2O"],
        dealer=2,
        turn=0,
        stock=others([]),
    )
    lay(referee, "6O")
    assert referee.pack == set()
    referee.play("6C")
    assert referee.pack == {"6O", "7O", "6C"}
    referee.play("6E")
    assert referee.pack == {"6O", "7O", "6C", "6E"}
    assert referee.piles == [set(), set(), {"6O", "7O", "6C", "6E"}]
    lay(referee, "12O")
    assert referee.pack == set()


def test_only_what_a_link_gained_can_be_reclaimed() -> None:
    referee = position(
        "arabic",
        2,
        [["6C", "6B", "12O"], ["6E", "12C", "12B"]],
        ["6O", "7O", "2O"],
        dealer=1,
        turn=0,
    )
    assert referee.play("6C").captured == {"6O", "7O"}
    assert referee.pack == set()
    lay(referee, "6E")
    assert referee.pack == set()
    played = referee.play("6B")
    assert (played.captured, played.reclaimed) == (frozenset({"6E"}), frozenset())
    assert [a.points for a in played.awards] == [5]
    assert referee.piles == [{"6O", "7O", "6C", "6E", "6B"}, set()]


def test_a_new_batch_closes_the_pack() -> None:
    referee = position(
        "arabic",
        2,
        [["6O"], ["6C"]],
        ["2O"],
        dealer=1,
        turn=0,
        stock=["6E", "1O", "3O", "4O", "5O", "11O", *others([])][:12],
        plays_made=4,
    )
    lay(referee, "6O")
    assert [a.points for a in referee.play("6C").awards] == [1]
    assert referee.batch == 2
    assert referee.pack == set()
    played = referee.play("6E")
    assert (played.captured, played.reclaimed, played.awards) == (frozenset(), frozenset(), ())


def test_equal_cards_that_do_not_follow_each_other_score_nothing() -> None:
    for rules in PRESETS:
        hands = [["6O", "6C", "1O"], ["2C", "3C"]]
        referee = position(rules, 2, hands, ["12E"], dealer=1, turn=0)
        lay(referee, "6O")
        lay(referee, "2C")
        assert referee.play("6C").awards == ()


def test_nothing_is_paid_or_dealt_after_an_immediate_win() -> None:
    referee = position(
        "pagat",
        2,
        [["6C"], ["6O"]],
        [],
        dealer=0,
        turn=1,
        stock=others(["6C", "6O"])[:30],
        plays_made=4,
        scores=[40, 10],
    )
    referee.dealt_sets = {0: ("ronda", 6), 1: ("tringa", 7)}
    lay(referee, "6O")
    assert referee.play("6C").awards == (Award(6, 0, "este", 1),)
    assert (referee.phase, referee.winner, referee.outcome) == ("over", 0, "target")
    assert referee.batch == 1
    assert len(referee.stock) == 30
    assert referee.scores == [41, 10]


def test_a_view_shows_a_hand_only_to_its_seat_and_hides_the_order_of_the_stock() -> None:
    rng = random.Random(3)
    for rules, players in TABLES:
        referee = Referee(rules, players, PRESETS[rules].targets[0])
        referee.deal(biased_deck(rng, players), 0)
        public = referee.view(None)
        assert public["hand"] is None
        assert public["hand_sizes"] == [3] * players
        for seat in range(players):
            assert referee.view(seat) == {**public, "hand": sorted(referee.hands[seat])}
        # Another world with the same public history: hidden cards change places.
        hidden = [card for hand in referee.hands[1:] for card in sorted(hand)] + referee.stock
        rng.shuffle(hidden)
        own = referee.view(0)
        for seat in range(1, players):
            referee.hands[seat] = {hidden.pop() for _ in range(3)}
        referee.stock = hidden
        assert own == referee.view(0)
        assert public == referee.view(None)
        with pytest.raises(ValueError, match="no seat"):
            referee.view(players)


def test_an_answer_is_secret_until_the_last_seat_has_answered() -> None:
    hands = [["7O", "7C", "1E"], ["2O", "2C", "4E"], ["3O", "5C", "6E"]]
    referee = Referee("cafe", 3, 41)
    referee.deal(deck_with(3, 0, hands), 0)
    before = [referee.view(viewer) for viewer in (None, 0, 1, 2)]
    for seat, declares in ((2, False), (0, True)):
        assert referee.declare(seat, declares) == ()
        assert before == [referee.view(viewer) for viewer in (None, 0, 1, 2)]
    assert referee.declare(1, False) == (Award(0, 0, "ronda", 1),)
    assert referee.view(2)["declared"] == {1: {0: "ronda"}}
    assert referee.view(None)["turn"] == 1


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_biased_hands_are_legal_hard_and_keep_all_forty_cards(rules: str, players: int) -> None:
    rng = random.Random(players)
    chains = {1: 0, 5: 0, 10: 0}
    missas = 0
    reclaims = 0
    for _ in range(40):
        referee = Referee(rules, players, 0, 0 if rules == "arabic" else 1)
        referee.deal(biased_deck(rng, players), rng.randrange(players))
        last_rank: int | None = None
        while referee.phase in ("declare", "play"):
            if referee.phase == "declare":
                for seat in range(players):
                    referee.declare(seat, biased_declare(rng, seat in referee.dealt_sets))
                continue
            assert referee.turn is not None
            hand = sorted(referee.hands[referee.turn])
            played = referee.play(biased_play(rng, hand, referee.table, last_rank))
            last_rank = rank_of(played.card)
            reclaims += bool(played.reclaimed)
            for award in played.awards:
                assert award.points > 0
                if award.reason == "este":
                    chains[award.points] += 1
                missas += award.reason == "missa"
            cards = [card for hand in referee.hands for card in sorted(hand)]
            cards += [card for pile in referee.piles for card in sorted(pile)]
            cards += [*sorted(referee.table), *referee.stock]
            assert sorted(cards) == sorted(FULL_PACK)
            assert len({rank_of(card) for card in referee.table}) == len(referee.table)
            assert referee.pack <= set().union(*referee.piles)
        assert referee.hand_counts is not None
        assert sum(referee.hand_counts) == 40
        assert sum(award.points for award in referee.awards) == sum(referee.scores)
    assert chains[1] > 100
    assert missas > 20
    chains_pay = not (PRESETS[rules].este_form == "capture" and players == 2)
    assert (chains[5] > 15) == chains_pay
    assert (chains[10] > 8) == chains_pay
    assert (reclaims > 20) == (rules == "arabic" or (rules != "playtash" and players > 2))


def test_the_same_seed_makes_the_same_biased_hand() -> None:
    for players in (2, 3, 4):
        first = biased_deck(random.Random(5), players)
        assert first == biased_deck(random.Random(5), players)
        assert first != biased_deck(random.Random(6), players)
    table = {"1O", "3C", "5E"}
    plays = [
        biased_play(random.Random(seed), ["1C", "3O", "12B"], table, 12) for seed in range(300)
    ]
    assert plays == [
        biased_play(random.Random(seed), ["12B", "3O", "1C"], sorted(table), 12)
        for seed in range(300)
    ]
    assert plays.count("12B") > 250


def test_a_biased_seat_never_declares_falsely_and_sometimes_conceals() -> None:
    rng = random.Random(1)
    assert not any(biased_declare(rng, False) for _ in range(200))
    assert 100 < sum(biased_declare(rng, True) for _ in range(200)) < 200
