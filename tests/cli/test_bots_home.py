"""`ronda bots install` and what follows, as whoever runs a server sees them."""

from __future__ import annotations

import json
import shlex
import zipfile
from pathlib import Path

import pytest
from tests.arena.home.wheels import BOT, wheel
from tests.cli.conftest import Run, ronda

from ronda_arena import starter
from ronda_arena.home.shelf import home, installations


@pytest.fixture
def two(tmp_path: Path, run: Run) -> Path:
    """Two versions of a bot, kept where nothing else is said."""
    for version in ("1.0", "2.0"):
        done = run("bots", "install", str(wheel(tmp_path / "given", version=version)))
        assert (done.exit_code, done.stdout) == (0, f"mine@{version}\n")
    assert home() == tmp_path / "data/ronda/bots"
    return home()


def places(kept: Path) -> list[str]:
    return [one.place.name for one in installations(kept)[0]]


def test_what_is_installed_is_told_and_told_again(tmp_path: Path, run: Run) -> None:
    file = str(wheel(tmp_path))
    first, again = run("bots", "install", file), run("bots", "install", file)
    (place,) = places(home())
    assert first.stdout == again.stdout == "mine@1.0\n"
    assert first.stderr == f"installed in {home() / place}\n"
    assert again.stderr == f"installed already in {home() / place}\n"


def test_bots_are_listed_with_where_they_come_from_and_whether_they_may_play(
    two: Path, run: Run
) -> None:
    run("bots", "disable", "mine@1.0")
    listed = run("bots", "list", "-o", "json")
    bots = {f"{one['name']}@{one['version']}": one for one in json.loads(listed.stdout)["bots"]}
    assert (bots["greedy@1.0.0"]["origin"], bots["greedy@1.0.0"]["state"]) == ("ronda", "enabled")
    told = {name: (bots[name]["origin"], bots[name]["state"]) for name in ("mine@1.0", "mine@2.0")}
    old, new = places(two)
    assert told == {"mine@1.0": (old, "disabled"), "mine@2.0": (new, "enabled")}
    assert "mine@1.0 is disabled: `ronda bots enable mine@1.0` lets it play" in listed.stderr
    table = run("bots", "list", "--plain").stdout.splitlines()
    assert [line.split()[:3] for line in table if line.startswith("mine")] == [
        ["mine@1.0", old, "disabled"],
        ["mine@2.0", new, bots["mine@2.0"]["isolation"]],
    ]


def test_two_versions_play_one_match(two: Path, run: Run) -> None:
    done = run("match", "mine@1.0", "mine", "--hands", "1", "-o", "jsonl")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["seats"] == ["mine@1.0", "mine@2.0"]


def test_what_may_not_play_is_refused_with_what_lets_it(two: Path, run: Run) -> None:
    assert run("bots", "disable", "mine@2.0").stderr == "mine@2.0 is disabled\n"
    assert json.loads(run("match", "mine", "greedy", "--hands", "1", "-o", "jsonl").stdout)[
        "seats"
    ] == ["mine@1.0", "greedy@1.0.0"]
    refused = run("match", "mine@2.0", "greedy")
    assert refused.exit_code == 2
    assert "`ronda bots enable mine@2.0` lets it play" in refused.stderr
    assert run("bots", "enable", "mine@2.0").stderr == "mine@2.0 is enabled\n"
    put = run("bots", "quarantine", "mine@2.0", "--reason", "5 crashes\nand more")
    assert put.stderr == "mine@2.0 is in quarantine\n"
    refused = run("match", "mine@2.0", "greedy")
    assert "5 crashes and more; `ronda bots quarantine --release mine@2.0`" in refused.stderr
    assert "in quarantine since" in run("bots", "enable", "mine@2.0").stderr
    assert run("bots", "quarantine", "--release", "mine@2.0").stderr == "mine@2.0 is released\n"
    assert run("match", "mine@2.0", "greedy", "--hands", "1").exit_code == 0


