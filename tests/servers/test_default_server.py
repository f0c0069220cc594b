"""The server that is measured where none is named: the default, or what takes its place, and why."""

from __future__ import annotations

import encodings.ascii  # noqa: F401  # a child that has become nobody may not read this Python's files
import hashlib
import multiprocessing
import os
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.sources.apt import AptCommand, Archive
from tlstax.support.errors import MachineFault

NOBODY = 65534
FORK = multiprocessing.get_context("fork")

RECORDED = Path(__file__).parent / "recorded_lists"
"""Lists of packages as apt keeps them: of sid before and after it moved on, and of Debian 12 and 13."""

SERVERS = {
    "mysql-server-core": ("usr/sbin/mysqld", "mysqld  Ver {version} for Linux on x86_64 (Debian)"),
    "mariadb-server-core": ("usr/sbin/mariadbd", "mariadbd  Ver {version}-MariaDB for Linux on x86_64"),
}


def quiet(_: str) -> None:
    """Progress that nobody hears."""


@pytest.mark.long
@pytest.mark.timeout(1000)
def test_an_unprivileged_user_fetches_and_runs_mysql_from_nothing(cache: Path, tmp_path: Path) -> None:
    """The whole way, as nobody where this is root: packages, data, server, a query."""
    cache.mkdir()
    if os.geteuid() == 0:
        os.chown(cache, NOBODY, NOBODY)
    result = FORK.Queue()

    def work() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        os.chdir("/")
        build = resolve.default_server(quiet)
        with sessions.open_session() as session, PrivateServer.start(build, session) as server:
            owner = psutil.Process(server.pid).uids().real
            result.put((build.specimen, server.version, owner))

    process = FORK.Process(target=work, daemon=True)
    process.start()
    specimen, version, owner = result.get(timeout=900)
    process.join()
    assert process.exitcode == 0
    assert specimen.name == "mysql-9.7"
    assert specimen.why == "the default: MySQL 9.7 from Debian sid"
    assert version.startswith("9.7.")
    assert owner == (NOBODY if os.geteuid() == 0 else os.geteuid())
    assert not {name for name in specimen.packages if name.startswith("perl")}
    assert [path.name for path in (cache / "sessions").iterdir()] == [".lock"]
    assert tmp_path.is_dir()


