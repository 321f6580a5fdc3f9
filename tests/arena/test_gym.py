"""Ronda for learners: PettingZoo's own tests, and what an agent sees, may do and is paid."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.bots.tables import every_table
from tests.core.test_view import courses, twin_of

for package in ("numpy", "gymnasium", "pettingzoo"):
    pytest.importorskip(package, reason="needs the extra gym: pip install 'ronda[gym]'")

import numpy as np
from pettingzoo.test import api_test, seed_test
from pettingzoo.test.max_cycles_test import max_cycles_test
from pettingzoo.utils.wrappers import BaseWrapper

from ronda_arena import gym
from ronda_core import match as matches
from ronda_core.cards import CARDS, PACK, RANKS, TEXT, Card, by_rank
from ronda_core.fair import Dealer, Entry, seeded_master
from ronda_core.hand import IllegalMoveError
from ronda_core.match import Match
from ronda_core.rules import PRESETS, settings
from ronda_core.view import Declared, Play, View, view


def allowed(seen: gym.Observation) -> list[int]:
    return [int(action) for action in np.flatnonzero(seen["action_mask"])]


def decisions(table: Any, rng: random.Random) -> Iterator[tuple[str, gym.Observation, int]]:
    """Play a match at random: yield who is asked, what it sees and what it will answer."""
    for agent in table.agent_iter():
        seen, _, terminated, truncated, _ = table.last()
        if terminated or truncated:
            table.step(None)
            continue
        action = rng.choice(allowed(seen))
        yield agent, seen, action
        table.step(action)


class TestPettingZooSays:
    """The three tests that PettingZoo brings for environments."""

    # PettingZoo keeps a list of its own environments that observe a dict; it warns of all others.
    @every_table()
    @pytest.mark.filterwarnings("ignore:Observation is not a NumPy array:UserWarning")
    @pytest.mark.filterwarnings("ignore:Observation space for each agent probably:UserWarning")
    def test_that_the_api_is_kept(self, rules: str, players: int) -> None:
        api_test(gym.env(rules, players, render_mode="ansi"), num_cycles=200)

    @every_table()
    def test_that_a_seed_repeats_a_match(self, rules: str, players: int) -> None:
        seed_test(lambda: gym.env(rules, players), num_cycles=200)

    @every_table()
    def test_that_cycles_are_counted(self, rules: str, players: int) -> None:
        """The test draws actions blindly and wants a parallel twin: both get what they lack."""
        max_cycles_test(
            SimpleNamespace(
                env=lambda max_cycles: LegalDraws(gym.env(rules, players, max_cycles=max_cycles)),
                parallel_env=lambda max_cycles: Rounds(rules, players, max_cycles),
            )
        )


class LegalDraws(BaseWrapper[str, Any, Any]):
    """An environment whose action spaces draw what the seat may do when it is asked."""

    def action_space(self, agent: str) -> Any:
        seen = self.unwrapped.view(agent)  # type: ignore[attr-defined] # a raw_env
        held = [card - 1 for card in seen.hand]
        return SimpleNamespace(
            sample=lambda: random.choice([gym.SILENT] if seen.phase == "declare" else held)
        )


class Rounds:
    """A parallel twin: one step is one decision of every seat, taken in their turn."""

    def __init__(self, rules: str, players: int, max_cycles: int) -> None:
        self.table = LegalDraws(gym.env(rules, players, max_cycles=max_cycles))
        self.action_space = self.table.action_space

    @property
    def agents(self) -> list[str]:
        return self.table.agents

    def reset(self) -> tuple[Any, Any]:
        self.table.reset()
        return {}, {}

    def step(self, actions: dict[str, int]) -> tuple[Any, ...]:
        for _ in self.agents:
            self.table.step(actions[self.table.agent_selection])
        table = self.table
        return {}, table.rewards, table.terminations, table.truncations, table.infos


@every_table()
def test_the_mask_is_what_the_rules_allow_and_a_match_is_what_the_engine_makes_of_it(
    rules: str, players: int
) -> None:
    rng = random.Random(f"match {rules} {players}")
    table = gym.env(rules, players)
    table.reset(seed=7)
    raw: Any = table.unwrapped
    entries = [Entry(f"seat_{seat}") for seat in range(players)]
    dealer = Dealer(seeded_master(7, 0), "gym-0", entries, players)
    match = Match(settings(rules, players), dealer.first_dealer())
    matches.deal(match, dealer.deck(1))
    declared = 0
    for agent, seen, action in decisions(table, rng):
        seat = table.possible_agents.index(agent)
        assert table.action_space(agent).n == len(seen["action_mask"])
        assert allowed(seen) == [action for action in range(42) if legal(match, seat, action)]
        assert replace(raw.view(agent), sequence=0) == view(match, seat)
        act(match, seat, action)
        if match.needs_deck:
            matches.deal(match, dealer.deck(match.needs_deck))
        declared += action == gym.DECLARE
    assert match.result is not None
    assert raw.match.result == match.result
    assert declared > 0 or not match.settings.declares
    assert not table.agents


def legal(match: Match, seat: int, action: int) -> bool:
    """Say whether the engine itself takes an action."""
    try:
        act(matches.copy(match), seat, action)
    except IllegalMoveError:
        return False
    return True


def act(match: Match, seat: int, action: int) -> None:
    if action < 40:
        matches.play(match, seat, action + 1)
    else:
        matches.declare(match, seat, action == gym.DECLARE)


@every_table()
def test_rewards_sum_to_the_final_margin_of_the_own_side(rules: str, players: int) -> None:
    rng = random.Random(f"rewards {rules} {players}")
    table = gym.env(rules, players)
    for _ in range(5):
        table.reset(seed=rng.randrange(1000))
        raw: Any = table.unwrapped
        totals = dict.fromkeys(table.possible_agents, 0.0)
        for agent in table.agent_iter():
            seen, reward, terminated, _, _ = table.last()
            totals[agent] += reward
            table.step(None if terminated else rng.choice(allowed(seen)))
            if players != 3:
                assert sum(table.rewards.values()) == 0
        scores = raw.match.scores
        for seat, agent in enumerate(table.possible_agents):
            side = raw.settings.side_of[seat]
            others = [score for other, score in enumerate(scores) if other != side]
            assert totals[agent] == scores[side] - max(others)


def test_the_points_of_the_first_deal_come_with_the_first_reward() -> None:
    table = gym.env("playtash")
    for _ in range(200):
        table.reset(seed=random.randrange(10**9))
        raw: Any = table.unwrapped
        if any(raw.match.scores):
            break
    ahead = raw.match.scores[0] - raw.match.scores[1]
    assert ahead
    assert table.rewards == {"seat_0": 0, "seat_1": 0}
    table.step(allowed(table.last()[0])[0])
    scores = raw.match.scores
    assert table.rewards == {"seat_0": scores[0] - scores[1], "seat_1": scores[1] - scores[0]}


def test_resets_repeat_a_seed_and_its_row_of_matches_and_differ_without_one() -> None:
    def decks(*seeds: int | None) -> list[tuple[int, ...]]:
        table = gym.raw_env("cafe", 3)
        return [deck_of(table, seed) for seed in seeds]

    def deck_of(table: gym.raw_env, seed: int | None) -> tuple[int, ...]:
        table.reset(seed=seed)
        assert table.match.hand is not None
        return table.match.hand.deck

    row = decks(5, None, None, 5, 6, None)
    assert row == decks(5, None, None, 5, 6, None)
    assert row[3] == row[0]
    assert len(set(row)) == 5
    assert len({*decks(None, None), *decks(None, None)}) == 4


@pytest.mark.parametrize("rules", ["cafe", "pagat"])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_declarations_are_asked_seat_by_seat_and_secret_until_all_are_in(
    rules: str, players: int
) -> None:
    told = 0
    for seed in range(40):
        tables = [gym.env(rules, players) for _ in range(2)]
        for table in tables:
            table.reset(seed=seed)
        asked = []
        for _ in range(players):
            views = [raw_of(table).view(tables[0].agent_selection) for table in tables]
            assert views[0] == views[1]  # though those before have answered differently
            assert views[0].phase == "declare"
            assert views[0].declared == ()
            asked.append(views[0].seat)
            holds = views[0].may_declare
            assert allowed(tables[0].last()[0]) == [gym.SILENT, gym.DECLARE][: 1 + holds]
            tables[0].step(gym.DECLARE if holds else gym.SILENT)
            tables[1].step(gym.SILENT)
            told += holds
        after = raw_of(tables[0]).view("seat_0")
        assert asked == [(after.dealer + 1 + at) % players for at in range(players)]
        assert after.phase == "play"
        assert raw_of(tables[1]).view("seat_0").declared == ()
        assert bool(after.declared) == any(after.scores)
    assert told > 5


def raw_of(table: Any) -> gym.raw_env:
    raw = table.unwrapped
    assert isinstance(raw, gym.raw_env)
    return raw


@every_table()
def test_an_illegal_action_ends_the_match_and_costs_its_agent_alone(
    rules: str, players: int
) -> None:
    table = gym.env(rules, players)
    table.reset(seed=1)
    agent = table.agent_selection
    mask = table.last()[0]["action_mask"]
    wrong = int(np.flatnonzero(mask == 0)[0])
    with pytest.raises(IllegalMoveError):
        raw_of(table).step(wrong)
    table.step(wrong)
    assert all(table.terminations.values())
    assert table.rewards == {
        other: gym.ILLEGAL_REWARD if other == agent else 0 for other in table.possible_agents
    }
    while table.agents:
        table.step(None)
    table.reset(seed=1)
    assert table.last()[0]["action_mask"].tolist() == mask.tolist()


@pytest.mark.parametrize("action", [-1, -5, 40, 42])
def test_an_action_outside_the_space_is_refused_and_changes_nothing(action: int) -> None:
    table = gym.env("playtash")
    table.reset(seed=1)
    before = raw_of(table).view(table.agent_selection)
    with pytest.raises(AssertionError):
        table.step(action)
    with pytest.raises(ValueError, match="no such action"):
        raw_of(table).step(action)
    assert raw_of(table).view(table.agent_selection) == before


def test_a_copy_goes_on_by_itself_from_where_the_match_stands() -> None:
    rng = random.Random(3)
    table = gym.env("pagat", 4)
    table.reset(seed=3)
    for at, _ in enumerate(decisions(table, rng)):
        if at == 30:
            break
    for copied in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        here = raw_of(table).view("seat_0")
        assert raw_of(copied).view("seat_0") == here
        copied.step(allowed(copied.last()[0])[0])
        assert raw_of(table).view("seat_0") == here


def test_a_match_is_rendered_as_the_view_of_the_seat_that_is_asked() -> None:
    table = gym.env("cafe", 3, render_mode="ansi")
    table.reset(seed=3)
    for at, (agent, _, _) in enumerate(decisions(table, random.Random(1))):
        lines = str(table.render()).splitlines()
        seen = raw_of(table).view(agent)
        assert lines[3] == f"seat {seen.seat} holds: {' '.join(map(str, seen.hand))}"
        assert lines[0].startswith(f"cafe, hand {seen.hand_number}, batch {seen.batch}: ")
        shown = {word for line in lines for word in line.split() if word in TEXT}
        known = {*PACK} - {*seen.unseen}
        assert shown <= set(map(str, known))
        if at > 100:
            break
    assert gym.raw_env().render_mode is None


@every_table()
def test_hidden_cards_never_change_an_observation(rules: str, players: int) -> None:
    """The twin has other cards wherever the seat has not seen any."""
    twins = changed = 0
    for rng, course in courses(rules, players, 10):
        if rng.random() > 0.2:
            continue
        for seat in range(players):
            twin = twin_of(course, seat, rng)
            if twin is None:
                continue
            twins += 1
            changed += twin.hand.deck != course.hand.deck
            mine, other = (seated(at.match, f"seat_{seat}") for at in (course, twin))
            assert mine["observation"].tobytes() == other["observation"].tobytes()
            assert mine["action_mask"].tobytes() == other["action_mask"].tobytes()
    assert twins > 100
    assert changed > twins / 3


def seated(match: Match, agent: str) -> gym.Observation:
    """What the environment shows an agent of a given match."""
    table = gym.raw_env(match.settings.preset.name, match.settings.players)
    table.reset()
    table.match = match
    return table.observe(agent)


@every_table()
def test_an_observation_says_everything_that_a_view_does(rules: str, players: int) -> None:
    read = 0
    for rng, course in courses(rules, players, 6):
        for seat in range(players):
            clock = rng.choice([None, 0.0, 2.5, 90.0])
            seen = view(course.match, seat, rng.randrange(5000), clock)
            assert read_back(gym.encode(seen)["observation"]) == seen
            read += 1
    assert read > 400
    waiting = view(Match(settings(rules, players), players - 1), 0)
    assert read_back(gym.encode(waiting)["observation"]) == waiting


def read_back(numbers: Any) -> View:
    """Make a view of an observation by the documented layout."""

    def marks(name: str) -> list[int]:
        return [int(place) for place in np.flatnonzero(numbers[gym.LAYOUT[name]])]

    def counts(name: str) -> list[int]:
        values = numbers[gym.LAYOUT[name]] * gym.UNITS[name]
        return [round(float(value)) for value in values]

    def cards(name: str) -> tuple[Card, ...]:
        return by_rank(place + 1 for place in marks(name))

    players = marks("players")[0] + 2
    sides = 2 if players == 4 else players
    own = marks("seat")[0]
    own_side = own % 2 if players == 4 else own

    def seat(place: int) -> int:
        return (own + place) % players

    def first(places: list[int]) -> int | None:
        return places[0] if places else None

    def by_side(name: str) -> tuple[int, ...]:
        near = counts(name)
        assert not any(near[sides:])
        return tuple(near[(side - own_side) % sides] for side in range(sides))

    turn, capturer = first(marks("turn")), first(marks("last_capturer"))
    when = counts("plays")
    sizes = counts("hand_sizes")
    last = marks("last_card")
    step = first(marks("chain_rank"))
    clock = float(numbers[gym.LAYOUT["clock"]][0]) * gym.UNITS["clock"]
    told = [(mark // 2 % 6 + 1, seat(mark // 12), mark % 2) for mark in marks("declared")]
    result = View(
        sequence=counts("sequence")[0],
        players=players,
        rules=list(PRESETS)[marks("rules")[0]],
        target=counts("target")[0],
        length=counts("length")[0],
        hand_number=counts("hand_number")[0],
        batch=marks("batch")[0] + 1 if marks("batch") else 0,
        dealer=seat(marks("dealer")[0]),
        turn=None if turn is None else seat(turn),
        phase=("waiting", "declare", "play", "over")[marks("phase")[0]],
        hand_sizes=tuple(sizes[(other - own) % players] for other in range(players)),
        table=cards("table"),
        first_table=cards("first_table"),
        plays=tuple(sorted((card for card in PACK if when[card - 1]), key=lambda c: when[c - 1])),
        last_play=Play(
            seat(marks("last_seat")[0]),
            CARDS[last[0] + 1],
            cards("last_captured"),
            cards("last_reclaimed"),
            counts("last_link")[0],
        )
        if last
        else None,
        stock=counts("stock")[0],
        pile_counts=by_side("pile_counts"),
        scores=by_side("scores"),
        chain_rank=0 if step is None else RANKS[step],
        chain_link=counts("chain_link")[0],
        pack=cards("pack"),
        last_capturer=None if capturer is None else (own_side + capturer) % sides,
        declared=tuple(Declared(b, s, ("ronda", "tringa")[kind]) for b, s, kind in sorted(told)),
        answered=tuple(sorted(seat(place) for place in marks("answered"))),
        clock=round(clock, 3) if marks("limited") else None,
        seat=own,
        hand=cards("hand"),
        may_declare=bool(marks("may_declare")),
    )
    assert cards("unseen") == by_rank(result.unseen)
    return result
