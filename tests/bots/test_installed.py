"""Metadata tells what a bot is made of: what it may read, and whether that has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bots.plugins import bot_module, importable, install, install_built_in, known

from ronda_arena.customs import is_quick
from ronda_bots.installed import Plugin, installed
from ronda_bots.registry import BotInfo


def only(folder: Path, name: str = "mine") -> Plugin:
    plugins, broken = installed([str(folder)])
    assert not broken
    return next(plugin for plugin in plugins if plugin.name == name)


def library(folder: Path, name: str, requires: tuple[str, ...] = ()) -> None:
    """Install a package without bots."""
    install(folder, name, {}, modules={name.replace("-", "_"): "x = 1"}, requires=requires)
    record(folder, name)


def record(folder: Path, name: str, *more: str) -> None:
    """Write the list of files that an installer leaves."""
    module = name.replace("-", "_")
    info = next(folder.glob(f"{module}-*.dist-info"))
    files = [f"{info.name}/METADATA", f"{info.name}/entry_points.txt", f"{module}.py", *more]
    files.append(f"{info.name}/RECORD")
    (info / "RECORD").write_text("".join(f"{file},{known(folder / file)},\n" for file in files))


def bot(folder: Path, name: str = "mine", requires: tuple[str, ...] = ()) -> None:
    module = name.replace("-", "_")
    install(
        folder,
        name,
        {name: f"{module}:Bot"},
        modules={module: bot_module("1")},
        requires=requires,
    )
    record(folder, name)


def names(plugin: Plugin) -> set[str]:
    return {Path(path).name for path in plugin.origin.reads if not path.endswith(".dist-info")}


def test_a_bot_may_read_its_own_files_and_those_of_what_it_requires(tmp_path: Path) -> None:
    bot(tmp_path, requires=("near>=1; python_version > '3'", "absent"))
    library(tmp_path, "near", ("far[more]",))
    library(tmp_path, "far", ("deep; extra == 'more'", "unasked; extra == 'other'"))
    library(tmp_path, "deep", ("near",))
    for name in ("unasked", "unrelated"):
        library(tmp_path, name)
    plugin = only(tmp_path)
    assert names(plugin) == {"mine.py", "near.py", "far.py", "deep.py"}
    assert plugin.origin.listed == (str(tmp_path),)


def test_requiring_ronda_brings_what_its_extra_needs_and_nothing_of_a_server(
    tmp_path: Path,
) -> None:
    bot(tmp_path, requires=("ronda[gym]",))
    library(tmp_path, "ronda", ("server-thing", "learning; extra == 'gym'"))
    for name in ("server-thing", "learning"):
        library(tmp_path, name)
    assert names(only(tmp_path)) == {"mine.py", "learning.py"}


@pytest.mark.parametrize("way", ["rival", "through"])
def test_a_rivals_code_is_not_to_be_read_by_requiring_it(tmp_path: Path, way: str) -> None:
    bot(tmp_path, requires=(way,))
    library(tmp_path, "through", ("rival",))
    bot(tmp_path, "rival")
    assert "rival.py" not in names(only(tmp_path))


def test_a_bot_that_does_not_say_what_it_brought_may_read_its_own_module(tmp_path: Path) -> None:
    install(tmp_path, "mine", {"mine": "mine:Bot"}, modules={"mine": bot_module("1")})
    plugin = only(tmp_path)
    assert names(plugin) == {"mine.py"}
    assert plugin.digest == ""


def test_files_outside_of_its_folder_are_none_of_a_distributions_own(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    bot(inside)
    (tmp_path / "secret.key").write_text("k")
    record(inside, "mine", "../secret.key", "/etc/passwd", "mine/../../secret.key")
    assert names(only(inside)) == {"mine.py"}


def test_of_a_folder_that_others_share_a_bot_has_its_own_files_only(tmp_path: Path) -> None:
    bot(tmp_path)
    bot(tmp_path, "rival")
    (tmp_path / "rivals").mkdir()
    for name in ("code.py", "mine.py"):
        (tmp_path / "rivals" / name).write_text(f"x = '{name}'")
    record(tmp_path, "rival", "rivals/code.py")
    record(tmp_path, "mine", "rivals/mine.py")
    assert {path for path in only(tmp_path).origin.reads if "rivals" in path} == {
        str(tmp_path / "rivals/mine.py")
    }


def test_an_editable_bot_may_read_where_its_code_is_and_is_asked_anew_each_time(
    tmp_path: Path,
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    site = tmp_path / "site"
    install(site, "mine", {"mine": "mine:Bot"})
    (site / "_mine.pth").write_text(f"{code}\nimport os\n/nowhere/at/all\n")
    record(site, "mine", "_mine.pth")
    assert only(site).origin.path == (str(site),), "no package leads elsewhere by itself"
    (next(site.glob("*.dist-info")) / "direct_url.json").write_text(
        '{"url": "file:///x", "dir_info": {"editable": true}}'
    )
    assert only(site).origin.path == (str(site),), "nor one that is not installed here"
    with importable(site):
        plugin = next(one for one in installed()[0] if one.name == "mine")
        assert plugin.origin.path == (str(site),), "nor where no project has its name"
        (tmp_path / "pyproject.toml").write_text('[project]\nname = "Mine"\n')
        plugin = next(one for one in installed()[0] if one.name == "mine")
    assert str(code) in plugin.origin.reads
    assert plugin.origin.path == (str(code), str(site))
    assert plugin.digest == ""


def test_the_digest_changes_with_every_file(tmp_path: Path) -> None:
    bot(tmp_path)
    seen = {only(tmp_path).digest}
    for file in ("mine.py", "mine-0.9.dist-info/METADATA"):
        path = tmp_path / file
        path.write_text(path.read_text() + "\n# more\n")
        seen.add(only(tmp_path).digest)
    assert len(seen) == 3
    assert "" not in seen
    (tmp_path / "mine.py").unlink()
    # Python from 3.12 on, and what Dask brings for older ones, list only the files that are there.
    assert only(tmp_path).digest not in seen


@pytest.mark.parametrize("leads", ["/", "~", "site", "elsewhere"])
def test_a_package_that_calls_itself_editable_leads_nowhere_but_to_its_own_project(
    tmp_path: Path, leads: str
) -> None:
    site, other = tmp_path / "site", tmp_path / "elsewhere"
    other.mkdir()
    (other / "pyproject.toml").write_text('[project]\nname = "another"\n')
    folder = {"/": "/", "~": str(Path.home()), "site": str(tmp_path), "elsewhere": str(other)}
    bot(site)
    (site / "_mine.pth").write_text(f"{folder[leads]}\n")
    info = next(site.glob("*.dist-info"))
    (info / "direct_url.json").write_text('{"url": "file:///", "dir_info": {"editable": true}}')
    record(site, "mine", "_mine.pth")
    if leads == "site":  # a project of its name, but one that holds all that is installed
        (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    with importable(site):
        plugin = next(one for one in installed()[0] if one.name == "mine")
    assert plugin.origin.path == (str(site),)
    assert not any(place in plugin.origin.reads for place in folder.values())


@pytest.mark.parametrize("who", ["a bot", "nobody"])
@pytest.mark.parametrize("digest", ["none", "wrong"])
def test_a_package_that_lists_the_files_of_another_may_not_read_them(
    tmp_path: Path, who: str, digest: str
) -> None:
    bot(tmp_path)
    (tmp_path / "secrets").mkdir()
    for name in ("secrets/__init__.py", "secrets/weights.bin", "rival.py"):
        (tmp_path / name).write_text("x = 1")
    if who == "a bot":
        bot(tmp_path, "rival")
        record(tmp_path, "rival", "secrets/__init__.py", "secrets/weights.bin")
    record(tmp_path, "mine")
    rows = next(tmp_path.glob("mine-*.dist-info")) / "RECORD"
    said = "" if digest == "none" else "sha256=AAAA"
    with rows.open("a") as file:
        file.writelines(f"{name},{said},\n" for name in ("rival.py", "secrets/weights.bin"))
    assert names(only(tmp_path)) == {"mine.py"}


def test_a_link_in_a_package_leads_out_of_it_for_nobody(tmp_path: Path) -> None:
    site = tmp_path / "site"
    bot(site)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "ronda.db.key").write_text("k")
    (site / "linked").symlink_to(tmp_path / "secret")
    (site / "key.py").symlink_to(tmp_path / "secret" / "ronda.db.key")
    record(site, "mine", "linked/ronda.db.key", "key.py")
    assert names(only(site)) == {"mine.py"}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("RECORD", b"mine.py,sha256=x,one\n"),
        ("RECORD", b"\xff,,\n"),
        ("RECORD", b"a\0b,,\n"),
        ("RECORD", b"a,b,c,d\n"),
        ("RECORD", b"x" * 200_000 + b",,\n"),
        ("RECORD", b"/dev/zero,,\n../../../../../../dev/zero,,\n"),
        ("METADATA", b"Name: \xff\n"),
        ("direct_url.json", b"[" * 100_000),
        ("METADATA", b"Name: mine\n" + b"Requires-Dist: a[b]\n" * 3000),
        ("entry_points.txt", b"[ronda.bots]\n" + b"".join(b"b%d = m:B\n" % n for n in range(9999))),
    ],
)
def test_whatever_a_package_says_of_itself_the_others_are_found(
    tmp_path: Path, file: str, content: bytes
) -> None:
    bot(tmp_path)
    bot(tmp_path, "good")
    (next(tmp_path.glob("mine-*.dist-info")) / file).write_bytes(content)
    with importable(tmp_path):
        plugins, _ = installed()
    assert "good" in {plugin.name for plugin in plugins}
    assert len(plugins) <= 300


def test_the_names_of_rondas_own_bots_are_taken(tmp_path: Path) -> None:
    install_built_in(tmp_path)
    install(tmp_path, "evil", {"greedy": "evil:Bot"}, modules={"evil": bot_module("99")})
    plugins, broken = installed([str(tmp_path)])
    assert [plugin.distribution for plugin in plugins if plugin.name == "greedy"] == ["ronda"]
    assert [(one.name, one.distribution) for one in broken] == [("greedy", "evil")]


def test_a_package_that_calls_itself_ronda_is_none_of_ours(tmp_path: Path) -> None:
    install(tmp_path, "ronda", {"evil": "evil:Bot"}, modules={"evil": bot_module("1")})
    plugin = only(tmp_path, "evil")
    assert not plugin.is_ours
    info = BotInfo("greedy", "1", plugin.distribution, "1", "", None, plugin.origin)
    assert not is_quick(info)
