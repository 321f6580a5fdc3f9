"""Rows of the engine: random legal plays with their events, against OpenSpiel's card games.

Both are driven by the same kind of loop through their Python interfaces, in one process, in turns:
while the game is not over, read the legal moves, take one at random, apply it. Time is that of the
processor, so that what else the machine does matters little. Only moves that players make are
counted, bids there and declarations here among them; the time includes the deals. OpenSpiel deals
card by card, as chance moves of the loop; Ronda is given decks, and how fast it is when the loop
must shuffle them too stands in the detail. Ronda's moves are simpler than most: the last row runs
the same Ronda as a Python game inside OpenSpiel, the fairer comparison of the two interfaces.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # as a script
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.rows import Row, at_least, show
from ronda_core import fair
from ronda_core import hand as engine
from ronda_core.hand import Hand, Phase
from ronda_core.rules import PRESETS, Settings, settings

TABLES = [(rules, players) for rules, preset in PRESETS.items() for players in preset.players]
REFERENCES = ("hearts", "euchre", "spades", "skat")
RUNS = 9
_DECKS = 200
_HANDS = 2000
_GAMES = 700

_DECLARE, _OVER = Phase.DECLARE, Phase.OVER


def _decks(players: int) -> list[tuple[int, ...]]:
    return [fair.deal(number.to_bytes(32, "big"), players)[0] for number in range(_DECKS)]


def shuffled(draw: Callable[[], float], players: int) -> list[int]:
    """Return a random legal deck, as fast as Python can."""
    while True:
        deck = sorted(range(1, 41), key=lambda _: draw())
        if fair.legal_table(deck[3 * players : 3 * players + 4]):
            return deck


def play_ronda(made: Settings, decks: Sequence[Sequence[int]] | None, hands: int) -> float:
    """Return moves a second over random hands: plays, and answers where seats declare."""
    players, scores = made.players, (0,) * made.sides
    draw = random.random
    deal, declare, play = engine.deal, engine.declare, engine.play
    moves = 0
    began = time.process_time()
    for number in range(hands):
        deck = decks[number % _DECKS] if decks else shuffled(draw, players)
        hand, _ = deal(made, 1, 0, deck, scores)
        while hand.phase is not _OVER:
            if hand.phase is _DECLARE:
                for seat in range(players):
                    declare(hand, seat, hand.strengths[seat] > 0)
                moves += players
                continue
            legal = hand.hands[hand.turn]
            play(hand, legal[int(draw() * len(legal))])
            moves += 1
    return moves / (time.process_time() - began)


def play_openspiel(game: Any, games: int) -> float:
    """Return moves a second over random games, their chance moves in the time but not counted."""
    draw = random.random
    moves = 0
    began = time.process_time()
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            if state.is_chance_node():
                state.apply_action(legal[int(draw() * len(legal))])
                continue
            state.apply_action(legal[int(draw() * len(legal))])
            moves += 1
    return moves / (time.process_time() - began)


def ronda_inside(pyspiel: Any) -> Any:
    """Return `playtash` for two as a Python game of OpenSpiel, over the same decks."""
    made = settings("playtash", 2)
    decks = _decks(2)
    kind = pyspiel.GameType(
        short_name="python_ronda",
        long_name="Ronda in Python",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=False,
        provides_information_state_tensor=False,
        provides_observation_string=False,
        provides_observation_tensor=False,
    )
    about = pyspiel.GameInfo(
        num_distinct_actions=41,
        max_chance_outcomes=0,
        num_players=2,
        min_utility=0.0,
        max_utility=100.0,
        max_game_length=36,
    )

    class State(pyspiel.State):  # type: ignore[misc] # it has no types
        def __init__(self, game: Any) -> None:
            super().__init__(game)
            self.hand: Hand
            self.hand, _ = engine.deal(made, 1, 0, decks[game.dealt % _DECKS], (0, 0))
            game.dealt += 1

        def current_player(self) -> int:
            return int(pyspiel.PlayerId.TERMINAL) if self.is_terminal() else self.hand.turn

        def _legal_actions(self, player: int) -> list[int]:
            return sorted(self.hand.hands[player])

        def _apply_action(self, action: int) -> None:
            engine.play(self.hand, action)

        def _action_to_string(self, player: int, action: int) -> str:
            return f"{player} {action}"

        def is_terminal(self) -> bool:
            return self.hand.phase is _OVER

        def returns(self) -> list[float]:
            return [float(points) for points in self.hand.scores]

    class Game(pyspiel.Game):  # type: ignore[misc] # it has no types
        def __init__(self, params: Any = None) -> None:
            super().__init__(kind, about, params or {})
            self.dealt = 0

        def new_initial_state(self) -> Any:
            return State(self)

    return Game()


def rows() -> list[Row]:
    """Measure every preset and number of players in turns with OpenSpiel."""
    try:
        import pyspiel  # noqa: PLC0415 # an extra
    except ImportError:
        message = "the engine's rows need OpenSpiel: pip install open_spiel, or make bench"
        raise SystemExit(message) from None
    rates = {
        name: statistics.median(play_openspiel(pyspiel.load_game(name), _GAMES) for _ in range(3))
        for name in REFERENCES
    }
    fastest = sorted(rates, key=rates.__getitem__)[-2:]
    games = [pyspiel.load_game(name) for name in fastest]
    made_rows = []
    for rules, players in TABLES:
        made = settings(rules, players)
        decks = _decks(players)
        ratios, shuffling, moves = [], [], []
        for _ in range(RUNS):
            rate = max(play_openspiel(game, _GAMES) for game in games)
            moves.append(play_ronda(made, decks, _HANDS))
            ratios.append(moves[-1] / rate)
            shuffling.append(play_ronda(made, None, _HANDS // 2) / rate)
        detail = (
            f"{statistics.median(moves) / 1e6:.2f} M moves/s, OpenSpiel {fastest[1]} "
            f"{rates[fastest[1]] / 1e6:.2f} M; shuffling too {statistics.median(shuffling):.2f} x"
        )
        if made.declares:
            plays = 36 / (36 + made.batches * players)
            detail += f"; plays alone {statistics.median(ratios) * plays:.2f} x"
        name = f"engine with events, {rules} {players}"
        made_rows.append(at_least(name, ratios, "x", 1.5, 2.5, detail))

    inside, made, decks = ronda_inside(pyspiel), settings("playtash", 2), _decks(2)
    within = [
        play_ronda(made, decks, _HANDS) / play_openspiel(inside, _HANDS // 4) for _ in range(RUNS)
    ]
    detail = "playtash 2 as a Python game inside OpenSpiel; no target"
    return [*made_rows, at_least("engine over itself inside OpenSpiel", within, "x", 1, 1, detail)]


if __name__ == "__main__":
    show(rows())
