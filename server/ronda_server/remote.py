"""All remote bots: who is connected, which seats they are told of, and what an answer comes to."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

from ronda_core.match import Cause
from ronda_core.rules import Settings
from ronda_core.view import private
from ronda_server.bots import Answer
from ronda_server.errors import Reason, ServiceError
from ronda_server.live import Live
from ronda_server.metrics import Metrics
from ronda_server.remote_bot import About, Ending, Place, Rejection, RemoteBot
from ronda_server.verdicts import verdict

if TYPE_CHECKING:
    from ronda_server.connection import Connection

_DEFAULT_SEATS: Final = 16
_KEPT_BOTS: Final = 1024
"""Bots that are away and have no match, kept for what they are still to be told."""
_ID: Final = re.compile(r"(?a:([A-Za-z0-9_-]{1,64})-(\d{1,2})-(\d{1,10}))")


class Judge(Protocol):
    """What remote bots need of whoever hosts their matches."""

    def due(self, live: Live) -> int:
        """Return when the time of the decision that a match waits for is up; 0: never."""
        ...

    def decided(self, live: Live, answer: Answer) -> None:
        """Take what a bot has decided in time."""
        ...

    def late(self, live: Live) -> None:
        """See that the time of a match is up."""
        ...


class Remotes:
    """All remote bots of this server."""

    def __init__(
        self,
        judge: Judge,
        now: Callable[[], int],
        metrics: Metrics,
        max_bots: int,
        max_account_bots: int,
        max_seats: int,
    ) -> None:
        self.judge = judge
        self.now = now
        self.metrics = metrics
        self._max_bots = max_bots
        self._max_account_bots = max_account_bots
        self._max_seats = max_seats
        self._bots: OrderedDict[str, RemoteBot] = OrderedDict()
        self._by_name: dict[str, dict[str, RemoteBot]] = {}
        """The same bots, to be found by their names without going through all of them."""
        self._seated: dict[str, dict[int, Place]] = {}
        self._connected = 0
        self.draining = False
        self.listeners: list[Callable[[], None]] = []
        """Called when a bot has come or left, or has a seat less."""
        self.awaited: list[Callable[[str], bool]] = []
        """Each says whether games are still to be played by remote bots of a name."""
        self.loaded = False
        """Every match that was open when the server began has been taken up."""

    def __iter__(self) -> Iterator[RemoteBot]:
        """Go through all that are connected or have a match, by identity."""
        known = [bot for bot in self._bots.values() if bot.connection or bot.places]
        return iter(sorted(known, key=lambda bot: bot.identity))

    @property
    def ready(self) -> list[RemoteBot]:
        """Those that can be given seats, by name, then from the oldest version to the newest."""
        return sorted(self.here, key=lambda bot: (bot.about.name, bot.age))

    @property
    def here(self) -> Iterator[RemoteBot]:
        """Those that can be given seats, in no order."""
        return (bot for bot in self._bots.values() if bot.ready)

    def changed(self) -> None:
        """Tell that a bot has come or left, or has a seat less."""
        for listen in self.listeners:
            listen()

    def find(self, wanted: str) -> RemoteBot | None:
        """Return the bot `name@version` if it is ready, or the newest version of `name` that is."""
        if "@" in wanted:
            return self.there(wanted)
        own = (bot for bot in self._by_name.get(wanted, {}).values() if bot.ready)
        return max(own, key=lambda bot: bot.age, default=None)

    def there(self, identity: str) -> RemoteBot | None:
        """Return a bot if it can be given seats."""
        bot = self._bots.get(identity)
        return bot if bot and bot.ready else None

    def admit(self, bot: RemoteBot, settings: Settings, seats: int) -> None:
        """Refuse a match that a bot does not play, or seats that it has no room for."""
        if not bot.plays(settings):
            raise ServiceError(Reason.BOT_DECLINES, field="seats")
        if bot.room < seats:
            limit = {"limit": "bot_seats"}
            raise ServiceError(Reason.TOO_MANY_MATCHES, metadata=limit, retry_seconds=10)

    def connect(
        self,
        connection: Connection,
        about: About,
        account: str,
        places: Iterable[tuple[str, int, int]],
    ) -> RemoteBot:
        """Let a stream speak for a bot from now on; the one before is told so.

        `places` says how far the bot has followed matches: match, seat, number of the last event.
        """
        bot = self._bots.get(about.identity)
        before = bot.connection if bot else None
        if before is None and self._connected >= self._max_bots:
            raise ServiceError(
                Reason.TOO_MANY_STREAMS, metadata={"limit": "bots"}, retry_seconds=10
            )
        mine = sum(
            one.connection is not None and one.account == account and one is not bot
            for one in self._bots.values()
        )
        if before is None and mine >= self._max_account_bots:
            raise ServiceError(
                Reason.TOO_MANY_STREAMS, metadata={"limit": "account_bots"}, retry_seconds=10
            )
        bot = bot or self._meet(about.identity)
        if before:
            before.taken_over()
        else:
            self._connected += 1
            self.metrics.remote_bots.inc()
        bot.connection = connection
        bot.account = account
        bot.about = about
        bot.max_seats = min(about.max_seats or _DEFAULT_SEATS, self._max_seats)
        bot.known = {(match_id, seat): after for match_id, seat, after in places}
        for place in bot.places.values():
            place.again()
            connection.wake(place)
        return bot

    def disconnect(self, bot: RemoteBot, connection: Connection) -> None:
        """Note that a stream is over; its bot is away unless another stream has taken over."""
        if bot.connection is not connection:
            return
        bot.connection = None
        self.changed()
        self._connected -= 1
        self.metrics.remote_bots.dec()
        bot.known = {}
        for place in [*bot.places.values()]:
            if place.live.game.over:
                self._leave(place)
        self._bots.move_to_end(bot.identity)
        self._forget()

    def look(self, live: Live) -> None:
        """See what there is to tell the remote bots of a match, after anything has happened."""
        over = live.game.over
        seated = self._seated.get(live.game.id)
        if seated is None:
            if over:
                return
            seated = self._seated[live.game.id] = {
                seat: self._seat(live, seat) for seat in live.remote
            }
        for place in seated.values():
            if place.bot.connection:
                if over or place.has_news:
                    place.bot.connection.wake(place)
            elif over:
                self._leave(place)
        if over:
            del self._seated[live.game.id]

    def told_all(self, place: Place) -> Ending:
        """Take leave of a match whose end is told, and return the end."""
        place.bot.places.pop((place.live.game.id, place.seat), None)
        self.changed()
        place.bot.asked.pop(place.decision_id, None)
        ending = _ending(place)
        place.bot.over[place.live.game.id, place.seat] = _why_over(ending)
        if len(place.bot.over) > 2 * self._max_seats:
            place.bot.over.popitem(last=False)
        return ending

    def was_there(self, live: Live, seat: int) -> bool:
        """Say whether the bot in a seat has been there since the match began."""
        place = self._seated.get(live.game.id, {}).get(seat)
        return (place is not None and place.seen) or any(
            one.fact.kind in ("answered", "played") and one.fact.data.get("seat") == seat
            for one in live.audience.history
        )

    def answer(
        self, bot: RemoteBot, decision_id: str, choice: tuple[str, object] | None, read_at: int
    ) -> Rejection | None:
        """Take an answer that was read at `read_at`, or say why it is dropped."""
        place = bot.asked.get(decision_id)
        if place is None or not place.decides or place.handed[0] != place.live.game.opened:
            return _why_dropped(bot, decision_id)
        live = place.live
        if read_at >= self.judge.due(live):
            self.judge.late(live)
            return Rejection.LATE
        place.answered = live.game.opened
        bot.round_trip = max(1, read_at - place.handed[1])
        self.metrics.remote_seconds.observe(bot.round_trip / 1e6)
        assert live.game.match
        decision = verdict(live.game, private(live.game.match, place.seat), choice)
        self.judge.decided(live, Answer(place.seat, live.game.opened, decision))
        return None

    def revoke(self, key_id: str) -> None:
        """End the streams of a key."""
        for bot in list(self._bots.values()):
            connection = bot.connection
            if connection and connection.key_id == key_id:
                connection.revoked()
                self.disconnect(bot, connection)  # also if nobody reads that it is over

    def forget(self, name: str) -> bool:
        """Forget all bots of a name; false where one is there, or has or may have a match."""
        if any(awaits(name) for awaits in self.awaited):
            return False
        own = [*self._by_name.get(name, {}).values()]
        if not self.loaded or any(bot.connection or bot.places for bot in own):
            return False
        for bot in own:
            self._drop(bot)
        return True

    def all_loaded(self) -> None:
        """Note that every match is taken up, and tell who has waited for that."""
        self.loaded = True
        for bot in self._bots.values():
            if bot.connection:
                bot.connection.look()

    def drain(self) -> None:
        """End every stream, present and to come."""
        self.draining = True
        for bot in self._bots.values():
            if bot.connection:
                bot.connection.drain()

    def _meet(self, identity: str) -> RemoteBot:
        bot = self._bots.get(identity)
        if bot is None:
            bot = self._bots[identity] = RemoteBot(identity)
            self._by_name.setdefault(bot.about.name, {})[identity] = bot
            self._forget()
        return bot

    def _drop(self, bot: RemoteBot) -> None:
        del self._bots[bot.identity]
        versions = self._by_name[bot.about.name]
        del versions[bot.identity]
        if not versions:
            del self._by_name[bot.about.name]

    def _seat(self, live: Live, seat: int) -> Place:
        bot = self._meet(live.game.seats[seat].identity)
        place = bot.places[live.game.id, seat] = Place(bot, live, seat)
        place.again()
        return place

    def _leave(self, place: Place) -> None:
        """Keep the end of a match for a bot that is away."""
        ending = self.told_all(place)
        if place.live.game.dealer:
            place.bot.endings.append(ending)

    def _forget(self) -> None:
        """Forget who has been away for longest and has no match, where there are too many."""
        if len(self._bots) - self._connected <= _KEPT_BOTS:
            return
        for bot in self._bots.values():
            if not bot.connection and not bot.places:
                self._drop(bot)
                return


def _why_dropped(bot: RemoteBot, decision_id: str) -> Rejection:
    """Return what is wrong with an answer to a decision that is not open."""
    parsed = _ID.fullmatch(decision_id)
    if not parsed:
        return Rejection.UNKNOWN_DECISION
    key = (parsed[1], int(parsed[2]))
    place = bot.places.get(key)
    if place is None:
        return bot.over.get(key, Rejection.UNKNOWN_DECISION)
    if place.live.game.over:
        return _why_over(_ending(place))
    answered = int(parsed[3]) <= place.answered
    return Rejection.ALREADY_ANSWERED if answered else Rejection.UNKNOWN_DECISION


def _ending(place: Place) -> Ending:
    game = place.live.game
    assert game.result
    return Ending(game.id, place.seat, game.result, game.sequence)


def _why_over(ending: Ending) -> Rejection:
    fault = ending.result.fault
    late = fault and fault.seat == ending.seat and fault.cause in (Cause.TIME, Cause.NO_SHOW)
    return Rejection.LATE if late else Rejection.MATCH_OVER
