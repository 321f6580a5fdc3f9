"""Targets and tokens: where a server is, and where a secret is kept."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from ronda_cli.channel import keep_token, read_token, target, token_path
from ronda_cli.output import ExitCode, Failure


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
