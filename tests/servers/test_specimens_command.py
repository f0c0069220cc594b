"""`tlstax specimens` with real specimens: fetched, asked, verified, added and removed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tlstax.cli.app import main
from tlstax.specimens.server_build import ServerBuild, loader_of
from tlstax.study.level_names import AUTH_PLUGINS
from tlstax.study.server_abilities import CATALOGUED
from tlstax.tools.probes import specimen

LIBRARY = "openssl-3.5-debian"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache and a data directory of their own, with short paths, removed at the end."""
    path = Path("/tmp") / f"tlstax-{os.getpid()}-{tmp_path.name[-6:]}"  # noqa: S108
    monkeypatch.setenv("TLSTAX_CACHE", str(path / "cache"))
    monkeypatch.setenv("TLSTAX_DATA", str(path / "data"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


class Command:
    """`tlstax specimens …` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        self._monkeypatch.setattr("sys.argv", ["tlstax", "specimens", *arguments])
        try:
            status = main()
        except SystemExit as end:
            status = int(end.code or 0)
        self.out, self.err = self._capsys.readouterr()
        return status

    def listed(self, name: str) -> dict[str, Any]:
        assert self("list", "--json") == 0
        found: list[dict[str, Any]] = json.loads(self.out)["specimens"]
        return next(one for one in found if one["name"] == name)


@pytest.fixture
def specimens(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(capsys, monkeypatch)


@pytest.mark.long
@pytest.mark.usefixtures("places")
def test_a_library_is_fetched_asked_verified_and_removed(specimens: Command) -> None:
    assert specimens.listed(LIBRARY)["status"] == "absent"
    assert specimens("fetch", LIBRARY) == 0
    one = specimens.listed(LIBRARY)
    assert one["status"] == "ready"
    assert one["version"].startswith("3.5.")
    assert one["parts"]["libssl3t64"].startswith(one["version"])
    assert one["tls"]["tls_versions"][-1] == "1.3"
    assert "X25519MLKEM768" in one["tls"]["groups"]
    libssl = Path(one["path"])
    assert {file.name for file in libssl.parent.iterdir()} == {"libssl.so.3", "libcrypto.so.3"}

    assert specimens("verify", LIBRARY) == 0
    with libssl.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    assert specimens("verify") == 3
    assert "tls/libssl.so.3 was changed" in specimens.out
    broken = specimens.listed(LIBRARY)
    assert broken["status"] == "broken"
    assert "tls/libssl.so.3 was changed" in broken["reason"]
    assert specimens("fetch", LIBRARY) == 0
    assert specimens.listed(LIBRARY)["status"] == "ready"

    assert specimens("remove", LIBRARY) == 0
    assert specimens.listed(LIBRARY)["status"] == "absent"
    assert not libssl.exists()


def installed(build: ServerBuild, prefix: Path) -> Path:
    """A mysqld as a machine has it: a program that needs to be told nothing, with its files beside it."""
    assert build.root is not None
    loader, directories = loader_of(build.root)
    mysqld = prefix / "sbin" / "mysqld"
    mysqld.parent.mkdir(parents=True)
    libraries = ":".join(map(str, directories))
    mysqld.write_text(
        f'#!/bin/sh\nexec {loader} --library-path {libraries} {build.executable} "$@"\n', encoding="utf-8"
    )
    mysqld.chmod(0o755)
    (prefix / "share").symlink_to(build.root / "usr" / "share")
    return mysqld


def test_a_server_of_the_machine_is_added_measured_by_name_and_forgotten(
    specimens: Command, places: Path, mariadb_build: ServerBuild
) -> None:
    mysqld = installed(mariadb_build, places / "usr")
    assert specimens("add", "mine-11.8", "--mysqld", str(mysqld)) == 0, specimens.err
    assert "TLS 1.2–1.3" in specimens.out
    one = specimens.listed("mine-11.8")
    assert one["status"] == "ready"
    assert one["version"].startswith("11.8.")
    assert one["tls"]["handshakes"][-1]["version"] == "1.3"
    assert "mysql_native_password" in one["tls"]["account_plugins"]
    assert specimens("verify", "mine-11.8") == 0

    assert specimens("add", "mine-11.8", "--mysqld", str(mysqld)) == 2
    assert "is taken" in specimens.err
    assert specimens("add", "other", "--mysqld", str(mysqld), "--libssl", str(places)) == 2

    with mysqld.open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert specimens("verify", "mine-11.8") == 3
    assert "was changed since it was added" in specimens.out

    assert specimens("remove", "mine-11.8") == 0
    assert mysqld.is_file()
    assert specimens("verify", "mine-11.8") == 2


@pytest.mark.long
def test_servers_can_do_what_the_catalogue_says_of_them(
    mysql_build: ServerBuild, mariadb_build: ServerBuild
) -> None:
    for build in (mysql_build, mariadb_build):
        facts, known = specimen.of_server(build), CATALOGUED[build.specimen.name]
        assert facts.account_plugins is not None, facts.unasked
        assert facts.tls_versions == known.tls_versions
        assert set(facts.account_plugins) & set(AUTH_PLUGINS) == set(known.account_plugins)
