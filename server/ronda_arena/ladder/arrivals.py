"""Who is on a ladder: who came and who went, written down, of both kinds of bots.

Whoever plays here has to begin anew where installed bots come or go; for guests, which play
elsewhere, nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from ronda_arena.code import code
from ronda_arena.ladder.facts import Joined, Left
from ronda_arena.ladder.guests import Guest, Guests
from ronda_arena.ladder.plan import MOST_BOTS, LadderError
from ronda_arena.ladder.standings import Ladder
from ronda_arena.ladder.store import Store
from ronda_arena.tournament.codes import noted
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import Registry


class Arrivals:
    """Of one ladder that is played."""

    def __init__(
        self,
        store: Store,
        ladder: Ladder,
        find: Callable[[], Registry],
        guests: Guests,
        wanted: Sequence[str],
        owners: Mapping[str, str],
        now: Callable[[], int],
    ) -> None:
        """Look for nobody yet. `find` says who is installed, `wanted` and `owners` are by name."""
        self._store = store
        self._ladder = ladder
        self._find = find
        self._guests = guests
        self._wanted = wanted
        self._owners = owners
        self._now = now
        self.contract: Contract
        """What games are played under."""
        self.most: dict[int, int] = {}
        """In how many blocks at once guests may be seated."""
        self._met: Mapping[str, Guest] | None = None
        """Those that are written down."""
        self._installed: frozenset[str] = frozenset()
        """Names of the bots that are installed here: no guest's."""

    def look(self) -> Registry:
        """Write down who came and who went; return those who play here."""
        registry = self._find()
        ladder, now = self._ladder, self._now()
        there = self._there(registry)
        resting = _resting(registry)
        facts: list[Joined | Left] = []
        for bot in ladder.bots:
            rest = resting.get(bot.identity, _NOTHING)
            gone = bot.identity not in there and not bot.remote
            if gone and (bot.present or (bot.rests, bot.why_rests) != rest):
                facts.append(Left(bot.number, now, *rest))
        for identity, (owner, of) in there.items():
            known = ladder.find(identity)
            if (
                not known
                or not known.present
                or known.remote
                or (known.owner, known.code) != (owner, of)
            ):
                facts.append(Joined(identity, owner, now, of))
        self._note(facts)
        playing = Registry(tuple(map(registry.find, there)), ())
        self._installed = _names(registry)
        self.meet(playing)
        return playing

    def meet(self, playing: Registry | None = None) -> None:
        """Write down which guests came and went.

        `playing` are the others where they are new too; as long as they are the same, nobody who
        plays has to begin anew.
        """
        told = self._guests.there()
        if playing is None and told is self._met:
            return
        self._met = told
        there = welcome(self._ladder, told, self._installed)
        facts = moves(self._ladder, there, self._now())
        self._note(facts)
        self.most = {
            bot.number: there[bot.identity].blocks
            for bot in self._ladder.bots
            if bot.remote and bot.present
        }
        if playing is not None and any(bot.present for bot in self._ladder.bots):
            self.contract = Contract(noted(self._plan(), playing), b"")
        elif facts and playing is None:
            known = self.contract.plan.code
            self.contract = Contract(msgspec.structs.replace(self._plan(), code=known), b"")
            self._guests.renew(self.contract)

    def changed(self) -> bool:
        """Say whether who plays here is not what it was, but for guests."""
        registry = self._find()
        here = {
            bot.identity: (bot.owner, bot.code)
            for bot in self._ladder.bots
            if bot.present and not bot.remote
        }
        resting = _resting(registry)
        return self._there(registry) != here or any(
            (bot.rests, bot.why_rests) != resting.get(bot.identity, _NOTHING)
            for bot in self._ladder.bots
            if not bot.present and not bot.remote
        )

    def _plan(self) -> Plan:
        """Return what games are played under: a bot's place is its number, whoever is away.

        Of those that play elsewhere games may be over after they went.
        """
        bots = self._ladder.bots
        known = [bot.present or bot.remote for bot in bots]
        here = bots[known.index(True)].identity
        roster = [bot.identity if knows else here for bot, knows in zip(bots, known, strict=True)]
        remote = [bot.identity for bot in bots if bot.remote]
        return self._ladder.plan.games_plan(roster, remote)

    def _note(self, facts: Sequence[Joined | Left]) -> None:
        if facts:
            self._store.note(facts)
        for fact in facts:
            self._ladder.take(fact)

    def _there(self, registry: Registry) -> dict[str, tuple[str, str]]:
        """Return who is there and plays here: owner and code by identity."""
        anchors = {anchor.bot for anchor in self._ladder.plan.anchors}
        found = {}
        for bot in registry.bots:
            wanted = not self._wanted or not {bot.name, bot.identity}.isdisjoint(self._wanted)
            if wanted or bot.identity in anchors:
                known = self._ladder.find(bot.identity)
                of = code(bot) or (known.code if known else "")  # it cannot be read just now
                found[bot.identity] = self._owners.get(bot.name, bot.name), of
        if len(found) > MOST_BOTS:
            raise LadderError(f"{len(found)} bots are there; a ladder takes {MOST_BOTS} at a time")
        return found


_NOTHING: Final = ("", "")


def _resting(registry: Registry) -> dict[str, tuple[str, str]]:
    """Return how and why bots may not play where bots are kept, by identity."""
    return {one.bot.identity: (one.state, one.reason) for one in registry.resting}


def _names(registry: Registry) -> frozenset[str]:
    """Return the names of all bots that are installed, whether they can or may play or not."""
    found = {bot.name for bot in registry.bots} | {broken.name for broken in registry.broken}
    return frozenset(found | {resting.bot.name for resting in registry.resting})


def welcome(ladder: Ladder, there: Mapping[str, Guest], taken: frozenset[str]) -> dict[str, Guest]:
    """Return those that play here: none whose name is `taken`, and no more than there is room for.

    Those that are here already come first.
    """
    here = {bot.identity for bot in ladder.bots if bot.present and bot.remote}
    room = MOST_BOTS - sum(bot.present and not bot.remote for bot in ladder.bots)
    found = sorted(
        (identity for identity in there if identity.partition("@")[0] not in taken),
        key=lambda identity: (identity not in here, identity),
    )
    return {identity: there[identity] for identity in found[: max(0, room)]}


def moves(ladder: Ladder, there: Mapping[str, Guest], now: int) -> list[Joined | Left]:
    """Return who came and who went."""
    here = [bot for bot in ladder.bots if bot.remote and bot.present]
    facts: list[Joined | Left] = [
        Left(bot.number, now) for bot in here if bot.identity not in there
    ]
    for identity, guest in there.items():
        known = ladder.find(identity)
        if not known or not (known.present and known.remote) or known.owner != guest.owner:
            facts.append(Joined(identity, guest.owner, now, remote=True))
    return facts
