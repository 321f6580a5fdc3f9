from __future__ import annotations

import asyncio
import re
import stat
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.cli import golden
from tests.cli.conftest import Run
from tests.cli.following import quick
from tests.cli.games import Game
from tests.cli.processes import process
from tests.cli.scripted import DROP, ID, RefusedError, Scripted, Stream, ended, serving

from ronda.v1 import match_service_pb2 as pb
from ronda_bots.greedy import Greedy
from ronda_cli import asking, updates
from ronda_cli.asking import LeftError, PuzzledError
from ronda_cli.channel import keep_token, target
from ronda_cli.client import Client, _update, view_picture
from ronda_cli.follow import Place, insist
from ronda_cli.output import Failure
from ronda_cli.picture import Picture, of_view
from ronda_cli.refusal import Refusal
from ronda_cli.remote import Sitting
from ronda_cli.stage import Screen
from ronda_cli.story import Told
from ronda_cli.typed import Line
from ronda_core import view as views
from ronda_core.cards import parse_cards

CODES = grpc.StatusCode
HAND = parse_cards("7O 7E 12B")


class TestAnswers:
    @pytest.mark.parametrize(
        ("answer", "card"),
        [
            ("1", "7O"),
            ("2", "7E"),
            ("3\n", "12B"),
            ("7O", "7O"),
            ("7e", "7E"),
            (" 12b \n", "12B"),
            ("03", "12B"),
        ],
    )
    def test_a_card_is_named_by_its_number_or_its_text(self, answer: str, card: str) -> None:
        assert str(asking.card_of(answer, HAND)) == card

    @pytest.mark.parametrize(
        "answer",
        ["", "0", "4", "7", "7C", "13O", "seven", "7O 7E", "٣", "²", "9" * 5000, "\x1b[A", "-1"],
    )
    def test_anything_else_is_asked_again_with_what_would_do(self, answer: str) -> None:
        with pytest.raises(PuzzledError) as puzzled:
            asking.card_of(answer, HAND)
        told = str(puzzled.value)
        assert "7O" in told
        assert len(told) < 100
        assert "\x1b" not in told

    def test_enter_plays_the_last_card(self) -> None:
        assert asking.card_of("\n", HAND[:1]) == HAND[0]

    def test_enter_declares_what_is_held_and_n_does_not(self) -> None:
        held = declaring(may=True)
        assert [asking.declares(word, held) for word in ("", "y", "YES\n", "n", "No")] == [
            True,
            True,
            True,
            False,
            False,
        ]
        with pytest.raises(PuzzledError):
            asking.declares("1", held)

    def test_who_holds_nothing_declares_nothing_whatever_is_typed(self) -> None:
        assert not any(asking.declares(word, declaring(may=False)) for word in ("", "y", "7O"))

    def test_every_question_has_room_in_40_cells(self) -> None:
        for picture in (declaring(may=True), declaring(may=False)):
            assert 0 < len(asking.question(picture)) <= 36
        for game in (Game("playtash", 2, seed) for seed in range(20)):
            for steps in range(40):
                game.scene(steps)
                seat = max(game.match.hand.turn, 0) if game.match.hand else 0
                question = asking.question(of_view(views.view(game.match, seat), game.names))
                assert len(question) <= 36


def declaring(may: bool) -> Picture:
    for seed in range(50):
        game = Game("cafe", 2, seed)
        game.scene(1)
        view = views.view(game.match, 0)
        if view.may_declare is may:
            return of_view(view, game.names)
    raise AssertionError


