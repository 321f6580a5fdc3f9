from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from tests.cli.following import CODES, game
from tests.cli.games import Game
from tests.cli.processes import process
from tests.cli.scripted import (
    DROP,
    HANG,
    ID,
    RefusedError,
    Scripted,
    Stream,
    ended,
    event_message,
    serving,
    unknown,
    view_message,
)

from ronda.v1 import error_pb2, match_pb2, view_pb2
from ronda_cli import refusal
from ronda_cli.channel import keep_token, target
from ronda_cli.client import happening, view_picture
from ronda_cli.fold import advance
from ronda_cli.look import Look
from ronda_cli.output import ExitCode
from ronda_cli.picture import of_view
from ronda_cli.render import frame
from ronda_cli.story import Cast, Other, tell
from ronda_cli.text import labels
from ronda_core import view as views


class TestFolding:
    @pytest.mark.parametrize(
        ("preset", "players"),
        [
            ("playtash", 2),
            ("playtash", 4),
            ("cafe", 2),
            ("cafe", 3),
            ("cafe", 4),
            ("arabic", 2),
            ("pagat", 3),
        ],
    )
    @pytest.mark.parametrize("seat", [None, 0])
    def test_events_lead_to_the_picture_that_a_view_shows(
        self, preset: str, players: int, seat: int | None
    ) -> None:
        exact = ("chain_rank", "chain_link", "pack", "sequence", "result")
        for seed in range(3):
            played = game(players, preset, seed)
            picture = view_picture(view_message(played, 0, seat))
            while not played.match.result:
                for event in views.story(played.match, played.step(), seat):
                    picture = advance(picture, event, 1)
                told = view_picture(view_message(played, 0, seat))
                fields = {name: getattr(told, name) for name in told.__slots__ if name not in exact}
                fields["hand"] = tuple(sorted(told.hand))
                folded = {name: getattr(picture, name) for name in fields}
                folded["hand"] = tuple(sorted(picture.hand))
                assert folded == fields
            assert picture.result == told.result

    def test_without_a_view_to_start_from_nothing_is_made_up(self) -> None:
        played = game()
        before = view_picture(view_message(played, 0))
        played.scene(10)
        (event, *_) = views.story(played.match, played.step())
        assert advance(before, event, 7) == replace(before, sequence=7)


class TestConversion:
    @pytest.mark.parametrize(
        ("preset", "players"),
        [("playtash", 2), ("cafe", 3), ("cafe", 4), ("arabic", 2), ("pagat", 4)],
    )
    def test_a_picture_is_the_same_from_the_wire_as_from_the_core(
        self, preset: str, players: int
    ) -> None:
        played = game(players, preset)
        for seat in (None, 0, players - 1):
            for steps in range(0, 130, 7):
                played.scene(steps)
                seen = (
                    views.public(played.match, 9)
                    if seat is None
                    else views.view(played.match, seat, 9)
                )
                ours = of_view(seen, played.names, match=ID)
                theirs = view_picture(view_message(played, 9, seat))
                assert theirs.hand == tuple(sorted(ours.hand))
                fields = {
                    name: getattr(ours, name)
                    for name in ours.__slots__
                    if name not in ("hand", "result")
                }
                assert fields == {name: getattr(theirs, name) for name in fields}

    @pytest.mark.parametrize(
        ("preset", "players"),
        [("playtash", 4), ("cafe", 2), ("cafe", 3), ("arabic", 2), ("pagat", 3)],
    )
    def test_a_story_is_the_same_from_the_wire_as_from_the_core(
        self, preset: str, players: int
    ) -> None:
        played = game(players, preset)
        cast = Cast(labels(played.names))
        told = 0
        while not played.match.result:
            for event in views.story(played.match, played.step()):
                ours = tell(event, cast)
                theirs = tell(happening(event_message(event, 1, played)), cast)
                assert theirs == ours
                told += bool(ours)
        assert told > 30

    def test_what_came_after_this_version_does_no_harm(self) -> None:
        view = view_message(game(), 0)
        view.phase = 77  # type: ignore[assignment] # a stand-in or a stranger
        view.table.extend([0, 41, 99])  # type: ignore[list-item] # a stand-in or a stranger
        picture = view_picture(view)
        assert picture.phase == "77"
        assert picture.table == ()
        assert happening(unknown(3).event) == Other()

    def test_a_view_without_lists_can_be_drawn(self) -> None:
        bare = view_pb2.View(seats=[match_pb2.Seat(), match_pb2.Seat()])
        assert len(frame(view_picture(bare), [], Look(40, 20), "")) == 20


