"""Fetching for real from the Debian archive: verified, whole or not there, and without root's rights."""

from __future__ import annotations

import http.server
import multiprocessing
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tlstax.errors import MachineFault
from tlstax.specimens import apt_command, apt_mirror, apt_root, catalogue, resolve, sessions
from tlstax.specimens.apt_root import Recipe
from tlstax.specimens.private_server import PrivateServer

SMALL = Recipe(
    name="hostname-test",
    title="the package hostname",
    suite="trixie",
    packages=("hostname",),
    given=("libc6",),
    program="usr/bin/hostname",
    bytes_needed=50_000_000,
)

FORK = multiprocessing.get_context("fork")
NOBODY = 65534


def quiet(_: str) -> None:
    """Progress that nobody hears."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own with a short path, removed at the end."""
    path = Path("/tmp") / f"tlstax-{os.getpid()}-{tmp_path.name[-6:]}"  # noqa: S108
    monkeypatch.setenv("TLSTAX_CACHE", str(path))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def entries(cache: Path) -> set[str]:
    return {path.name for path in (cache / "roots").iterdir()}


def test_a_root_is_whole_verified_and_pinned(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    root = apt_root.obtain(SMALL, told.append)
    assert root.program.read_bytes()[:4] == b"\x7fELF"
    assert set(root.manifest.versions()) == {"hostname"}
    (deb,) = root.manifest.debs
    assert len(deb.sha256) == 64
    assert any("download" in line for line in told)
    assert {path.name for path in root.path.iterdir()} == {"manifest.json", "tree"}
    assert entries(cache) == {SMALL.name, f".{SMALL.name}.lock"}
    monkeypatch.setenv("TLSTAX_APT_MIRROR", "http://127.0.0.1:1/nothing")
    assert apt_root.obtain(SMALL, pytest.fail) == root
    apt_root.remove(SMALL)
    assert apt_root.present(SMALL) is None


def in_a_child(work: Callable[[], Any]) -> ForkProcess:
    """Start the work in a process of its own; its exit status tells how it went."""
    process = FORK.Process(target=work, daemon=True)
    process.start()
    return process


def test_two_at_once_do_not_trample_each_other(cache: Path) -> None:
    unpacking, waiting = FORK.Event(), FORK.Event()
    second_told = FORK.SimpleQueue()

    def hold(text: str) -> None:
        if "unpacking" in text:
            unpacking.set()
            waiting.wait()

    def listen(text: str) -> None:
        second_told.put(text)
        if "waiting for another" in text:
            waiting.set()

    first = in_a_child(lambda: apt_root.obtain(SMALL, hold))
    assert unpacking.wait(120)
    second = in_a_child(lambda: apt_root.obtain(SMALL, listen))
    assert waiting.wait(120)
    for process in (first, second):
        process.join()
        assert process.exitcode == 0
    assert second_told.get() == "waiting for another tlstax that is fetching the package hostname"
    assert second_told.empty(), "the second fetched it again"
    assert apt_root.present(SMALL) is not None
    assert entries(cache) == {SMALL.name, f".{SMALL.name}.lock"}


def test_a_killed_build_is_not_taken_for_a_whole_one(cache: Path) -> None:
    reached, gate = FORK.Event(), FORK.Event()

    def wait_at_unpacking(text: str) -> None:
        if "unpacking" in text:
            reached.set()
            gate.wait()

    builder = in_a_child(lambda: apt_root.obtain(SMALL, wait_at_unpacking))
    assert reached.wait(120)
    builder.kill()
    builder.join()
    assert apt_root.present(SMALL) is None
    assert any(".partial-" in name for name in entries(cache))
    assert apt_root.obtain(SMALL, quiet).program.is_file()
    assert entries(cache) == {SMALL.name, f".{SMALL.name}.lock"}


def test_a_killed_download_takes_apt_with_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_listener() as port:
        monkeypatch.setenv("TLSTAX_APT_MIRROR", f"http://127.0.0.1:{port}/debian")
        builder = in_a_child(lambda: apt_root.obtain(SMALL, quiet))
        assert builder.pid is not None
        parent = psutil.Process(builder.pid)
        children = wait_for(lambda: [c for c in parent.children(recursive=True) if c.name() == "apt-get"])
        builder.kill()
        builder.join()
        assert wait_for(lambda: not any(child.is_running() for child in children))
    assert apt_root.present(SMALL) is None
    assert cache.is_dir()


class silent_listener:  # noqa: N801 (used as a context manager)
    """A port that takes connections and says nothing."""

    def __enter__(self) -> int:
        self._socket = socket.create_server(("127.0.0.1", 0))
        port: int = self._socket.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def wait_for(found: Callable[[], Any], timeout_s: float = 30.0) -> Any:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        time.sleep(0.02)
    return pytest.fail("it did not happen in time")


def refused(recipe: Recipe) -> MachineFault:
    """The fault that fetching ends with; nothing unfinished is left behind."""
    with pytest.raises(MachineFault) as caught:
        apt_root.obtain(recipe, quiet)
    assert apt_root.present(recipe) is None
    assert "\n" not in caught.value.sentence()
    assert caught.value.remedy
    return caught.value


def test_a_mirror_out_of_reach_is_told(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_listener() as port:
        pass
    monkeypatch.setenv("TLSTAX_APT_MIRROR", f"http://127.0.0.1:{port}/debian")
    assert "the mirror cannot be reached" in refused(SMALL).message
    assert entries(cache) == {f".{SMALL.name}.lock"}


def test_a_package_that_is_gone_is_told(cache: Path) -> None:
    gone = SMALL.model_copy(update={"packages": ("hostname=0.0.1*",)})
    fault = refused(gone)
    assert "the mirror does not have it" in fault.message
    assert "hostname" in fault.message
    assert entries(cache) == {f".{SMALL.name}.lock"}


def test_a_root_without_its_program_is_refused(cache: Path) -> None:
    assert "usr/sbin/nothing" in refused(SMALL.model_copy(update={"program": "usr/sbin/nothing"})).message
    assert entries(cache) == {f".{SMALL.name}.lock"}


def test_too_little_room_is_told_before_anything_is_fetched(cache: Path) -> None:
    fault = refused(SMALL.model_copy(update={"bytes_needed": 10**18}))
    assert str(cache) in fault.message
    assert "TLSTAX_CACHE" in fault.remedy


def test_without_apt_or_keyring_it_is_told(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apt_mirror, "KEYRINGS", tmp_path)
    assert "no Debian archive keyring" in refused(SMALL).message
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get" in refused(SMALL).message
    assert entries(cache) == {f".{SMALL.name}.lock"}


@pytest.fixture
def tampering_mirror(tmp_path: Path) -> Iterator[str]:
    """A mirror whose InRelease is Debian's own, with one checksum changed under the signature."""
    mirror = apt_mirror.configured_mirror()
    genuine = apt_command.prepare(tmp_path / "apt", mirror, "trixie", ())
    genuine.update()
    (signed,) = (tmp_path / "apt/state/lists").glob("*_InRelease")
    served = tmp_path / "www/dists/trixie/InRelease"
    served.parent.mkdir(parents=True)
    text = signed.read_text(encoding="utf-8")
    assert "Suite: " in text
    served.write_text(text.replace("Suite: ", "Suite: un", 1), encoding="utf-8")
    handler = type(
        "Quiet",
        (http.server.SimpleHTTPRequestHandler,),
        {
            "__init__": lambda self, *args, **_: http.server.SimpleHTTPRequestHandler.__init__(
                self, *args, directory=str(tmp_path / "www")
            ),
            "log_message": lambda *_: None,
        },
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_changed_signature_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tampering_mirror: str, tmp_path: Path
) -> None:
    monkeypatch.setenv("TLSTAX_APT_MIRROR", tampering_mirror)
    assert "not verifiably Debian's" in refused(SMALL).message
    unsigned = tmp_path / "www/dists/trixie"
    (unsigned / "InRelease").rename(unsigned / "Release")
    assert "not verifiably Debian's" in refused(SMALL).message
    assert entries(cache) == {f".{SMALL.name}.lock"}


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

    process = in_a_child(work)
    specimen, version, owner = result.get(timeout=240)
    process.join()
    assert process.exitcode == 0
    assert specimen.name == "mysql-9.7"
    assert specimen.why == "the default: MySQL 9.7 from Debian sid"
    assert version.startswith("9.7.")
    assert owner == (NOBODY if os.geteuid() == 0 else os.geteuid())
    assert not {name for name in specimen.packages if name.startswith("perl")}
    assert [path.name for path in (cache / "sessions").iterdir()] == [".lock"]
    assert tmp_path.is_dir()


def test_what_takes_the_defaults_place_says_why(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = catalogue.MYSQL_9_7.model_copy(update={"packages": ("mysql-server-core=9.6.0*",)})
    monkeypatch.setitem(catalogue.RECIPES, "mysql-9.7", (gone, "mysql"))
    told: list[str] = []
    build = resolve.default_server(told.append)
    assert build.specimen.name == "mariadb-11.8"
    assert build.specimen.why.startswith("MySQL 9.7 from Debian sid could not be had (")
    assert build.specimen.why.endswith("so MariaDB 11.8 from Debian trixie was taken")
    assert "mysql-server-core" in build.specimen.why
    assert entries(cache) >= {"mariadb-11.8"}


def test_without_any_mirror_a_server_of_the_machine_is_taken(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TLSTAX_APT_MIRROR", "http://127.0.0.1:1/nothing")
    monkeypatch.setattr(resolve, "SYSTEM_DIRECTORIES", (str(tmp_path),))
    monkeypatch.setattr(resolve, "PROGRAMS", ("mysqld-of-this-test",))
    with pytest.raises(MachineFault, match=r"no database server could be had: .*cannot be reached"):
        resolve.default_server(quiet)
    mysqld = tmp_path / "mysqld-of-this-test"
    mysqld.write_text('#!/bin/sh\necho "$0  Ver 8.4.6 for Linux on x86_64 (Distribution\'s own)"\n', "utf-8")
    mysqld.chmod(0o755)
    build = resolve.default_server(quiet)
    assert (build.specimen.name, build.specimen.version, build.flavour) == ("mysql-8.4.6", "8.4.6", "mysql")
    assert str(mysqld) in build.specimen.why
    assert "cannot be reached" in build.specimen.why
    assert entries(cache) == {".mysql-9.7.lock", ".mariadb-11.8.lock"}
