"""A match as PettingZoo asks for it: one agent at a time."""

from __future__ import annotations

import secrets
from typing import Any, Final

from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from ronda_arena.gym.observation import (
    DECLARE,
    SILENT,
    Observation,
    actions,
    encode,
    space,
    text,
)
from ronda_arena.table import OnStep
from ronda_core import match as matches
from ronda_core.cards import CARDS
from ronda_core.fair import Dealer, Entry, seeded_master
from ronda_core.hand import Phase
from ronda_core.match import Match, MatchEvent
from ronda_core.rules import settings
from ronda_core.view import View, view

ILLEGAL_REWARD: Final = -100.0
"""What an illegal action costs: more than a match to 41 is lost by, so it is no way out of one."""


class raw_env(AECEnv[str, Observation, Any]):  # noqa: N801 -- PettingZoo's name for it
    """A match as PettingZoo asks for it, without the wrappers that `env` puts around it.

    The agents are `seat_0`, `seat_1` and so on. A reward is by how much the margin of the agent's
    side over the best other side has changed, in points; those of the first deal come with the
    first step. With two sides they sum to zero. An illegal action raises `IllegalMoveError`.
    A copy of it, by `copy.deepcopy` or `pickle`, goes on by itself from where the match stands.
    """

    metadata = {  # noqa: RUF012 -- PettingZoo's base class declares it of an instance
        "name": "ronda_v0",
        "render_modes": ["ansi"],
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: str = "playtash",
        players: int = 2,
        target: int | None = None,
        length: int = 0,
        *,
        max_cycles: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # PettingZoo gives it no types
        self.settings = settings(rules, players, target, length)
        self.max_cycles = max_cycles
        self.render_mode = render_mode
        self.on_step: OnStep | None = None
        """Called after each step with the match and what happened. It must change nothing."""
        self.possible_agents = [f"seat_{seat}" for seat in range(players)]
        self.agents: list[str] = []
        seats = self.possible_agents
        self.observation_spaces = {agent: space(rules) for agent in seats}
        self.action_spaces = {agent: spaces.Discrete(actions(rules)) for agent in seats}
        self._seed: int | None = None
        self._game = 0

    def observation_space(self, agent: str) -> spaces.Space[Observation]:
        """Return the space of `encode`."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of actions: see `actions`."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:  # noqa: ARG002 -- PettingZoo's
        """Deal a new match: the first of `seed`, else the next of the seed given last, else any.

        Decks, first dealer and bots' seeds follow from it through `ronda_core.fair`.
        """
        if seed is not None:
            self._seed, self._game = int(seed), 0
        seed = self._seed
        master = secrets.token_bytes(32) if seed is None else seeded_master(seed, self._game)
        entries = [Entry(agent) for agent in self.possible_agents]
        self.dealer = Dealer(master, f"gym-{self._game}", entries, self.settings.players)
        self._game += 1
        self.match = Match(self.settings, self.dealer.first_dealer())
        self._sequence = 0
        self._decisions = 0
        self.margins = [0] * self.settings.players  # of its side, by seat
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self._deal()
        self.agent_selection = self._asked()

    def step(self, action: Any) -> None:
        """Take the decision of the agent that is asked, or None of one that is done."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not 0 <= action < actions(self.settings.preset.name):
            raise ValueError("there is no such action")
        seat = self.possible_agents.index(agent)
        if action >= SILENT:
            self._told(matches.declare(self.match, seat, bool(action == DECLARE)))
        else:
            self._told(matches.play(self.match, seat, CARDS[action + 1]))
        self._deal()
        self._decisions += 1
        self._cumulative_rewards[agent] = 0.0
        self._reward()
        if self.match.result:
            self.terminations = dict.fromkeys(self.agents, True)
        elif self._decisions == (self.max_cycles or 0) * self.settings.players:
            self.truncations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = self._asked()

    def view(self, agent: str) -> View:
        """Return what `agent` may know of the match."""
        return view(self.match, self.possible_agents.index(agent), self._sequence)

    def observe(self, agent: str) -> Observation:
        """Return `encode` of what `agent` may know."""
        return encode(self.view(agent))

    def render(self) -> str | None:
        """Return the view of the agent that is asked, as text."""
        return text(self.view(self.agent_selection)) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _deal(self) -> None:
        number = self.match.needs_deck
        if number:
            self._told(matches.deal(self.match, self.dealer.deck(number)))

    def _told(self, events: tuple[MatchEvent, ...]) -> None:
        self._sequence += len(events)
        if self.on_step:
            self.on_step(self.match, events)

    def _asked(self) -> str:
        """Return the agent to decide; seats declare one after the other, from the dealer's next."""
        hand = self.match.hand
        assert hand is not None
        seat = hand.turn
        if hand.phase is Phase.DECLARE:
            seat = self.settings.next_seat[hand.dealer]
            while hand.answers[seat] is not None:
                seat = self.settings.next_seat[seat]
        return self.possible_agents[seat]

    def _reward(self) -> None:
        """Pay each agent by how much the margin of its side has changed."""
        scores = self.match.scores
        for seat, agent in enumerate(self.possible_agents):
            side = self.settings.side_of[seat]
            margin = scores[side] - max(scores[:side] + scores[side + 1 :])
            self.rewards[agent] = float(margin - self.margins[seat])
            self.margins[seat] = margin
        self._accumulate_rewards()


def env(
    rules: str = "playtash",
    players: int = 2,
    target: int | None = None,
    length: int = 0,
    *,
    max_cycles: int | None = None,
    illegal_reward: float = ILLEGAL_REWARD,
    render_mode: str | None = None,
) -> AECEnv[str, Observation, Any]:
    """Return a match as a PettingZoo environment.

    After `max_cycles` decisions of every seat it is truncated. An illegal action ends it, as
    PettingZoo's own wrapper does: `illegal_reward` for whoever took it, nothing for the others.
    """
    table = raw_env(rules, players, target, length, max_cycles=max_cycles, render_mode=render_mode)
    ending = wrappers.TerminateIllegalWrapper(table, illegal_reward)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(ending))
