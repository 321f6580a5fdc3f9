"""Following a match: what comes of a stream that breaks, lags or never ends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from tests.cli.following import CODES, game, quick
from tests.cli.scripted import (
    DROP,
    HANG,
    ID,
    RefusedError,
    Scripted,
    Stream,
    ended,
    serving,
    unknown,
    view_message,
)

from ronda_cli.channel import target
from ronda_cli.client import Client, view_picture
from ronda_cli.follow import Patience, Place, follow
from ronda_cli.output import ExitCode, Failure
from ronda_cli.remote import Sitting
from ronda_cli.stage import Paper
from ronda_cli.updates import Happened, Quiet, Seen, Update


class Told(list[str]):
    def __call__(self, remark: str) -> None:
        self.append(remark)


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
            async for _ in follow(client, Place(ID), Told(), quick(quiet=60.0)):  # type: ignore[arg-type] # a stand-in
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
        sitting = Sitting(client, Place(ID), Paper(), patience=quick(quiet=60.0))  # type: ignore[arg-type] # a stand-in
        watching = asyncio.create_task(sitting.watch(view_picture(view_message(game(), 0))))
        for _ in range(turn):
            await asyncio.sleep(0)  # a turn of the loop
        watching.cancel()
        done, _ = await asyncio.wait([watching], timeout=5)
        assert done
        assert watching.cancelled()
