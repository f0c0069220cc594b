"""Round trips and bytes of a case, worked out by hand from what two trials counted."""

from __future__ import annotations

from typing import Any

import pytest

from fake_trials import fake_header, fake_record, histogram, tax_truth, untrue
from tlstax.contract import Handshakes, PhaseWire
from tlstax.findings.connect.round_trips import round_trips
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.records.way import DistanceObservation, RoundTripTime
from tlstax.results.connect import RoundTripsResult
from tlstax.study import Case, Study, load_study, override

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


def result(*records: TrialRecord, study: Study = STUDY) -> RoundTripsResult:
    (found,) = round_trips(run_of(*records, study=study))
    return found


def counted(*wires: PhaseWire) -> tuple[float, bool, bool]:
    """Round trips of a connect, and whether they and the bytes agreed, of trials that counted so."""
    records = [record_of(block=n, phase_wire={"connect": each}) for n, each in enumerate(wires)]
    (connect,) = result(*records).phases
    return connect.round_trips, connect.agreed, connect.bytes_agreed


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
    found = result(record_of(phase_wire=phases), record_of(block=1, phase_wire=phases))
    assert [
        (each.phase, each.times, each.round_trips, each.bytes_sent, each.bytes_received)
        for each in found.phases
    ] == [
        ("connect", 20, 3, 190, 89),
        ("tcp_connect", 20, 1, 0, 0),
        ("greeting", 20, 1, 0, 78),
        ("tls_handshake", 10, 2, 700, 1900),
        ("authentication", 20, 1, 100, 11),
        ("query", 80, 1, 40, 210),
    ]
    assert all(each.agreed and each.bytes_agreed for each in found.phases)
    assert (found.trials, found.over_distance) == (2, None)


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
    found = result(record_of(), spoiled, endless, silent)
    assert (found.trials, found.phases[0].round_trips, found.phases[0].agreed) == (2, 3, True)


def test_cases_come_in_the_studys_order_without_the_control() -> None:
    found = round_trips(run_of(record_of(FULL), record_of(CONTROL), record_of(PLAIN)))
    assert [each.label for each in found] == ["plaintext", "TLS 1.3"]
    assert found[0].case == {"workload": "reconnect", "connections": 8, "tls": "off", "resumption": "off"}
    assert [each.negotiated for each in found] == [
        "plaintext",
        "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1, after a HelloRetryRequest",
    ]


def test_a_case_that_makes_no_connections_is_left_out() -> None:
    assert round_trips(run_of(record_of(phase_wire={"query": wire(10, 10)}))) == ()
    assert round_trips(run_of(record_of(phase_wire={}))) == ()
    assert round_trips(run_of()) == ()


def test_a_group_is_called_by_what_sets_it_apart() -> None:
    assert result(record_of()).group == ""
    several = override(STUDY, "connections", ["8", "64"])
    assert result(record_of(cases(several)[0]), study=several).group == "8 connections"
    both = override(several, "workload", ["reconnect", "point-select"])
    assert result(record_of(cases(both)[0]), study=both).group == (
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
    return [result(record_of(case), study=study).label for case in cases(study) if case.role != "control"]


def test_a_case_is_called_by_its_tls_and_what_differs_from_the_baseline() -> None:
    assert labels(CERTIFICATES) == ["TLS 1.3", "TLS 1.3, RSA 4096 certificate"]
    resumed = cases(STUDY)[3]
    assert result(record_of(resumed)).label == "TLS 1.3 resumed"


def test_the_baseline_of_another_study_has_its_whole_name() -> None:
    study = CERTIFICATES.model_copy(update={"baseline": {"certificate": "rsa-2048"}})
    assert labels(study) == ["RSA 2048 certificate", "RSA 4096 certificate"]


def test_a_case_that_resumes_as_its_baseline_does_is_said_to_resume() -> None:
    study = Study(
        name="resumed",
        title="Resumed",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8, 64), "tls": ("1.3",), "resumption": ("on",)},
        baseline={"tls": "1.3", "resumption": "on"},
    )
    assert result(record_of(cases(study)[0]), study=study).label == "TLS 1.3 resumed"


def test_a_group_is_called_by_its_tls_where_other_things_are_compared() -> None:
    study = Study(
        name="ladder",
        title="Ladder",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8, 64), "tls": ("1.2", "1.3")},
        baseline={"connections": 8},
    )
    assert result(record_of(cases(study)[0]), study=study).group == "TLS 1.2"


def test_a_hello_retry_is_told_where_all_handshakes_met_one_or_none() -> None:
    def shake(*retries: bool | None) -> bool | None:
        seen = tuple(
            Handshakes(version="TLSv1.3", cipher="c", group="g", resumed=False, hello_retry=retry, count=4)
            for retry in retries
        )
        record = record_of(FULL)
        assert record.done is not None
        window = record.done.window.model_copy(update={"handshakes": seen})
        done = record.done.model_copy(update={"window": window})
        return result(record.model_copy(update={"done": done})).hello_retry

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


def test_over_a_distance_connects_are_told_in_round_trip_times() -> None:
    """Medians of 31, 36 and 50 ms at 10, 12 and 15 ms: 36 ms are 3 round trips of 12 ms, nothing more."""
    trials = far(took(50, 0), 15), far(took(31, 1), 10), far(took(36, 2), 12)
    away = result(*trials).over_distance
    assert away is not None
    assert away.connect_ms == pytest.approx(36, rel=5e-4)
    assert (away.rtt_ms, away.in_round_trips) == (12, pytest.approx(3, rel=2e-3))
    assert away.extra_ms == pytest.approx(0, abs=0.1)
    longer = result(far(took(50, 0), 15)).over_distance
    assert longer is not None
    assert longer.extra_ms == pytest.approx(5, rel=0.02)


def test_trials_without_a_distance_are_in_no_round_trip_time() -> None:
    away = result(took(500, 0), far(took(400, 1), 0.0), far(took(36, 2), 12)).over_distance
    assert away is not None
    assert (away.connect_ms, away.rtt_ms) == (pytest.approx(36, rel=2e-3), 12)
    assert result(took(500, 0)).over_distance is None
    assert result(far(record_of(histograms_ns={}), 12)).over_distance is None
