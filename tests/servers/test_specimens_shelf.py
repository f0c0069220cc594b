"""Fetching for real from the Debian archive: verified, whole or not there, and without root's rights."""

from __future__ import annotations

import hashlib
import http.server
import multiprocessing
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest

from processes import family, runs
from tlstax.specimens import shelf
from tlstax.specimens.manifest import AptPackages, Recipe
from tlstax.specimens.sources import apt
from tlstax.support.errors import MachineFault

SOURCE = AptPackages(suites=("trixie",), packages=("hostname",), given=("libc6",))
SMALL = Recipe(
    name="hostname-test",
    title="the package hostname",
    kind="client",
    source=SOURCE,
    program="usr/bin/hostname",
    bytes_needed=50_000_000,
)

FORK = multiprocessing.get_context("fork")
NOBODY = 65534


def quiet(_: str) -> None:
    """Progress that nobody hears."""


def entries(cache: Path) -> set[str]:
    return {path.name for path in (cache / "specimens").iterdir()}


def test_a_root_is_whole_verified_and_pinned(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    root = shelf.obtain(SMALL, steps.append)
    assert root.program.read_bytes()[:4] == b"\x7fELF"
    assert set(root.manifest.versions()) == {"hostname"}
    (part,) = root.manifest.parts
    assert len(part.sha256) == 64
    assert root.manifest.version in part.version
    assert root.manifest.size_bytes == sum(file.stat().st_size for file in files_of(root.tree))
    assert any("download" in line for line in steps)
    assert {path.name for path in root.path.iterdir()} == {"manifest.json", "files.json", "tree"}
    assert entries(cache) == {SMALL.name, f".{SMALL.name}.lock"}
    monkeypatch.setenv("TLSTAX_APT_MIRROR", "http://127.0.0.1:1/nothing")
    assert shelf.obtain(SMALL, pytest.fail) == root
    shelf.remove(SMALL)
    assert shelf.present(SMALL) is None


def files_of(tree: Path) -> list[Path]:
    return [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]


def version_in_trixie() -> str:
    """The version that the package has now."""
    fetched = shelf.obtain(SMALL, quiet)
    shelf.remove(SMALL)
    return fetched.manifest.parts[0].version


def in_a_child(work: Callable[[], Any]) -> ForkProcess:
    """Start the work in a process of its own; its exit status tells how it went."""
    process = FORK.Process(target=work, daemon=True)
    process.start()
    return process


@pytest.mark.long
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

    first = in_a_child(lambda: shelf.obtain(SMALL, hold))
    assert unpacking.wait(120)
    second = in_a_child(lambda: shelf.obtain(SMALL, listen))
    assert waiting.wait(120)
    for process in (first, second):
        process.join()
        assert process.exitcode == 0
    assert second_told.get() == "waiting for another tlstax that is fetching the package hostname"
    assert second_told.empty(), "the second fetched it again"
    assert shelf.present(SMALL) is not None
    assert entries(cache) == {SMALL.name, f".{SMALL.name}.lock"}


@pytest.mark.long
def test_a_killed_build_is_not_taken_for_a_whole_one(cache: Path) -> None:
    reached, gate = FORK.Event(), FORK.Event()

    def wait_at_unpacking(text: str) -> None:
        if "unpacking" in text:
            reached.set()
            gate.wait()

    builder = in_a_child(lambda: shelf.obtain(SMALL, wait_at_unpacking))
    assert reached.wait(120)
    builder.kill()
    builder.join()
    assert shelf.present(SMALL) is None
    assert any(".partial-" in name for name in entries(cache))
    assert shelf.obtain(SMALL, quiet).program.is_file()
    assert entries(cache) == {SMALL.name, f".{SMALL.name}.lock"}


def test_a_killed_download_takes_apt_with_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_listener() as port:
        monkeypatch.setenv("TLSTAX_APT_MIRROR", f"http://127.0.0.1:{port}/debian")
        builder = in_a_child(lambda: shelf.obtain(SMALL, quiet))
        assert builder.pid is not None
        children = wait_for(lambda: family(builder.pid, name="apt-get"))
        builder.kill()
        builder.join()
        assert wait_for(lambda: not any(map(runs, children)))
    assert shelf.present(SMALL) is None
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
        shelf.obtain(recipe, quiet)
    assert shelf.present(recipe) is None
    assert "\n" not in caught.value.sentence()
    assert caught.value.remedy
    return caught.value


def test_a_mirror_out_of_reach_is_told(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_listener() as port:
        pass
    monkeypatch.setenv("TLSTAX_APT_MIRROR", f"http://127.0.0.1:{port}/debian")
    assert "the mirror cannot be reached" in refused(SMALL).message
    assert entries(cache) == {f".{SMALL.name}.lock"}


@pytest.mark.long
def test_a_package_that_is_gone_is_told(cache: Path) -> None:
    gone = SOURCE.model_copy(update={"packages": ("hostname=0.0.1*",)})
    fault = refused(SMALL.model_copy(update={"source": gone}))
    there = version_in_trixie()
    assert fault.message == (f"the package hostname is gone: Debian trixie has hostname {there} now")
    assert entries(cache) == {f".{SMALL.name}.lock"}


@pytest.mark.long
def test_a_root_without_its_program_is_refused(cache: Path) -> None:
    assert "usr/sbin/nothing" in refused(SMALL.model_copy(update={"program": "usr/sbin/nothing"})).message
    assert entries(cache) == {f".{SMALL.name}.lock"}


@pytest.mark.long
def test_a_download_that_was_cut_off_goes_on_where_it_was(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with passing_mirror() as mirror:
        monkeypatch.setenv("TLSTAX_APT_MIRROR", mirror.uri)
        mirror.stall_packages.set()
        builder = in_a_child(lambda: shelf.obtain(SMALL, quiet))
        assert mirror.stalled.wait(120)
        partial = wait_for(
            lambda: [file for file in (cache / "downloads").rglob("partial/*.deb") if size(file)]
        )
        builder.kill()
        builder.join()
        assert shelf.present(SMALL) is None
        assert size(partial[0]) > 0
        mirror.stall_packages.clear()
        assert shelf.obtain(SMALL, quiet).program.is_file()
        assert any(first > 0 for first in mirror.first_bytes), "it was fetched from its beginning again"
    assert entries(cache) == {SMALL.name, f".{SMALL.name}.lock"}
    assert not list((cache / "downloads").iterdir())


@pytest.mark.usefixtures("cache")
def test_a_tampered_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with passing_mirror() as mirror:
        monkeypatch.setenv("TLSTAX_APT_MIRROR", mirror.uri)
        mirror.tamper.set()
        assert "not verifiably Debian's" in refused(SMALL).message
        mirror.tamper.clear()
        assert shelf.obtain(SMALL, quiet).program.is_file()


@pytest.mark.long
def test_a_kept_download_that_was_changed_is_not_used(cache: Path) -> None:
    def cut_off(text: str) -> None:
        if "unpacking" in text:
            raise MachineFault("cut off")

    with pytest.raises(MachineFault, match="cut off"):
        shelf.obtain(SMALL, cut_off)
    (deb,) = (cache / "downloads").rglob("*.deb")
    whole = deb.read_bytes()
    deb.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    steps: list[str] = []
    (part,) = shelf.obtain(SMALL, steps.append).manifest.parts
    assert part.sha256 == hashlib.sha256(whole).hexdigest()


@pytest.mark.long
@pytest.mark.usefixtures("cache")
def test_verify_finds_what_was_changed_gone_or_put_there() -> None:
    kept = shelf.obtain(SMALL, quiet)
    assert shelf.verify(kept) == []
    with kept.program.open("r+b") as file:
        file.seek(100)
        byte = file.read(1)
        file.seek(100)
        file.write(bytes([byte[0] ^ 1]))
    assert shelf.verify(kept) == ["usr/bin/hostname was changed"]
    (kept.tree / "usr/bin/libssl.so.3").touch()
    assert shelf.verify(kept)[1:] == ["usr/bin/libssl.so.3 was not there before"]
    kept.program.unlink()
    assert "usr/bin/hostname is gone" in shelf.verify(kept)
    assert shelf.broken(SMALL) == "its manifest or its program is gone"
    assert shelf.present(SMALL) is None
    assert shelf.verify(shelf.obtain(SMALL, quiet)) == []


class passing_mirror:  # noqa: N801 (used as a context manager)
    """The real mirror behind a server that can stop in the middle of a package, or change it."""

    def __enter__(self) -> passing_mirror:
        self.stall_packages, self.stalled, self.tamper = FORK.Event(), FORK.Event(), FORK.Event()
        self.first_bytes: list[int] = []
        outer, real = self, apt.configured_mirror().uri.rstrip("/")

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self, real)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.uri = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: http.server.BaseHTTPRequestHandler, real: str) -> None:
        package = request.path.endswith(".deb")
        try:
            with urllib.request.urlopen(real + request.path, timeout=60) as response:  # noqa: S310
                body = response.read()
        except urllib.error.HTTPError as error:
            request.send_error(error.code)
            return
        asked = re.match(r"bytes=(\d+)-", request.headers.get("Range", "")) if package else None
        first = int(asked[1]) if asked else 0
        if package:
            self.first_bytes.append(first)
        if package and self.tamper.is_set():
            body = body[:-1] + bytes([body[-1] ^ 1])
        request.send_response(206 if first else 200)
        if first:
            request.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        request.send_header("Content-Length", str(len(body) - first))
        request.end_headers()
        if package and self.stall_packages.is_set():
            request.wfile.write(body[: len(body) // 2])
            self.stalled.set()
            while self.stall_packages.is_set():
                time.sleep(0.02)
            return
        request.wfile.write(body[first:])


def size(file: Path) -> int:
    return file.stat().st_size


def test_too_little_room_is_told_before_anything_is_fetched(cache: Path) -> None:
    fault = refused(SMALL.model_copy(update={"bytes_needed": 10**18}))
    assert str(cache) in fault.message
    assert "TLSTAX_CACHE" in fault.remedy


def test_without_apt_or_keyring_it_is_told(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apt, "KEYRINGS", tmp_path)
    assert "no Debian archive keyring" in refused(SMALL).message
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get" in refused(SMALL).message
    assert entries(cache) == {f".{SMALL.name}.lock"}


@pytest.fixture
def tampering_mirror(tmp_path: Path) -> Iterator[str]:
    """A mirror whose InRelease is Debian's own, with one checksum changed under the signature."""
    mirror = apt.configured_mirror()
    genuine = apt.prepare(tmp_path / "apt", mirror, ("trixie",), ())
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


@pytest.mark.long
def test_a_changed_signature_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tampering_mirror: str, tmp_path: Path
) -> None:
    monkeypatch.setenv("TLSTAX_APT_MIRROR", tampering_mirror)
    assert "not verifiably Debian's" in refused(SMALL).message
    unsigned = tmp_path / "www/dists/trixie"
    (unsigned / "InRelease").rename(unsigned / "Release")
    assert "not verifiably Debian's" in refused(SMALL).message
    assert entries(cache) == {f".{SMALL.name}.lock"}