class TestRefusals:
    def error(self, refused: RefusedError) -> grpc.aio.AioRpcError:
        trailing = grpc.aio.Metadata(
            ("grpc-status-details-bin", refused.status.SerializeToString())
        )
        return grpc.aio.AioRpcError(
            refused.code, grpc.aio.Metadata(), trailing, refused.status.message
        )

    def test_every_reason_that_is_told_in_words_is_one_of_the_contract(self) -> None:
        known = {name.removeprefix("ERROR_REASON_") for name in error_pb2.ErrorReason.keys()}  # noqa: SIM118 -- an enum
        assert set(refusal.TEXTS) <= known

    @pytest.mark.parametrize("reason", refusal.TEXTS)
    def test_a_reason_is_told_by_what_to_do(self, reason: str) -> None:
        why = refusal.read(self.error(RefusedError(CODES.FAILED_PRECONDITION, reason)))
        assert why.reason == reason
        assert why.text == refusal.TEXTS[reason]

    def test_an_unknown_reason_is_told_by_what_the_server_says_without_its_claws(self) -> None:
        why = refusal.read(
            self.error(RefusedError(CODES.FAILED_PRECONDITION, "NEW", "\x1b[31mno\nway\x07"))
        )
        assert why.text == "the server says: no way"
        assert why.failure(target("localhost:1")).code == ExitCode.REFUSED

    @pytest.mark.parametrize(
        ("code", "message", "way"),
        [
            (CODES.UNAVAILABLE, "failed to connect to all addresses", "cannot be reached"),
            (CODES.UNAVAILABLE, "DNS resolution failed for nowhere:1", "cannot be reached"),
            (CODES.UNKNOWN, "Stream removed", "cannot be reached"),
            (CODES.INTERNAL, "Internal error from Core", "cannot be reached"),
            (CODES.DEADLINE_EXCEEDED, "Deadline Exceeded", "does not answer in time"),
        ],
    )
    def test_what_grpc_says_of_the_way_is_no_word_of_the_server(
        self, code: CODES, message: str, way: str
    ) -> None:
        why = refusal.read(self.error(RefusedError(code, message=message)))
        assert why.text == f"the server {way}"
        assert why.text_of(target("localhost:1")) == f"localhost:1 {way}"

    def test_details_of_somebody_else_are_not_ours(self) -> None:
        refused = RefusedError(CODES.UNAVAILABLE, "DRAINING")
        info = refused.status.details[0]
        info.value = info.value.replace(b"ronda.v1", b"other.v1")
        assert refusal.read(self.error(refused)).reason == ""

    def test_details_that_are_garbage_are_passed_over(self) -> None:
        trailing = grpc.aio.Metadata(("grpc-status-details-bin", b"\xff\xff\xff"))
        error = grpc.aio.AioRpcError(CODES.NOT_FOUND, grpc.aio.Metadata(), trailing, "no")
        assert refusal.read(error).text == "the server says: no"

    def test_a_server_without_tls_is_hinted_at_where_tls_was_our_idea(self) -> None:
        why = refusal.read(
            self.error(RefusedError(CODES.UNAVAILABLE, "", "failed: last error: reset"))
        )
        assert "http://far:1" in str(why.failure(target("far:1")))
        assert "http://" not in str(why.failure(target("localhost:1")))
        assert "http://" not in str(why.failure(target("https://far:1")))


