"""A bench of libraries, from the command line to its document: what ran is proved, what cannot be is said."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ready_command import ready_run

from tlstax.results.document import BenchDocument
from tlstax.results.rows import by_label
from tlstax.support.directories import cache_dir
from tlstax.tools.librarybench.costs import COST, RATIO, TAKER
from typed import sentence_for

WITHIN_S = 120.0


def library_bench(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TLSTAX_CACHE": str(cache_dir()), **variables}
    done = ready_run(("library-bench", "--beside-others", *words), environment, WITHIN_S)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def found() -> BenchDocument:
    """The machine's own library against itself, in every kind of work."""
    words = ("--library", "machine", "--certificate", "ec-p256", "--group", "X25519", "--size", "1k")
    done = library_bench(*words, "--resumption", "off,on", "--budget", "3s", "--json")
    assert done.returncode == 0, done.stderr
    return BenchDocument.model_validate_json(done.stdout)


def test_every_kind_of_work_was_done_as_it_was_asked_for(found: BenchDocument) -> None:
    assert found.status == "complete"
    assert [row.label for row in found.told.of(role="library")] == ["machine", "machine again"]
    costs = by_label(found.told.of("server_cpu_us_per_op", role=COST))
    assert list(costs) == [
        "TLS 1.3 handshake, EC P-256, X25519",
        "TLS 1.3 resumed handshake, EC P-256, X25519",
        "TLS 1.3 record, AES-128-GCM, 1 KiB",
        "signature, EC P-256",
        "key exchange, X25519",
    ]
    full, resumed, record, *_ = (own[0].negotiated for own in costs.values())
    assert full.startswith("TLSv1.3 ")
    assert full.endswith(" x25519")
    assert resumed.endswith(", resumed")
    assert "TLS_AES_128_GCM_SHA256" in record


def test_a_full_handshake_costs_the_server_more_than_its_signature(found: BenchDocument) -> None:
    costs = found.told.of("server_cpu_us_per_op", role=COST)
    full, _, _, signature, _ = (row.known for row in costs if row.case["library"] == "machine")
    assert full.point > signature.point


def test_a_library_is_about_as_dear_as_itself(found: BenchDocument) -> None:
    """Chance alone is between the two: far less than a tenth on an idle machine, and this one may be busy."""
    again = found.told.of("server_cpu_us_per_op", role=RATIO)
    assert [row.case["library"] for row in again] == ["machine again"] * 5
    for row in again:
        assert 0.5 < row.ratio.point < 2, row.label


@pytest.mark.long
def test_locks_come_again_and_a_context_for_each_connection_takes_more() -> None:
    words = ("--library", "machine", "--measure", "handshake", "--context", "one,each", "--budget", "1s")
    counted = []
    for _ in range(2):
        done = library_bench(*words, "--count", "locks", "--json")
        assert done.returncode == 0, done.stderr
        found = BenchDocument.model_validate_json(done.stdout)
        locks = {(row.case["context"], row.outcome): row.value or 0.0 for row in found.told.of(role="locks")}
        counted.append(locks)
        takers = found.told.of("client_locks", role=TAKER)
        assert {row.case["context"] for row in takers} == {"one", "each"}
    locks, again = counted
    assert locks["one", "server_locks"] > 0
    assert locks["each", "server_locks"] == pytest.approx(locks["one", "server_locks"], rel=0.01)
    assert locks["each", "client_locks"] > locks["one", "client_locks"] > 0
    for context in ("one", "each"):
        assert again[context, "client_locks"] == pytest.approx(locks[context, "client_locks"], rel=0.01)


COUNTED = ("--library", "machine", "--measure", "exchange", "--budget", "1s", "--instructions")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind here")
def test_instructions_come_again() -> None:
    counted = []
    for _ in range(2):
        done = library_bench(*COUNTED, "--json")
        assert done.returncode == 0, done.stderr
        found = BenchDocument.model_validate_json(done.stdout)
        counted.append([row.value or 0.0 for row in found.told.of("instructions", role="instructions")])
        assert len(found.told.of("atomic_instructions", role="instructions")) == len(counted[0])
    assert counted[0]
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
