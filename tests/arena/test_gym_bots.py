"""From training to a bot and back: one seat against bots, and a policy that enters as a bot."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.bots.plugins import ROOT, importable, install, install_built_in
from tests.bots.tables import every_table, info

for package in ("numpy", "gymnasium", "pettingzoo"):
    pytest.importorskip(package, reason="needs the extra gym: pip install 'ronda[gym]'")

import numpy as np
from gymnasium.utils.env_checker import check_env

from ronda_arena import gym
from ronda_arena.discovery import discover
from ronda_arena.seat import BotFaultError
from ronda_arena.table import play_match
from ronda_bots.api import SeatInfo
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_core.cards import Card
from ronda_core.fair import Entry, seeded_master
from ronda_core.rules import PRESETS, settings
from ronda_core.view import Event, View

SECTION = (ROOT / "docs" / "bots.md").read_text(encoding="utf-8").split("## Train, then enter")[1]
NOW = "2026-01-01T00:00:00Z"


def policy(rules: str) -> Callable[[gym.Observation], int]:
    """Something that looks at everything but how many have answered, which no arena shows."""
    weights = np.random.default_rng(4).normal(size=(gym.SIZE, gym.actions(rules)))
    weights[gym.LAYOUT["answered"]] = weights[gym.LAYOUT["sequence"]] = 0

    def choose(seen: gym.Observation) -> int:
        values = seen["observation"] @ weights
        return int(np.where(seen["action_mask"], values, -np.inf).argmax())

    return choose


def entrant(choose: Callable[[gym.Observation], int]) -> type:
    class Entrant:
        """Plays and declares what a policy says."""

        version = "1"

        def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
            self.seat = seat

        def play(self, view: View) -> Card:
            return gym.decode(choose(gym.encode(view)), view)

        def declare(self, view: View) -> bool:
            return gym.declares(choose(gym.encode(view)), view)

    return Entrant


@every_table()
def test_a_policy_plays_as_a_bot_what_it_played_in_training(rules: str, players: int) -> None:
    choose = policy(rules)
    table = gym.env(rules, players)
    table.reset(seed=9)
    plays: list[int] = []
    for _ in table.agent_iter():
        seen, _, terminated, _, _ = table.last()
        action = None if terminated else choose(seen)
        plays += [] if action is None or action >= gym.SILENT else [action + 1]
        table.step(action)
    record = play_match(
        "gym-0",
        settings(rules, players),
        [info(entrant(choose))] * players,
        seeded_master(9, 0),
        now=lambda: NOW,
        entries=[Entry(agent) for agent in table.possible_agents],
    )
    assert record.fault is None
    assert [card for hand in record.hands for card in hand.plays] == plays
    raw: Any = table.unwrapped
    assert record.score == raw.match.scores


@every_table()
def test_one_seat_against_bots_is_the_match_that_the_arena_plays(rules: str, players: int) -> None:
    choose = policy(rules)
    own = players - 1
    one = gym.against([info(Greedy)] * (players - 1), rules, seat=own)
    seen, _ = one.reset(seed=9)
    total, over = 0.0, False
    while not over:
        assert one.action_masks().tolist() == seen["action_mask"].tolist()
        assert one.observation_space.contains(seen)
        seen, reward, over, truncated, _ = one.step(choose(seen))
        total += reward
        assert truncated is False
    record = play_match(
        "gym-0",
        settings(rules, players),
        [*[info(Greedy)] * (players - 1), info(entrant(choose))],
        seeded_master(9, 0),
        now=lambda: NOW,
        entries=[Entry(f"seat_{seat}") for seat in range(players)],
    )
    side = one.table.settings.side_of[own]
    others = [score for other, score in enumerate(record.score) if other != side]
    assert one.table.match.scores == record.score
    assert total == record.score[side] - max(others)
    with pytest.raises(RuntimeError, match="call reset"):
        one.step(0)


@every_table()
# A score has no bound, which it takes for a mistake.
@pytest.mark.filterwarnings("ignore:.*A Box observation space maximum value is infinity")
def test_gymnasium_finds_no_fault_in_one_seat(rules: str, players: int) -> None:
    check_env(gym.against([info(Random)] * (players - 1), rules), skip_render_check=True)


def test_one_seat_is_rendered_as_its_own_view() -> None:
    one = gym.against([info(Random)], render_mode="ansi")
    one.reset(seed=1)
    assert one.render() == gym.text(one.table.view("seat_0"))
    assert gym.against([info(Random)]).render() is None


def test_an_illegal_action_ends_the_match_of_one_seat() -> None:
    for action in (-1, 99, None):
        one = gym.against([info(Random)], "cafe", illegal_reward=-7)
        seen, _ = one.reset(seed=2)
        wrong = int(np.flatnonzero(seen["action_mask"] == 0)[0]) if action is None else action
        _, reward, terminated, truncated, _ = one.step(wrong)
        assert (reward, terminated, truncated) == (-7, True, False)
        with pytest.raises(RuntimeError, match="call reset"):
            one.step(int(np.flatnonzero(seen["action_mask"])[0]))


def test_the_bots_of_one_seat_are_told_the_whole_match_and_made_anew_for_each() -> None:
    made: list[Any] = []

    class Listener(Random):
        def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
            super().__init__(seat, rng)
            self.seat, self.heard = seat, list[str]()
            made.append(self)

        def observe(self, event: Event) -> None:
            self.heard.append(type(event).__name__)

    one = gym.against([info(Listener), info(Listener)], "cafe", seat=1)
    for seed in (1, 2):
        seen, _ = one.reset(seed=seed)
        over = False
        while not over:
            action = int(np.flatnonzero(seen["action_mask"])[0])
            seen, _, over, _, _ = one.step(action)
    assert [bot.seat.seat for bot in made] == [0, 2, 0, 2]
    assert {bot.seat.opponents for bot in made} == {("listener@1.0.0", "learner", "listener@1.0.0")}
    for bot in made:
        assert bot.heard[0] == "CardsDealt"
        assert bot.heard[-1] == "MatchEnded"


def test_a_bot_that_breaks_is_named_to_whoever_trains_against_it() -> None:
    class Broken(Random):
        def play(self, view: View) -> Card:
            raise IndexError

    one = gym.against([info(Broken)])
    with pytest.raises(BotFaultError, match="IndexError"):
        for seed in range(50):
            seen, _ = one.reset(seed=seed)
            one.step(int(np.flatnonzero(seen["action_mask"])[0]))


def test_actions_are_decoded_only_where_they_are_legal() -> None:
    table = gym.raw_env("cafe")
    table.reset(seed=1)
    seen = table.view(table.agent_selection)
    held = {card - 1 for card in seen.hand}
    for action in range(-2, 44):
        if action in held:
            assert gym.decode(np.int64(action), seen) in seen.hand
        else:
            with pytest.raises(ValueError, match="action_mask"):
                gym.decode(action, seen)
        if action == gym.SILENT or (action == gym.DECLARE and seen.may_declare):
            assert gym.declares(action, seen) is (action == gym.DECLARE)
        else:
            with pytest.raises(ValueError, match="action_mask"):
                gym.declares(action, seen)


@pytest.mark.thorough
def test_what_the_page_trains_enters_and_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training, bot = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    assert len(bot.splitlines()) <= 25
    monkeypatch.chdir(tmp_path)
    assert "range(4000)" in training
    install_built_in(tmp_path)
    install(
        tmp_path,
        "trained",
        {"learner": "trained:Learner"},
        modules={"trained": bot},
        requires=["numpy", "gymnasium", "pettingzoo"],  # what ronda[gym] requires
    )
    with importable(tmp_path):
        exec(compile(training.replace("range(4000)", "range(40)"), "docs/bots.md", "exec"), {})
        assert np.load("weights.npy").any()
        bots = [discover().find(name) for name in ("learner", "random", "random", "random")]
        for preset in PRESETS.values():
            for players in preset.players:
                table = settings(preset.name, players)
                record = play_match("m", table, bots[:players], bytes(32), now=lambda: NOW)
                assert record.fault is None


def test_the_page_tells_the_layout_of_an_observation() -> None:
    told = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \| (.+) \|$", SECTION, re.MULTILINE)
    places = [(name, int(first), int(first) + int(count)) for name, first, count, _ in told]
    assert places == [(name, at.start, at.stop) for name, at in gym.LAYOUT.items()]
    for name, _, _, meaning in told:
        assert re.findall(r"/ (\d+)", meaning) == [str(gym.UNITS[name])] * (gym.UNITS[name] > 1)
    assert places[-1][2] == gym.SIZE


def test_without_the_extra_the_import_says_what_to_install() -> None:
    script = "import sys; sys.modules['pettingzoo'] = None; import ronda_arena.gym"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.endswith(
        "ronda_arena.gym needs the extra gym (pettingzoo is missing): pip install 'ronda[gym]'\n"
    )
