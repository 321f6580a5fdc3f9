"""One seat of a match whose other seats bots hold, as Gymnasium asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium

from ronda_arena.discovery import discover
from ronda_arena.gym.environment import ILLEGAL_REWARD, raw_env
from ronda_arena.gym.observation import DECLARE, SILENT, Observation, text
from ronda_arena.seating import seat_info
from ronda_arena.trusted import TrustedSeat
from ronda_bots.registry import BotInfo
from ronda_core.match import Match, MatchEvent
from ronda_core.view import story


class OneSeat(gymnasium.Env[Observation, Any]):
    """One seat of a match whose other seats trusted bots hold, as Gymnasium asks for it.

    `opponents` are bots, or names of installed ones, for the other seats in their order. A reward
    is what came between two decisions of the own seat. A bot that breaks raises `BotFaultError`.
    """

    metadata = raw_env.metadata

    def __init__(
        self,
        opponents: Sequence[str | BotInfo],
        rules: str = "playtash",
        target: int | None = None,
        length: int = 0,
        *,
        seat: int = 0,
        illegal_reward: float = ILLEGAL_REWARD,
        render_mode: str | None = None,
    ) -> None:
        registry = discover(names=[bot for bot in opponents if isinstance(bot, str)])
        bots = [registry.find(bot) if isinstance(bot, str) else bot for bot in opponents]
        self.table = raw_env(rules, len(bots) + 1, target, length, render_mode=render_mode)
        self.table.on_step = self._tell
        self.render_mode = render_mode
        self.agent = self.table.possible_agents[seat]
        self._seat = seat
        self.observation_space = self.table.observation_space(self.agent)
        self.action_space = self.table.action_space(self.agent)
        self._others = [other for other in range(len(bots) + 1) if other != seat]
        self._bots = bots
        self._seats: dict[int, TrustedSeat] = {}
        self._illegal_reward = illegal_reward
        self._paid = 0
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Deal a new match, as `raw_env.reset` does, and let the bots play up to the own seat."""
        super().reset(seed=seed)
        self._seats = {}
        self._paid = 0
        self.table.reset(seed, options)
        return self._play_on(), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the own decision, and let the bots play up to the next one."""
        if self._over:
            raise RuntimeError("the match is over, or not begun: call reset()")
        if not (self.action_space.contains(action) and self.action_masks()[action]):
            self._over = True
            return self.table.observe(self.agent), self._illegal_reward, True, False, {}
        self.table.step(action)
        seen = self._play_on()
        margin = self.table.margins[self._seat]
        reward, self._paid = margin - self._paid, margin
        return seen, float(reward), self._over, False, {}

    def action_masks(self) -> Any:
        """Return the mask of the decision that is open, under the name that libraries look for."""
        return self.table.observe(self.agent)["action_mask"]

    def render(self) -> Any:
        """Return the own view as text."""
        return text(self.table.view(self.agent)) if self.render_mode == "ansi" else None

    def _play_on(self) -> Observation:
        """Ask the bots until the own seat is asked or the match is over."""
        table = self.table
        while not table.match.result and table.agent_selection != self.agent:
            seen = table.view(table.agent_selection)
            bot = self._seats[seen.seat]
            if seen.phase == "declare":
                table.step(DECLARE if bot.declare(seen) else SILENT)
            else:
                table.step(bot.play(seen) - 1)
        self._over = table.match.result is not None
        if self._over:
            for seat in self._seats.values():
                seat.finish()
        return table.observe(self.agent)

    def _tell(self, match: Match, events: tuple[MatchEvent, ...]) -> None:
        """Tell the bots what happened; at the first deal they sit down."""
        self._seats = self._seats or self._sit(match)
        for number, seat in self._seats.items():
            if seat.observes:
                seat.tell(story(match, events, number))

    def _sit(self, match: Match) -> dict[int, TrustedSeat]:
        rules = match.settings
        names = [bot.identity for bot in self._bots]
        names.insert(self._seat, "learner")
        return {
            number: TrustedSeat(
                bot, seat_info(rules, number, names), self.table.dealer.bot_seed(number)
            )
            for number, bot in zip(self._others, self._bots, strict=True)
        }


against = OneSeat
"""`against(["greedy"], rules="cafe")`: how it reads where it is made."""
