"""Round trips and bytes of a case by hand: exactly where all trials agree, marked where they do not."""

from __future__ import annotations

from typing import Any

import pytest

import golden
from counted_runs import PLAIN as COUNTED_PLAIN
from counted_runs import Crossings, counted_run
from counted_runs import far as far_away
from fake_trials import fake_header, fake_record, fake_run, histogram, tax_truth, untrue
from tlstax.contract import Handshakes, PhaseWire
from tlstax.plan.order import cases
from tlstax.records.trial import DistanceObservation, RoundTripTime, StoredRun, Trial, TrialRecord
from tlstax.report.formats.render import render
from tlstax.results.rows import Row
from tlstax.stats.outcomes import outcomes
from tlstax.study import Case, Study, load_study, override
from tlstax.support.grouping import grouped
from tlstax.topics.answer.document import document
from tlstax.topics.core.section import OnPage
from tlstax.topics.core.table import Table
from tlstax.topics.core.topic import Run
from tlstax.topics.round_trips import AT_DISTANCE, COUNTED, READING_POSTGRESQL, TOPIC

TAX = load_study("tax")
STUDY = override(TAX, "workload", ["reconnect"])
PLAIN, CONTROL, FULL = cases(STUDY)[:3]


def wire(times: int, turns: int, sent: int = 0, received: int = 0) -> PhaseWire:
    """What was counted in all these times together."""
    return PhaseWire(times=times, round_trips=turns, bytes_sent=sent, bytes_received=received)


CONNECT = wire(10, 30, 1900, 890)
"""Ten connects of 3 round trips, 190 bytes sent and 89 received."""


def record_of(case: Case = PLAIN, *, block: int = 0, **changes: Any) -> TrialRecord:
    """A trial in which a client counted ten connects, or what `changes` of its end say."""
    truth = tax_truth(Case(levels={**PLAIN.levels, "tls": case.levels["tls"]}, role="baseline"))
    record = fake_record(Trial(block=block, position=0, case=case), truth, duration_s=0.01)
    assert record.done is not None
    done = record.done.model_copy(update={"phase_wire": {"connect": CONNECT}, **changes})
    return record.model_copy(update={"done": done})


def run_of(*records: TrialRecord, study: Study = STUDY) -> StoredRun:
    return StoredRun(header=fake_header(study), status="complete", trials=records)


def rows_of(*records: TrialRecord, study: Study = STUDY) -> tuple[Row, ...]:
    """What was counted, of all cases."""
    return TOPIC.told(Run(run_of(*records, study=study))).of(role=COUNTED)


def connect_of(*records: TrialRecord, study: Study = STUDY) -> Row:
    """How many round trips the one case takes to connect."""
    (found,) = (row for row in rows_of(*records, study=study) if row.outcome == "connect: round trips")
    return found


def counted(*wires: PhaseWire) -> tuple[object, object, object]:
    """Round trips of a connect, and whether they and the bytes agreed, of trials that counted so."""
    records = [record_of(block=n, phase_wire={"connect": each}) for n, each in enumerate(wires)]
    trips, sent, received = rows_of(*records)
    assert sent.more["agreed"] == received.more["agreed"]
    return trips.value, trips.more["agreed"], sent.more["agreed"]


def test_every_phase_is_a_mean_over_the_times_it_occurred() -> None:
    phases = {
        "connect": CONNECT,
        "tcp_connect": wire(10, 10),
        "greeting": wire(10, 10, 0, 780),
        "tls_handshake": wire(5, 10, 3500, 9500),
        "authentication": wire(10, 10, 1000, 110),
        "first_query": wire(10, 10, 400, 2100),
        "query": wire(30, 30, 1200, 6300),
        "close": wire(10, 0, 50, 0),
    }
    found = rows_of(record_of(phase_wire=phases), record_of(block=1, phase_wire=phases))
    by_phase = grouped(found, lambda row: row.word("phase"))
    assert {
        phase: (own[0].more["times"], *(row.value for row in own)) for phase, own in by_phase.items()
    } == {
        "connect": (20, 3, 190, 89),
        "tcp_connect": (20, 1, 0, 0),
        "greeting": (20, 1, 0, 78),
        "tls_handshake": (10, 2, 700, 1900),
        "authentication": (20, 1, 100, 11),
        "query": (80, 1, 40, 210),
    }
    assert [(row.outcome, row.unit) for row in by_phase["tls_handshake"]] == [
        ("TLS: round trips", "1"),
        ("TLS: bytes sent", "B"),
        ("TLS: bytes received", "B"),
    ]
    assert all(row.more["agreed"] and row.blocks == 2 for row in found)