class TestTheCommand:
    async def test_a_match_is_told_to_its_end_over_a_lost_connection(self) -> None:
        stream = Stream(game(target=21))
        service = Scripted(
            [stream.first, *stream.after(0, 5), DROP],
            [*stream.after(3, 9), unknown(10), DROP],
            [*stream.after(10), stream.end],
        )
        async with serving(service) as address:
            code, out, err = await process("watch", ID, "--server", address)
        assert code == 0
        assert err.count("trying again") == err.count("connected again") == 2
        lines = out.splitlines()
        cast = Cast(("Amine", "Zineb"))
        expected = [tell(event, cast) for at, event in enumerate(stream.stories) if at != 9]
        assert [line for line in lines if line in {t.linear for t in expected if t}] == [
            t.linear for t in expected if t
        ]
        assert re.search(r"(Amine|Zineb) wins the match", lines[-1])
        assert service.watched[1][0] == 5

    async def test_a_seats_token_shows_its_hand_and_travels_as_a_bearer(
        self, tmp_path: Path
    ) -> None:
        token = tmp_path / "token"
        keep_token(token, "seat-token")
        stream = Stream(game(), seat=0, stop=6)
        service = Scripted([stream.first, *stream.after(0), ended("match_over", 6)])
        async with serving(service) as address:
            code, out, _ = await process(
                "watch", ID, "--server", address, "--token-file", str(token)
            )
        assert code == 0
        assert "You hold" in out
        assert service.watched[0][1] == "Bearer seat-token"
        assert "seat-token" not in out

    async def test_ctrl_c_says_how_to_go_on_from_the_last_event(self) -> None:
        stream = Stream(game(), stop=9)
        async with serving(Scripted([stream.first, *stream.after(0), HANG])) as address:
            last = tell(stream.stories[-1], Cast(("Amine", "Zineb")))
            assert last is not None
            code, _, err = await process(
                "watch", ID, "--server", address, interrupt_at=last.sentence.encode()
            )
        assert code == 130
        again = f"ronda watch {ID} --server {address} --after {len(stream.pairs)}"
        assert err == f"interrupted; go on with: {again}\n"

    async def test_going_on_after_a_number_needs_no_view(self) -> None:
        stream = Stream(game(), stop=9)
        service = Scripted([*stream.after(4), ended("match_over", 9)])
        async with serving(service) as address:
            code, out, _ = await process("watch", ID, "--server", address, "--after", "4")
        assert code == 0
        assert service.watched[0][0] == 4
        assert "Amine" in out or "Zineb" in out

    async def test_a_refusal_is_one_line_and_4(self) -> None:
        service = Scripted([])
        service.refusals.append(RefusedError(CODES.NOT_FOUND, "MATCH_NOT_FOUND"))
        async with serving(service) as address:
            code, out, err = await process("watch", "m-x", "--server", address)
        assert (code, out) == (4, "")
        assert err == f"ronda: {refusal.TEXTS['MATCH_NOT_FOUND']}\n"

    async def test_nobody_there_is_one_line_and_3(self) -> None:
        code, out, err = await process("watch", ID, "--server", "127.0.0.1:1")
        assert (code, out) == (3, "")
        assert err.startswith("ronda: 127.0.0.1:1 cannot be reached")
        assert len(err.splitlines()) == 1

    async def test_hostile_names_from_a_server_reach_no_terminal(self) -> None:
        played = Game("cafe", 2, 4, names=("\x1b]0;owned\x07\x1b[2Jevil\u202e\n", "漢" * 5000))
        stream = Stream(played, stop=9)
        async with serving(
            Scripted([stream.first, *stream.after(0), ended("match_over", 9)])
        ) as address:
            code, out, _ = await process("watch", ID, "--server", address)
        assert code == 0
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)
        assert "evil" in out