def test_a_name_that_could_be_two_is_asked_about(two: Path, run: Run) -> None:
    for command in ("disable", "enable", "quarantine", "uninstall"):
        asked = run("bots", command, "mine")
        assert (asked.exit_code, asked.stderr) == (
            2,
            "ronda: which of them: mine@1.0 or mine@2.0?\n",
        )
        unknown = run("bots", command, "nobody")
        assert unknown.exit_code == 2
        assert "no bot 'nobody' is kept in" in unknown.stderr


def test_a_bot_goes_by_its_identity_or_its_directory(two: Path, run: Run) -> None:
    old, new = places(two)
    gone = run("bots", "uninstall", "mine@1.0")
    assert (gone.exit_code, gone.stdout) == (0, "mine@1.0\n")
    assert places(two) == [new]
    (two / "broken").mkdir()
    assert run("bots", "uninstall", "broken").exit_code == 0
    assert run("bots", "uninstall", new).stdout == "mine@2.0\n"
    assert places(two) == []
    assert old not in [one.name for one in two.iterdir()]


def test_bots_are_kept_where_is_said(tmp_path: Path, run: Run) -> None:
    there = str(tmp_path / "there")
    assert run("bots", "install", str(wheel(tmp_path)), "--bots-dir", there).exit_code == 0
    assert places(tmp_path / "there")
    assert not (tmp_path / "data").exists()
    assert "mine@1.0" not in run("bots", "list").stdout
    assert "mine@1.0" in run("bots", "list", RONDA_BOTS_DIR=there).stdout
    match = ("match", "mine", "greedy", "--hands", "1")
    assert run(*match).exit_code == 2
    assert run(*match, "--bots-dir", there).exit_code == 0
    config = tmp_path / "config/ronda/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"bots_dir = {json.dumps(there)}\n")
    assert run(*match).exit_code == 0
    checked = run("bots", "check", "mine", "--seconds", "0.1", "--bots-dir", there)
    assert checked.stdout.startswith("mine@1.0: play\n")
    assert "mine@1.0" in run("doctor", "--bots-dir", there).stdout


