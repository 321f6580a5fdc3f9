"""Stop rules are functions of the blocks in schedule order, and keep what they decided."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from tests.arena.statistics.blocks_made import block
from tests.arena.tournament.plans import TABLES, plan

from ronda_arena.report.summary import Timing, gather
from ronda_arena.report.verdict import Verdict
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.tournament.entrants import rotations, sides
from ronda_arena.tournament.formats.choice import format_of
from ronda_arena.tournament.ledger import Ledger
from ronda_arena.tournament.results import Blame, Block, Game
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.stops import FEWEST, PrecisionStop, StopRule, stop_rule
from ronda_arena.tournament.tasks import Task
from ronda_core.match import Cause

RULES: list[dict[str, Any]] = [
    {"sequential": 0.05},
    {"precision": 0.5},
    {"sprt": {"elo0": 0, "elo1": 60}},
]


def leads(seed: int, mean: float, blocks: int = 200) -> list[int]:
    rng = random.Random(seed)
    return [round(rng.gauss(mean, 4)) for _ in range(blocks)]


def fed(rule: StopRule, blocks: list[Block]) -> Verdict | None:
    """Tell a rule of blocks until it has enough; return its verdict."""
    for one in blocks:
        rule.add(one)
        if rule.stopped:
            break
    return rule.verdict(over=rule.stopped)


def test_without_a_rule_all_blocks_are_played_and_nothing_is_said() -> None:
    rule = stop_rule(plan(2))
    rule.add(block(0, 5))
    assert not rule.stopped
    assert rule.verdict(over=True) is None


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(
    ("mean", "decision"),
    [(3, "bot0@1 is stronger than bot1@1"), (-3, "bot1@1 is stronger than bot0@1")],
)
def test_a_sequential_test_names_the_stronger_and_tells_the_margin_of_the_first(
    mean: int, decision: str, first: int
) -> None:
    rule = stop_rule(plan(2, blocks=200, hands=1, stop={"sequential": 0.05}))
    verdict = fed(rule, [block(at, lead, first) for at, lead in enumerate(leads(1, mean))])
    assert verdict is not None
    assert (verdict.rule, verdict.decision) == ("sequential", decision)
    assert verdict.block is not None
    assert verdict.estimate.blocks == verdict.block + 1 < 200
    assert verdict.estimate.low is not None
    assert verdict.estimate.high is not None
    assert verdict.estimate.low < mean < verdict.estimate.high
    assert (verdict.estimate.low > 0) == (mean > 0)


def test_margins_of_several_hands_are_told_a_hand() -> None:
    told = [
        fed(stop_rule(plan(2, blocks=20, hands=hands, stop={"sequential": 0.05})), made)
        for hands, made in ((1, _blocks(2, 1)), (4, _blocks(2, 4)))
    ]
    assert told[0] is not None
    assert told[1] is not None
    assert told[0].estimate == pytest.approx(told[1].estimate)


def _blocks(seed: int, times: int) -> list[Block]:
    return [block(at, times * lead) for at, lead in enumerate(leads(seed, 1, 20))]


def test_where_no_difference_was_shown_all_blocks_were_played() -> None:
    rule = stop_rule(plan(2, blocks=200, stop={"sequential": 0.05}))
    made = [block(at, lead) for at, lead in enumerate(leads(2, 0))]
    assert fed(rule, made[:199]) is None
    assert not rule.stopped
    rule.add(made[199])
    assert rule.stopped
    verdict = rule.verdict(over=True)
    assert verdict is not None
    assert verdict.decision == "no difference was shown in all 200 blocks"
    assert verdict.block is None
    assert verdict.estimate.known


def test_an_sprt_says_how_near_it_is_and_what_it_accepts() -> None:
    rule = stop_rule(plan(2, blocks=200, hands=1, sprt="0,100"))
    assert rule.so_far == "LLR 0.00 (-2.94, 2.94)"
    rule.add(block(0, 3))
    verdict = rule.verdict(over=False)
    assert verdict is not None
    assert verdict.sprt is not None
    assert verdict.block is None
    assert not verdict.sprt.elo.known
    assert 0 < verdict.sprt.llr < verdict.sprt.upper
    assert rule.so_far.startswith(f"LLR {verdict.sprt.llr:.2f} ")
    assert "so far neither H0 (0 Elo) nor H1 (100 Elo) is accepted" in verdict.decision
    neither = rule.verdict(over=True)
    assert neither is not None
    assert "all 1 blocks were played" in neither.decision
    ends: list[tuple[str | None, str]] = []
    for mean in (3, -3):
        told = fed(
            stop_rule(plan(2, blocks=200, hands=1, sprt="0,100")),
            [block(at, lead) for at, lead in enumerate(leads(7, mean))],
        )
        assert told is not None
        assert told.sprt is not None
        assert told.block is not None
        assert told.sprt.elo.blocks == told.block + 1 < 200
        assert told.sprt.elo.known
        ends.append((told.sprt.accepted, told.decision))
    assert ends == [
        ("H1", "H1 is accepted: bot0@1 is ahead of bot1@1 by 100 Elo rather than 0"),
        ("H0", "H0 is accepted: bot0@1 is ahead of bot1@1 by 0 Elo rather than 100"),
    ]


def test_an_sprt_takes_the_first_of_the_plan_wherever_it_sits() -> None:
    made = leads(8, 2)
    one, other = (
        fed(
            stop_rule(plan(2, blocks=200, hands=1, sprt="0,100")),
            [block(at, lead, first) for at, lead in enumerate(made)],
        )
        for first in (0, 1)
    )
    assert one == other


@pytest.mark.parametrize("stop", RULES)
def test_late_blocks_change_no_verdict_whatever_they_hold(stop: dict[str, Any]) -> None:
    rule = stop_rule(plan(2, blocks=400, hands=1, stop=stop))
    made = [block(at, lead) for at, lead in enumerate(leads(3, 3, 400))]
    verdict = fed(rule, made)
    assert verdict is not None
    assert verdict.block is not None
    late = [block(one.number, -50) for one in made[verdict.block + 1 :]]
    random.Random(1).shuffle(late)
    for one in late:
        rule.add(one)
    assert rule.verdict(over=True) == verdict


@pytest.mark.parametrize("stop", RULES)
def test_a_run_that_resumes_after_any_block_comes_to_the_same_verdict(
    stop: dict[str, Any],
) -> None:
    asked = plan(2, blocks=400, hands=1, stop=stop)
    made = [block(at, lead) for at, lead in enumerate(leads(4, 3, 400))]
    verdict = fed(stop_rule(asked), made)
    assert verdict is not None
    assert verdict.block is not None
    for so_far in range(0, verdict.block + 2, 7):
        resumed = stop_rule(asked)
        for one in made[:so_far]:
            resumed.add(one)
        assert resumed.stopped == (so_far > verdict.block)
        assert fed(resumed, made[so_far:]) == verdict


@pytest.mark.parametrize("stop", RULES)
@pytest.mark.parametrize("ahead", [1, 8, 100])
def test_in_whatever_order_games_end_the_verdict_is_the_same(
    stop: dict[str, Any], ahead: int
) -> None:
    asked = plan(2, blocks=400, hands=1, stop=stop)
    made = [block(at, lead) for at, lead in enumerate(leads(5, 3, 400))]
    ledger = Ledger(asked, format_of(asked), stop_rule(asked))
    games = [
        (Task(one.number, one.entrants, game.rotation), game) for one in made for game in one.games
    ]
    rng, held = random.Random(ahead), []
    for task_and_game in games:
        held.append(task_and_game)
        if len(held) >= ahead:
            ledger.take(*held.pop(rng.randrange(len(held))))
    assert ledger.stopped
    assert ledger.verdict == fed(stop_rule(asked), made)
    assert ledger.verdict is not None
    assert ledger.blocks == ledger.verdict.estimate.blocks


@pytest.mark.parametrize("stop", RULES)
def test_a_block_out_of_turn_is_refused(stop: dict[str, Any]) -> None:
    rule = stop_rule(plan(2, stop=stop))
    rule.add(block(0, 1))
    with pytest.raises(ValueError, match="block 1 of the schedule comes before block 2"):
        rule.add(block(2, 1))


def test_who_forfeits_is_not_ahead_by_it() -> None:
    rule = stop_rule(plan(2, blocks=60, hands=1, stop={"sequential": 0.05}))
    made = []
    for at, lead in enumerate(leads(6, 0, 60)):
        games = block(at, lead).games
        # Entrant 0 is far ahead in the first game and then breaks down.
        broken = Game(0, 0, 1, (90, 0), 1, Blame(0, Cause.CRASH))
        made.append(Block(at, (0, 1), (broken, games[1])))
    verdict = fed(rule, made)
    assert verdict is not None
    assert verdict.estimate.value == pytest.approx(0, abs=4)


def made_up(asked: Plan, seed: int) -> list[Block]:
    """Return blocks of every pairing in turn, with scores by chance."""
    rng = random.Random(seed)
    pairings = list(combinations(range(len(asked.entrants)), sides(asked.players)))
    blocks = []
    for at in range(asked.blocks * len(pairings)):
        pairing = pairings[at % len(pairings)]
        count = rotations([asked.entrants[one] for one in pairing], asked.players)
        games = []
        for rotation in range(count):
            scores = tuple(rng.randint(0, 9) for _ in pairing)
            best = max(range(len(scores)), key=scores.__getitem__)
            games.append(Game(rotation, at % asked.players, 1, scores, best))
        blocks.append(Block(at, pairing, tuple(games)))
    return blocks


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_a_precision_is_reached_when_every_rating_is_known_so_well(
    rules: str, players: int
) -> None:
    within = 0.6
    hands = {} if rules == "arabic" else {"hands": 1}
    asked = plan(4, rules=rules, players=players, blocks=150, stop={"precision": within}, **hands)
    made = made_up(asked, 1)
    verdict = fed(stop_rule(asked), made)
    assert verdict is not None
    assert verdict.decision.startswith(
        "every rating is known to within 0.6 points a hand; the least sure is that of bot"
    )
    assert verdict.block is not None
    assert not verdict.estimate.known
    assert max(_halves(asked, made[: verdict.block + 1])) <= within
    before = int(verdict.block / 1.06)
    assert max(_halves(asked, made[:before])) > within * 0.95  # hardly earlier


def _halves(asked: Plan, blocks: list[Block]) -> list[float]:
    evidence = Evidence(asked.entrants, asked.players, asked.hands_a_game)
    for one in blocks:
        evidence.add(one)
    told = [estimate for estimate in Strengths(evidence).margins() if estimate.known]
    assert len(told) == len(asked.entrants)
    return [(high - low) / 2 for _, low, high, _ in told]


@pytest.mark.parametrize(
    ("asked", "least"),
    [
        ({"bots": 2}, FEWEST),
        ({"bots": 40}, 40 * 39 // 2),
        ({"bots": 40, "format": "gauntlet", "challengers": 2, "blocks": 60}, None),
        (
            {"bots": 3, "format": "list", "pairings": (("bot0", "bot1"), ("bot2", "bot1"))},
            2 * FEWEST,
        ),
    ],
)
def test_no_precision_is_looked_at_before_everybody_has_met_and_is_somewhat_known(
    asked: dict[str, Any], least: int | None
) -> None:
    asked = {"blocks": 40, **asked}
    wanted = plan(**asked, hands=1, stop={"precision": 1000.0})
    format_ = format_of(wanted)
    found = format_.next([])
    assert found is not None
    pairings = list(found.pairings())
    count = 0
    rule = PrecisionStop(wanted, 1000.0)
    while not rule.stopped:
        pairing = pairings[count % len(pairings)]
        games = tuple(Game(at, 0, 1, (count * 7 % 5, 0), 0) for at in range(2))
        rule.add(Block(count, pairing, games))
        count += 1
    seen = [0] * len(wanted.entrants)
    for at in range(count):
        for entrant in pairings[at % len(pairings)]:
            seen[entrant] += 1
    assert min(seen) >= FEWEST
    assert count >= len(pairings)
    assert count == least or least is None


def test_a_precision_that_is_not_reached_says_so_at_the_end() -> None:
    asked = plan(2, blocks=50, hands=1, stop={"precision": 0.001})
    rule = stop_rule(asked)
    assert fed(rule, [block(at, lead) for at, lead in enumerate(leads(7, 1, 50))]) is None
    verdict = rule.verdict(over=True)
    assert verdict is not None
    assert verdict.block is None
    assert verdict.decision.startswith("all 50 blocks were played, and not every rating is known")


def test_nothing_played_is_no_precision() -> None:
    rule = stop_rule(plan(2, stop={"precision": 1.0}))
    assert rule.verdict(over=False) is None
    verdict = rule.verdict(over=True)
    assert verdict is not None
    assert verdict.block is None


def test_the_report_says_what_the_test_says_and_not_what_its_interval_might() -> None:
    # One in a hundred is stricter than an interval of 95 %: it may leave out zero all the same.
    asked = plan(2, blocks=60, hands=1, stop={"sequential": 0.01})
    made = [block(at, lead) for at, lead in enumerate(leads(14, 1.2, 60))]
    verdict = fed(stop_rule(asked), made)
    assert verdict is not None
    assert verdict.block is None
    assert verdict.estimate.low is not None
    assert verdict.estimate.low > 0
    unsure, sure = (
        gather(
            asked,
            made,
            verdict=one,
            state="finished",
            planned=60,
            placings=(),
            timing=Timing(0.0, 0, 0, ()),
        ).sentences[0]
        for one in (verdict, replace(verdict, block=59))
    )
    assert unsure.startswith("It cannot be said yet whether bot0@1 or bot1@1 is stronger")
    assert sure.startswith("bot0@1 is stronger than bot1@1 by 1.1 points a hand (95 %: 0.2 to 2.0")