def test_trials_agree_where_each_time_had_the_same_whole_number() -> None:
    assert counted(wire(10, 30), wire(20, 60)) == (3, True, True)
    assert counted(wire(10, 30), wire(10, 40)) == (3.5, False, True)
    assert counted(wire(10, 35)) == (3.5, False, True)
    assert counted(wire(10, 30), wire(30, 120)) == (3.75, False, True)
    assert counted(wire(10, 30, 100, 70), wire(10, 30, 110, 70)) == (3, True, False)
    assert counted(wire(10, 30, 100, 70), wire(10, 30, 100, 80)) == (3, True, False)
    assert counted(wire(10, 31, 100, 70)) == (3.1, False, True)


def test_only_valid_trials_with_an_end_count() -> None:
    spoiled = untrue(record_of(block=1, phase_wire={"connect": wire(10, 90)}), "not so")
    endless = record_of(block=2).model_copy(update={"done": None})
    silent = record_of(block=3, phase_wire={})
    found = connect_of(record_of(), spoiled, endless, silent)
    assert (found.blocks, found.value, found.more["agreed"]) == (2, 3, True)


def test_cases_come_in_the_studys_order_without_the_control() -> None:
    found = rows_of(record_of(FULL), record_of(CONTROL), record_of(PLAIN))[::3]
    assert [each.label for each in found] == ["plaintext", "TLS 1.3"]
    assert found[0].case == {"workload": "reconnect", "connections": 8, "tls": "off", "resumption": "off"}
    assert [each.negotiated for each in found] == [
        "plaintext",
        "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1, after a HelloRetryRequest",
    ]


def test_a_case_that_makes_no_connections_is_left_out() -> None:
    assert rows_of(record_of(phase_wire={"query": wire(10, 10)})) == ()
    assert rows_of(record_of(phase_wire={})) == ()
    assert rows_of() == ()


def test_a_group_is_called_by_what_sets_it_apart() -> None:
    assert connect_of(record_of()).word("group_words") == ""
    several = override(STUDY, "connections", ["8", "64"])
    assert connect_of(record_of(cases(several)[0]), study=several).word("group_words") == "8 connections"
    both = override(several, "workload", ["reconnect", "point-select"])
    assert connect_of(record_of(cases(both)[0]), study=both).word("group_words") == (
        "reconnecting for every point select, 8 connections"
    )


CERTIFICATES = Study(
    name="certificates",
    title="Certificates",
    question="q",
    factors={
        "workload": ("reconnect",),
        "connections": (8,),
        "tls": ("1.3",),
        "certificate": ("rsa-2048", "rsa-4096"),
    },
    baseline={"tls": "1.3", "certificate": "rsa-2048"},
)


def labels(study: Study) -> list[str]:
    return [connect_of(record_of(case), study=study).label for case in cases(study) if case.role != "control"]


def test_a_case_is_called_by_its_tls_and_what_differs_from_the_baseline() -> None:
    assert labels(CERTIFICATES) == ["TLS 1.3", "TLS 1.3, RSA 4096 certificate"]
    resumed = cases(STUDY)[3]
    assert connect_of(record_of(resumed)).label == "TLS 1.3 resumed"


def test_the_baseline_of_another_study_has_its_whole_name() -> None:
    study = CERTIFICATES.model_copy(update={"baseline": {"certificate": "rsa-2048"}})
    assert labels(study) == ["RSA 2048 certificate", "RSA 4096 certificate"]


