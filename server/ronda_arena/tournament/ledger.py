"""What the games so far come to, in schedule order: which rounds are over, and whether to stop.

Games end in any order; they are counted in one. So whatever is decided here is the same for any
number of workers and any interruption, and what ends after a decision changes nothing of it.
"""

from __future__ import annotations

from ronda_arena.report.verdict import Verdict
from ronda_arena.tournament.formats import Encounter, Format, Round, encounter
from ronda_arena.tournament.results import Block, Game
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.stops import StopRule
from ronda_arena.tournament.tasks import Task


class Ledger:
    """The state of a run: a fold of its blocks in schedule order."""

    def __init__(self, plan: Plan, format_: Format, rule: StopRule) -> None:
        self._plan = plan
        self._format = format_
        self._rule = rule
        self._walkover = plan.walkover
        self._waiting: dict[int, Block] = {}
        self._partial: dict[int, dict[int, Game]] = {}
        self._encounters: list[Encounter] = []
        self.rounds: list[list[Encounter]] = []
        """That are over; of formats without rounds one, without content."""
        self.first = 0
        """The number of the first block of the round at hand."""
        self.blocks = 0
        """That count: all before this number."""
        self.late = 0
        """Games that count for nothing: their blocks were over after the decision."""
        self.round = self._begin()

    @property
    def over(self) -> bool:
        """Whether there is nothing left to play."""
        return self.round is None or self.stopped

    def take(self, task: Task, game: Game) -> None:
        """Count a game; its block counts when it is whole and all before it do."""
        if self.over:
            self.late += 1
            return
        games = self._partial.setdefault(task.block, {})
        games[task.rotation] = game
        if len(games) < self._plan.games_of(task.entrants):
            return
        del self._partial[task.block]
        whole = tuple(game for _, game in sorted(games.items()))
        paired = self._plan.paired(task.entrants)
        self._waiting[task.block] = Block(task.block, task.entrants, whole, paired, self._walkover)
        self._count_waiting()

    @property
    def stopped(self) -> bool:
        """Whether the stop rule has decided."""
        return self._rule.stopped

    @property
    def verdict(self) -> Verdict | None:
        """What the stop rule says; None where there is none."""
        return self._rule.verdict(over=self.over)

    @property
    def so_far(self) -> str:
        """How near the stop rule is to a decision, in a few words; empty where it tells none."""
        return self._rule.so_far

    def placings(self) -> tuple[int, ...]:
        """Return the entrants from the first to the last; empty where ratings say it."""
        return self._format.placings(self.rounds)

    def _count_waiting(self) -> None:
        while not self.over and (block := self._waiting.pop(self.blocks, None)):
            self._count(block)
        if self.over:
            self.late += sum(map(len, self._partial.values()))
            self.late += sum(len(block.games) for block in self._waiting.values())
            self._partial, self._waiting = {}, {}

    def _count(self, block: Block) -> None:
        assert self.round is not None
        self.blocks += 1
        self._rule.add(block)
        if self._encounters:
            self._encounters[(block.number - self.first) % self.round.size].add(block)
        if self.blocks - self.first == self.round.size * self.round.blocks:
            self.rounds.append(self._encounters)
            self.first = self.blocks
            self.round = self._begin()

    def _begin(self) -> Round | None:
        found = self._format.next(self.rounds)
        self._encounters = []
        if found is not None and self._format.depends:
            self._encounters = [encounter(pairing) for pairing in found.pairings()]
        return found
