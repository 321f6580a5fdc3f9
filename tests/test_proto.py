"""The contract in proto/ keeps its own rules, and the code in proto/gen is the contract's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodOptions,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PROTO = ROOT / "proto"
GENERATED = PROTO / "gen"
IMAGE = PROTO / "released" / "ronda-v1.binpb"
BIN = Path(sys.executable).parent


def run(*command: str | Path, cwd: Path = PROTO) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)])
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def code_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> FileDescriptorSet:
    output = tmp_path_factory.mktemp("image") / "ronda.binpb"
    built = run("buf", "build", "--output", output)
    assert built.returncode == 0, built.stderr
    return FileDescriptorSet.FromString(output.read_bytes())


@pytest.fixture(scope="module")
def files(image: FileDescriptorSet) -> dict[str, FileDescriptorProto]:
    return {file.name: file for file in image.file if file.package.startswith("ronda.")}


def nested(prefix: str, message: DescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
    name = f"{prefix}.{message.name}"
    yield name, message
    for inner in message.nested_type:
        yield from nested(name, inner)


@pytest.fixture(scope="module")
def messages(files: dict[str, FileDescriptorProto]) -> dict[str, DescriptorProto]:
    return {
        name: message
        for file in files.values()
        for top in file.message_type
        for name, message in nested(f".{file.package}", top)
    }


def enum_in(file: FileDescriptorProto, name: str) -> EnumDescriptorProto:
    return next(enum for enum in file.enum_type if enum.name == name)


def test_the_committed_code_is_what_the_contract_generates(tmp_path: Path) -> None:
    done = run(sys.executable, PROTO / "generate.py", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    fresh, committed = code_in(tmp_path), code_in(GENERATED)
    assert sorted(committed) == sorted(fresh)
    stale = [name for name, code in fresh.items() if committed[name] != code]
    assert stale == [], "run proto/generate.py"


def test_the_committed_code_is_a_typed_package_without_empty_service_files() -> None:
    names = set(code_in(GENERATED))
    assert {"ronda/__init__.py", "ronda/py.typed", "ronda/v1/__init__.py"} <= names
    services = {name for name in names if "_pb2_grpc." in name}
    assert services == {
        f"ronda/{service}_service_pb2_grpc.{suffix}"
        for service in ("v1/bot", "v1/ladder", "v1/match", "v1/tournament", "admin/v1/admin")
        for suffix in ("py", "pyi")
    }


def test_the_dependencies_are_no_older_than_the_generators_that_wrote_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    floors = dict(re.findall(r"([\w-]+)>=([\d.]+)", "\n".join(project["dependencies"])))
    services = (GENERATED / "ronda/v1/match_service_pb2_grpc.py").read_text(encoding="utf-8")
    messages = (GENERATED / "ronda/v1/match_service_pb2.py").read_text(encoding="utf-8")
    assert f"GRPC_GENERATED_VERSION = '{floors['grpcio']}'" in services
    assert f"# Protobuf Python Version: {floors['protobuf']}\n" in messages


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("buf", "lint"), id="lint"),
        pytest.param(("buf", "format", "--diff", "--exit-code"), id="format"),
        pytest.param(("buf", "breaking", "--against", IMAGE), id="breaking"),
    ],
)
def test_buf_has_nothing_to_say(command: tuple[str | Path, ...]) -> None:
    done = run(*command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        pytest.param("event", "uint32 este_link = 5", "uint32 este = 5", id="a renamed field"),
        pytest.param("event", "uint32 points = 3", "string points = 3", id="another type"),
        pytest.param("card", "CARD_OROS_1 = 1;", "", id="a value that is gone"),
    ],
)
def test_the_released_image_lets_no_breaking_change_through(
    tmp_path: Path, file: str, old: str, new: str
) -> None:
    shutil.copytree(PROTO / "ronda", tmp_path / "ronda")
    shutil.copy(PROTO / "buf.yaml", tmp_path)
    changed = tmp_path / "ronda" / "v1" / f"{file}.proto"
    text = changed.read_text(encoding="utf-8")
    assert text.count(old) == 1
    changed.write_text(text.replace(old, new), encoding="utf-8")
    assert run("buf", "build", cwd=tmp_path).returncode == 0
    assert run("buf", "breaking", "--against", IMAGE, cwd=tmp_path).returncode != 0


def test_a_comment_that_is_missing_does_not_pass(tmp_path: Path) -> None:
    shutil.copytree(PROTO / "ronda", tmp_path / "ronda")
    shutil.copy(PROTO / "buf.yaml", tmp_path)
    view = tmp_path / "ronda" / "v1" / "view.proto"
    text = view.read_text(encoding="utf-8")
    comment = "  // The number of cards left in the pack.\n"
    assert text.count(comment) == 1
    view.write_text(text.replace(comment, ""), encoding="utf-8")
    done = run("buf", "lint", cwd=tmp_path)
    assert done.returncode != 0
    assert "stock" in done.stdout


def test_the_number_of_a_card_is_ten_times_its_suit_plus_its_rank_index_plus_one(
    files: dict[str, FileDescriptorProto],
) -> None:
    cards = enum_in(files["ronda/v1/card.proto"], "Card")
    expected = {"CARD_UNSPECIFIED": 0}
    for suit, suit_name in enumerate(("OROS", "COPAS", "ESPADAS", "BASTOS")):
        for index, rank in enumerate((1, 2, 3, 4, 5, 6, 7, 10, 11, 12)):
            expected[f"CARD_{suit_name}_{rank}"] = 10 * suit + index + 1
    assert {value.name: value.number for value in cards.value} == expected


def test_no_request_holds_a_seed_or_a_token_not_even_in_a_part_of_it(
    files: dict[str, FileDescriptorProto], messages: dict[str, DescriptorProto]
) -> None:
    requests = [
        method.input_type
        for file in files.values()
        for service in file.service
        for method in service.method
    ]
    assert len(requests) >= 14
    todo, seen, fields = requests, set[str](), dict[str, str]()
    while todo:
        name = todo.pop()
        if name in seen or name not in messages:
            continue
        seen.add(name)
        for field in messages[name].field:
            fields[f"{name}.{field.name}"] = field.name
            if field.type == field.TYPE_MESSAGE:
                todo.append(field.type_name)
    assert any(name.endswith(".SeatOffer.bot") for name in fields)
    secrets = {
        place
        for place, field in fields.items()
        if {"seed", "token", "tokens"} & set(field.split("_")) and field != "page_token"
    }
    assert secrets == set()


def test_every_call_says_whether_it_may_be_repeated(files: dict[str, FileDescriptorProto]) -> None:
    levels = {
        method.name: method.options.idempotency_level
        for file in files.values()
        for service in file.service
        for method in service.method
    }
    unknown = MethodOptions.IDEMPOTENCY_UNKNOWN
    assert [name for name, level in levels.items() if level == unknown] == []
    safe = {name for name, level in levels.items() if level == MethodOptions.NO_SIDE_EFFECTS}
    assert safe == {name for name in levels if name.startswith(("Get", "List"))}


SAFE_BY_NATURE = {"Connect", "Drain", "FreeBotName", "RevokeKey"}
"""What may be repeated without an id: a stream takes the last one over, the rest is done once."""


def test_every_command_carries_a_request_id(
    files: dict[str, FileDescriptorProto], messages: dict[str, DescriptorProto]
) -> None:
    commands = {
        method.name: messages[method.input_type]
        for file in files.values()
        for service in file.service
        for method in service.method
        if not method.name.startswith(("Get", "List", "Watch"))
        and method.name not in SAFE_BY_NATURE
    }
    assert [
        name
        for name, request in commands.items()
        if "request_id" not in {field.name for field in request.field}
    ] == []


def test_every_list_is_paged(
    files: dict[str, FileDescriptorProto], messages: dict[str, DescriptorProto]
) -> None:
    lists = [
        method
        for file in files.values()
        for service in file.service
        for method in service.method
        if method.name.startswith("List")
    ]
    assert lists
    for method in lists:
        request = {field.name for field in messages[method.input_type].field}
        response = {field.name for field in messages[method.output_type].field}
        assert {"page_size", "page_token"} <= request, method.name
        assert "next_page_token" in response, method.name


def test_every_error_reason_says_its_code_when_it_comes_and_what_to_do(
    files: dict[str, FileDescriptorProto],
) -> None:
    file = files["ronda/v1/error.proto"]
    index = [enum.name for enum in file.enum_type].index("ErrorReason")
    comments = {
        tuple(location.path): location.leading_comments
        for location in file.source_code_info.location
    }
    enum_value = EnumDescriptorProto.VALUE_FIELD_NUMBER
    wrong = {}
    for place, value in enumerate(file.enum_type[index].value):
        path = (FileDescriptorProto.ENUM_TYPE_FIELD_NUMBER, index, enum_value, place)
        code, _, text = " ".join(comments.get(path, "").split()).partition(": ")
        sentences = re.findall(r"[^.:;]+[.:;]", text)
        if value.number and (code not in grpc.StatusCode.__members__ or len(sentences) < 2):
            wrong[value.name] = comments.get(path)
    assert wrong == {}


def test_the_private_part_of_a_view_is_apart_and_can_be_appended(
    image: FileDescriptorSet, messages: dict[str, DescriptorProto]
) -> None:
    fields = {field.name: field.number for field in messages[".ronda.v1.View"].field}
    private = {name: number for name, number in fields.items() if number >= 100}
    assert private == {"seat": 100, "hand": 101, "may_declare": 102}

    pool = DescriptorPool()
    for file in image.file:
        pool.Add(file)
    view = GetMessageClass(pool.FindMessageTypeByName("ronda.v1.View"))
    public = view(sequence=7, table=[1, 12], turn=0, scores=[3, 4])
    own = view(seat=0, hand=[5, 15, 40], may_declare=True)
    whole = view(
        sequence=7, table=[1, 12], turn=0, scores=[3, 4], seat=0, hand=[5, 15, 40], may_declare=True
    )
    assert public.SerializeToString() + own.SerializeToString() == whole.SerializeToString()
    assert view.FromString(public.SerializeToString()).HasField("seat") is False
