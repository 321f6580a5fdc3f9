"""Twin deals through the real service: what a viewer may not see makes no byte of difference.

`RONDA_TWINS` is how many twins each preset and seat count gets; `python -m tests.hidden.long` runs
as many as wanted.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from tests.hidden.campaign import Perform, findings
from tests.hidden.harness import in_simulated_time, on_loopback
from tests.hidden.obs import Playout, Setup, Step, random_deck, replay
from tests.hidden.plan import GROUPS, Plan, plan, plan_of_sets, plan_with_bots
from tests.hidden.spies import bundled
from tests.hidden.twins import Tally, twin
from tests.referee.naive_rules import PRESETS, set_in

TWINS = int(os.environ.get("RONDA_TWINS", "40"))
OVER_GRPC = max(8, TWINS // 100)

each_group = pytest.mark.parametrize(
    ("rules", "players"), GROUPS, ids=[f"{rules}-{players}" for rules, players in GROUPS]
)


def check(name: str, wanted: int, make: Callable[[str], Plan], perform: Perform) -> Tally:
    """Run plans until `wanted` twins were compared; fail at the first difference."""
    tally = Tally()
    number = 0
    while tally["twin"] < wanted:
        found = list(findings(make(f"{name}/{number}"), perform, tally))
        assert found == []
        number += 1
    print(f"{name}: {tally}")
    return tally


@each_group
def test_no_viewer_can_tell_a_match_from_its_twin(rules: str, players: int) -> None:
    name = f"twins/{rules}/{players}"
    tally = check(name, TWINS, lambda seed: plan(seed, rules, players), in_simulated_time)
    assert tally["differs"] == tally["twin"]
    assert len(tally.styles()) > 2


@each_group
def test_no_viewer_can_tell_who_was_dealt_which_set(rules: str, players: int) -> None:
    name = f"sets/{rules}/{players}"
    check(name, TWINS // 8, lambda seed: plan_of_sets(seed, rules, players), in_simulated_time)


@each_group
def test_no_hidden_card_changes_what_a_bot_is_shown_or_decides(rules: str, players: int) -> None:
    bots = tuple(bot.identity for bot in bundled().bots)
    name = f"bots/{rules}/{players}"
    check(
        name, TWINS // 8, lambda seed: plan_with_bots(seed, rules, players, bots), in_simulated_time
    )


@each_group
def test_no_viewer_can_tell_a_match_from_its_twin_over_grpc(rules: str, players: int) -> None:
    name = f"grpc/{rules}/{players}"
    check(name, OVER_GRPC, lambda seed: plan(seed, rules, players), on_loopback)


@each_group
def test_a_twin_tells_its_viewer_the_same_story_and_deals_somebody_else_another_hand(
    rules: str, players: int
) -> None:
    rng = random.Random(f"{rules}/{players}")
    tally = Tally()
    for _ in range(40):
        playout = some_playout(rng, rules, players)
        viewer = rng.choice([None, *range(players)])
        base = replay(playout)
        made = twin(playout, base, viewer, rng, tally)
        if made is None:
            continue
        other = replay(made)
        assert other.learned(viewer) == base.learned(viewer)
        hands = list(zip(base.referee.hands, other.referee.hands, strict=True))
        assert any(mine != theirs for seat, (mine, theirs) in enumerate(hands) if seat != viewer)
        assert viewer is None or hands[viewer][0] == hands[viewer][1]
    assert tally["twin"] > 20


def some_playout(rng: random.Random, rules: str, players: int) -> Playout:
    """Return a match that was played for a while, by any legal plays and answers."""
    setup = Setup(rules, players, PRESETS[rules].targets[0])
    playout = Playout(setup, rng.randrange(players), (random_deck(rng, players),), ())
    mirror = replay(playout)
    steps: list[Step] = []
    for _ in range(rng.randrange(30)):
        referee = mirror.referee
        if referee.phase == "declare":
            seat = rng.choice([at for at in range(players) if at not in referee.answers])
            steps.append(("declare", seat, set_in(referee.hands[seat]) is not None))
        elif referee.phase == "play" and referee.turn is not None and referee.plays_made < 35:
            card = rng.choice(sorted(referee.hands[referee.turn]))
            steps.append(("play", referee.turn, card))
        else:
            break
        mirror.take(steps[-1])
    return playout._replace(steps=tuple(steps))
