"""What starts tlstax on a node: whole or not at all, its lines in order, and it ends with its shim."""

from __future__ import annotations

import hashlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlstax.machines.parcels import Parcels, fetched_servers
from tlstax.machines.shim import Shim
from tlstax.study import load_study, override
from tlstax.support.directories import sessions_dir

SOURCES = "sources/one"
ECHO = """#!/bin/sh
echo "began with $*"
while read -r line; do echo "heard $line"; done
echo "ended" >&2
exit 5
"""
DEAF = "#!/bin/sh\ntrap '' TERM\necho deaf\nexec sleep 60 <&-\n"


def packed(program: str) -> tuple[bytes, str]:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        entry = tarfile.TarInfo("tlstax")
        entry.size, entry.mode = len(program), 0o755
        tar.addfile(entry, io.BytesIO(program.encode()))
    content = archive.getvalue()
    return content, hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def _short_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sessions want a cache of a short path, whose name leaves room for a socket's."""
    with tempfile.TemporaryDirectory(prefix="tlstax-") as cache:
        monkeypatch.setenv("TLSTAX_CACHE", cache)
        yield


@pytest.fixture
def shim() -> Iterator[Shim]:
    made = Shim()
    yield made
    made.stop(0.1)


def started(shim: Shim, program: str) -> int:
    bring(shim, *packed(program))
    return shim.start(SOURCES, ["node"])


def bring(shim: Shim, content: bytes, digest: str, target: str = SOURCES) -> None:
    """In three pieces."""
    third = len(content) // 3 + 1
    for place in range(0, len(content), third):
        shim.receive("upload", content[place : place + third], is_first=place == 0)
    shim.unpack("upload", digest, target)


def lacks(shim: Shim, *targets: str) -> list[str]:
    return shim.lacks(list(targets), "environment", "wheels/environment")


def all_lines(shim: Shim, wanted: int) -> list[str]:
    found: list[str] = []
    while len(found) < wanted:
        lines, ended = shim.lines(20.0)
        found += lines
        assert lines or ended is None
    return found


def test_lines_go_in_and_come_out_in_order(shim: Shim) -> None:
    started(shim, ECHO)
    assert shim.send("one\n")
    assert shim.send("two\n", True)
    assert all_lines(shim, 3) == ["began with node\n", "heard one\n", "heard two\n"]


def test_the_end_is_told_with_the_last_words_however_often_it_is_asked_for(shim: Shim) -> None:
    started(shim, ECHO)
    shim.stop(20.0)
    lines, ended = [], None
    while ended is None:
        more, ended = shim.lines(20.0)
        lines += more
    assert lines == ["began with node\n"]
    assert ended == "ended with status 5: ended"
    assert shim.lines(0.1) == ([], ended)
    assert not shim.send("three\n")


def test_what_does_not_end_by_itself_is_ended(shim: Shim) -> None:
    pid = started(shim, DEAF)
    assert all_lines(shim, 1) == ["deaf\n"]
    shim.stop(0.2)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert shim.lines(20.0) == ([], "was killed by signal 9")


def test_silence_is_no_end(shim: Shim) -> None:
    started(shim, ECHO)
    all_lines(shim, 1)
    assert shim.lines(0.05) == ([], None)


def test_what_came_changed_is_not_unpacked(shim: Shim, tmp_path: Path) -> None:
    content, digest = packed(ECHO)
    with pytest.raises(ValueError, match="sources/one came to the node changed"):
        bring(shim, content + b"x", digest)
    assert SOURCES in lacks(shim, SOURCES)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_what_has_come_is_lacking_no_longer_and_may_come_twice(shim: Shim, tmp_path: Path) -> None:
    assert lacks(shim, SOURCES, "engines/key") == [SOURCES, "engines/key", "wheels/environment"]
    bring(shim, *packed(ECHO))
    bring(shim, *packed(ECHO))
    assert lacks(shim, SOURCES, "engines/key") == ["engines/key", "wheels/environment"]
    assert [path.name for path in (tmp_path / "cache" / "sources").iterdir()] == ["one"]


