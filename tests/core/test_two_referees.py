"""The engine against a referee written from the rules alone, by someone who had not read it."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.referee.duel import TABLES, DisagreementError, Duel, play_match, replay, shortest

from ronda_core import match as engine
from ronda_core.rules import PRESETS

HANDS = 10_000
"""In the whole test run; `python -m tests.fuzz_referees` plays as many as you like."""


def everything(match: engine.Match) -> list[object]:
    """All that a match holds, in values that do not change with it."""
    hand = match.hand
    assert hand is not None
    values = [getattr(hand, name) for name in hand.__slots__]
    return [match.result, *(repr(value) if isinstance(value, list) else value for value in values)]


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_two_referees_agree_on_every_step_and_view_of_hard_and_plain_hands(
    rules: str, players: int
) -> None:
    rng = random.Random(f"{rules} {players}")
    seen: Counter[str] = Counter()
    hands = 0
    while hands < HANDS / len(TABLES):
        try:
            duel = play_match(rng, rules, players)
        except DisagreementError as error:
            raise shortest(error) from None
        hands += duel.referee.hand_number
        seen += duel.seen

    preset = PRESETS[rules]
    long_chains = players > 2 or preset.long_chain_at_two
    assert min(seen["este 1"], seen["missa"], seen["cards"]) > 500
    assert (min(seen["este 5"], seen["este 10"]) > 100) == long_chains
    assert (seen["reclaim"] > 100) == (long_chains and preset.reclaims)
    assert (min(seen["ronda"], seen["tringa"], seen["tie of sets"]) > 30) == (preset.sets != "none")
    assert (seen["penalty"] > 100) == preset.penalties
    assert (seen["closing"] > 100) == preset.closing
    assert min(seen["refused play"], seen["refused deal"], seen["refused declare"]) > 30
    ends = {"forfeit", *(("target", "length") if preset.targets else ("hand",))}
    assert {end for end in seen if end.startswith("ended")} == {f"ended by {end}" for end in ends}
    assert min(seen[f"ended by {end}"] for end in ends) > 3


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_a_copy_plays_on_like_its_original_which_stays_as_it_was(rules: str, players: int) -> None:
    rng = random.Random(players)
    script = play_match(rng, rules, players, forfeits=0.0, refusals=0.0).script
    duel = Duel(script.rules, script.players, script.target, script.length, script.dealer)
    for step in script.steps:
        original = duel.match
        before = everything(original) if original.hand else []
        duel.match = engine.copy(original)
        if original.hand:
            assert everything(duel.match) == before
        duel.take(step)
        if original.hand:
            assert everything(original) == before


def test_a_disagreement_comes_with_the_shortest_script_that_shows_it() -> None:
    rng = random.Random(1)
    duel = play_match(rng, "pagat", 3, forfeits=0.0)
    while duel.referee.hand_number < 2:
        duel = play_match(rng, "pagat", 3, forfeits=0.0)
    wrong = ("play", "no card")
    script = duel.script
    at = max(at for at, step in enumerate(script.steps) if step[0] == "deal")
    spoilt = (*script.steps[: at + 8], wrong)
    with pytest.raises(DisagreementError) as caught:
        replay(type(script)(**{**vars(script), "steps": spoilt}))
    found = shortest(caught.value).script
    assert found.steps[0] == script.steps[at]
    assert found.steps[-1] == wrong
    assert str(found).startswith("pagat players=3")
