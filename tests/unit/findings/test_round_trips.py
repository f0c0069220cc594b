"""What a connect takes is told as it was counted: exactly where all agree, marked where they do not."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from counted_runs import FULL, PLAIN, Crossings, counted_run, far
from fake_trials import fake_run
from tlstax.findings.core.outcomes import outcomes
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.connect.round_trips import every_line
from tlstax.report.formats.render import FORMATS, render
from tlstax.results.connect import RoundTripsResult
from tlstax.study import load_study
from tlstax.topics.answer.document import document


def result(stored: StoredRun, **levels: str) -> RoundTripsResult:
    (found,) = (
        one
        for one in document(stored).round_trips
        if all(one.case[name] == level for name, level in {"resumption": "off", **levels}.items())
    )
    return found


def test_counts_are_told_for_each_phase_as_they_were_counted() -> None:
    plain = result(counted_run(), tls="off")
    connect, query = plain.of("connect"), plain.of("query")
    assert connect is not None
    assert query is not None
    assert (connect.round_trips, connect.bytes_sent, connect.bytes_received) == (3, 190, 89)
    assert (query.round_trips, query.agreed) == (1, True)
    assert plain.of("tls_handshake") is None
    full = result(counted_run(), tls="1.3")
    handshake = full.of("tls_handshake")
    assert handshake is not None
    assert (handshake.round_trips, handshake.agreed, handshake.bytes_agreed) == (2, True, True)


def test_trials_that_differ_are_said_to_differ() -> None:
    def sometimes_one_more(record: TrialRecord) -> Crossings:
        more = record.trial.block % 2
        return {**PLAIN, "connect": (3 + more, 190, 89)}

    found = result(counted_run(sometimes_one_more), tls="off").of("connect")
    assert found is not None
    assert not found.agreed
    assert found.bytes_agreed
    assert found.round_trips == pytest.approx(3.5)
    rows = next(every_line(document(counted_run(sometimes_one_more)))).whole().rows
    assert any("~3.50" in cell for row in rows for cell in row)


def test_exact_counts_differ_or_do_not_and_leave_no_doubt() -> None:
    findings = [f for f in document(counted_run()).findings if f.outcome == "round_trips_per_connect"]
    judged = {(f.case["tls"], f.role): f for f in findings}
    assert judged["off", "control"].judgement == "alike"
    tls = judged["1.3", "treatment"]
    assert tls.judgement == "higher"
    assert tls.ratio.low == pytest.approx(5 / 3)
    assert tls.ratio.high == pytest.approx(5 / 3)
    assert tls.noise_floor == pytest.approx(0)


def test_equal_counts_are_no_difference_though_the_interval_has_no_width() -> None:
    findings = document(counted_run(lambda _: PLAIN)).findings
    counted = [f for f in findings if f.outcome.startswith(("round_trips", "bytes_sent_per_connect"))]
    assert counted
    assert {f.judgement for f in counted} <= {"alike", "baseline"}


def test_over_a_distance_the_time_stands_beside_the_counted_round_trips() -> None:
    stored = far(counted_run(), rtt_ms=0.2)
    plain = result(stored, tls="off")
    away = plain.over_distance
    assert away is not None
    assert away.in_round_trips == pytest.approx(away.connect_ms / 0.2)
    assert away.extra_ms == pytest.approx(away.connect_ms - 3 * 0.2)
    assert result(counted_run(), tls="off").over_distance is None


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_it(name: str) -> None:
    stored = counted_run()
    text = render(stored, document(stored), name, verbose=True)  # type: ignore[arg-type]
    assert "ound trips" in text or "round_trips" in text
    without = fake_run(noise=0.0, invalid=False)
    if name != "json":
        assert "Round trips: how often" not in render(without, document(without), name, verbose=True)  # type: ignore[arg-type]


def test_a_csv_has_a_row_for_each_count() -> None:
    stored = counted_run()
    rows = list(csv.DictReader(StringIO(render(stored, document(stored), "csv"))))
    (handshake,) = (
        row
        for row in rows
        if (row["role"], row["outcome"], row["case_tls"], row["case_resumption"])
        == ("counted", "TLS: round trips", "1.3", "off")
    )
    assert float(handshake["value"]) == FULL["tls_handshake"][0]


def test_a_client_that_counts_nothing_has_none_of_these_outcomes() -> None:
    record = fake_run().trials[0]
    assert not [name for name in outcomes(record) if name.startswith("round_trips")]
    assert document(fake_run()).round_trips == ()


def test_the_built_in_study_has_what_is_asked_of_it() -> None:
    """Versions, resumption, five certificates, and each server's groups."""
    found = [case.levels for case in cases(load_study("round-trips"))]
    for server in ("mysql-9.7", "mariadb-11.8"):
        own = [levels for levels in found if levels["server"] == server]
        assert {(levels["tls"], levels["resumption"]) for levels in own} >= {
            ("off", "off"), ("1.2", "off"), ("1.3", "off"), ("1.2", "on"), ("1.3", "on")
        }  # fmt: skip
        for tls in ("1.2", "1.3"):
            assert {levels["certificate"] for levels in own if levels["tls"] == tls} == {
                "rsa-1024", "rsa-2048", "rsa-4096", "ec-p256", "ec-p384"
            }  # fmt: skip
        assert {"default", "P-256", "P-256-first"} <= {levels["group"] for levels in own}
    hybrid = [levels for levels in found if levels["group"] == "X25519MLKEM768"]
    assert [levels["server"] for levels in hybrid] == ["mariadb-11.8"]
