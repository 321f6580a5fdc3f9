from __future__ import annotations

import json
import re
import socket
import tomllib
from pathlib import Path

import pytest
from tests.cli import golden
from tests.cli.conftest import FORGED, RECORDS, ROOT, Run, ronda

from ronda_arena.isolation import Check, IsolationReport, Level
from ronda_cli import doctor, output
from ronda_cli.output import Progress
from ronda_core.rules import PRESETS

BOXES = re.compile(r"[─-▟▪▸●\u222a†♣]|\x1b")


class TestVerify:
    def test_true_records_are_proven(self, run: Run) -> None:
        result = run("verify", str(RECORDS))
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "60 proven\n")

    def test_stdin_is_a_dash(self, run: Run) -> None:
        result = run("verify", "-", typed=RECORDS.read_bytes())
        assert (result.exit_code, result.stderr) == (0, "60 proven\n")

    def test_every_forgery_is_refused_at_a_place_and_nothing_else(self, run: Run) -> None:
        forged = [json.loads(line) for line in FORGED.read_text().splitlines()]
        result = run("verify", str(FORGED))
        assert result.exit_code == 1
        told = result.stdout.splitlines()
        assert len(told) == len(forged)
        for number, (line, record) in enumerate(zip(told, forged, strict=True), 1):
            assert line.startswith(f"{FORGED}:{number}: {record['id']}: ")
            assert re.search(r": [^:]+: [^:]+", line)

    def test_a_record_without_a_proof_of_its_deals_is_unproven(
        self, tmp_path: Path, run: Run
    ) -> None:
        record = json.loads(RECORDS.read_text().splitlines()[0])
        del record["fair"]
        file = tmp_path / "r.jsonl"
        file.write_text(json.dumps(record) + "\n")
        result = run("verify", str(file))
        assert result.exit_code == 1
        assert "unproven" in result.stdout
        assert result.stderr == "1 unproven\n"

    @pytest.mark.parametrize(
        "content", [b"", b"\n \n", b"{}", b"not json", b'{"format": "other/1"}', b"\xff\xfe"]
    )
    def test_what_cannot_be_read_is_2(self, content: bytes, tmp_path: Path, run: Run) -> None:
        file = tmp_path / "r.jsonl"
        file.write_bytes(content)
        result = run("verify", str(RECORDS), str(file))
        assert result.exit_code == 2
        assert result.stdout == ""
        assert str(file) in result.stderr
        assert result.stderr.endswith("60 proven, 1 unreadable\n")

    def test_a_file_that_is_not_there_is_2_and_the_others_are_judged(self, run: Run) -> None:
        result = run("verify", "/nowhere", str(RECORDS))
        assert result.exit_code == 2
        assert "/nowhere: unreadable: cannot be read" in result.stderr
        assert "60 proven" in result.stderr

    def test_the_verdicts_are_data_too(self, run: Run) -> None:
        data = json.loads(run("verify", str(FORGED), "-o", "json").stdout)
        assert data["records"] == data["refused"] == len(data["problems"])
        lines = run("verify", str(RECORDS), "-o", "jsonl").stdout.splitlines()
        assert [json.loads(line)["verdict"] for line in lines] == ["proven"] * 60

    def test_hostile_ids_and_file_names_reach_no_terminal(self, tmp_path: Path, run: Run) -> None:
        record = json.loads(RECORDS.read_text().splitlines()[0])
        record["id"] = "\x1b]0;owned\x07\u202e\n" + "x" * 10_000
        file = tmp_path / "a\x1b[31mb"
        file.write_text(json.dumps(record) + "\n")
        result = run("verify", str(file))
        assert result.exit_code == 1
        (line,) = result.stdout.splitlines()
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", line)
        assert len(line) < 700
        for form in ("json", "jsonl"):
            told = run("verify", str(file), "-o", form).stdout
            assert told.isascii()
            assert "\x1b" not in told


