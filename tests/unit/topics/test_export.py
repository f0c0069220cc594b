"""The export has all that is kept of a trial, each thing in its place, and says what there is none of."""

from __future__ import annotations

from captured_runs import capture_of
from fake_trials import crashed, fake_header, fake_record, histogram, tax_truth
from tlstax.contract import Counts, ErrorCount, ErrorEvent, PhaseWire
from tlstax.plan.order import cases
from tlstax.records.profiles.stacks import Profile
from tlstax.records.trial import StoredRun, Trial, TrialRecord, Verdict
from tlstax.records.window import Burned, Slices, Together, Window
from tlstax.study import load_study
from tlstax.topics.answer.export import ExportedTrial, exported

CASE = cases(load_study("tax"))[2]
TRIAL = Trial(block=3, position=5, case=CASE, profiled=True, captured=True)
COUNTS = Counts(connections=4, handshakes=(), authentications={})
SLICES = Slices(
    sitting=2,
    length_s=0.5,
    took_s=1.0,
    rounds=(0,),
    operations=(10,),
    elapsed_s=(0.5,),
    latency_sum_s=(0.4,),
    client_cpu_us=(9.0,),
    server_cpu_us=(8.0,),
)
TOGETHER = Together(clients=3, status_delta={"Connections": 3}, claims={}, own=COUNTS)
BURNED = Burned(calls=(7,), asked_ns=(70,), burned_ns=(71,))
WIRE = {"query": PhaseWire(times=10, round_trips=10, bytes_sent=40, bytes_received=50)}
REFUSED = ErrorEvent(kind="connect", fault="server", fatal=False, message="refused", code=1040)
LOST = ErrorCount(kind="connect", code=2013, count=2)


def stored(*records: TrialRecord) -> StoredRun:
    return StoredRun(
        header=fake_header(seed=77), status="interrupted", stopped_because="Ctrl-C", trials=records
    )


def whole() -> TrialRecord:
    """A record in which nothing is left empty."""
    record = fake_record(TRIAL, tax_truth(CASE), duration_s=0.01)
    assert record.done is not None
    changes = {"phase_wire": WIRE, "rounds_s": (0.25, 0.75), "errors": (LOST,), "window": COUNTS}
    return record.model_copy(
        update={
            "verdict": Verdict(value="unknown", reasons=("no proof",), notes=("a note",)),
            "done": record.done.model_copy(update=changes),
            "row_mismatches": ("SELECT 1",),
            "window": Window(took_s=1.25),
            "slices": SLICES,
            "together": TOGETHER,
            "burned": BURNED,
            "profile": Profile(event="cycles", frequency_hz=99, kernel=True),
            "capture": capture_of(TRIAL, 8),
            "why_no_profile": "no perf",
            "client_errors": (REFUSED,),
            "failure": "cut off",
            "client_log": "from the client",
            "server_log": "from the server",
        }
    )


def trial_of(record: TrialRecord) -> ExportedTrial:
    (trial,) = exported(stored(record)).trials
    return trial


def test_the_runs_header_comes_with_how_it_ended() -> None:
    found = exported(stored(whole(), crashed(TRIAL)))
    assert (found.run, found.study.name, found.seed) == ("20261121-195500-ab12", "tax", 77)
    assert (found.status, found.stopped_because) == ("interrupted", "Ctrl-C")
    assert [trial.verdict for trial in found.trials] == ["unknown", "invalid"]


def test_a_trial_has_its_case_its_place_and_the_verdict_on_it() -> None:
    trial = trial_of(whole())
    assert trial.case == {"workload": "point-select", "connections": 8, "tls": "1.3", "resumption": "off"}
    assert (trial.role, trial.block, trial.position) == ("treatment", 3, 5)
    assert (trial.profiled, trial.captured) == (True, True)
    assert (trial.started_at, trial.took_s) == ("2026-11-21T19:55:00+00:00", 0.31)
    assert (trial.verdict, trial.reasons, trial.notes) == ("unknown", ("no proof",), ("a note",))
    plain = trial_of(whole().model_copy(update={"trial": Trial(block=0, position=0, case=CASE)}))
    assert (plain.block, plain.position, plain.profiled, plain.captured) == (0, 0, False, False)


def test_a_trial_has_its_proof_from_both_sides() -> None:
    record, proof = whole(), trial_of(whole()).proof
    assert proof.client is not None
    assert proof.client.tls_library is not None
    assert proof.client.tls_library.version == "OpenSSL 3.5.5"
    assert proof.client_mapped_tls_libraries == record.client_mapped_tls_libraries
    assert proof.client_mapped_tls_libraries
    assert proof.server is not None
    assert proof.server.version == "9.7.4"
    assert proof.window == COUNTS
    assert proof.lifetime is not None
    assert (proof.lifetime.connections, proof.row_mismatches) == (8, ("SELECT 1",))


def test_a_trial_has_all_that_was_measured_and_watched() -> None:
    trial = trial_of(whole())
    assert trial.observed == Window(took_s=1.25)
    assert trial.outcomes["round_s"] == 0.5
    assert (trial.slices, trial.together, trial.burned) == (SLICES, TOGETHER, BURNED)
    assert trial.profile == Profile(event="cycles", frequency_hz=99, kernel=True)
    assert trial.capture is not None
    assert trial.capture.connections == 8
    assert trial.why_no_profile == "no perf"
    operation_us = tax_truth(CASE).phase_us["operation"]
    assert trial.histograms_ns.keys() == {"query", "operation"}
    assert trial.histograms_ns["operation"] == histogram(operation_us, 260)
    assert (trial.phase_wire, trial.rounds_s) == (WIRE, (0.25, 0.75))
    assert trial.job is not None
    assert trial.job.connections == 8
    assert trial.errors == (REFUSED, LOST)
    assert (trial.failure, trial.client_log) == ("cut off", "from the client")
    assert trial.server_log == "from the server"


def test_a_trial_that_never_ended_has_nothing_that_was_measured() -> None:
    record = crashed(TRIAL).model_copy(update={"client_errors": (REFUSED,)})
    trial = trial_of(record)
    assert (trial.proof.client, trial.proof.server) == (None, None)
    assert (trial.proof.window, trial.proof.lifetime) == (None, None)
    assert (trial.outcomes, trial.histograms_ns, trial.phase_wire, trial.rounds_s) == ({}, {}, {}, ())
    assert (trial.observed, trial.slices, trial.together, trial.burned) == (None, None, None, None)
    assert (trial.profile, trial.capture) == (None, None)
    assert trial.errors == (REFUSED,)
    assert (trial.failure, trial.server_log) == ("the server died of signal 9", "mysqld got signal 9\n")
