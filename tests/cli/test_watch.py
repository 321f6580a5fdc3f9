from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.cli.conftest import Run, environment
from tests.cli.games import Game
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
from ronda_cli.channel import keep_token, read_token, target, token_path
from ronda_cli.client import Client, happening, view_picture
from ronda_cli.fold import advance
from ronda_cli.follow import Patience, Place, follow
from ronda_cli.look import Look
from ronda_cli.output import ExitCode, Failure
from ronda_cli.picture import of_view
from ronda_cli.remote import Sitting
from ronda_cli.render import frame
from ronda_cli.stage import Paper
from ronda_cli.story import Cast, Other, tell
from ronda_cli.text import labels
from ronda_cli.updates import Happened, Quiet, Seen, Update
from ronda_core import view as views

NAMES = ("Amine", "Zineb", "Idir", "Rym")
CODES = grpc.StatusCode


def game(players: int = 2, preset: str = "cafe", seed: int = 4, **more: Any) -> Game:
    return Game(preset, players, seed, names=NAMES, **more)


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


class Told(list[str]):
    def __call__(self, remark: str) -> None:
        self.append(remark)


async def no_time(_: float) -> None:
    await asyncio.sleep(0)  # a turn of the loop


def quick(**more: Any) -> Patience:
    return Patience(**{"sleep": no_time, "seconds": 5.0, **more})


async def followed(
    service: Scripted, after: int = 0, patience: Patience | None = None
) -> tuple[list[Update], list[str]]:
    said = Told()
    async with serving(service) as address:
        client = Client(target(address))
        try:
            found = [
                update
                async for update in follow(client, Place(ID, after), said, patience or quick())
            ]
        finally:
            await client.close()
    return found, said


def numbers(updates: Sequence[Update]) -> list[int]:
    return [update.sequence for update in updates if isinstance(update, Happened)]


