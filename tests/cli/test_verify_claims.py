"""What `ronda verify` claims: each match once, and `committed before` only where a list says so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.cli.conftest import FORGED, RECORDS, ROOT, Run, environment

from ronda.v1 import match_service_pb2 as pb
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_arena.discovery import discover
from ronda_arena.table import Place, play_match
from ronda_core.commitments import NO_HASH, ending_of, entry_hash
from ronda_core.fair import Entry
from ronda_core.match import Outcome
from ronda_core.record import write
from ronda_core.rules import settings

LINES = RECORDS.read_text().splitlines()
ENTRIES = ("number", "scope", "commitment", "ending", "previous_hash", "hash")
Data = dict[str, Any]


def chain(*told: tuple[str, str, str]) -> list[Data]:
    """The entries of a list that tells these scopes, commitments and endings."""
    entries: list[Data] = []
    previous = NO_HASH
    for number, (scope, commitment, ending) in enumerate(told, 1):
        own = entry_hash(number, scope, commitment, ending, previous)
        values = (number, scope, commitment, ending, previous, own)
        entries.append(dict(zip(ENTRIES, values, strict=True)))
        previous = own
    return entries


def promised(*lines: str) -> list[Data]:
    """The list of a server that hosted these matches."""
    told = list(map(json.loads, lines))
    return chain(
        *[(one["id"], one["fair"]["commitment"], "") for one in told],
        *[
            (one["id"], one["fair"]["commitment"], ending_of(Outcome(one["outcome"])))
            for one in told
        ],
    )


def save(file: Path, rows: list[Data] | list[str]) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("".join(f"{line}\n" for line in lines))
    return str(file)


def changed(line: str, **changes: Any) -> str:
    return json.dumps(json.loads(line) | changes)


class TestOnce:
    def test_a_record_three_times_is_proven_once_and_told_twice_with_both_places(
        self, tmp_path: Path, run: Run
    ) -> None:
        file = save(tmp_path / "r.jsonl", [LINES[0], LINES[1], LINES[0], LINES[0]])
        result = run("verify", file)
        assert result.exit_code == 1
        assert result.stderr == "2 proven, 2 refused\n"
        for number, told in zip((3, 4), result.stdout.splitlines(), strict=True):
            assert told.startswith(f"{file}:{number}: m0: id: ")
            assert f"{file}:1:" in told

    def test_another_story_of_the_same_match_is_told_too(self, tmp_path: Path, run: Run) -> None:
        stopped = changed(
            LINES[1],
            hands=[],
            score=[0, 0],
            winner=None,
            outcome="cancelled",
            end="2027-01-01T00:00:00Z",
        )
        file = save(tmp_path / "r.jsonl", [stopped])
        assert run("verify", file).exit_code == 0  # alone it contradicts nothing
        for pair in ((str(RECORDS), file), (file, str(RECORDS))):
            result = run("verify", *pair)
            assert result.exit_code == 1
            assert result.stderr == "60 proven, 1 refused\n"
            assert result.stdout.startswith(f"{pair[1]}:{2 if pair[1] == str(RECORDS) else 1}: m1")
            assert f"{pair[0]}:{1 if pair[0] == file else 2}:" in result.stdout

    def test_stdin_and_a_file_are_one_run(self, run: Run) -> None:
        result = run("verify", str(RECORDS), "-", typed=LINES[7])
        assert (result.exit_code, result.stderr) == (1, "60 proven, 1 refused\n")
        assert result.stdout.startswith("-:1: m7: id: ")

    def test_a_sealed_record_and_the_open_one_are_one_match(self, tmp_path: Path, run: Run) -> None:
        sealed = json.loads(LINES[0])
        sealed["fair"]["master"] = None
        result = run("verify", save(tmp_path / "r.jsonl", [sealed, json.loads(LINES[0])]))
        assert (result.exit_code, result.stderr) == (1, "1 refused, 1 unproven\n")

    def test_what_is_refused_by_itself_does_not_keep_the_true_record_out(
        self, tmp_path: Path, run: Run
    ) -> None:
        file = save(tmp_path / "r.jsonl", [changed(LINES[0], score=[99, 0]), LINES[0]])
        result = run("verify", file, "-o", "jsonl")
        told = [json.loads(line) for line in result.stdout.splitlines()]
        assert [one["verdict"] for one in told] == ["refused", "proven"]
        assert [one["where"] for one in told] == ["score", ""]
        assert result.exit_code == 1

    def test_no_vector_is_there_twice(self, run: Run) -> None:
        assert run("verify", str(RECORDS)).exit_code == 0
        forged = json.loads(run("verify", str(FORGED), "-o", "json").stdout)
        assert not [one for one in forged["problems"] if one["where"] == "id"]

    def test_the_games_of_a_tournament_are_apart_and_none_counts_twice_under_another_id(
        self, tmp_path: Path, run: Run
    ) -> None:
        bots = [discover().find(name) for name in ("greedy", "random")]
        lines = [
            write(
                play_match(
                    f"cup-{block}-{rotation}",
                    settings("arabic", 2),
                    bots[::-1] if rotation else bots,
                    b"m" * 32,
                    now=lambda: "2026-01-01T00:00:00Z",
                    place=Place("cup", block, rotation),
                    entries=[Entry("greedy@1.0.0"), Entry("random@1.0.0")],
                )
            )
            for block in range(3)
            for rotation in range(2)
        ]
        file = save(tmp_path / "r.jsonl", lines)
        assert run("verify", file).stderr == f"{len(lines)} proven\n"
        again = save(tmp_path / "again.jsonl", [changed(lines[3], id="cup-of-tea")])
        assert run("verify", again).exit_code == 0
        result = run("verify", file, again)
        assert result.exit_code == 1
        assert result.stdout.startswith(f"{again}:1: cup-of-tea: rotation: ")
        assert f"{file}:4:" in result.stdout

    def test_both_places_are_data_too(self, tmp_path: Path, run: Run) -> None:
        file = save(tmp_path / "r.jsonl", [LINES[0], LINES[0]])
        data = json.loads(run("verify", file, "-o", "json").stdout)
        (problem,) = data["problems"]
        assert (problem["file"], problem["line"], problem["where"]) == (file, 2, "id")
        assert f"{file}:1" in problem["problem"]
        assert (data["proven"], data["refused"]) == (1, 1)


class TestCommitments:
    def test_records_that_were_promised_are_committed_before(
        self, tmp_path: Path, run: Run
    ) -> None:
        entries = promised(*LINES)
        result = run("verify", str(RECORDS), "--commitments", save(tmp_path / "c", entries))
        assert (result.exit_code, result.stdout) == (0, "")
        first, last = result.stderr.splitlines()
        assert first == f"120 commitments; the hash of the last is {entries[-1]['hash']}"
        assert last == "60 proven and committed before"

    def test_without_a_list_nothing_is_called_committed_before(self, run: Run) -> None:
        for form in ("table", "json", "jsonl"):
            result = run("verify", str(RECORDS), "-o", form)
            assert "before" not in result.stdout + result.stderr

    def test_the_data_say_so_for_each_record_and_in_sum(self, tmp_path: Path, run: Run) -> None:
        entries = promised(*LINES[:3])
        listed = save(tmp_path / "c", entries)
        lines = run("verify", str(RECORDS), "--commitments", listed, "-o", "jsonl").stdout
        told = [json.loads(line) for line in lines.splitlines()]
        assert [one["committed_before"] for one in told] == [True] * 3 + [False] * 57
        assert {one["verdict"] for one in told[3:]} == {"unproven"}
        data = json.loads(run("verify", str(RECORDS), "--commitments", listed, "-o", "json").stdout)
        assert (data["committed_before"], data["commitments"]) == (3, 6)
        assert data["last_hash"] == entries[-1]["hash"]

    @pytest.mark.parametrize(
        ("ending", "changes", "where", "verdict"),
        [
            ("finished", {}, "", "proven"),
            ("", {}, "outcome", "unproven"),
            ("cancelled", {}, "outcome", "refused"),
            ("unused", {}, "outcome", "refused"),
            (
                "finished",
                {"hands": [], "score": [0, 0], "winner": None, "outcome": "cancelled"},
                "outcome",
                "refused",
            ),
        ],
    )
    def test_a_record_agrees_with_the_end_that_the_list_tells(
        self, ending: str, changes: Data, where: str, verdict: str, tmp_path: Path, run: Run
    ) -> None:
        own = json.loads(LINES[1])["fair"]["commitment"]
        told = [("m1", own, "")] + ([("m1", own, ending)] if ending else [])
        listed = save(tmp_path / "c", chain(*told))
        file = save(tmp_path / "r", [changed(LINES[1], **changes)])
        result = run("verify", file, "--commitments", listed, "-o", "jsonl")
        one = json.loads(result.stdout)
        assert (one["where"], one["verdict"]) == (where, verdict)
        assert one["committed_before"] == (verdict == "proven")
        assert result.exit_code == (verdict != "proven")

    def test_a_match_under_another_promise_is_refused(self, tmp_path: Path, run: Run) -> None:
        listed = save(tmp_path / "c", chain(("m0", "a" * 64, ""), ("m0", "a" * 64, "finished")))
        file = save(tmp_path / "r", [LINES[0]])
        result = run("verify", file, "--commitments", listed)
        assert result.exit_code == 1
        assert "m0: fair, commitment: " in result.stdout

    @pytest.mark.parametrize("at", [0, 1, 60, 119])
    @pytest.mark.parametrize("key", ["scope", "commitment", "ending", "previous_hash", "hash"])
    def test_a_broken_list_is_1_with_its_place_and_judges_nothing(
        self, at: int, key: str, tmp_path: Path, run: Run
    ) -> None:
        entries = promised(*LINES)
        entries[at][key] = {"scope": "m-other", "ending": "unused"}.get(key, "7" * 64)
        listed = save(tmp_path / "c", entries)
        result = run("verify", str(RECORDS), "--commitments", listed)
        assert (result.exit_code, result.stdout) == (1, "")
        (line,) = result.stderr.splitlines()
        assert line.startswith(f"ronda: {listed}:{at + 1}: the list is broken: ")

    @pytest.mark.parametrize("at", [0, 1, 60, 118])
    def test_a_list_that_lacks_an_entry_is_broken_where_it_was(
        self, at: int, tmp_path: Path, run: Run
    ) -> None:
        entries = promised(*LINES)
        del entries[at]
        result = run("verify", str(RECORDS), "--commitments", save(tmp_path / "c", entries))
        assert result.exit_code == 1
        assert f":{at + 1}: the list is broken" in result.stderr

    @pytest.mark.parametrize(
        "content",
        [b"", b"\n\n", b"[]", b"not json", b"{}", b"\xff\n", b'{"number": 1}', b" " * 5000],
    )
    def test_a_list_that_cannot_be_read_is_2(
        self, content: bytes, tmp_path: Path, run: Run
    ) -> None:
        (tmp_path / "c").write_bytes(content)
        for path in (tmp_path / "c", tmp_path / "nowhere", tmp_path):
            result = run("verify", str(RECORDS), "--commitments", str(path))
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr.startswith(f"ronda: {path}:")
            assert len(result.stderr.splitlines()) == 1

    def test_a_line_of_a_list_has_a_length_that_fits_into_memory(
        self, tmp_path: Path, run: Run
    ) -> None:
        (entry,) = chain(("m0", "a" * 64, ""))
        listed = save(tmp_path / "c", [entry | {"new": "x" * 5000}])
        result = run("verify", str(RECORDS), "--commitments", listed)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"ronda: {listed}:1: a line of more than 4096 bytes")

    def test_hostile_lists_reach_no_terminal(self, tmp_path: Path, run: Run) -> None:
        (entry,) = chain(("m0", "a" * 64, ""))
        for key in ENTRIES:
            listed = save(tmp_path / "c\x1b[31m", [entry | {key: "\x1b]0;owned\x07\u202e\n"}])
            result = run("verify", str(RECORDS), "--commitments", listed)
            assert result.exit_code == 2
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stderr)


def test_help_promises_no_more_than_is_checked(run: Run) -> None:
    told = " ".join(run("verify", "--help").stdout.split())
    assert "--commitments FILE" in told
    assert "only a list of commitments can tell" in told


def snippet() -> str:
    page = (ROOT / "docs" / "fairness.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return code


@pytest.mark.skipif(sys.platform == "win32", reason="the service is ended by a signal")
async def test_the_list_that_the_documents_save_proves_the_records_of_a_server(
    tmp_path: Path, run: Run
) -> None:
    from tests.cli.test_service import start  # noqa: PLC0415 -- it is not for every system

    assert len([line for line in snippet().splitlines() if line.strip()]) <= 12
    (tmp_path / "save.py").write_text(snippet())
    service = await start(tmp_path / "ronda.db")

    def saved() -> str:
        done = subprocess.run(
            [sys.executable, "save.py", service.address],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout

    try:
        before = saved()
        async with grpc.aio.insecure_channel(service.address) as channel:
            matches = MatchServiceStub(channel)
            lines = [
                await played(matches, "arabic"),
                await played(matches, "cafe"),
                await cancelled(matches),
            ]
        after = saved()
    finally:
        await service.stop()
    assert after.startswith(before)
    listed = save(tmp_path / "commitments.jsonl", after.splitlines())
    file = save(tmp_path / "r.jsonl", lines)
    result = run("verify", file, "--commitments", listed)
    assert result.stdout == ""
    assert result.stderr.endswith("3 proven and committed before\n")
    # And a match of the server's that is shown as cancelled is not.
    hidden = changed(lines[0], hands=[], score=[0, 0], winner=None, outcome="cancelled")
    assert run("verify", save(tmp_path / "h", [hidden])).exit_code == 0
    result = run("verify", str(tmp_path / "h"), "--commitments", listed)
    assert result.exit_code == 1
    assert "outcome: the list of commitments tells another end" in result.stdout


async def played(matches: Any, rules: str) -> str:
    """Let two bots play at the server, and return the record."""
    asked = pb.CreateMatchRequest(
        rules=rules,
        seats=[pb.SeatOffer(bot="greedy"), pb.SeatOffer(bot="random")],
        request_id=str(uuid.uuid4()),
    )
    match_id = (await matches.CreateMatch(asked)).match.id
    async for _ in matches.WatchMatch(pb.WatchMatchRequest(match_id=match_id)):
        pass  # to its end
    return (await matches.GetRecord(pb.GetRecordRequest(match_id=match_id))).record.decode()


async def cancelled(matches: Any) -> str:
    """Make a match, cancel it, and return the record."""
    seats = [pb.SeatOffer(open=pb.OpenSeat()), pb.SeatOffer(open=pb.OpenSeat())]
    made = await matches.CreateMatch(
        pb.CreateMatchRequest(rules="cafe", seats=seats, request_id=str(uuid.uuid4()))
    )
    asked = pb.CancelMatchRequest(match_id=made.match.id, request_id=str(uuid.uuid4()))
    await matches.CancelMatch(asked, metadata=(("authorization", f"Bearer {made.owner_token}"),))
    record = await matches.GetRecord(pb.GetRecordRequest(match_id=made.match.id))
    return record.record.decode()
