"""How a ladder stands: a fold of its facts, and of nothing else.

Whoever folds the same facts has the same standings to the last bit, whether they were taken in as
they happened or read from the log years later.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, NamedTuple

from ronda_arena.ladder import ratings
from ronda_arena.ladder.facts import Fact, Joined, Left, Over, Released, Seated, Void
from ronda_arena.ladder.misfit import Unpinned
from ronda_arena.ladder.plan import LadderPlan
from ronda_arena.ladder.pool import Pool
from ronda_arena.ladder.ratings import PINNED_SIGMA, PRIOR, Rating
from ronda_arena.ladder.residuals import Residuals, Review, review
from ronda_arena.tournament.results import Block, Game, guilty_entrant, margins, shares

QUARANTINE_FAULTS: Final = 5
QUARANTINE_GAMES: Final = 20
"""So many games lost by own faults among its last so many: it does not play any more."""
_RECENT: Final = (1 << QUARANTINE_GAMES) - 1
PROVISIONAL_GAMES: Final = 60
PROVISIONAL_OPPONENTS: Final = 12
"""Owners that it must have met, or all others where there are fewer."""
_MOST_SUSPECTS: Final = 100
"""Pairs that extra blocks are given to at a time."""
EXTRA_MEETINGS: Final = 400
"""After so many a pair gets no extra blocks any more: what there is to see is seen."""


@dataclass(slots=True)
class Bot:
    """What is known of one bot."""

    number: int
    identity: str
    owner: str
    rating: Rating
    pinned: bool
    present: bool = True
    since: int = 0
    """When it came, or went."""
    code: str = ""
    """The digest of its code; empty: nobody knows."""
    changed: int = 0
    """How often its code was another one, under the same version."""
    predecessor: str = ""
    """The version from which it has started; empty: none."""
    remote: bool = False
    """It plays over a stream, at the tables of a server."""
    rests: str = ""
    """Why it is away: it is `disabled` or `quarantined` where bots are kept."""
    why_rests: str = ""
    """What is said of that there."""
    quarantined: str = ""
    """Why it is in quarantine; empty: it is not."""
    blocks: int = 0
    games: int = 0
    won: int = 0
    drawn: int = 0
    lost: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    """Games lost by its own fault, by cause; they are among those lost."""
    recent: int = 0
    """Its last games as bits: one that it lost by its own fault is set."""
    void: int = 0
    """Blocks that were lost by a fault of ours."""
    last: int = 0
    """When its last block was over."""

    @property
    def name(self) -> str:
        """The identity without the version."""
        return self.identity.partition("@")[0]

    @property
    def enabled(self) -> bool:
        """Whether it plays."""
        return self.present and not self.quarantined


class Open(NamedTuple):
    """A block that is being played."""

    entrants: tuple[int, ...]
    again: str


class Change(NamedTuple):
    """What a block did to one bot: a line of its history."""

    block: str
    at: int
    opponents: tuple[int, ...]
    place: int
    """From 0; equal ones are a draw."""
    margin: float
    """Points ahead of the mean of the others, a game."""
    faults: int
    before: Rating
    after: Rating
    misfit: float
    """Of the ladder, with this block."""
    blocks: int
    """Of the bot, with this one."""
    games: int


class Ladder:
    """The state that the facts so far make."""

    def __init__(self, plan: LadderPlan, told: Callable[[int, Change], None] | None = None) -> None:
        """Begin without a fact; `told` is told what every block does to every bot in it."""
        self.plan = plan
        self.bots: list[Bot] = []
        self.open: dict[str, Open] = {}
        self.lost: deque[tuple[str, tuple[int, ...]]] = deque()
        """Blocks that were void and are to be played again."""
        self.pool = Pool()
        self.residuals = Residuals()
        self.blocks = 0
        """That are over."""
        self.games = 0
        self.void = 0
        self.now = 0
        """When the last fact was."""
        self.facts = 0
        self.moves = 0
        """How often it changed who plays, or for whom."""
        self._told = told
        self._walkover = plan.games_plan(()).walkover
        self._numbers: dict[str, int] = {}
        self._owners: dict[str, int] = {}
        self._codes: dict[str, int] = {}
        self._pins = {anchor.bot: anchor.mean for anchor in plan.anchors}
        self._playing: tuple[int, frozenset[str]] = (0, frozenset())
        """Owners of bots that play, and after how many moves that was so."""
        self._unpinned = Unpinned()

    def take(self, fact: Fact) -> None:
        """Take in the next fact."""
        self.now = max(self.now, fact.at)
        self.facts += 1
        match fact:
            case Seated():
                self._seat(fact)
            case Over():
                self._end(fact)
            case Void():
                self._lose(fact)
            case Joined():
                self._join(fact)
            case Left():
                bot = self.bots[fact.bot]
                if bot.present:
                    bot.present, bot.since = False, fact.at
                bot.rests, bot.why_rests = fact.rests, fact.why
                self._enable(bot)
            case Released():
                bot = self.bots[fact.bot]
                bot.quarantined, bot.recent = "", 0
                self._enable(bot)

    def find(self, identity: str) -> Bot | None:
        """Return what is known of a bot."""
        number = self._numbers.get(identity)
        return None if number is None else self.bots[number]

    def shown(self, bot: Bot) -> Rating:
        """Return a bot's rating, in doubt for as long as it has been away."""
        if bot.present or bot.pinned:
            return bot.rating
        return ratings.away(bot.rating, self.now - bot.since)

    def alike(self, bot: Bot) -> list[Bot]:
        """Return the other bots that are the same code."""
        return [one for one in self.bots if bot.code == one.code != "" and one is not bot]

    @property
    def misfit(self) -> float:
        """Return how far off ratings of this ladder are, beside what their sigmas say."""
        return self._unpinned.misfit

    def opponents(self, bot: Bot) -> int:
        """Return how many owners it has met."""
        met = self.residuals.opponents(bot.number)
        return len({self.bots[other].owner for other in met})

    def provisional(self, bot: Bot) -> bool:
        """Say whether too little is known of a bot to place it."""
        if bot.pinned:
            return False
        owners = self._owners_that_play()
        enough = min(PROVISIONAL_OPPONENTS, len(owners) - (bot.owner in owners))
        return bot.games < PROVISIONAL_GAMES or self.opponents(bot) < enough

    def _owners_that_play(self) -> frozenset[str]:
        moves, owners = self._playing
        if moves != self.moves:
            owners = frozenset(bot.owner for bot in self.bots if bot.enabled)
            self._playing = self.moves, owners
        return owners

    def reviews(self) -> Iterator[Review]:
        """Yield who should be looked at, pairs of bots before pairs of owners."""
        owners: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for pair in self.residuals.met():
            first, second = (self.bots[one] for one in pair)
            if first.pinned and second.pinned:
                continue  # they are ours, and their ratings a definition
            yield from self._review(first.identity, second.identity, [pair])
            if first.owner <= second.owner:
                owners.setdefault((first.owner, second.owner), []).append(pair)
            else:
                owners.setdefault((second.owner, first.owner), []).append(pair[::-1])
        for (first_owner, second_owner), pairs in owners.items():
            if len(pairs) > 1:
                yield from self._review(first_owner, second_owner, pairs)

    def _review(self, one: str, two: str, pairs: Sequence[tuple[int, int]]) -> Iterator[Review]:
        of = self.residuals.of
        first, second = of(*pairs[0]), of(*pairs[0][::-1])
        for a, b in pairs[1:]:
            first, second = first.plus(of(a, b)), second.plus(of(b, a))
        for names, sums in (((one, two), (first, second)), ((two, one), (second, first))):
            found = review(*names, *sums)
            if found is not None:
                yield found
                if found.kind == "together":
                    return

    def _join(self, fact: Joined) -> None:
        bot = self.find(fact.bot)
        if bot is None:
            bot = self._new(fact)
        else:
            if not bot.present:
                bot.rating = self.shown(bot)
            bot.present, bot.owner = True, fact.owner
            if fact.code and bot.code and fact.code != bot.code:
                bot.changed += 1
                if not bot.pinned:  # it may be another bot, whatever its version says
                    bot.rating = ratings.new_version(bot.rating)
        bot.since, bot.rests, bot.why_rests = fact.at, "", ""
        bot.remote = fact.remote
        bot.code = fact.code or bot.code
        pool = self.pool
        pool.owner[bot.number] = self._owners.setdefault(bot.owner, len(self._owners))
        if bot.code:
            pool.code[bot.number] = self._codes.setdefault(bot.code, len(self._codes))
        pool.remote[bot.number] = bot.remote
        pool.last[bot.number] = pool.seated
        pool.ahead[bot.number] = 0.0
        self._rate(bot)
        self._enable(bot)

    def _new(self, fact: Joined) -> Bot:
        """Return a bot that was not known; a new version starts where the one before stands."""
        name = fact.bot.partition("@")[0]
        older = [bot for bot in self.bots if bot.name == name and bot.owner == fact.owner]
        before = older[-1] if older else None
        rating = PRIOR if before is None else ratings.new_version(self.shown(before))
        pin = self._pins.get(fact.bot)
        if pin is not None:
            rating = Rating(pin, PINNED_SIGMA)
        bot = Bot(len(self.bots), fact.bot, fact.owner, rating, pin is not None)
        bot.predecessor = before.identity if before and pin is None else ""
        self._numbers[fact.bot] = bot.number
        self.bots.append(bot)
        self.pool.grow()
        self.pool.pinned[bot.number] = bot.pinned
        self.residuals.join(None if before is None else before.number)
        return bot

    def _seat(self, fact: Seated) -> None:
        self.open[fact.block] = Open(fact.entrants, fact.again)
        if fact.again:
            self.lost = deque(one for one in self.lost if one[0] != fact.again)
        self.pool.seat(fact.entrants, 1)

    def _lose(self, fact: Void) -> None:
        block = self.open.pop(fact.block)
        self.pool.seat(block.entrants, -1)
        self.pool.forget(block.entrants)
        if all(self.bots[bot].enabled for bot in block.entrants):
            self.lost.append((fact.block, block.entrants))
        self.void += 1
        for bot in block.entrants:
            self.bots[bot].void += 1

    def _end(self, fact: Over) -> None:
        entrants = self.open.pop(fact.block).entrants
        count = len(entrants)
        self.pool.seat(entrants, -1)
        self.blocks += 1
        self.games += len(fact.games)
        points = block_margins(fact.games, count, self._walkover)
        faults = [0] * count
        for game in fact.games:
            if game.fault is not None:
                faults[guilty_entrant(game, count)] += 1
        places = block_places(points, faults)
        bots = [self.bots[number] for number in entrants]
        before = [bot.rating for bot in bots]
        # What two of them may give each other is evidence, and no rating.
        odd = self._odd(entrants)
        after = ratings.rate(before, places, [odd or bot.pinned for bot in bots])
        self._unpinned.add(entrants, places, before, [bot.pinned for bot in bots])
        self.residuals.add(entrants, points, places, before, odd)
        for at, bot in enumerate(bots):
            bot.rating, bot.last = after[at], fact.at
            bot.blocks += 1
            self._count(bot, at, fact.games, count)
            self._rate(bot)
            if self._told:
                others = tuple(one for one in entrants if one != bot.number)
                self._told(
                    bot.number,
                    Change(
                        fact.block,
                        fact.at,
                        others,
                        places[at],
                        points[at],
                        faults[at],
                        before[at],
                        after[at],
                        self.misfit,
                        bot.blocks,
                        bot.games,
                    ),
                )
        self._suspect(entrants)

    def _count(self, bot: Bot, at: int, games: Sequence[Game], count: int) -> None:
        for game in games:
            share = shares(game, count)[at]
            bot.games += 1
            bot.won += share == 1
            bot.drawn += 0 < share < 1
            bot.lost += share == 0
            at_fault = game.fault is not None and guilty_entrant(game, count) == at
            bot.recent = (bot.recent << 1 | at_fault) & _RECENT
            if at_fault:
                assert game.fault is not None
                bot.faults[game.fault.cause.value] += 1
        if bot.recent.bit_count() >= QUARANTINE_FAULTS and not bot.quarantined and not bot.pinned:
            causes = ", ".join(f"{many} {cause}" for cause, many in sorted(bot.faults.items()))
            bot.quarantined = (
                f"lost {bot.recent.bit_count()} of its last {QUARANTINE_GAMES} games by its own"
                f" fault (of all: {causes})"
            )
            self._enable(bot)

    def _suspect(self, entrants: Sequence[int]) -> None:
        """Give extra blocks to pairs that look odd, until it is known whether they are."""
        suspects = self.pool.suspects
        for pair in combinations(sorted(entrants), 2):
            known = self.residuals.of(*pair).meetings >= EXTRA_MEETINGS
            odd = not known and self._odd(pair)
            if odd and pair not in suspects and len(suspects) < _MOST_SUSPECTS:
                suspects.append(pair)
            elif not odd and pair in suspects:
                suspects.remove(pair)

    def _odd(self, entrants: Sequence[int]) -> bool:
        """Say whether two of these look as if one played for the other.

        Not an anchor: whoever is far from its rating does oddly with one, and finds its place by
        these very blocks.
        """
        return self.residuals.odd([bot for bot in entrants if not self.bots[bot].pinned])

    def _rate(self, bot: Bot) -> None:
        self.pool.mean[bot.number] = bot.rating.mean
        self.pool.variance[bot.number] = 0.0 if bot.pinned else bot.rating.sigma**2

    def _enable(self, bot: Bot) -> None:
        self.moves += 1
        self.pool.enabled[bot.number] = bot.enabled
        if not bot.enabled:  # what was lost of it is not played again without it
            self.lost = deque(one for one in self.lost if bot.number not in one[1])


def block_margins(games: Sequence[Game], count: int, walkover: float) -> tuple[float, ...]:
    """Return by how much each entrant of a block is ahead of the others' mean, a game."""
    told = margins(Block(0, tuple(range(count)), tuple(games), walkover=walkover))
    return tuple(sum(one) / len(told) for one in zip(*told, strict=True))


def block_places(points: Sequence[float], faults: Sequence[int]) -> tuple[int, ...]:
    """Return who came where in a block, from 0: whoever has fewer faults, then more points.

    So a fault costs the block, whatever the points were when it came: nobody saves a game that
    is lost by stalling it.
    """
    keys = [(faults[at], -round(points[at], 6)) for at in range(len(points))]
    return tuple(sum(other < key for other in keys) for key in keys)