def test_two_nodes_that_share_a_file_system_are_not_in_each_others_way(
    shim: Shim, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, digest = packed(ECHO)
    other = Shim()
    monkeypatch.setattr("socket.gethostname", lambda: "one")
    shim.receive("upload", content, is_first=True)
    monkeypatch.setattr("socket.gethostname", lambda: "other")
    other.receive("upload", content, is_first=True)
    other.unpack("upload", digest, SOURCES)
    monkeypatch.setattr("socket.gethostname", lambda: "one")
    shim.unpack("upload", digest, SOURCES)
    assert SOURCES not in lacks(shim, SOURCES)


def test_who_has_the_environment_needs_no_wheels(shim: Shim, tmp_path: Path) -> None:
    made = tmp_path / "cache" / "environments" / "environment-x86_64-python3.11"
    made.mkdir(parents=True)
    assert "wheels/environment" in lacks(shim)
    (made / "complete").touch()
    assert lacks(shim) == []


def test_wheels_that_were_brought_are_what_the_launcher_installs_from(shim: Shim) -> None:
    bring(shim, *packed(ECHO), target="wheels/environment")
    bring(shim, *packed("#!/bin/sh\necho $PIP_NO_INDEX $PIP_FIND_LINKS $RAY_ADDRESS\n"))
    status, output, _ = shim.answer(SOURCES, [], 20.0)
    assert (status, output.split()[0]) == (0, "1")
    assert output.split()[1].endswith("/wheels/environment")


def test_sources_that_nobody_used_for_a_month_are_removed(shim: Shim, tmp_path: Path) -> None:
    old = tmp_path / "cache" / "sources" / "old"
    old.mkdir(parents=True)
    os.utime(old, (0, 0))
    left = tmp_path / "cache" / "incoming" / "half of something"
    left.parent.mkdir()
    left.touch()
    os.utime(left, (0, 0))
    bring(shim, *packed(ECHO))
    assert [path.name for path in old.parent.iterdir()] == ["one"]
    assert not left.exists()


def test_what_a_killed_shim_was_receiving_or_unpacking_goes_at_the_next_start(
    shim: Shim, tmp_path: Path
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead, alive, elsewhere = (
        f"upload-{socket.gethostname()}-{ended.pid}",
        f"upload-{socket.gethostname()}-{os.getpid()}",
        f"upload-other-{ended.pid}",
    )
    incoming, sources = tmp_path / "cache" / "incoming", tmp_path / "cache" / "sources"
    (sources / f".{dead}" / "lab").mkdir(parents=True)
    incoming.mkdir()
    for name in (dead, alive, elsewhere):
        (incoming / name).touch()
    assert lacks(shim, SOURCES) == [SOURCES, "wheels/environment"]
    assert {path.name for path in incoming.iterdir()} == {alive, elsewhere}
    assert not list(sources.iterdir())


@pytest.mark.usefixtures("_short_cache")
def test_what_a_killed_head_packed_goes_at_the_next_start() -> None:
    packing = "from tlstax.machines.parcels import Parcels; import os; Parcels(); os.kill(os.getpid(), 9)"
    killed = subprocess.run([sys.executable, "-P", "-c", packing], check=False)
    assert killed.returncode == -9
    left = [path for path in sessions_dir().iterdir() if path.is_dir()]
    assert len(left) == 1
    with Parcels():
        assert not left[0].exists()


def test_what_it_starts_can_be_interrupted_though_its_own_process_cannot(shim: Shim) -> None:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        pid = started(shim, ECHO)
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    assert int(re.findall(r"SigBlk:\s+([0-9a-f]+)", status)[0], 16) & 1 << signal.SIGINT - 1 == 0


def test_connecting_to_another_node_takes_time(shim: Shim) -> None:
    took_us = shim.round_trips_us("127.0.0.1", shim.listen(), 3)
    assert len(took_us) == 3
    assert min(took_us) > 0


def test_the_clock_is_the_time_of_day(shim: Shim) -> None:
    before = time.time()
    assert before <= shim.clock_s() <= time.time()


@pytest.mark.usefixtures("_short_cache")
def test_the_same_sources_make_the_same_parcel() -> None:
    with Parcels() as first, Parcels() as second:
        assert first.sources == second.sources
        assert first.targets == [first.sources, first.programs]
        sources, programs = first.packed(first.sources), first.packed(first.programs)
        assert sources is not None
        assert programs is not None
        with tarfile.open(sources.path) as tar:
            names = tar.getnames()
            assert tar.getmember("tlstax").mode & 0o111
        assert {"tlstax", "pyproject.toml", "setup/places.sh", "lab/tlstax/__main__.py"} <= set(names)
        assert not [name for name in names if "/target/" in name or "__pycache__" in name]
        with tarfile.open(programs.path) as tar:
            assert "tlstax-engine" in tar.getnames()
        assert b"".join(sources.chunks()) == sources.path.read_bytes()
        left = sources.path
    assert not left.exists()


@pytest.mark.usefixtures("_short_cache")
def test_a_parcel_is_named_as_the_launcher_names_the_environment() -> None:
    script = "source setup/places.sh && find_places . setup/requirements.txt && echo $environment_key"
    with Parcels() as parcels:
        said = subprocess.run(
            ["bash", "-c", script], cwd=parcels.root, check=True, capture_output=True, text=True
        )
        assert said.stdout.startswith(f"{parcels.environment}-")


def test_servers_that_are_fetched_are_sent_and_those_that_were_added_are_not() -> None:
    study = override(load_study("tax"), "server", ["mysql-9.7", "mariadb-11.8"])
    assert fetched_servers(study) == ["mysql-9.7", "mariadb-11.8"]
    assert fetched_servers(load_study("tax")) == ["mysql-9.7"]
