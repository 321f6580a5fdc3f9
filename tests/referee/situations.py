"""Situations for the second referee: states built by hand from what a vector says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .naive import Referee
from .naive_rules import (
    FULL_PACK,
    PRESETS,
    Award,
    Play,
    rank_of,
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
