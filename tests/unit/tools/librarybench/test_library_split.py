"""What TLS costs a server is split into the library's part and the server's, and so are differences."""

from __future__ import annotations

import pytest

from fake_trials import Truth, fake_run, reconnecting
from library_runs import HANDSHAKE, bench, called
from tlstax.report.formats.render import bench_report
from tlstax.results.document import BenchDocument, RunDocument
from tlstax.study import Case, Study, load_study, override
from tlstax.support.errors import UserMistake
from tlstax.tools.librarybench.costs import TOPIC, document
from tlstax.tools.librarybench.split import DIFFERENCE, SPLIT, libraries_of, subjects_of
from tlstax.topics.answer.document import document as document_of_run

LIBRARIES = ("openssl-3.0.2", "openssl-3.5.5")
ADDED_US = {"openssl-3.0.2": 900.0, "openssl-3.5.5": 700.0, "own": 500.0}
PLAINTEXT_US, RESUMED_SHARE = 200.0, 0.5


def study(libraries: tuple[str, ...] = LIBRARIES, workload: str = "reconnect") -> Study:
    found = load_study("tax")
    for factor, levels in (("workload", [workload]), ("tls_library", list(libraries)), ("group", ["P-256"])):
        found = override(found, factor, levels)
    return found


def truth(case: Case) -> Truth:
    """TLS adds what each library makes it cost, half of it where a session is resumed."""
    added_us = ADDED_US[str(case.levels["tls_library"])] if case.levels["tls"] != "off" else 0.0
    share = RESUMED_SHARE if case.levels["resumption"] == "on" else 1.0
    return reconnecting(2000.0, PLAINTEXT_US + added_us * share, 300.0, handshake=0.5)


def run_of(libraries: tuple[str, ...] = LIBRARIES, workload: str = "reconnect") -> RunDocument:
    return document_of_run(fake_run(study(libraries, workload), truth=truth, noise=0.0))


def beside(run: RunDocument, factor: float) -> BenchDocument:
    """A bench beside the run: the first library costs 400 µs alone, the second this many times as much."""
    alone = called(bench([1.0, factor], (HANDSHAKE,)), *LIBRARIES)
    return document(alone.model_copy(update={"beside": run}))


def test_what_the_connections_did_is_what_the_libraries_are_asked_for() -> None:
    run = run_of()
    assert libraries_of(run) == LIBRARIES
    assert {subject.label for subject in subjects_of(run)} == {
        "TLS 1.3 handshake, RSA 2048, P-256",
        "TLS 1.2 handshake, RSA 2048, P-256",
        "TLS 1.3 resumed handshake, RSA 2048, P-256",
    }


def test_what_is_not_the_librarys_is_the_servers() -> None:
    found = beside(run_of(), 0.75)
    assert found.facts["run_beside"] == run_of().run
    splits = found.told.of(role=SPLIT)
    assert [split.label for split in splits] == [
        "the server over openssl-3.0.2, TLS 1.3",
        "the server over openssl-3.5.5, TLS 1.3",
    ]
    old, new = splits
    assert (old.difference.point, old.number("library_us")) == (pytest.approx(900), pytest.approx(400))
    assert old.number("server_us") == pytest.approx(500)
    assert (new.difference.point, new.number("server_us")) == (pytest.approx(700), pytest.approx(400))
    (difference,) = found.told.of(role=DIFFERENCE)
    assert difference.difference.point == pytest.approx(-200)
    assert difference.number("library_us") == pytest.approx(-100)
    assert difference.baseline["tls_library"] == LIBRARIES[0]


@pytest.mark.parametrize(
    ("factor", "sentence"),
    [
        (0.75, "the library alone costs 100 µs less, so that 50 % of it is the library's"),
        (0.25, "the library alone costs 300 µs less, so that 100 % of it is the library's"),
        (1.25, "the library alone costs 100 µs more, so that it is the server's"),
    ],
)
def test_a_difference_between_libraries_is_split_in_a_sentence(factor: float, sentence: str) -> None:
    (said,) = beside(run_of(), factor).told.sentences
    assert said.startswith("the server over openssl-3.5.5, TLS 1.3 costs 200 µs less (")
    assert said.endswith(f") than over openssl-3.0.2: {sentence}")


def test_a_difference_within_chance_is_none() -> None:
    found = beside(document_of_run(fake_run(study(), truth=truth, noise=0.3)), 1.0)
    (difference,) = found.told.of(role=DIFFERENCE)
    assert not difference.difference.excludes_zero
    assert found.told.sentences[0].endswith("which cannot be told from nothing")


def test_both_formats_have_the_split() -> None:
    found = beside(run_of(), 0.75)
    text = bench_report(TOPIC, found, "terminal", width=80)
    assert "What TLS costs the server of a new connection, run 2026" in text
    assert "the server over openssl-3.0.2, TLS 1.3" in text
    assert "400 µs (44 %)" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "| the server over openssl-3.0.2, TLS 1.3 | 900 µs | 400 µs (44 %) | 500 µs |" in bench_report(
        TOPIC, found, "md"
    )


@pytest.mark.parametrize("run", [run_of(("own",)), run_of(workload="point-select")])
def test_a_run_that_has_nothing_to_split_is_refused(run: RunDocument) -> None:
    with pytest.raises(UserMistake, match="no reconnecting case under TLS over a TLS library by name"):
        libraries_of(run)
    assert beside(run, 1.0).told.of(role=SPLIT) == ()