class RecordedArchive:
    """Debian's archive as recorded lists have it; its packages hold a server that only says its version."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.sid = "sid-with-9.7"
        self.asked = 0
        self._folder = folder
        archive = self

        def update(apt: AptCommand) -> None:
            archive.asked += 1
            archive._put_lists(apt.directory)

        def archives(apt: AptCommand, packages: tuple[str, ...]) -> list[Archive]:
            return [archive._archive(apt, package) for package in packages if "server" in package]

        def download(_: AptCommand, __: tuple[str, ...], wanted: list[Archive], *___: object) -> list[Path]:
            return [archive._folder / item.name for item in wanted]

        monkeypatch.setattr(AptCommand, "update", update)
        monkeypatch.setattr(AptCommand, "archives", archives)
        monkeypatch.setattr(AptCommand, "download", download)
        monkeypatch.setenv("TLSTAX_APT_MIRROR", "http://archive.example/debian")

    def _put_lists(self, directory: Path) -> None:
        for suite in ("sid", "trixie", "bookworm"):
            recorded = RECORDED / (self.sid if suite == "sid" else suite)
            name = f"archive.example_debian_dists_{suite}_main_binary-amd64_Packages"
            shutil.copy(recorded, directory / "state" / "lists" / name)

    def _archive(self, apt: AptCommand, package: str) -> Archive:
        name = package.partition("=")[0]
        version = apt.versions(name)[0]
        program, says = SERVERS[name]
        tree = self._folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        file = tree / program
        file.parent.mkdir(parents=True)
        says = says.format(version=version.partition(":")[2].partition("-")[0] or version.partition("-")[0])
        file.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
        file.chmod(0o755)
        (tree / "DEBIAN").mkdir()
        control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: a\nDescription: a\n"
        (tree / "DEBIAN" / "control").write_text(control, encoding="utf-8")
        deb = self._folder / f"{name}.deb"
        subprocess.run(["dpkg-deb", "--build", str(tree), str(deb)], check=True, capture_output=True)
        return Archive(deb.name, deb.stat().st_size, ("sha256", hashlib.sha256(deb.read_bytes()).hexdigest()))


@pytest.fixture
def archive(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedArchive:
    """An archive of recorded lists, for Debian 12; its servers need no loader of their own."""
    assert not cache.exists()
    monkeypatch.setattr(resolve, "codename", lambda: "bookworm")
    monkeypatch.setattr(resolve.ServerBuild, "command", lambda build, options: [build.executable, *options])
    return RecordedArchive(monkeypatch, tmp_path)


def test_while_sid_has_it_the_default_is_taken(archive: RecordedArchive) -> None:
    build = resolve.default_server(quiet)
    assert (build.specimen.name, build.specimen.version) == ("mysql-9.7", "9.7.4")
    assert archive.asked == 1


def test_when_sid_has_moved_on_its_next_mysql_is_taken(archive: RecordedArchive) -> None:
    archive.sid = "sid-with-10.1"
    said: list[str] = []
    build = resolve.default_server(said.append)
    assert (build.specimen.name, build.specimen.version) == ("mysql-sid", "10.1.2")
    why = (
        "MySQL 9.7 from Debian sid is gone: Debian sid has mysql-server-core 10.1.2-1 now; "
        "the MySQL that Debian sid has is taken in its place"
    )
    assert build.specimen.why == why
    assert said.count(why) == 1
    assert sum("gone" in line for line in said) == 1


def test_what_took_its_place_stays_and_the_archive_is_not_asked_again(archive: RecordedArchive) -> None:
    archive.sid = "sid-with-10.1"
    resolve.default_server(quiet)
    asked = archive.asked
    build = resolve.default_server(quiet)
    assert (build.specimen.name, build.specimen.version) == ("mysql-sid", "10.1.2")
    assert "MySQL 9.7 from Debian sid was not available when this was fetched" in build.specimen.why
    assert archive.asked == asked


@pytest.mark.parametrize(
    ("codename", "name", "version"),
    [
        ("bookworm", "mariadb-10.11", "10.11.14"),
        ("trixie", "mariadb-11.8", "11.8.6"),
        ("", "mariadb-11.8", "11.8.6"),
    ],
)
def test_without_any_mysql_in_sid_the_machines_own_mariadb_is_taken(
    archive: RecordedArchive, monkeypatch: pytest.MonkeyPatch, codename: str, name: str, version: str
) -> None:
    archive.sid = "sid-without"
    monkeypatch.setattr(resolve, "codename", lambda: codename)
    build = resolve.default_server(quiet)
    assert (build.specimen.name, build.specimen.version) == (name, f"{version}-MariaDB")
    assert build.specimen.why.startswith(
        "MySQL 9.7 from Debian sid is gone: Debian sid has no mysql-server-core any more; MariaDB"
    )


@pytest.mark.long  # apt tries again, after a while
def test_without_any_mirror_a_server_of_the_machine_is_taken(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TLSTAX_APT_MIRROR", "http://127.0.0.1:1/nothing")
    monkeypatch.setattr(resolve, "SYSTEM_DIRECTORIES", (str(tmp_path),))
    monkeypatch.setattr(resolve, "PROGRAMS", ("mysqld-of-this-test",))
    with pytest.raises(MachineFault, match=r"no database server is available: .*cannot be reached"):
        resolve.default_server(quiet)
    mysqld = tmp_path / "mysqld-of-this-test"
    mysqld.write_text('#!/bin/sh\necho "$0  Ver 8.4.6 for Linux on x86_64 (Distribution\'s own)"\n', "utf-8")
    mysqld.chmod(0o755)
    build = resolve.default_server(quiet)
    assert (build.specimen.name, build.specimen.version, build.flavour) == ("mysql-8.4.6", "8.4.6", "mysql")
    assert str(mysqld) in build.specimen.why
    assert "cannot be reached" in build.specimen.why
    assert {path.suffix for path in (cache / "specimens").iterdir()} == {".lock"}
