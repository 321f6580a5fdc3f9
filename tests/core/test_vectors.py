"""Every worked position of the rules document against the engine, once for each of its presets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ronda_core import match as matches
from ronda_core.cards import STEP, TEXT, parse_card
from ronda_core.hand import Award, DeckError, Ended, IllegalMoveError, Phase, Played, Refusal
from ronda_core.match import Match, MatchEvent, Outcome
from ronda_core.rules import PRESETS, settings

from .positions import dealt, deck_with, numbers, others, position

Vector = dict[str, Any]

DATA = Path(__file__).parent.parent / "data"
VECTORS: list[Vector] = json.loads((DATA / "vectors.json").read_text(encoding="utf-8"))["vectors"]


def cases(kind: str) -> list[Any]:
    """One parameter per vector of a kind and preset."""
    return [
        pytest.param(vector, rules, id=f"{vector['id']}-{rules}")
        for vector in VECTORS
        if vector["kind"] == kind
        for rules in vector["rulesets"]
    ]


def test_every_kind_of_vector_is_tried() -> None:
    kinds = ("play", "announce", "hand_end", "initial_table", "match")
    assert sum(len({case.values[0]["id"] for case in cases(kind)}) for kind in kinds) == 80


def texts(cards: Iterable[int]) -> list[str]:
    return [TEXT[card] for card in cards]


def awards(events: Sequence[MatchEvent]) -> list[Award]:
    return [award for event in events for award in getattr(event, "awards", ())]


def as_points(paid: Sequence[Award]) -> dict[str, dict[str, int]]:
    """Awards in the shape that the vectors use."""
    points: dict[str, dict[str, int]] = {}
    for award in paid:
        points.setdefault(str(award.side), {})[award.reason] = award.points
    return points


def play(match: Match, card: str) -> tuple[MatchEvent, ...]:
    """Play a card of the seat whose turn it is."""
    assert match.hand is not None
    return matches.play(match, match.hand.turn, parse_card(card))


def answer(match: Match, declaring: Sequence[int] | None = None) -> list[MatchEvent]:
    """Let every seat answer; None lets everyone declare who holds a set."""
    assert match.hand is not None
    events: list[MatchEvent] = []
    for seat in range(match.settings.players):
        declares = match.hand.strengths[seat] > 0 if declaring is None else seat in declaring
        events += matches.declare(match, seat, declares)
    return events


def start_of(vector: Vector, rules: str, *, batch_ends: bool = False) -> Match:
    """The position of a play vector.

    Hands hold the cards of the steps up to the next batch, and one more each unless the last step
    ends the batch.
    """
    players = vector["players"]
    steps = vector["steps"]
    now: list[list[str]] = [[] for _ in range(players)]
    later: list[list[str]] = [[] for _ in range(players)]
    current = now
    for step in steps:
        current = later if step.get("new_batch_before") else current
        current[step["seat"]].append(step["card"])
    final = bool(steps[-1].get("final_card_of_hand"))
    if not (final or batch_ends or any(later)):
        free = others(vector["start_table"], *now)
        for hand in now:
            hand.append(free.pop())
    return position(
        rules,
        players,
        now,
        vector["start_table"],
        dealer=vector["dealer"],
        turn=steps[0]["seat"],
        final=final,
        later=later,
        last_capturer=-1 if vector["last_capturer_side"] is None else vector["last_capturer_side"],
    )


@pytest.mark.parametrize(("vector", "rules"), cases("play"))
def test_a_play_vector_takes_and_pays_what_it_says(vector: Vector, rules: str) -> None:
    follow(vector, rules, start_of(vector, rules))


ENDED_BY_THE_DEALER = [
    case
    for case in cases("play")
    if case.values[0]["steps"][-1]["seat"] == case.values[0]["dealer"]
]


@pytest.mark.parametrize(("vector", "rules"), ENDED_BY_THE_DEALER)
def test_a_play_vector_is_the_same_where_it_ends_the_batch(vector: Vector, rules: str) -> None:
    follow(vector, rules, start_of(vector, rules, batch_ends=True))


def follow(vector: Vector, rules: str, match: Match) -> None:
    """Play the steps of a vector and compare what each does."""
    hand = match.hand
    assert hand is not None
    leftovers = 0
    for step in vector["steps"]:
        if hand.phase is Phase.DECLARE:
            answer(match, [])
        assert step["seat"] == hand.turn
        played, *more = play(match, step["card"])
        assert isinstance(played, Played)
        assert (step["seat"], step["card"]) == (played.seat, TEXT[played.card])
        assert sorted(step["captured"]) == sorted(texts(played.captured))
        assert [STEP[card] for card in played.captured] == sorted(
            map(STEP.__getitem__, played.captured)
        )
        assert sorted(step["reclaimed"]) == sorted(texts(played.reclaimed))
        assert step["points"] == as_points(played.awards)
        if step.get("final_card_of_hand"):
            ended = more[0]
            assert isinstance(ended, Ended)
            assert sorted(step["table_after"]) == sorted(texts(ended.leftovers))
            leftovers = len(ended.leftovers)
        else:
            assert sorted(step["table_after"]) == sorted(texts(filter(None, hand.table)))
    if "pile_counts_after" in vector:
        counts = list(hand.piles)
        counts[hand.last_capturer] -= leftovers
        assert vector["pile_counts_after"][rules] == counts


@pytest.mark.parametrize(("vector", "rules"), cases("announce"))
def test_an_announce_vector_pays_the_sets_of_one_batch(vector: Vector, rules: str) -> None:
    players = vector["players"]
    for dealer in range(players):
        match, events = dealt(rules, players, vector["hands"], dealer)
        hand = match.hand
        assert hand is not None
        assert [numbers(cards) for cards in vector["hands"]] == hand.hands
        paid = awards(events)
        if match.settings.declares:
            assert paid == []
            paid += awards(answer(match, vector["declared_seats"]))
        while hand.batch == 1:
            events = list(matches.play(match, hand.turn, min(hand.hands[hand.turn])))
            paid += [award for award in awards(events[:1]) if award.reason == "penalty"]
        points = [0] * match.settings.sides
        for award in paid:
            points[award.side] += award.points
        assert vector["points_per_side"] == points


def at_the_last_card(
    rules: str,
    players: int,
    counts: Sequence[int],
    table_left: int,
    last: int,
    scores: Sequence[int] | None = None,
    target: int | None = None,
) -> tuple[Match, str]:
    """A position before the 36th card, and the card, after which piles and table are as given.

    The dealer, of the side that is to capture last, takes one card with a rank that no preset
    rewards and leaves the others; too many for that, and the dealer lays a card on them.
    """
    piles = list(counts)
    left = [f"{rank}O" for rank in (2, 4, 6, 10, 1, 3, 5, 7)]
    table = [*left[:table_left], "11O"] if table_left <= len(left) else left
    if table_left <= len(left):
        piles[last] -= 2
    hands = [["11C"] if seat == last else [] for seat in range(players)]
    return (
        position(
            rules,
            players,
            hands,
            table,
            dealer=last,
            turn=last,
            final=True,
            last_capturer=last,
            piles=piles,
            scores=scores,
            target=target,
        ),
        "11C",
    )


@pytest.mark.parametrize(("vector", "rules"), cases("hand_end"))
def test_a_hand_end_vector_counts_the_piles_after_leftovers(vector: Vector, rules: str) -> None:
    last = vector["last_capturer_side"]
    match, card = at_the_last_card(
        rules, vector["players"], vector["pile_counts"], vector["table_left"], last
    )
    _, ended, *_ = play(match, card)
    assert isinstance(ended, Ended)
    counted = [0] * match.settings.sides
    for award in ended.awards:
        assert (award.plays, award.reason) == (36, "cards")
        assert award.points > 0
        counted[award.side] += award.points
    assert vector["card_points"] == counted
    expected = list(vector["pile_counts"])
    expected[last] += vector["table_left"]
    assert (tuple(expected), last) == (ended.piles, ended.side)
    assert len(ended.leftovers) == vector["table_left"]


@pytest.mark.parametrize(("vector", "rules"), cases("initial_table"))
def test_an_initial_table_vector_is_dealt_or_refused(vector: Vector, rules: str) -> None:
    for players in PRESETS[rules].players:
        match = Match(settings(rules, players), 0)
        deck = deck_with(players, 0, table=vector["table"])
        if vector["legal"]:
            matches.deal(match, deck)
            assert match.hand is not None
            assert sorted(numbers(vector["table"])) == sorted(filter(None, match.hand.table))
        else:
            with pytest.raises(DeckError):
                matches.deal(match, deck)
            assert match.hand is None


def este_next(
    rules: str,
    players: int,
    scores: Sequence[int],
    side: int,
    target: int | None,
    *,
    last: bool = False,
    piles: Sequence[int] | None = None,
) -> Match:
    """A position whose next play, 6C, is an este of a side; `last` makes it the 36th card."""
    before = (side - 1) % players
    hands: list[list[str]] = [[] for _ in range(players)]
    hands[before].append("6O")
    hands[side].append("6C")
    if not last:
        hands = [[*hand, card] for hand, card in zip(hands, ["12O", "12C", "12E"], strict=False)]
    match = position(
        rules,
        players,
        hands,
        ["2O"],
        dealer=side if last else before,
        turn=before,
        final=last,
        last_capturer=side,
        piles=piles,
        scores=scores,
        target=target,
    )
    play(match, "6O")
    return match


def counts_for(rules: str, players: int, points: Sequence[int]) -> list[int]:
    """Pile sizes of 40 cards that count to these points."""
    free = 0 if PRESETS[rules].every_card else 13 if players == 3 else 20
    counts = [free + point if point else 0 for point in points]
    rest = 40 - sum(counts)
    for side, point in enumerate(points):
        if point == 0:
            counts[side] = min(free, rest)
            rest -= counts[side]
    assert rest == 0
    return counts


HANDS = [["1O", "3C", "5E"], ["2O", "4C", "6E"], ["1E", "3B", "5O"], ["2E", "4B", "6O"]]
"""Hands without a set."""


def with_pairs(players: int, *seats: int) -> list[list[str]]:
    """Hands in which these seats hold a pair of 7."""
    hands = HANDS[:players]
    for seat, pair in zip(seats, (["7O", "7C", "12O"], ["7E", "7B", "12C"]), strict=False):
        hands[seat] = pair
    return hands


class Course:
    """Makes the events of a match vector happen, each in a position of its own."""

    def __init__(
        self, vector: Vector, rules: str, scores: Sequence[int], target: int | None
    ) -> None:
        self.vector, self.rules, self.scores, self.target = vector, rules, scores, target
        self.players = vector["players"]

    def hand_end(self, event: Vector) -> Match:
        counts = counts_for(self.rules, self.players, event["hand_end"])
        counts[0] -= 1  # and one card is left to side 0, so that the last card is no missa
        match, card = at_the_last_card(
            self.rules, self.players, counts, 1, 0, self.scores, self.target
        )
        play(match, card)
        return match

    def play_36(self, event: Vector) -> Match:
        side = event["play_36"]["side"]
        # The count that is listed next would be due: side 1 holds 10 cards over 20.
        (unpaid,) = (other["hand_end"] for other in self.vector["events"] if "hand_end" in other)
        counts = counts_for(self.rules, self.players, unpaid)
        counts[0] -= 3  # two that the este takes and one that stays on the table
        match = este_next(
            self.rules, self.players, self.scores, side, self.target, last=True, piles=counts
        )
        played, finished = play(match, "6C")
        assert isinstance(played, Played)
        assert isinstance(finished, matches.Finished)
        assert as_points(played.awards) == {str(side): {"este": 1}}
        assert match.hand is not None
        assert texts(filter(None, match.hand.table)) == ["2O"]
        return match

    def bonus(self, event: Vector) -> Match:
        scores = [sum(both) for both in zip(self.scores, event["bonus"], strict=True)]
        return position(self.rules, 2, [["2O"], ["3O"]], [], dealer=1, turn=0, scores=scores)

    def penalties(self, event: Vector) -> Match:
        hidden = event["penalties"]["undeclared"]
        hands = with_pairs(self.players, *(told["seat"] for told in hidden))
        match, _ = dealt(self.rules, self.players, hands, 1, self.scores, self.target)
        answer(match, [])
        hand = match.hand
        assert hand is not None
        hand.hands = [numbers(["5C"]) if seat == 1 else [] for seat in range(self.players)]
        hand.turn = 1
        (played, *_) = play(match, "5C")
        assert isinstance(played, Played)
        assert {award.reason for award in played.awards} == {"penalty"}
        return match

    def tie_ronda(self, _: Vector) -> Match:
        return self._declared(0, 1)

    def declared(self, event: Vector) -> Match:
        return self._declared(*map(int, event["declared"]))

    def _declared(self, *seats: int) -> Match:
        hands = with_pairs(self.players, *seats)
        match, _ = dealt(self.rules, self.players, hands, 0, self.scores, self.target)
        answer(match)
        return match

    def one_play(self, _: Vector) -> Match:
        match = position(
            self.rules,
            self.players,
            [["6C", "12O"], ["6O", "12C"]],
            [],
            dealer=0,
            turn=1,
            scores=self.scores,
            target=self.target,
        )
        play(match, "6O")
        play(match, "6C")
        return match

    def este(self, event: Vector) -> Match:
        match = este_next(self.rules, self.players, self.scores, event["side"], self.target)
        assert as_points(awards(play(match, "6C"))) == {str(event["side"]): {"este": 1}}
        return match

    def missa(self, event: Vector) -> Match:
        side = event["side"]
        hands = [["6O", "12O"] if seat == side else ["12C"] for seat in range(self.players)]
        match = position(
            self.rules,
            self.players,
            hands,
            ["6C"],
            dealer=1,
            turn=side,
            scores=self.scores,
            target=self.target,
        )
        assert as_points(awards(play(match, "6O"))) == {str(side): {"missa": 1}}
        return match

    def ronda(self, event: Vector) -> Match:
        hands = with_pairs(self.players, event["side"])
        return dealt(self.rules, self.players, hands, 0, self.scores, self.target)[0]


def happen(event: Vector, course: Course) -> Match:
    (kind,) = set(event) - {"side"}
    make: Callable[[Vector], Match] = getattr(course, kind)
    return make(event)


@pytest.mark.parametrize(("vector", "rules"), cases("match"))
def test_a_match_vector_ends_or_goes_on_as_it_says(vector: Vector, rules: str) -> None:
    expect = vector["expect"]
    target = {"M07": 21}.get(vector["id"])
    scores: Sequence[int] = vector["scores_before"]
    match = None
    for number, event in enumerate(vector["events"]):
        if match and match.result:
            assert vector["id"] == "M21"  # what is listed after the winning play is not paid
            break
        match = happen(event, Course(vector, rules, scores, target))
        scores = match.scores
        if number == 0 and "after_event_0" in expect:
            assert (expect["after_event_0"] == "match over") == (match.result is not None)
    assert match is not None
    assert match.hand is not None
    assert tuple(expect["final"]) == match.scores
    if expect["winner"] is None:
        assert expect["next"] == "play on"
        assert match.result is None
        return
    outcome = Outcome.HAND if rules == "arabic" else Outcome.TARGET
    assert match.result == (outcome, expect["winner"], tuple(expect["final"]), None)
    assert match.hand.turn == -1
    with pytest.raises(IllegalMoveError) as refused:
        matches.play(match, 0, 1)
    assert refused.value.reason is Refusal.MATCH_OVER
