"""Streams that are closed, full, or know few characters: no traceback, no defect, and nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tlstax
from kept_runs import NAME, RUN, keep
from tlstax.store import Store


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    with Store.open(folder / "store.sqlite") as store:
        keep(store, RUN)
        store.finish(NAME, "complete", "every ratio is known to ±2 %")
    return folder


def shell(
    data: Path, command: str, *, stdout: int = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command line of bash, in which `$tlstax` is how it starts."""
    done = subprocess.run(
        ["bash", "-c", f'tlstax() {{ "$PYTHON" -P -m tlstax "$@"; }}; {command}'],
        env={
            **os.environ,
            "PYTHON": sys.executable,
            "PYTHONPATH": str(Path(tlstax.__file__).parents[1]),
            "TLSTAX_DATA": str(data),
            "TLSTAX_CACHE": str(data.parent / "cache"),
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert b"defect" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("command", "status", "error"),
    [
        ("tlstax run --server mysql://u@127.0.0.1:1/ <&-", 2, "no password was given"),
        ("tlstax report <&-", 0, ""),
        ("tlstax report >&-", 0, ""),
        ("tlstax report 2>&-", 0, ""),
        ("tlstax report nothing 2>&-", 2, ""),
        ("tlstax report nothing 2>/dev/full", 2, ""),
        (
            "tlstax report >/dev/full",
            3,
            "tlstax: standard output cannot be written (No space left on device)\n",
        ),
        ("tlstax runs export >/dev/full", 3, "standard output cannot be written"),
        ("tlstax --help >/dev/full", 3, "tlstax: the disk is full; make room and start again\n"),
        ("tlstax --version >/dev/full", 3, "full"),
        ("tlstax nonsense 2>/dev/full", 2, ""),
    ],
)
def test_a_stream_that_is_closed_or_full(data: Path, command: str, status: int, error: str) -> None:
    done = shell(data, command)
    assert done.returncode == status, done.stderr
    said = done.stderr.decode()
    assert error in said
    assert said.count("\n") == bool(error)


def test_files_take_no_streams_place(data: Path) -> None:
    """With all three closed, the store would else have the number of standard output."""
    file = data.parent / "report.json"
    assert shell(data, f"tlstax report --format json -o '{file}' <&- >&- 2>&-").returncode == 0
    assert json.loads(file.read_text())["run"] == NAME
    with Store.open(data / "store.sqlite") as store:
        assert store.load("last").header.run == NAME


@pytest.mark.parametrize("command", ["report", "runs list", "runs export", "--help"])
def test_nobody_reads(data: Path, command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = shell(data, f"tlstax {command}", stdout=writer)
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode == (1 if command == "--help" else 130)


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
@pytest.mark.parametrize("name", ["terminal", "md", "csv", "html"])
def test_few_characters_are_enough(data: Path, encoding: str, name: str) -> None:
    done = shell(data, f"tlstax report --format {name}", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("utf-8" if name == "html" else encoding)
    assert ("ops_per_s," if name == "csv" else "Fake CPU") in text
    if name == "terminal":
        assert ("±" if encoding == "latin-1" else "+-") in text


def test_json_in_few_characters_loses_nothing(data: Path) -> None:
    few = shell(data, "tlstax runs export", PYTHONIOENCODING="ascii")
    assert few.stdout.isascii()
    exported = json.loads(few.stdout)
    assert exported["stopped_because"] == "every ratio is known to ±2 %"
    assert exported == json.loads(shell(data, "tlstax runs export").stdout)


def test_the_locale_of_the_standard_is_no_obstacle(data: Path) -> None:
    done = shell(data, "tlstax report", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