class TestReplay:
    def test_the_whole_story_is_written_where_nobody_steps(self, run: Run) -> None:
        result = run("replay", str(RECORDS), "--game", "3")
        assert result.exit_code == 0
        golden.check("replay of cafe", result.stdout)
        assert not BOXES.search(result.stdout)

    @pytest.mark.parametrize("game", [1, 6, 8, 9, 13, 26])
    def test_every_kind_of_match_can_be_told_to_its_end(self, game: int, run: Run) -> None:
        record = json.loads(RECORDS.read_text().splitlines()[game - 1])
        told = run("replay", str(RECORDS), "--game", str(game), "--plain").stdout.splitlines()
        assert told[0].startswith(f"Game {game} of 60, {record['id']}: {record['rules']}")
        assert re.search(r"match|wins", told[-1])
        for points in record["score"]:
            assert str(points) in told[-1]

    def test_every_point_of_a_record_is_told_with_its_reason(self, run: Run) -> None:
        for game, line in enumerate(RECORDS.read_text().splitlines()[:12], 1):
            record = json.loads(line)
            told = run("replay", str(RECORDS), "--game", str(game)).stdout
            paid = [int(n) for n in re.findall(r"gets? (\d+) points?:", told)]
            assert sorted(paid) == sorted(p[3] for hand in record["hands"] for p in hand["points"])

    def test_every_play_is_told_by_the_number_that_debug_asks_for(self, run: Run) -> None:
        for game, line in enumerate(RECORDS.read_text().splitlines()[:12], 1):
            record = json.loads(line)
            told = run("replay", str(RECORDS), "--game", str(game)).stdout
            numbered = re.findall(
                r"^Play (\d+): .*? (?:plays|lays) (\d+[OCEB])", told, re.MULTILINE
            )
            assert numbered == [
                (str(number), card)
                for hand in record["hands"]
                for number, card in enumerate(hand["plays"].split(), 1)
            ]

    def test_a_hand_and_a_play_can_be_gone_to(self, run: Run) -> None:
        told = run("replay", str(RECORDS), "--game", "3", "--hand", "2").stdout.splitlines()
        assert told[1].startswith("Hand 2.")
        later = run("replay", str(RECORDS), "--game", "3", "--hand", "2", "--play", "36").stdout
        assert "Hand 2 is over." in later
        assert "Hand 2. " not in later

    @pytest.mark.parametrize("args", [["--hand", "9"], ["--play", "37"], ["--game", "61"]])
    def test_what_is_not_in_the_record_is_2_and_said(self, args: list[str], run: Run) -> None:
        result = run("replay", str(RECORDS), *args)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1

    def test_a_broken_record_is_told_up_to_where_it_breaks(self, tmp_path: Path, run: Run) -> None:
        record = json.loads(RECORDS.read_text().splitlines()[2])
        plays = record["hands"][0]["plays"].split()
        plays[5], plays[20] = plays[20], plays[5]
        record["hands"][0]["plays"] = " ".join(plays)
        file = tmp_path / "r.jsonl"
        file.write_text(json.dumps(record))
        result = run("replay", str(file))
        assert "Here the record breaks: hand 1, play 6" in result.stdout.splitlines()[-1]

    def test_hostile_names_are_told_clean(self, tmp_path: Path, run: Run) -> None:
        record = json.loads(RECORDS.read_text().splitlines()[2])
        record["seats"] = ["\x1b[2Jevil\u202e\n", "x" * 10_000]
        record["id"] = "\x9b31m\nid"
        file = tmp_path / "r.jsonl"
        file.write_text(json.dumps(record))
        told = run("replay", str(file)).stdout
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", told)
        assert max(map(len, told.splitlines())) < 600
        assert "evil lays" in told


