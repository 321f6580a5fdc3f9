"""What is looked up and searched is what the engine does, play by play and line by line."""

from __future__ import annotations

import random

import pytest
from tests.bots.tables import every_table, hard_deck, one_hand, play_out, sit, uniform_deck

from ronda_bots import points
from ronda_bots.careful import Careful
from ronda_bots.ending import Ending
from ronda_bots.moves import TABLE, last_moves, moves, pack
from ronda_bots.rates import Inside
from ronda_bots.search import Batch
from ronda_bots.worlds import Evidence, World
from ronda_core import match as matches
from ronda_core.cards import STEP
from ronda_core.hand import Phase
from ronda_core.match import Match
from ronda_core.rules import PLAYS, Settings
from ronda_core.view import View, view


@every_table()
def test_a_move_that_is_looked_up_is_what_the_engine_does(rules: str, players: int) -> None:
    rng = random.Random(f"moves {rules} {players}")
    one = one_hand(rules, players)

    def choose(match: Match, seen: View) -> int:
        spot, made = pack(points.spot(seen)), len(seen.plays) + 1
        for card in seen.hand:
            known = last_moves(one) if made == PLAYS else moves(one)
            paid, cards, left = known[spot << 4 | STEP[card]]
            gain, after = points.play(one, points.spot(seen), STEP[card])
            assert paid == gain.points
            assert cards == gain.cards + gain.reclaimed
            assert (left & TABLE if made % one.batch_plays == 0 else left) == pack(after)
        equal = [card for card in seen.hand if seen.plays and card.rank == seen.plays[-1].rank]
        return rng.choice(equal or seen.hand)

    for number in range(20):
        play_out(Match(one, number % players), choose, lambda _: hard_deck(rng, players))


@pytest.mark.parametrize("rules", ["playtash", "cafe", "arabic", "pagat"])
def test_the_last_batch_of_two_is_worth_what_all_lines_through_the_engine_say(rules: str) -> None:
    one = one_hand(rules, 2)
    rng = random.Random(f"ending {rules}")
    ending = Ending(one)
    looked = 0

    def choose(match: Match, seen: View) -> int:
        nonlocal looked
        if not seen.stock and len(seen.hand) > 1:
            exact = {STEP[card]: line(match, seen.seat, card) for card in seen.hand}
            price = 1.0 if one.preset.every_card else 0.5
            mine, theirs = (seen.pile_counts[side] for side in (seen.side, 1 - seen.side))
            now = seen.scores[seen.side] - seen.scores[1 - seen.side] + price * (mine - theirs)
            told = ending.values(seen)
            assert told == pytest.approx({step: worth - now for step, worth in exact.items()})
            looked += 1
        return rng.choice(seen.hand)

    for number in range(6):
        deck = hard_deck if number % 2 else uniform_deck
        play_out(Match(one, number % 2), choose, lambda _, deck=deck: deck(rng, 2))
    assert looked == 24


def line(match: Match, seat: int, card: int) -> int:
    """Seat's final margin if it plays `card` and both play the engine to the end at best."""
    after = matches.copy(match)
    matches.play(after, seat, card)
    if after.result:
        return after.scores[seat] - after.scores[1 - seat]
    hand = after.hand
    assert hand is not None
    return -max(line(after, 1 - seat, reply) for reply in hand.hands[1 - seat])


@every_table()
def test_rates_from_inside_a_hand_foresee_what_careful_plays(rules: str, players: int) -> None:
    one = one_hand(rules, players)
    rng = random.Random(f"inside {rules} {players}")
    bots = sit(one, [Careful] * players)
    price = 1.0 if one.preset.every_card else 0.5
    looked = 0

    def choose(_: Match, seen: View) -> int:
        nonlocal looked
        card = int(bots[seen.seat].play(seen))
        held = tuple(STEP[each] for each in seen.hand)
        solved = players == 2 and not seen.stock
        if len(held) > 1 and seen.hand_sizes[one.next_seat[seen.seat]] == len(held) and not solved:
            hidden = [0] * 10
            for each in (*seen.unseen, *seen.hand):
                hidden[STEP[each]] += 1
            inside = Inside(moves(one), price, hidden, 1000)
            assert held[inside.choose(pack(points.spot(seen)), held)] == STEP[card]
            earlier = Inside(moves(one), price, [max(0, copies - 1) for copies in hidden], 1000)
            since = [step for step, copies in enumerate(hidden) if copies]
            place = earlier.before(since).choose(pack(points.spot(seen)), held)
            assert held[place] == STEP[card]
            looked += 1
        return card

    for number in range(6):
        play_out(Match(one, number % players), choose, lambda _: uniform_deck(rng, players))
    assert looked > 30


@every_table()
def test_a_batch_searched_in_one_world_is_worth_what_the_engine_says(
    rules: str, players: int
) -> None:
    """The last batch, all hands known: the best order of the own cards against fixed replies."""
    one = one_hand(rules, players)
    if one.sides == 3:
        pytest.skip("with three piles a card's worth is an estimate")
    rng = random.Random(f"batch {rules} {players}")
    bots = sit(one, [Careful] * players)
    looked = 0

    def choose(match: Match, seen: View) -> int:
        nonlocal looked
        hand = match.hand
        assert hand is not None
        if not seen.stock and len(seen.hand) > 1:
            evidence = Evidence(one, seen, None)
            batch = Batch(one, seen, evidence)
            world = World(
                1.0,
                tuple(tuple(sorted(STEP[c] for c in hand.hands[s])) for s in evidence.seats),
            )
            told = batch.values([world], few=0)
            price = 1.0 if one.preset.every_card else 0.5
            mine, theirs = (seen.pile_counts[side] for side in (seen.side, 1 - seen.side))
            now = seen.scores[seen.side] - seen.scores[1 - seen.side] + price * (mine - theirs)
            for card in seen.hand:
                exact = against(match, one, batch, seen.seat, card)
                assert told[STEP[card]] == pytest.approx(exact - now)
            looked += 1
        return int(bots[seen.seat].play(seen))

    for number in range(2):
        play_out(Match(one, number % players), choose, lambda _: hard_deck(rng, players))
    assert looked


def against(match: Match, one: Settings, batch: Batch, seat: int, card: int) -> int:
    """Seat's final margin with `card`, its best cards after it, and the others by their rates."""
    after = matches.copy(match)
    matches.play(after, seat, card)
    while after.result is None:
        hand = after.hand
        assert hand is not None
        assert hand.phase is Phase.PLAY
        if hand.turn == seat:
            return max(against(after, one, batch, seat, mine) for mine in hand.hands[seat])
        held = sorted(hand.hands[hand.turn], key=lambda each: STEP[each])
        steps = tuple(STEP[each] for each in held)
        spot = pack(points.spot(view(after, hand.turn)))
        place = batch.rates.choose(spot, steps) if len(steps) > 1 else 0
        matches.play(after, hand.turn, held[place])
    side = one.side_of[seat]
    return after.scores[side] - after.scores[1 - side]