class TestFollowing:
    async def test_a_match_is_followed_to_its_end(self) -> None:
        stream = Stream(game())
        found, said = await followed(Scripted([stream.first, *stream.after(0), stream.end]))
        assert numbers(found) == list(range(1, len(stream.pairs) + 1))
        assert said == []

    @pytest.mark.parametrize("lost", [0, 1, 2, 9, 10, 33])
    async def test_a_lost_stream_goes_on_where_it_broke(self, lost: int) -> None:
        stream = Stream(game(), stop=40)
        service = Scripted(
            [stream.first, *stream.after(0, lost), DROP],
            [DROP],
            [*([] if lost else [stream.first]), *stream.after(lost), ended("match_over", 99)],
        )
        found, said = await followed(service)
        assert numbers(found) == list(range(1, len(stream.pairs) + 1))
        assert [after for after, _ in service.watched] == [0, lost, lost]
        (lost_it, again) = said
        assert re.fullmatch(r"the connection to 127.0.0.1:\d+ is lost: trying again", lost_it)
        assert again == "connected again"

    async def test_an_event_told_twice_is_passed_on_once(self) -> None:
        stream = Stream(game(), stop=12)
        again = [*stream.after(0, 6), *stream.after(2, 6), *stream.after(6), ended("match_over", 9)]
        found, _ = await followed(Scripted([stream.first, *again]))
        assert numbers(found) == list(range(1, len(stream.pairs) + 1))
        seen = [update.sequence for update in found if isinstance(update, Seen)]
        assert seen == sorted(seen)

    async def test_an_unknown_kind_of_event_counts(self) -> None:
        stream = Stream(game(), stop=6)
        service = Scripted(
            [stream.first, *stream.after(0, 3), unknown(4), DROP], [ended("match_over", 4)]
        )
        found, _ = await followed(service)
        assert numbers(found) == [1, 2, 3, 4]
        assert service.watched[1][0] == 4

    async def test_an_event_that_was_left_out_is_asked_for_again(self) -> None:
        stream = Stream(game(), stop=12)
        service = Scripted(
            [stream.first, *stream.after(0, 3), *stream.after(5)],
            [*stream.after(3), ended("match_over", 9)],
        )
        found, _ = await followed(service)
        assert numbers(found) == list(range(1, len(stream.pairs) + 1))
        assert [after for after, _ in service.watched] == [0, 3]

    async def test_an_event_that_is_not_to_be_had_stops_nothing(self) -> None:
        stream = Stream(game(), stop=12)
        holed = [*stream.after(5), ended("match_over", 9)]
        found, _ = await followed(Scripted([stream.first, *stream.after(0, 3), *holed], holed))
        assert numbers(found) == [1, 2, 3, *range(6, len(stream.pairs) + 1)]

    async def test_a_view_takes_the_place_of_events(self) -> None:
        stream = Stream(game(), stop=20)
        later = next(pair[1] for pair in stream.pairs[9:] if len(pair) > 1)
        at = later.view.sequence
        service = Scripted(
            [stream.first, *stream.after(0, 2), later, *stream.after(at), ended("match_over", 9)]
        )
        found, _ = await followed(service)
        assert numbers(found) == [1, 2, *range(at + 1, len(stream.pairs) + 1)]

    @pytest.mark.parametrize("why", ["draining", "too_slow"])
    async def test_a_stream_that_says_so_is_taken_up_again(self, why: str) -> None:
        stream = Stream(game(), stop=8)
        service = Scripted(
            [stream.first, *stream.after(0, 4), ended(why, 4)],
            [*stream.after(4), ended("match_over", 8)],
        )
        found, said = await followed(service)
        assert numbers(found) == list(range(1, len(stream.pairs) + 1))
        assert said[-1] == "connected again"

    @pytest.mark.parametrize(
        ("why", "word"), [("taken_over", "taken over"), ("match_expired", "no longer")]
    )
    async def test_a_stream_that_is_over_for_good_is_not(self, why: str, word: str) -> None:
        with pytest.raises(Failure, match=word) as failed:
            await followed(Scripted([Stream(game(), stop=3).first, ended(why, 0)]))
        assert failed.value.code == ExitCode.REFUSED

    async def test_the_end_of_the_match_is_enough_without_a_word_from_the_stream(self) -> None:
        stream = Stream(game())
        found, said = await followed(Scripted([stream.first, *stream.after(0)]))
        assert numbers(found)[-1] == len(stream.pairs)
        assert said == []

    async def test_a_match_that_is_over_already_is_shown_and_left(self) -> None:
        stream = Stream(game())
        found, _ = await followed(Scripted([stream.pairs[-1][1]]))
        (seen,) = found
        assert isinstance(seen, Seen)
        assert "the match" in seen.picture.result

    async def test_silence_is_taken_for_a_loss(self) -> None:
        stream = Stream(game(), stop=5)
        service = Scripted([stream.first, HANG], [*stream.after(0), ended("match_over", 5)])
        found, said = await followed(service, patience=quick(quiet=0.2))
        assert numbers(found) == list(range(1, len(stream.pairs) + 1))
        assert re.fullmatch(r"the connection to 127.0.0.1:\d+ is lost: trying again", said[0])

    async def test_patience_has_an_end_and_it_is_3(self) -> None:
        now = iter(range(0, 1000, 10))
        with pytest.raises(Failure, match="cannot be reached") as failed:
            await followed(
                Scripted([DROP]), patience=quick(seconds=60, clock=lambda: float(next(now)))
            )
        assert failed.value.code == ExitCode.UNREACHABLE

    async def test_attempts_are_ever_further_apart(self) -> None:
        waits: list[float] = []
        now = iter(range(1000))

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        patience = Patience(seconds=12, sleep=sleep, clock=lambda: float(next(now)))
        while await patience.failed():
            pass  # until it gives up
        assert len(waits) == 12
        for number, wait in enumerate(waits):
            longest = min(0.25 * 2**number, 8.0)
            assert longest / 2 <= wait <= longest

    @pytest.mark.parametrize(
        ("code", "reason", "exit_code"),
        [
            (CODES.NOT_FOUND, "MATCH_NOT_FOUND", 4),
            (CODES.UNAUTHENTICATED, "BAD_TOKEN", 4),
            (CODES.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS", 4),
            (CODES.INVALID_ARGUMENT, "REQUEST_INVALID", 2),
            (CODES.UNIMPLEMENTED, "", 4),
        ],
    )
    async def test_a_refusal_is_told_and_not_tried_again(
        self, code: Any, reason: str, exit_code: int
    ) -> None:
        service = Scripted([RefusedError(code, reason)])
        with pytest.raises(Failure) as failed:
            await followed(service)
        assert failed.value.code == exit_code
        assert str(failed.value)
        assert len(service.watched) == 1


class Talkative:
    """A client whose stream says one thing, and then no more; `meanwhile` comes with it."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.meanwhile = meanwhile
        self.target = target("localhost:1")

    async def watch(self, match_id: str, after: int) -> AsyncIterator[Update]:
        # What is scheduled here runs when the message is there and nobody has taken it yet.
        asyncio.get_running_loop().call_soon(self.meanwhile)
        yield Quiet(0)
        await asyncio.Event().wait()


class TestLeaving:
    async def test_a_cancellation_that_comes_with_a_message_is_not_lost_in_a_stream(self) -> None:
        async def through() -> None:
            async for _ in follow(client, Place(ID), Told(), quick(quiet=60.0)):  # type: ignore[arg-type]
                pass  # to its end

        client = Talkative()
        client.meanwhile = lambda: following.cancel()  # noqa: PLW0108 -- it is not there yet
        following = asyncio.create_task(through())
        done, _ = await asyncio.wait([following], timeout=5)
        assert done
        assert following.cancelled()

    @pytest.mark.parametrize("turn", range(12))
    async def test_ctrl_c_ends_a_sitting_whatever_it_is_doing(self, turn: int) -> None:
        client = Talkative()
        sitting = Sitting(client, Place(ID), Paper(), patience=quick(quiet=60.0))  # type: ignore[arg-type]
        watching = asyncio.create_task(sitting.watch(view_picture(view_message(game(), 0))))
        for _ in range(turn):
            await asyncio.sleep(0)  # a turn of the loop
        watching.cancel()
        done, _ = await asyncio.wait([watching], timeout=5)
        assert done
        assert watching.cancelled()


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


class TestTargets:
    @pytest.mark.parametrize(
        ("given", "address", "tls"),
        [
            ("localhost:50051", "localhost:50051", False),
            ("127.0.0.1:1", "127.0.0.1:1", False),
            ("127.9.9.9:1", "127.9.9.9:1", False),
            ("[::1]:1", "[::1]:1", False),
            ("example.org:443", "example.org:443", True),
            ("127.0.0.1.example.org:443", "127.0.0.1.example.org:443", True),
            ("localhost.example.org:443", "localhost.example.org:443", True),
            ("[2001:db8::1]:443", "[2001:db8::1]:443", True),
            ("http://example.org:80", "example.org:80", False),
            ("https://localhost:443/", "localhost:443", True),
        ],
    )
    def test_a_token_goes_in_the_clear_to_this_machine_only_unless_told(
        self, given: str, address: str, tls: bool
    ) -> None:
        found = target(given)
        assert (found.address, found.tls) == (address, tls)

    @pytest.mark.parametrize(
        "given", ["x", ":1", "x:", "x:0", "x:65536", "x:1/y", "ftp://x:1", "a b:1", "\x1b:1", ""]
    )
    def test_an_address_that_is_none_is_wrong_usage(self, given: str, run: Run) -> None:
        result = run("watch", "m", "--server", given)
        assert result.exit_code == 2
        assert "--server" in result.stderr


class TestTokens:
    def test_a_token_is_kept_for_its_owner_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "deep" / "token"
        keep_token(file, "secret")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert read_token(file) == "secret"

    def test_a_file_that_others_could_read_is_closed_to_them(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("old")
        file.chmod(0o644)
        keep_token(file, "new")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    def test_a_token_that_others_can_read_is_warned_of(self, tmp_path: Path, capsys: Any) -> None:
        file = tmp_path / "token"
        file.write_text("secret\n")
        file.chmod(0o644)
        assert read_token(file) == "secret"
        assert "chmod 600" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "content", [b"", b"\n", b"a b", b"a\nb", b"\x1b[31m", "é".encode(), b"x" * 5000]
    )
    def test_what_is_no_token_is_refused(self, content: bytes, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_bytes(content)
        with pytest.raises(Failure) as failed:
            read_token(file)
        assert failed.value.code == ExitCode.USAGE

    @pytest.mark.parametrize("match_id", ["../../etc/passwd", "a/b", "x" * 500, "m-1"])
    def test_a_match_id_names_no_other_place(self, match_id: str, tmp_path: Path) -> None:
        path = token_path(match_id)
        assert path.parent == tmp_path / "state" / "ronda"
        assert len(path.name) < 100


async def process(
    *args: str, typed: bytes | None = b"", interrupt_at: bytes = b""
) -> tuple[int, str, str]:
    """Run a command line beside a scripted server; press Ctrl-C when a text has been told."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ronda_cli",
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
    )
    try:
        if interrupt_at:
            assert child.stdout
            told = b""
            while interrupt_at not in told:
                told += await asyncio.wait_for(child.stdout.readline(), 20)
            os.kill(child.pid, signal.SIGINT)
        out, err = await asyncio.wait_for(child.communicate(typed), 30)
    finally:
        await gone(child)
    assert child.returncode is not None
    return child.returncode, out.decode(), err.decode()


async def gone(child: asyncio.subprocess.Process) -> None:
    """Leave no process behind, whatever became of a test."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it has gone
            child.kill()
        await child.wait()


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