def test_what_is_wrong_is_told_with_where_bots_are_kept(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = BOT.format(version="1.0").replace("return view.hand[0]", "raise KeyError")
    file = wheel(tmp_path, files={"mine.py": source})
    kept = ("--bots-dir", str(tmp_path / "there"))
    assert run("bots", "install", str(file), *kept).exit_code == 0
    checked = run("bots", "check", "mine", "--seconds", "1", *kept)
    assert checked.exit_code == 1
    told = checked.stdout.splitlines()
    first, then = (shlex.split(line) for line in told if line.lstrip().startswith("ronda "))
    assert run(*first[1:]).exit_code == 0
    assert "KeyError" in run(*then[1:]).stdout


def test_it_can_be_asked_again_what_it_decided(two: Path, run: Run, tmp_path: Path) -> None:
    record = str(tmp_path / "one.jsonl")
    run("match", "mine@1.0", "greedy", "--hands", "1", "--records", record)
    asked = run("bots", "debug", record, "--hand", "1", "--seat", "0", "-o", "json")
    data = json.loads(asked.stdout)
    assert (data["bot"], data["now"][0]["choice"]) == ("mine@1.0", data["then"])


def test_it_is_not_run_in_this_process(two: Path, run: Run) -> None:
    refused = run("match", "mine", "greedy", "--isolation", "trusted")
    assert (refused.exit_code, refused.stderr) == (
        4,
        "ronda: mine@2.0 is installed apart from ronda: it runs in a process of its own\n",
    )


def test_a_changed_file_is_told_and_the_bot_left_out(two: Path, run: Run) -> None:
    file = two / places(two)[1] / "bot/mine.py"
    file.chmod(0o644)
    file.write_text(BOT.format(version="2.0") + "# more\n")
    listed = run("bots", "list")
    assert "mine@2.0" not in listed.stdout
    assert "cannot play: mine of" in listed.stderr
    assert "bot/mine.py has changed since it was installed" in listed.stderr


def test_what_python_would_run_by_itself_is_refused_and_never_runs(
    tmp_path: Path, run: Run
) -> None:
    marker = tmp_path / "ran"
    evil = f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n"
    file = wheel(
        tmp_path, files={"mine.py": BOT.format(version="1.0"), "evil.pth": evil, "setup.py": evil}
    )
    refused = run("bots", "install", str(file))
    assert refused.exit_code == 4
    assert "mine-1.0-py3-none-any.whl is not installed: evil.pth would be acted upon" in (
        refused.stderr
    )
    assert not home().exists()
    run("bots", "install", str(wheel(tmp_path)))
    folder = home() / places(home())[0] / "bot"
    folder.chmod(0o755)
    (folder / "evil.pth").write_text(evil)  # by somebody else, later
    listed = ronda("bots", "list")
    assert b"evil.pth was not installed with it" in listed.stderr
    assert not marker.exists()


def test_a_wheel_that_needs_more_says_what(tmp_path: Path, run: Run) -> None:
    refused = run("bots", "install", str(wheel(tmp_path, requires=["near>=1", "far"])))
    assert refused.exit_code == 4
    assert refused.stderr == (
        "ronda: mine-1.0-py3-none-any.whl requires near>=1, far:"
        " give the wheels of these too, after it\n"
    )
    near = wheel(tmp_path, "near", bots={}, files={"near.py": ""})
    far = wheel(tmp_path, "far", bots={}, files={"far.py": ""})
    mine = wheel(tmp_path, requires=["near>=1", "far"])
    assert run("bots", "install", str(mine), str(near), str(far)).exit_code == 0


def test_a_bot_that_breaks_when_it_is_imported_is_not_installed(tmp_path: Path, run: Run) -> None:
    refused = run("bots", "install", str(wheel(tmp_path, files={"mine.py": "x = 1 / 0\n"})))
    assert refused.exit_code == 4
    assert "mine:Bot cannot be imported: ZeroDivisionError: division by zero" in refused.stderr
    assert places(home()) == []


def test_it_is_not_offered_to_another_server_from_here(two: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("rnd_k_x")
    (tmp_path / "key").chmod(0o600)
    args = ("--server", "127.0.0.1:1", "--key-file", str(tmp_path / "key"))
    refused = run("bots", "serve", "mine", *args)
    assert refused.exit_code == 2
    assert "mine@2.0 is installed apart from ronda" in refused.stderr


def test_the_package_that_bots_new_makes_is_installed_as_a_wheel(tmp_path: Path, run: Run) -> None:
    build = pytest.importorskip("hatchling.builders.wheel")
    starter.make("mybot", tmp_path / "mybot")
    (made,) = build.WheelBuilder(str(tmp_path / "mybot")).build(directory=str(tmp_path))
    with zipfile.ZipFile(made) as archive:
        assert "ronda_bot_mybot/__init__.py" in archive.namelist()
    assert run("bots", "install", made).stdout == "mybot@0.1.0\n"
    assert run("match", "mybot", "greedy", "--hands", "1").exit_code == 0


def test_a_server_is_not_asked_for_the_bots_of_a_directory_here(run: Run, tmp_path: Path) -> None:
    refused = run("bots", "list", "--server", "127.0.0.1:1", "--bots-dir", str(tmp_path))
    assert refused.exit_code == 2
    assert "--bots-dir is for the bots of this machine" in refused.stderr


def test_a_start_that_is_refused_leaves_nothing_that_refuses_the_right_command(
    two: Path, run: Run, tmp_path: Path
) -> None:
    here = "--executor=in-process"
    begun = ("tournament", "run", "--bots=mine,greedy", "--rules=arabic", "--blocks=1", "--seed=5")
    refused = run(*begun, here, f"--out={tmp_path / 't'}", "--isolation=trusted")
    assert refused.exit_code == 4
    assert "runs in a process of its own" in refused.stderr
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["lock"]
    right = run(*begun, here, f"--out={tmp_path / 't'}", "-o", "json")
    assert right.exit_code == 0, right.stderr
    ladder = ("ladder", "run", "--bots=mine,greedy", "--anchors=", "--rules=arabic", "--games=2")
    refused = run(*ladder, here, f"--dir={tmp_path / 'l'}", "--isolation=trusted")
    assert refused.exit_code == 4
    assert run(*ladder, here, f"--dir={tmp_path / 'l'}").exit_code == 0