class TestMatch:
    ARGS = ("match", "greedy", "careful", "--seed", "7")

    def test_the_result_is_one_object_of_data(self, run: Run) -> None:
        result = run(*self.ARGS, "--games", "20", "-o", "json")
        assert (result.exit_code, result.stderr) == (0, "")
        data = json.loads(result.stdout)
        assert data["games"] == 20
        assert (data["rules"], data["players"], data["target"], data["seed"]) == (
            "playtash",
            2,
            41,
            7,
        )
        assert data["records"] is None
        for seat, other in zip(data["seats"], reversed(data["seats"]), strict=True):
            assert seat["wins"] + seat["draws"] + seat["losses"] == 20
            assert seat["wins"] == other["losses"]
            assert (
                seat["win_share"]["low"] <= seat["win_share"]["value"] <= seat["win_share"]["high"]
            )
            assert seat["margin"]["low"] <= seat["margin"]["mean"] <= seat["margin"]["high"]
            assert seat["faults"] == {}

    def test_a_seed_makes_every_form_the_same_again(self, run: Run) -> None:
        for form in ("table", "json", "jsonl"):
            args = (*self.ARGS, "--games", "5", "-o", form)
            assert run(*args).stdout == run(*args).stdout != ""

    def test_without_a_seed_deals_differ(self, run: Run) -> None:
        args = ("match", "random", "random", "--games", "3", "-o", "jsonl")
        assert run(*args).stdout != run(*args).stdout

    def test_jsonl_is_a_line_a_game(self, run: Run) -> None:
        lines = run(*self.ARGS, "--games", "4", "-o", "jsonl").stdout.splitlines()
        games = [json.loads(line) for line in lines]
        assert [game["id"] for game in games] == ["local-0", "local-1", "local-2", "local-3"]
        assert all(game["outcome"] == "target" and len(game["score"]) == 2 for game in games)

    @pytest.mark.parametrize(
        ("rules", "bots", "extra"),
        [
            ("playtash", 2, ()),
            ("playtash", 4, ("--hands", "2")),
            ("cafe", 2, ("--target", "21")),
            ("cafe", 3, ()),
            ("cafe", 4, ("--hands", "1")),
            ("arabic", 2, ()),
            ("pagat", 3, ("--hands", "3")),
            ("pagat", 4, ("--target", "25")),
        ],
    )
    def test_the_records_that_it_writes_are_proven(
        self, rules: str, bots: int, extra: tuple[str, ...], tmp_path: Path, run: Run
    ) -> None:
        file = tmp_path / "records.jsonl"
        names = ["greedy", "random", "careful", "greedy"][:bots]
        args = ("--rules", rules, *extra, "--games", "3", "--records", str(file))
        result = run("match", *names, *args, "-o", "json")
        assert result.exit_code == 0
        assert json.loads(result.stdout)["records"] == str(file)
        assert len(file.read_text().splitlines()) == 3
        assert run("verify", str(file)).exit_code == 0

    @pytest.mark.parametrize("width", [40, 60, 80, 120])
    def test_the_table_looks_as_it_was_approved(self, width: int, run: Run) -> None:
        args = ("match", "greedy", "careful", "random", "--rules", "cafe", "--seed", "3")
        result = run(*args, "--games", "12", COLUMNS=str(width))
        golden.check(f"match {width}", result.stdout)
        assert max(map(len, result.stdout.splitlines())) <= width

    def test_one_game_is_told_as_a_sentence(self, run: Run) -> None:
        told = run(*self.ARGS).stdout
        assert re.search(
            r"^(greedy|careful) wins the match\. Score: greedy \d+, careful \d+\.$",
            told,
            re.MULTILINE,
        )

    @pytest.mark.parametrize("isolation", ["process", "sandbox"])
    def test_an_isolation_that_is_asked_for_is_told_for_every_seat(
        self, isolation: str, run: Run
    ) -> None:
        result = run(*self.ARGS, "--isolation", isolation, "-o", "json")
        assert (result.exit_code, result.stderr) == (0, "")
        seats = json.loads(result.stdout)["seats"]
        assert [seat["isolation"] for seat in seats] == [isolation] * 2

    def test_where_a_machine_enforces_less_it_is_refused_with_4_or_told(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        report = IsolationReport(Level.PROCESS, (), 0, "the kernel has no Landlock")
        monkeypatch.setattr("ronda_arena.seating.probe", lambda nursery: report)
        result = run(*self.ARGS, "--isolation", "sandbox")
        assert (result.exit_code, result.stdout) == (4, "")
        assert "no Landlock; give --isolation process" in result.stderr
        result = run(*self.ARGS, "--clock", "1", "-o", "json")
        assert result.exit_code == 0
        assert "which is less than sandbox: the kernel has no Landlock" in result.stderr

    def test_a_clock_takes_every_bot_out_of_this_process(self, run: Run) -> None:
        data = json.loads(run(*self.ARGS, "--clock", "1+5", "-o", "json").stdout)
        assert data["clock"] == {"per_decision": 1.0, "bank": 5.0}
        assert {seat["isolation"] for seat in data["seats"]} == {"sandbox"}

    def test_a_file_that_cannot_be_written_is_2_before_anything_is_played(self, run: Run) -> None:
        result = run(*self.ARGS, "--records", "/nowhere/r.jsonl")
        assert result.exit_code == 2
        assert "/nowhere/r.jsonl cannot be written" in result.stderr

    def test_ctrl_c_keeps_the_games_that_were_played(
        self, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def step(_: Progress, done: int) -> None:
            if done == 3:
                raise KeyboardInterrupt

        file = tmp_path / "r.jsonl"
        with monkeypatch.context() as patched:
            patched.setattr(Progress, "step", step)
            result = run(*self.ARGS, "--games", "50", "--records", str(file))
        assert (result.exit_code, result.stdout) == (130, "")
        assert f"3 of 50 games were played; the records of these are in {file}" in result.stderr
        assert len(file.read_text().splitlines()) == 3
        assert run("verify", str(file)).exit_code == 0


class TestRules:
    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_the_game_is_explained_as_it_was_approved(self, width: int, run: Run) -> None:
        result = run("rules", COLUMNS=str(width))
        golden.check(f"rules {width}", result.stdout)
        assert max(map(len, result.stdout.splitlines())) <= width

    @pytest.mark.parametrize("preset", PRESETS)
    def test_a_preset_is_data(self, preset: str, run: Run) -> None:
        data = json.loads(run("rules", preset, "-o", "json").stdout)
        assert data["name"] == preset
        assert tuple(data["targets"]) == PRESETS[preset].targets

    def test_all_presets_are_data(self, run: Run) -> None:
        data = json.loads(run("rules", "-o", "json").stdout)
        assert [preset["name"] for preset in data["presets"]] == list(PRESETS)


class TestBots:
    def test_the_bots_of_ronda_are_there(self, run: Run) -> None:
        data = json.loads(run("bots", "list", "-o", "json").stdout)
        assert {"greedy", "random"} <= {bot["name"] for bot in data["bots"]}
        lines = run("bots", "list", "-o", "jsonl").stdout.splitlines()
        assert [json.loads(line) for line in lines] == data["bots"]
        assert "greedy@" in run("bots", "list").stdout

    def test_a_broken_plugin_is_named_with_its_package_and_stops_nothing(
        self, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        info = tmp_path / "evil-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil-package\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[ronda.bots]\nevil = evil_bot:Evil\n")
        (tmp_path / "evil_bot.py").write_text(
            "raise RuntimeError('\\x1b[31mboom\\n' + 'x' * 5000)\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        result = run("bots", "list")
        assert result.exit_code == 0
        assert "greedy@" in result.stdout
        (line,) = result.stderr.splitlines()
        assert line.startswith("cannot play: evil of evil-package: ")
        assert "\x1b" not in line


class TestDoctor:
    def test_a_healthy_machine_is_0_and_every_line_has_a_level(
        self, tmp_path: Path, run: Run
    ) -> None:
        result = run("doctor", "--database", str(tmp_path / "x.db"))
        assert result.exit_code == 0
        assert all(re.match(r"(ok|warn)  +\S", line) for line in result.stdout.splitlines())
        assert "python 3." in result.stdout
        assert "grpc" in result.stdout
        assert not (tmp_path / "x.db").exists()

    def test_a_place_without_room_for_a_database_fails_with_what_to_do(self, run: Run) -> None:
        result = run("doctor", "--database", "/proc/nowhere/x.db", "-o", "json")
        assert result.exit_code == 1
        data = json.loads(result.stdout)
        assert data["healthy"] is False
        (failed,) = [one for one in data["findings"] if one["level"] == "fail"]
        assert "--database" in failed["advice"]

    def test_a_port_in_use_is_a_warning(
        self, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            monkeypatch.setattr(doctor, "_PORTS", {port: "--listen"})
            result = run("doctor", "--database", str(tmp_path / "x.db"))
        assert result.exit_code == 0
        assert re.search(
            rf"^warn +port {port} is in use: .*--listen 127.0.0.1:0$", result.stdout, re.MULTILINE
        )

    def test_a_wrong_configuration_is_found_and_not_stumbled_over(
        self, tmp_path: Path, run: Run
    ) -> None:
        file = tmp_path / "c.toml"
        file.write_text("nonsense")
        result = run("doctor", "--database", str(tmp_path / "x.db"), RONDA_CONFIG=str(file))
        assert result.exit_code == 1
        assert re.search(r"^fail +the configuration file: ", result.stdout, re.MULTILINE)

    def test_an_old_package_fails(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor, "_NEEDED", (("click", "999.0"), ("no-such-package", "1")))
        result = run("doctor", "-o", "jsonl")
        levels = [json.loads(line)["level"] for line in result.stdout.splitlines()]
        assert levels.count("fail") == 2
        assert result.exit_code == 1

    def test_it_tells_what_is_enforced_here_canary_by_canary(
        self, tmp_path: Path, run: Run
    ) -> None:
        told = run("doctor", "--database", str(tmp_path / "x.db")).stdout
        assert re.search(
            r"^ok +isolation: sandbox \(Landlock \d+, (\d+) of \1 canaries held\)$",
            told,
            re.MULTILINE,
        )
        for canary in ("fork", "write a file", "read password file", "make a stream socket"):
            assert re.search(rf"^ok +isolation: cannot {canary}: ", told, re.MULTILINE)

    @pytest.mark.parametrize(
        ("report", "words"),
        [
            (
                IsolationReport(Level.PROCESS, (), 5, "the library libseccomp is not installed"),
                "apt install libseccomp2",
            ),
            (IsolationReport(Level.PROCESS, (), 0, "the kernel has no Landlock"), "Linux 5.13"),
            (
                IsolationReport(Level.PROCESS, (Check("fork", False),), 5, "a worker could fork"),
                "a sandboxed bot could fork",
            ),
        ],
    )
    def test_a_machine_that_isolates_less_is_warned_of_with_what_to_do(
        self,
        report: IsolationReport,
        words: str,
        tmp_path: Path,
        run: Run,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("ronda_arena.seating.probe", lambda nursery: report)
        result = run("doctor", "--database", str(tmp_path / "x.db"))
        assert result.exit_code == 0
        warned = [one for one in result.stdout.splitlines() if one.startswith("warn  isolation")]
        assert warned[0].startswith("warn  isolation: process (")
        assert report.problem in warned[0]
        assert words in " ".join(warned)

    def test_it_looks_for_what_the_package_needs(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        needed = {
            tuple(re.match(r"([\w-]+)>=([\d.]+)", line).groups())
            for line in project["dependencies"]
        }  # type: ignore[union-attr] # it is there
        assert {*doctor._NEEDED, *doctor._NEEDED_ON_LINUX} == needed


class TestDatabase:
    def test_an_upgrade_tells_the_revision(self, tmp_path: Path, run: Run) -> None:
        file = tmp_path / "x.db"
        first = run("db", "upgrade", "--database", str(file))
        assert first.exit_code == 0
        assert file.exists()
        assert run("db", "upgrade", RONDA_DATABASE=str(file)).stdout == first.stdout

    def test_a_place_that_is_not_there_is_3(self, run: Run) -> None:
        result = run("db", "upgrade", "--database", "/nowhere/x.db")
        assert (result.exit_code, result.stdout) == (3, "")
        assert len(result.stderr.splitlines()) == 1


class TestStreams:
    def test_ascii_is_enough_for_everything(self, tmp_path: Path) -> None:
        record = json.loads(RECORDS.read_text().splitlines()[2])
        record["seats"] = ["أمين", "漢字"]
        file = tmp_path / "r.jsonl"
        file.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
        env = {"PYTHONIOENCODING": "ascii"}
        for args in (["replay", str(file)], ["rules"], ["bots", "list"], ["doctor"]):
            done = ronda(*args, env=env)
            assert done.returncode == 0
            assert done.stdout.isascii()
            assert done.stdout

    def test_an_ascii_table_has_ascii_signs(self) -> None:
        args = ("match", "greedy", "random", "--seed", "1", "--games", "9")
        done = ronda(*args, env={"PYTHONIOENCODING": "ascii"})
        assert b"+-" in done.stdout
        assert b"?" not in done.stdout

    def test_plain_has_no_boxes_in_any_command(self, run: Run) -> None:
        for args in (
            ["match", "greedy", "random", "--seed", "1", "--games", "3"],
            ["replay", str(RECORDS)],
            ["rules"],
            ["bots", "list"],
        ):
            for told in (run(*args, "--plain"), run("--plain", *args), run(*args, ACCESSIBLE="1")):
                assert told.exit_code == 0
                assert not BOXES.search(told.stdout)

    def test_progress_is_a_line_every_ten_seconds_where_nobody_looks(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        now = iter([0.0, 1.0, 9.9, 10.0, 15.0, 20.1])
        progress = Progress("games", 100, clock=lambda: next(now))
        for done in (1, 2, 3, 4, 5):
            progress.step(done)
        progress.close()
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == "3 of 100 games\n5 of 100 games\n"

    def test_progress_is_rewritten_and_taken_away_on_a_terminal(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        now = iter([0.0, 0.05, 0.2, 0.4])
        progress = Progress("games", 9, rewrite=True, clock=lambda: next(now))
        for done in (1, 2, 3):
            progress.step(done)
        progress.close()
        told = capsys.readouterr().err
        assert told == "\r2 of 9 games\r3 of 9 games\r            \r"

    def test_a_command_to_copy_is_quoted_for_a_shell(self) -> None:
        assert output.command("ronda", "watch", "a b;c") == "ronda watch 'a b;c'"
