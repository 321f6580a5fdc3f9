"""A wheel is refused whole, in words, before anything of it is written."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.arena.home.wheels import BOT, NOW, ask, wheel

from ronda_arena.home import archive as archives
from ronda_arena.home.archive import WheelError
from ronda_arena.home.install import install
from ronda_bots.about import UnfitError

SOURCE = BOT.format(version="1.0")
OWN = {"mine.py": SOURCE}


def link(entry: zipfile.ZipInfo) -> None:
    if entry.filename == "mine.py":
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16


def device(entry: zipfile.ZipInfo) -> None:
    if entry.filename == "mine.py":
        entry.external_attr = (stat.S_IFIFO | 0o644) << 16


def squeezed(entry: zipfile.ZipInfo) -> None:
    entry.compress_type = zipfile.ZIP_BZIP2


def holding(path: str) -> Callable[[Path], Path]:
    return lambda folder: wheel(folder, files={**OWN, path: "x = 1\n"})


def renamed(name: str) -> Callable[[Path], Path]:
    return lambda folder: wheel(folder).rename(folder / name)


def twice(folder: Path) -> Path:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return wheel(folder, after=lambda archive: archive.writestr("mine.py", SOURCE))


def encrypted(folder: Path) -> Path:
    file = wheel(folder)
    raw = bytearray(file.read_bytes())
    start = raw.rindex(b"PK\1\2", 0, raw.rindex(b"PK\1\2"))  # any entry of the directory
    raw[start + 8] |= 1
    file.write_bytes(raw)
    return file


def cut(folder: Path) -> Path:
    file = wheel(folder)
    file.write_bytes(file.read_bytes()[:-40])
    return file


def flipped(folder: Path) -> Path:
    file = wheel(folder, files={"mine.py": bytes(range(256))})
    with zipfile.ZipFile(file) as archive:
        at = archive.getinfo("mine.py").header_offset + 30 + len("mine.py") + 8
    raw = bytearray(file.read_bytes())
    raw[at] ^= 0xFF
    file.write_bytes(raw)
    return file


def understated(folder: Path) -> Path:
    """A file that says to be shorter than it is."""
    file = wheel(folder, files={**OWN, "big.bin": bytes(1 << 20)})
    with zipfile.ZipFile(file) as archive:
        size = archive.getinfo("big.bin").file_size
    raw = file.read_bytes()
    file.write_bytes(raw.replace(size.to_bytes(4, "little"), (512).to_bytes(4, "little")))
    return file


HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a file that Python runs at every start": (holding("evil.pth"), "acted upon at every start"),
    "the same in capitals": (holding("Evil.PTH"), "acted upon at every start"),
    "a link to an egg": (holding("evil.egg-link"), "acted upon at every start"),
    "a start-up module": (holding("sitecustomize.py"), "in the place|take the place"),
    "a script": (holding("mine-1.0.data/scripts/ls"), "another place than its own"),
    "data for elsewhere": (holding("mine-1.0.data/data/etc/passwd"), "another place than its own"),
    "modules by another way": (holding("mine-1.0.data/purelib/x.pth"), "another place"),
    "a module of ronda": (holding("ronda_core/cards.py"), "take the place"),
    "a single module of ronda": (holding("ronda_bots.py"), "take the place"),
    "a compiled module of ronda": (holding("ronda.cpython-311-x.so"), "take the place"),
    "a module of ronda in capitals": (holding("Ronda_Core/cards.py"), "take the place"),
    "a module of Python": (holding("random.py"), "take the place"),
    "a package of Python": (holding("json/__init__.py"), "take the place"),
    "byte code": (holding("mine.pyc"), "byte code"),
    "cached byte code": (holding("__pycache__/mine.txt"), "byte code"),
    "an absolute path": (holding("/etc/cron.d/mine"), "outside of its directory"),
    "a path that climbs": (holding("mine/../../x.py"), "outside of its directory"),
    "a path with a dot": (holding("./mine.txt"), "outside of its directory"),
    "a path with a gap": (holding("mine//x.py"), "outside of its directory"),
    "a path of Windows": (holding("..\\x.py"), "outside of its directory"),
    "a drive": (holding("C:x.py"), "outside of its directory"),
    "a path with a line in it": (holding("mine\n.txt"), "outside of its directory"),
    "a path that turns around": (holding("mine\u202e.txt"), "outside of its directory"),
    "a long path": (holding("x" * 201), "more than 200 bytes"),
    "a link": (lambda folder: wheel(folder, change=link), "a link or a device"),
    "a device": (lambda folder: wheel(folder, change=device), "a link or a device"),
    "another compression": (lambda folder: wheel(folder, change=squeezed), "compressed in another"),
    "an encrypted file": (encrypted, "is encrypted"),
    "a file twice": (twice, "in it twice"),
    "a file twice where case does not count": (holding("MINE.py"), "in it twice"),
    "a file that is a folder": (holding("mine.py/x.txt"), "a file and a folder"),
    "half a file": (cut, "cannot be read"),
    "a damaged file": (flipped, "cannot be unpacked"),
    "a file that is longer than it says": (understated, "cannot be|another size"),
    "no wheel": (renamed("mine.whl"), "not named as a wheel"),
    "another machine's": (lambda folder: wheel(folder, tag="cp311-cp311-win32"), "another Python"),
    "another name outside": (renamed("other-1.0-py3-none-any.whl"), "another name or version"),
    "another version outside": (renamed("mine-2.0-py3-none-any.whl"), "another name or version"),
    "another name inside": (
        lambda folder: wheel(folder, told=("other", "1.0")),
        "another name or version: other 1.0",
    ),
    "another version inside": (
        lambda folder: wheel(folder, told=("mine", "1.1")),
        "another name or version: mine 1.1",
    ),
    "no version inside": (lambda folder: wheel(folder, told=("mine", "new")), "another name or"),
    "two folders of metadata": (holding("other-1.0.dist-info/x"), "not one folder of metadata"),
    "metadata of another": (
        lambda folder: wheel(folder, info="other-1.0.dist-info"),
        "another name or version",
    ),
    "ronda itself": (lambda folder: wheel(folder, "ronda", files={"x.py": ""}), "ronda itself"),
    "a format of the future": (
        lambda folder: wheel(folder, wheel_file="Wheel-Version: 2.0\n"),
        "format is not that",
    ),
    "another Python": (
        lambda folder: wheel(folder, metadata="Requires-Python: <3\n"),
        "it wants Python <3",
    ),
    "a Python that nobody understands": (
        lambda folder: wheel(folder, metadata="Requires-Python: new\n"),
        "Requires-Python cannot be read",
    ),
    "an unlisted file": (lambda folder: wheel(folder, unlisted=["mine.py"]), "not in its RECORD"),
    "a listed file that is not there": (
        lambda folder: wheel(folder, record=lambda text: f"gone.py,sha256={'x' * 43},1\n{text}"),
        "lists gone.py",
    ),
    "another content": (
        lambda folder: wheel(folder, record=lambda text: text.replace("sha256=", "sha256=A", 1)),
        "another content",
    ),
    "another size": (
        lambda folder: wheel(
            folder,
            record=lambda text: text.replace(",", ",", 1).replace(f",{len(SOURCE)}\n", ",1\n"),
        ),
        "another size",
    ),
    "no digest": (
        lambda folder: wheel(folder, record=lambda text: text.replace("sha256=", "", 1)),
        "no digest",
    ),
    "a weak digest": (
        lambda folder: wheel(folder, record=lambda text: text.replace("sha256=", "md5=", 1)),
        "no digest",
    ),
    "an empty digest": (
        lambda folder: wheel(folder, record=lambda text: f"mine.py,sha256=,\n{text}"),
        "no digest|RECORD is none",
    ),
    "a line twice": (lambda folder: wheel(folder, record=lambda text: text * 2), "RECORD is none"),
    "a list that is none": (lambda folder: wheel(folder, record=lambda _: "x\n"), "is none"),
    "no bot": (lambda folder: wheel(folder, bots={}), "no bot is in it"),
    "a bot with a bad name": (
        lambda folder: wheel(folder, bots={"my bot": "mine:Bot"}),
        "a bot's name has",
    ),
    "a bot that is no class": (lambda folder: wheel(folder, bots={"mine": "mine"}), "no module"),
    "a bot of another package": (
        lambda folder: wheel(folder, bots={"mine": "os.path:join"}),
        "no module of it",
    ),
    "a bot of ronda's name": (
        lambda folder: wheel(folder, bots={"greedy": "mine:Bot"}),
        "name of a bot of ronda",
    ),
    "metadata that is no text": (
        lambda folder: wheel(folder, metadata="Summary: x\n", requires=["not & a requirement"]),
        "cannot be read",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_it_is_refused_in_words_and_nothing_is_written(case: str, tmp_path: Path) -> None:
    make, words = HOSTILE[case]
    file = make(tmp_path / "given")
    home = tmp_path / "home"
    with pytest.raises(WheelError, match=words) as refused:
        install(home, [file], ask, now=lambda: NOW, taken=["greedy"])
    assert len(str(refused.value)) < 500
    assert str(refused.value).isprintable()
    assert not home.exists()
    assert {one.name for one in tmp_path.iterdir()} == {"given"}


def test_a_bomb_is_refused_by_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = wheel(tmp_path, files={**OWN, "zeros": bytes(1 << 20)})
    assert file.stat().st_size < 1 << 16
    monkeypatch.setattr(archives, "MOST_BYTES", 1 << 19)
    with pytest.raises(WheelError, match="holds more than"):
        install(tmp_path / "home", [file], ask, now=lambda: NOW)


def test_more_files_than_may_be_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_FILES", 20)
    file = wheel(tmp_path, files={**OWN, **{f"mine{n}.txt": "" for n in range(20)}})
    with pytest.raises(WheelError, match="more than 20 files"):
        install(tmp_path / "home", [file], ask, now=lambda: NOW)


def test_so_is_a_directory_of_more_than_can_be_held(tmp_path: Path) -> None:
    file = wheel(tmp_path)
    entries = archives._ENTRY * (2 * archives.MOST_FILES + 1)
    file.write_bytes(entries + file.read_bytes())
    with pytest.raises(WheelError, match="more than 10000 files"):
        install(tmp_path / "home", [file], ask, now=lambda: NOW)


def test_a_file_that_is_too_large_is_not_even_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 100)
    with pytest.raises(WheelError, match="it has more than"):
        install(tmp_path / "home", [wheel(tmp_path)], ask, now=lambda: NOW)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="No such file"):
        install(tmp_path, [tmp_path / "mine-1.0-py3-none-any.whl"], ask, now=lambda: NOW)


def test_a_bot_that_does_not_say_its_version_leaves_nothing(tmp_path: Path) -> None:
    file = wheel(tmp_path, files={"mine.py": "class Bot: pass\n"})
    with pytest.raises(UnfitError, match="no version"):
        install(tmp_path / "home", [file], ask, now=lambda: NOW)
    assert [one.name for one in (tmp_path / "home").iterdir()] == [".lock"]


def test_weights_in_a_package_may_be_called_as_they_like(tmp_path: Path) -> None:
    files = {"mine/__init__.py": SOURCE, "mine/model.pth": bytes(10), "mine/json.py": ""}
    file = wheel(tmp_path, files=files, bots={"mine": "mine:Bot"})
    done = install(tmp_path / "home", [file], lambda _: ("1.0", ""), now=lambda: NOW)
    assert set(files) <= {path.partition("/")[2] for path in done.installation.note.files}


def test_any_byte_that_is_changed_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    """Every fifth byte of a wheel is turned: it is refused, or what is in it is the same."""
    raw = wheel(tmp_path).read_bytes()
    honest = _unpacked(raw)
    refused = 0
    for at in range(0, len(raw), 5):
        turned = bytearray(raw)
        turned[at] ^= 0x41
        try:
            assert _unpacked(bytes(turned)) == honest
        except WheelError:
            refused += 1
    assert refused > len(raw) // 10


def _unpacked(raw: bytes) -> dict[str, bytes]:
    archive = archives.Archive(raw)
    infos = {path.partition("/")[0] for path in archive.files if ".dist-info/" in path}
    if infos != {"mine-1.0.dist-info"} or "mine-1.0.dist-info/RECORD" not in archive.files:
        raise WheelError("it has no list")
    archive.check_content("mine-1.0.dist-info")
    return {path: b"".join(archive.content(path)) for path in archive.files}