def test_a_case_is_called_by_what_differs_alone_and_the_baseline_by_all_that_it_is_of() -> None:
    factors = {**CERTIFICATES.factors, "group": ("P-256", "P-384")}
    baseline = {"certificate": "rsa-2048", "group": "P-256"}
    assert labels(CERTIFICATES.model_copy(update={"factors": factors, "baseline": baseline})) == [
        "RSA 2048 certificate, P-256 alone",
        "P-384 alone",
        "RSA 4096 certificate",
        "RSA 4096 certificate, P-384 alone",
    ]


def test_a_case_that_resumes_as_its_baseline_does_is_said_to_resume() -> None:
    study = Study(
        name="resumed",
        title="Resumed",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8, 64), "tls": ("1.3",), "resumption": ("on",)},
        baseline={"tls": "1.3", "resumption": "on"},
    )
    assert connect_of(record_of(cases(study)[0]), study=study).label == "TLS 1.3 resumed"


def test_a_group_is_called_by_its_tls_where_other_things_are_compared() -> None:
    study = Study(
        name="ladder",
        title="Ladder",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8, 64), "tls": ("1.2", "1.3")},
        baseline={"connections": 8},
    )
    assert connect_of(record_of(cases(study)[0]), study=study).word("group_words") == "TLS 1.2"


def test_a_hello_retry_is_told_where_all_handshakes_met_one_or_none() -> None:
    def shake(*retries: bool | None) -> object:
        seen = tuple(
            Handshakes(version="TLSv1.3", cipher="c", group="g", resumed=False, hello_retry=retry, count=4)
            for retry in retries
        )
        record = record_of(FULL)
        assert record.done is not None
        window = record.done.window.model_copy(update={"handshakes": seen})
        done = record.done.model_copy(update={"window": window})
        return connect_of(record.model_copy(update={"done": done})).more["hello_retry"]

    assert shake(True) is True
    assert shake(True, True) is True
    assert shake(False, None) is False
    assert shake(True, False) is None
    assert shake() is None


def far(record: TrialRecord, rtt_ms: float, after_ms: float = 99.0) -> TrialRecord:
    def measured(median_ms: float) -> RoundTripTime:
        return RoundTripTime(median_ms=median_ms, lowest_ms=0.1, highest_ms=999.0, samples=9)

    seen = DistanceObservation(
        rtt_ms=1.0,
        jitter_ms=0,
        rate_mbit=0,
        made_by="tlstax-link",
        before=measured(rtt_ms),
        after=measured(after_ms),
    )
    return record.model_copy(update={"distance": seen})


def took(connect_ms: float, block: int) -> TrialRecord:
    """A trial whose connects took so long, to a histogram's precision of one in a thousand."""
    return record_of(block=block, histograms_ns={"connect": histogram(connect_ms * 1000, 50, spread=0.0)})


def away_of(*records: TrialRecord) -> tuple[float, float | None, float | None, float | None] | None:
    """A connect and the round trip time in ms, the one in terms of the other, and the rest in ms."""
    found = TOPIC.told(Run(run_of(*records))).of("connect_p50_us", role=AT_DISTANCE)
    for row in found:
        own = (row.number(name) for name in ("rtt_ms", "in_round_trips", "extra_ms"))
        return ((row.value or 0.0) / 1000, *own)  # type: ignore[return-value]
    return None


def test_over_a_distance_connects_are_told_in_round_trip_times() -> None:
    """Medians of 31, 36 and 50 ms at 10, 12 and 15 ms: 36 ms are 3 round trips of 12 ms, nothing more."""
    trials = far(took(50, 0), 15), far(took(31, 1), 10), far(took(36, 2), 12)
    assert away_of(*trials) == (
        pytest.approx(36, rel=5e-4),
        12,
        pytest.approx(3, rel=2e-3),
        pytest.approx(0, abs=0.1),
    )
    longer = away_of(far(took(50, 0), 15))
    assert longer is not None
    assert longer[3] == pytest.approx(5, rel=0.02)


def test_trials_without_a_distance_are_in_no_round_trip_time() -> None:
    away = away_of(took(500, 0), far(took(400, 1), 0.0), far(took(36, 2), 12))
    assert away is not None
    assert away[:2] == (pytest.approx(36, rel=2e-3), 12)
    assert away_of(took(500, 0)) is None
    assert away_of(far(record_of(histograms_ns={}), 12)) is None