class TestHere:
    def test_a_game_is_played_to_its_end_on_paper(self, run: Run) -> None:
        result = run(
            "play", "--seed", "4", "--bots", "greedy", "--rules", "arabic", typed="1\n" * 18
        )
        assert result.exit_code == 0
        golden.check("play of arabic", result.stdout)
        assert result.stderr.count("q leaves") == 18
        assert re.search(r"wins? the match|without a winner", result.stdout.splitlines()[-1])

    @pytest.mark.parametrize(
        ("args", "seats"),
        [
            (("--rules", "cafe", "--players", "3", "--target", "21"), 3),
            (("--bots", "greedy,random,careful", "--hands", "1"), 4),
            (("--rules", "pagat", "--bots", "greedy", "--players", "4", "--hands", "1"), 4),
        ],
    )
    def test_any_table_can_be_played(self, args: tuple[str, ...], seats: int, run: Run) -> None:
        result = run("play", "--seed", "5", *args, typed="1\n\n" * 400)
        assert result.exit_code == 0
        names = re.findall(r"(\S+(?: #\d)?) (\d+)", result.stdout.rsplit("Score: ", 1)[1])
        assert len(names) >= min(seats, 2)

    def test_the_same_seed_deals_the_same_cards(self, run: Run) -> None:
        args = ("play", "--seed", "9", "--bots", "random")
        once = run(*args, typed="1\n" * 18 + "q\n").stdout
        assert once == run(*args, typed="1\n" * 18 + "q\n").stdout
        assert (
            once != run("play", "--seed", "10", "--bots", "random", typed="1\n" * 18 + "q\n").stdout
        )

    def test_a_wrong_answer_is_asked_again(self, run: Run) -> None:
        result = run("play", "--seed", "4", typed="nonsense\n9\n1\nq\n")
        assert result.exit_code == 0
        assert result.stderr.count("Card (1-3") == 3
        assert "'nonsense' is no card" in result.stderr

    def test_a_set_is_asked_for_only_where_one_is_held(self, run: Run) -> None:
        result = run("play", "--seed", "1", "--rules", "cafe", "--hands", "1", typed="1\n\n" * 60)
        assert result.exit_code == 0
        held = result.stdout.count("You hold a set: ")
        assert 0 < held == result.stderr.count("Declare your set?")

    def test_leaving_costs_the_game_only(self, run: Run) -> None:
        result = run("play", "--seed", "4", typed="1\nq\n")
        assert result.exit_code == 0
        assert "nothing is lost but the game" in result.stderr

    def test_the_end_of_the_input_leaves_and_says_how_to_play_again(self, run: Run) -> None:
        given = ("--bots", "greedy", "--rules", "cafe", "--hands", "1", "--seed", "4")
        result = run("play", *given, typed="1\n")
        assert result.exit_code == 0
        left = "You have left; nothing is lost but the game. Another one: "
        assert result.stderr.splitlines()[-1] == f"{left}ronda play {' '.join(given)}"
        assert "interrupted" not in result.stderr

    def test_a_bot_that_breaks_loses_and_the_person_is_told(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise RuntimeError("boom")

        monkeypatch.setattr(Greedy, "play", broken)
        result = run("play", "--seed", "4", "--bots", "greedy", typed="1\n" * 5)
        assert result.exit_code == 0
        assert "greedy breaks down: the match is forfeited. You win the match." in result.stdout

    def test_a_fault_of_ours_is_not_taken_for_a_play(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(asking, "question", broken)
        result = run("play", "--seed", "4", typed="1\n")
        assert result.exit_code == 2
        assert "ZeroDivisionError" in result.stderr


class Notes:
    """A stage that notes what it is asked to do."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.said: list[str] = []
        self.asked: list[str] = []
        self.shown: list[Picture] = []
        self.waiting = asyncio.Event()
        self.spoken = asyncio.Event()

    def tell(self, told: Told) -> None:
        self.told.append(told.linear)

    def show(self, picture: Picture, bottom: str = "") -> None:
        self.shown.append(picture)

    def ask(self, picture: Picture, question: str) -> None:
        self.asked.append(question)
        self.waiting.set()

    def answered(self) -> None:
        pass  # nothing is shown here

    def say(self, message: str) -> None:
        self.said.append(message)
        self.spoken.set()


def open_to_seat_0(pair: list[pb.WatchMatchResponse]) -> bool:
    if len(pair) < 2:
        return False
    view = pair[1].view
    declares = view.phase == 2 and 0 not in view.answered_seats
    return declares or (view.HasField("turn") and view.turn == 0)


class Table:
    """A scripted server that plays a real game with the person in seat 0."""

    def __init__(self, rules: str = "cafe", seed: int = 4, steps: int = 12) -> None:
        self.stream = Stream(Game(rules, 2, seed, names=("Amine", "Zineb")), seat=0, stop=steps)
        self.decisions = [
            number for number, pair in enumerate(self.stream.pairs, 1) if open_to_seat_0(pair)
        ]
        self.answers: asyncio.Queue[Any] = asyncio.Queue()
        script: list[Any] = [self.stream.first]
        before = 0
        for number in self.decisions[:-1]:
            script += [*self.stream.after(before, number), self.wait]
            before = number
        script += [*self.stream.after(before), ended("match_over", len(self.stream.pairs))]
        self.service = Answering(self, script)

    async def wait(self) -> None:
        await self.answers.get()


class Answering(Scripted):
    def __init__(self, table: Table, *scripts: Any) -> None:
        super().__init__(*scripts)
        self.table = table

    async def PlayCard(self, request: Any, context: Any) -> Any:
        answer = await super().PlayCard(request, context)
        await self.table.answers.put(request)
        return answer

    async def Declare(self, request: Any, context: Any) -> Any:
        answer = await super().Declare(request, context)
        await self.table.answers.put(request)
        return answer


async def sit(
    service: Scripted,
    lines: list[str | None],
    monkeypatch: pytest.MonkeyPatch,
    notes: Notes | None = None,
) -> Notes:
    """Sit at a table and type one line at each question."""
    notes = notes or Notes()

    def read_lines(put: Any, loop: asyncio.AbstractEventLoop) -> None:
        async def typing() -> None:
            for line in lines:
                await notes.waiting.wait()
                notes.waiting.clear()
                await put(Line(line))

        notes.typing = loop.create_task(typing())  # type: ignore[attr-defined] # a stand-in

    monkeypatch.setattr("ronda_cli.remote.read_lines", read_lines)
    async with serving(service) as address:
        client = Client(target(address), "seat-token")
        try:
            sitting = Sitting(client, Place(ID), notes, patience=quick())
            await sitting.sit(await client.find(ID))
        finally:
            await client.close()
            notes.typing.cancel()  # type: ignore[attr-defined] # a stand-in
    return notes


class TestThere:
    async def test_each_decision_is_asked_once_and_sent_with_the_number_it_was_made_on(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = Table()
        lines: list[str | None] = ["1" if n > 0 else "" for n in range(len(table.decisions))]
        notes = await sit(table.service, lines, monkeypatch)
        sent = [*table.service.made(pb.DeclareRequest), *table.service.made(pb.PlayCardRequest)]
        assert len(sent) >= 4
        assert sorted(one.expected_sequence for one in sent) == table.decisions[: len(sent)]
        assert len({one.request_id for one in sent}) == len(sent)
        assert len(notes.asked) == len(table.decisions)

    async def test_a_command_without_an_answer_is_sent_again_as_the_same_command(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = Table("playtash")
        gone = RefusedError(CODES.UNAVAILABLE, "DRAINING")
        table.service.refusals.extend([None, gone, gone])
        notes = await sit(table.service, ["1"] * 9, monkeypatch)
        first, second, third, *_ = table.service.made(pb.PlayCardRequest)
        assert first == second == third
        told = "no answer (the server is shutting down: try again in a moment): trying again"
        assert told in notes.said

    async def test_a_server_that_is_away_is_named_with_what_to_look_at(self) -> None:
        said: list[str] = []
        away = updates.RefusedError(Refusal(CODES.UNAVAILABLE, "", "Connection refused"))
        answers = iter([away, None])

        async def act() -> None:
            if answer := next(answers):
                raise answer

        await insist(act, target("far.example:50051"), said.append, quick())
        (told,) = said
        assert told == (
            "far.example:50051 cannot be reached: trying again; if it stays so,"
            " check --server, and that `ronda serve` runs there"
        )

    @pytest.mark.parametrize("reason", ["CARD_NOT_HELD"])
    async def test_a_card_that_is_refused_is_asked_for_again(
        self, reason: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = Table("playtash")
        table.service.refusals.extend([None, RefusedError(CODES.FAILED_PRECONDITION, reason)])
        notes = await sit(table.service, ["1"] * 9, monkeypatch)
        first, second, *_ = table.service.made(pb.PlayCardRequest)
        assert first.request_id != second.request_id
        assert "you do not hold that card" in notes.said[0]

    async def test_a_state_that_has_moved_on_is_no_end(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stream = Stream(Game("playtash", 2, 4, names=("Amine", "Zineb")), seat=0, stop=12)
        mine = next(n for n, pair in enumerate(stream.pairs, 1) if open_to_seat_0(pair))
        notes = Notes()
        service = Scripted(
            [
                stream.first,
                *stream.after(0, mine),
                notes.spoken.wait,
                *stream.after(mine),
                ended("match_over", 12),
            ]
        )
        service.refusals.extend([None, RefusedError(CODES.ABORTED, "STALE_SEQUENCE")])
        await sit(service, ["1"], monkeypatch, notes)
        assert notes.said == ["something has happened meanwhile: look again"]

    async def test_a_token_that_is_refused_ends_it_with_4(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = Table("playtash")
        table.service.refusals.extend([None, RefusedError(CODES.UNAUTHENTICATED, "BAD_TOKEN")])
        with pytest.raises(Failure, match="token") as failed:
            await sit(table.service, ["1"], monkeypatch)
        assert failed.value.code == 4

    async def test_a_wrong_answer_is_asked_again_and_not_sent(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = Table("playtash")
        notes = await sit(table.service, ["nonsense", "9", *["1"] * 9], monkeypatch)
        assert "is no card" in notes.said[0]
        assert len(notes.asked) == len(table.decisions) + 2

    @pytest.mark.parametrize("line", ["q", None])
    async def test_q_leaves_and_so_does_the_end_of_the_input(
        self, line: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(LeftError):
            await sit(Table("playtash").service, [line], monkeypatch)

    async def test_an_answer_that_comes_too_late_is_an_answer_to_nothing(self) -> None:
        stream = Stream(Game("playtash", 2, 4, names=("Amine", "Zineb")), seat=0, stop=40)
        sent: list[Any] = []

        class Recording:
            async def play(self, *command: Any) -> None:
                sent.append(command)

        notes = Notes()
        sitting = Sitting(Recording(), Place(ID), notes)  # type: ignore[arg-type] # a stand-in
        sitting._sits = True
        sitting.picture = view_picture(stream.first.view)
        mine = next(n for n, pair in enumerate(stream.pairs, 1) if open_to_seat_0(pair))
        for pair in stream.pairs[:mine]:
            await sitting._take(_update(pair[0]))  # type: ignore[arg-type] # a stand-in
        await sitting._take(_update(stream.pairs[mine - 1][1]))  # type: ignore[arg-type] # a stand-in
        assert notes.asked
        for pair in stream.pairs[mine:]:  # somebody else has played for this seat, to the last card
            await sitting._take(_update(pair[0]))  # type: ignore[arg-type] # a stand-in
            sitting._typed.append("1")
            await sitting._read()
            sitting._typed.clear()
        assert (sent, notes.said) == ([], [])

    async def test_a_lost_stream_asks_nothing_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = Stream(Game("playtash", 2, 4, names=("Amine", "Zineb")), seat=0, stop=12)
        mine = next(n for n, pair in enumerate(stream.pairs, 1) if open_to_seat_0(pair))
        service = Scripted(
            [stream.first, *stream.after(0, mine), DROP],
            [stream.pairs[mine - 1][1], *stream.after(mine), ended("match_over", 12)],
        )
        notes = await sit(service, [], monkeypatch)
        asked = [n for n, pair in enumerate(stream.pairs, 1) if open_to_seat_0(pair)]
        assert len(notes.asked) == len(asked)
        assert "connected again" in notes.said


class TestTheCommand:
    async def test_a_match_is_made_joined_and_played_and_the_token_kept(
        self, tmp_path: Path
    ) -> None:
        table = Table("playtash", steps=8)
        async with serving(table.service) as address:
            code, out, err = await process(
                "play", "--server", address, "--bots", "greedy,random", "--rules", "cafe",
                "--target", "25", "--name", "Amine", typed=b"1\n" * 9,
            )  # fmt: skip
        assert code == 0, err
        (created,) = table.service.made(pb.CreateMatchRequest)
        assert (created.rules, created.target, created.length) == ("cafe", 25, 0)
        assert [seat.WhichOneof("kind") for seat in created.seats] == ["open", "bot", "bot"]
        assert [seat.bot for seat in created.seats[1:]] == ["greedy", "random"]
        (joined,) = table.service.made(pb.JoinMatchRequest)
        assert (joined.match_id, joined.name) == (ID, "Amine")
        token = tmp_path / "state" / "ronda" / f"{ID}.token"
        assert token.read_text() == "seat-token\n"
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        assert f"ronda play --server {address} --match {ID}" in err
        assert "seat-token" not in out + err
        assert table.service.watched[0][1] == "Bearer seat-token"

    async def test_a_seat_that_is_kept_is_gone_on_in_without_joining(self, tmp_path: Path) -> None:
        token = tmp_path / "mine.token"
        keep_token(token, "kept-token")
        table = Table("playtash", steps=8)
        async with serving(table.service) as address:
            code, _, _ = await process(
                "play",
                "--server",
                address,
                "--match",
                ID,
                "--token-file",
                str(token),
                typed=b"1\n" * 9,
            )
        assert code == 0
        assert not table.service.made(pb.JoinMatchRequest)
        assert table.service.watched[0][1] == "Bearer kept-token"

    async def test_a_token_file_that_exists_is_never_written_over_by_a_new_match(
        self, tmp_path: Path
    ) -> None:
        token = tmp_path / "mine.token"
        keep_token(token, "kept-token")
        service = Scripted([])
        async with serving(service) as address:
            code, _, err = await process("play", "--server", address, "--token-file", str(token))
        assert code == 2
        assert "may be the key to another seat" in err
        assert service.calls == []
        assert token.read_text() == "kept-token\n"

    async def test_a_full_match_is_refused_with_4(self) -> None:
        service = Scripted([])
        service.refusals.append(RefusedError(CODES.FAILED_PRECONDITION, "MATCH_FULL"))
        async with serving(service) as address:
            code, _, err = await process("play", "--server", address, "--match", ID)
        assert (code, err) == (4, "ronda: no seat is open: watch it, or look for another match\n")

    async def test_leaving_says_how_to_come_back(self) -> None:
        table = Table("playtash")
        async with serving(table.service) as address:
            code, _, err = await process("play", "--server", address, "--match", ID, typed=b"q\n")
        assert code == 0
        assert err.endswith(f"Come back with: ronda play --server {address} --match {ID}\n")

    async def test_the_end_of_the_input_leaves_with_the_way_back(self) -> None:
        table = Table("playtash")
        async with serving(table.service) as address:
            code, _, err = await process("play", "--server", address, "--match", ID, typed=b"")
        assert code == 0
        assert err.endswith(f"Come back with: ronda play --server {address} --match {ID}\n")

    async def test_nobody_there_is_3(self) -> None:
        code, out, err = await process("play", "--server", "127.0.0.1:1")
        assert (code, out) == (3, "")
        assert "127.0.0.1:1 cannot be reached" in err


def test_a_question_is_drawn_around_while_an_answer_is_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    game = Game("playtash", 2)
    scene = game.scene(3, 0)
    screen = Screen()
    screen.ask(scene.picture, "Card? ")
    assert capsys.readouterr().out.endswith("Card? \x1b[K\x1b[J")
    screen.tell(Told(("meanwhile",)))
    screen.show(scene.picture, "waiting")
    drawn = capsys.readouterr().out
    assert "meanwhile" in drawn
    assert "Card?" not in drawn
    assert drawn.startswith("\x1b7")
    assert drawn.endswith("\x1b8")
    screen.answered()
    screen.show(scene.picture, "waiting")
    assert "waiting" in capsys.readouterr().out
