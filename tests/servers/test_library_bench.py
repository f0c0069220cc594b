"""A bench of libraries, from the command line to its document: what ran is proved, what cannot be is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tlstax
from tlstax.librarybench.document import LibraryBenchDocument
from tlstax.support.directories import cache_dir
from typed import sentence_for

WITHIN_S = 120.0


def library_bench(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tlstax", "library-bench", "--beside-others", *words],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(tlstax.__file__).parents[1]),
            "TLSTAX_CACHE": str(cache_dir()),
            **variables,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def found() -> LibraryBenchDocument:
    """The machine's own library against itself, in every kind of work."""
    words = ("--library", "machine", "--certificate", "ec-p256", "--group", "X25519", "--size", "1k")
    done = library_bench(*words, "--resumption", "off,on", "--budget", "3s", "--json")
    assert done.returncode == 0, done.stderr
    return LibraryBenchDocument.model_validate_json(done.stdout)


def test_every_kind_of_work_was_done_as_it_was_asked_for(found: LibraryBenchDocument) -> None:
    assert found.status == "complete"
    assert [library.name for library in found.libraries] == ["machine", "machine again"]
    assert [subject.label for subject in found.subjects] == [
        "TLS 1.3 handshake, EC P-256, X25519",
        "TLS 1.3 resumed handshake, EC P-256, X25519",
        "TLS 1.3 record, AES-128-GCM, 1 KiB",
        "signature, EC P-256",
        "key exchange, X25519",
    ]
    full, resumed, record, *_ = (subject.libraries[0].negotiated for subject in found.subjects)
    assert full is not None
    assert (full.version, full.group, full.resumed) == ("TLSv1.3", "x25519", False)
    assert resumed is not None
    assert resumed.resumed
    assert record is not None
    assert record.cipher == "TLS_AES_128_GCM_SHA256"


def test_a_full_handshake_costs_the_server_more_than_its_signature(found: LibraryBenchDocument) -> None:
    full, _, _, signature, _ = (subject.libraries[0] for subject in found.subjects)
    assert full.server_cpu_us is not None
    assert signature.server_cpu_us is not None
    assert full.server_cpu_us.point > signature.server_cpu_us.point


def test_a_library_is_about_as_dear_as_itself(found: LibraryBenchDocument) -> None:
    """Chance alone is between the two: far less than a tenth on an idle machine, and this one may be busy."""
    for subject in found.subjects:
        again = subject.libraries[-1]
        assert again.server_ratio is not None
        assert 0.5 < again.server_ratio.point < 2, subject.label


@pytest.mark.long
def test_locks_come_again_and_a_context_for_each_connection_takes_more() -> None:
    words = ("--library", "machine", "--measure", "handshake", "--context", "one,each", "--budget", "1s")
    counted = []
    for _ in range(2):
        done = library_bench(*words, "--count", "locks", "--json")
        assert done.returncode == 0, done.stderr
        found = LibraryBenchDocument.model_validate_json(done.stdout)
        counted.append([subject.libraries[0] for subject in found.subjects])
    (one, each), again = counted
    assert one.client_locks is not None
    assert each.client_locks is not None
    assert one.server_locks
    assert each.server_locks == pytest.approx(one.server_locks, rel=0.01)
    assert each.client_locks > one.client_locks > 0
    repeated = [figures.client_locks for figures in again]
    assert repeated == pytest.approx([one.client_locks, each.client_locks], rel=0.01)
    assert one.lock_takers["client"]


COUNTED = ("--library", "machine", "--measure", "exchange", "--budget", "1s", "--instructions")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind here")
def test_instructions_come_again() -> None:
    counted = []
    for _ in range(2):
        done = library_bench(*COUNTED, "--json")
        assert done.returncode == 0, done.stderr
        found = LibraryBenchDocument.model_validate_json(done.stdout)
        of_first = [subject.libraries[0] for subject in found.subjects]
        counted.append([figures.instructions for figures in of_first])
        assert all(figures.atomic_instructions is not None for figures in of_first)
    assert all(counted[0])
    assert counted[1] == pytest.approx(counted[0], rel=0.005)


def test_without_valgrind_none_are_promised(tmp_path: Path) -> None:
    without = library_bench(*COUNTED, PATH=str(tmp_path))
    assert without.returncode == 2
    assert "valgrind is not on the PATH" in without.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--library", "openssl-9"), "there is no TLS library named 'openssl-9'"),
        (("--size", "17k"), "'17k' is not the size of a record"),
        (("--measure", "speed"), "--measure: there is no 'speed'"),
        (("--format", "html"), "--format: there is no format 'html'"),
        (("--count", "cycles"), "--count: 'cycles' cannot be counted"),
        (("--beside", "last", "--tls", "1.3"), "--tls does not go with --beside"),
    ],
)
def test_bad_input_gets_a_sentence(
    words: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in sentence_for(monkeypatch, capsys, "library-bench", *words)
