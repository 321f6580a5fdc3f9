"""What an operator can see: gRPC by the usual names, and the game's own numbers.

Labels come from closed lists only: never an id, a name or a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import grpc
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ronda_arena.isolation import Level
from ronda_core.match import Finished
from ronda_core.rules import PRESETS
from ronda_server.game import Game, Happened

_FAST = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_GRPC = ("grpc_type", "grpc_service", "grpc_method")


def code_label(code: grpc.StatusCode) -> str:
    """Return a code as Go spells it, and with it every dashboard: `NotFound`."""
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return "OK" if code is grpc.StatusCode.OK else code.name.title().replace("_", "")


class Metrics:
    """All metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.started = Counter("grpc_server_started", "RPCs started.", _GRPC, registry=registry)
        self.handled = Counter(
            "grpc_server_handled",
            "RPCs completed, by code.",
            (*_GRPC, "grpc_code"),
            registry=registry,
        )
        self.seconds = Histogram(
            "grpc_server_handling_seconds",
            "Time of unary RPCs.",
            _GRPC,
            buckets=_FAST,
            registry=registry,
        )
        self.sent = Counter("grpc_server_msg_sent", "Messages streamed.", _GRPC, registry=registry)
        self.live_matches = Gauge(
            "ronda_matches_live", "Matches that wait or run.", registry=registry
        )
        self.matches_created = Counter(
            "ronda_matches_created", "Matches made.", ("rules",), registry=registry
        )
        self.matches_finished = Counter(
            "ronda_matches_finished", "Matches over.", ("rules", "outcome"), registry=registry
        )
        self.faults = Counter("ronda_faults", "Matches forfeited.", ("cause",), registry=registry)
        self.plays = Counter("ronda_plays", "Cards played.", ("rules",), registry=registry)
        self._plays_by = {rules: self.plays.labels(rules) for rules in PRESETS}
        self.watchers = Gauge("ronda_watchers", "Streams that are open.", registry=registry)
        self.resyncs = Counter(
            "ronda_watcher_resyncs",
            "Slow readers given a view for what they missed.",
            registry=registry,
        )
        self.commit_seconds = Histogram(
            "ronda_commit_seconds", "Time of a commit to the log.", buckets=_FAST, registry=registry
        )
        self.commit_size = Histogram(
            "ronda_commit_size",
            "Pieces of work in a commit.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
            registry=registry,
        )
        self.commit_failures = Counter(
            "ronda_commit_failures", "Commits that the storage did not take.", registry=registry
        )
        self.bot_seconds = Histogram(
            "ronda_bot_decision_seconds",
            "Time of a bot's decision.",
            buckets=_FAST,
            registry=registry,
        )
        self.isolation = Gauge(
            "ronda_bot_isolation_level",
            "How the bots of others are run: 1 for the level in use.",
            ("level",),
            registry=registry,
        )
        self.remote_bots = Gauge(
            "ronda_remote_bots", "Remote bots that are connected.", registry=registry
        )
        self.remote_seconds = Histogram(
            "ronda_remote_decision_seconds",
            "Time from a decision's handing to a stream until its answer was read.",
            buckets=_FAST,
            registry=registry,
        )
        self.remote_rejected = Counter(
            "ronda_remote_answers_rejected",
            "Answers of remote bots that were dropped.",
            ("reason",),
            registry=registry,
        )
        self.tournaments = Gauge(
            "ronda_tournaments",
            "Tournaments that are not over, by state.",
            ("state",),
            registry=registry,
        )
        self.tournaments_over = Counter(
            "ronda_tournaments_over", "Tournaments over, by how.", ("state",), registry=registry
        )
        self.tournament_games = Counter(
            "ronda_tournament_games",
            "Games of tournaments that are over.",
            registry=registry,
        )
        self.tournament_games_lost = Counter(
            "ronda_tournament_games_lost",
            "Games of tournaments lost by no fault of a bot, which are played again.",
            registry=registry,
        )
        self.tournament_games_twice = Counter(
            "ronda_tournament_games_twice",
            "Results of tournaments that were known when they came.",
            registry=registry,
        )
        self.ladder_games = Counter(
            "ronda_ladder_games", "Games of blocks of ladders that are over.", registry=registry
        )
        self.ladder_blocks_lost = Counter(
            "ronda_ladder_blocks_lost",
            "Blocks of ladders lost by no fault of a bot, which are played again.",
            registry=registry,
        )
        self._ladders = Gauge("ronda_ladders", "Ladders, by state.", ("state",), registry=registry)
        self._ladder_bots = Gauge(
            "ronda_ladder_bots", "Bots of ladders, by state.", ("state",), registry=registry
        )
        self.clock_offset = Gauge(
            "ronda_clock_offset_seconds",
            "How far the wall clock is ahead of the server's own.",
            registry=registry,
        )
        self.held_up = Counter(
            "ronda_loop_held_up_seconds",
            "How long the loop was held up, which is added to the time of who was to decide.",
            registry=registry,
        )
        self.errors = Counter(
            "ronda_internal_errors", "Unknown exceptions answered.", registry=registry
        )

    def isolated(self, granted: Level) -> None:
        """Note how the bots of others are run."""
        for level in Level:
            self.isolation.labels(level.value).set(level is granted)

    def laddered(self, ladders: Mapping[str, int], bots: Mapping[str, int]) -> None:
        """Note how many ladders, and bots on them, are in which state."""
        for gauge, counts in ((self._ladders, ladders), (self._ladder_bots, bots)):
            for state, count in counts.items():
                gauge.labels(state).set(count)

    def committed(self, seconds: float, size: int, stored: bool) -> None:
        """Note a commit, or one that failed."""
        if not stored:
            self.commit_failures.inc()
        self.commit_seconds.observe(seconds)
        self.commit_size.observe(size)

    def created(self, rules: str) -> None:
        """Note a new match."""
        self.matches_created.labels(rules).inc()

    def happened(self, game: Game, happened: Iterable[Happened]) -> None:
        """Note what a step brought."""
        rules = game.settings.preset.name
        for one in happened:
            if one.fact.kind == "played":
                self._plays_by[rules].inc()
            if isinstance(one.event, Finished):
                self.matches_finished.labels(rules, one.event.outcome.value).inc()
                if one.event.fault:
                    self.faults.labels(one.event.fault.cause.value).inc()