def of_case(stored: StoredRun, tls: str) -> dict[str, Row]:
    """The rows of the case without resumption, by their outcomes."""
    wanted = {"tls": tls, "resumption": "off"}
    return {row.outcome: row for row in TOPIC.told(Run(stored)).rows if wanted.items() <= row.case.items()}


def test_counts_are_told_for_each_phase_as_they_were_counted() -> None:
    plain = of_case(counted_run(), "off")
    connect = [plain[f"connect: {what}"].value for what in ("round trips", "bytes sent", "bytes received")]
    assert connect == [3, 190, 89]
    query = plain["query: round trips"]
    assert (query.value, query.more["agreed"]) == (1, True)
    assert "TLS: round trips" not in plain
    full = of_case(counted_run(), "1.3")
    assert (full["TLS: round trips"].value, full["TLS: round trips"].more["agreed"]) == (2, True)
    assert full["TLS: bytes sent"].more["agreed"]


def test_trials_that_differ_are_said_to_differ() -> None:
    def sometimes_one_more(record: TrialRecord) -> Crossings:
        more = record.trial.block % 2
        return {**COUNTED_PLAIN, "connect": (3 + more, 190, 89)}

    stored = counted_run(sometimes_one_more)
    found = of_case(stored, "off")
    assert not found["connect: round trips"].more["agreed"]
    assert found["connect: bytes sent"].more["agreed"]
    assert found["connect: round trips"].value == pytest.approx(3.5)
    (section,) = TOPIC.sections(TOPIC.told(Run(stored)), document(stored))
    (block,) = section.blocks
    assert isinstance(block, OnPage)
    trips, of_bytes = block.make()
    assert isinstance(trips, Table)
    assert isinstance(of_bytes, Table)
    assert any("~3.50" in row for row in trips.lines(roomy=True))
    assert all(len(row) == 6 for row in of_bytes.lines(roomy=True)), "a TCP connect has no bytes of its own"


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
    findings = document(counted_run(lambda _: COUNTED_PLAIN)).findings
    counted = [f for f in findings if f.outcome.startswith(("round_trips", "bytes_sent_per_connect"))]
    assert counted
    assert {f.judgement for f in counted} <= {"alike", "baseline"}


def test_over_a_distance_the_time_stands_beside_the_counted_round_trips() -> None:
    stored = far_away(counted_run(), rtt_ms=0.2)
    away = of_case(stored, "off")["connect_p50_us"]
    connect_ms = (away.value or 0.0) / 1000
    assert away.number("in_round_trips") == pytest.approx(connect_ms / 0.2)
    assert away.number("extra_ms") == pytest.approx(connect_ms - 3 * 0.2)
    assert "connect_p50_us" not in of_case(counted_run(), "off")
    assert "Connecting over a distance" in render(stored, document(stored), "md")


def test_what_a_run_shows_that_counted() -> None:
    golden.check("round-trips", counted_run(), TOPIC)
    without = fake_run(noise=0.0, invalid=False)
    assert TOPIC.name not in document(without).topics


def test_a_client_that_counts_nothing_has_none_of_these_outcomes() -> None:
    record = fake_run().trials[0]
    assert not [name for name in outcomes(record) if name.startswith("round_trips")]
    assert "round_trips" not in document(fake_run()).topics


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
    direct = {"off", "1.3", "1.3-direct"}
    for server in ("postgresql-17", "postgresql-18"):
        own = [levels for levels in found if levels["server"] == server]
        assert {levels["tls"] for levels in own} >= direct
        assert {levels["resumption"] for levels in own} == {"off"}


@pytest.mark.parametrize(("server", "is_said"), [("postgresql-18", True), ("mysql-9.7", False)])
def test_what_a_greeting_is_of_postgresql_is_said_where_it_is_measured(server: str, is_said: bool) -> None:
    study = override(STUDY, "server", [server])
    run = run_of(record_of(cases(study)[0]), study=study)
    assert (READING_POSTGRESQL in render(run, document(run), "md").replace("\n", " ")) == is_said
