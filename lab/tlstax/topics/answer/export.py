"""A run with everything in it, for whoever wants to do the arithmetic anew: what `runs export` prints."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field

from tlstax.contract import Counts, ErrorCount, ErrorEvent, Frozen, Job, PhaseWire, Ready
from tlstax.records.capture import Capture
from tlstax.records.profiles.stacks import Profile
from tlstax.records.trial import (
    MappedLibrary,
    RunHeader,
    ServerObservation,
    StoredRun,
    TrialRecord,
)
from tlstax.records.window import Burned, Slices, Together, Window
from tlstax.results.rows import Document
from tlstax.stats.outcomes import outcomes
from tlstax.study import Role
from tlstax.study.factors import CaseLevels


class Proof(Frozen):
    """What both sides said and were seen to be; `window` and `lifetime` are the client's counts."""

    client: Ready | None
    client_mapped_tls_libraries: tuple[MappedLibrary, ...]
    server: ServerObservation | None
    window: Counts | None
    lifetime: Counts | None
    row_mismatches: tuple[str, ...]


class ExportedTrial(Frozen):
    """One trial: its case and place, the verdict on it with its reasons, and all that was measured.

    `slices` is what it did in turns with others, `together` what the server counted of all of them meanwhile;
    None of a trial that had the servers to itself. `burned` is what the fault `burn` did, None where that is
    not planted. `machine` is the one that it ran on, empty where the run has one. Latencies in
    `histograms_ns` are nanoseconds, in HdrHistogram's V2 encoding, base64, one for each phase.
    `job` has no password; `failure` says why the trial did not come to its end, empty when it did.
    """

    case: CaseLevels
    role: Role
    block: int
    position: int
    profiled: bool
    captured: bool
    machine: str
    started_at: str
    took_s: float
    verdict: Literal["valid", "invalid", "unknown"]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    proof: Proof
    observed: Window | None
    outcomes: dict[str, float]
    slices: Slices | None
    together: Together | None
    burned: Burned | None
    profile: Profile | None
    capture: Capture | None
    why_no_profile: str
    histograms_ns: dict[str, str]
    phase_wire: dict[str, PhaseWire]
    rounds_s: tuple[float, ...]
    job: Job | None
    errors: tuple[ErrorEvent | ErrorCount, ...]
    failure: str
    client_log: str
    server_log: str


class _Versioned(Document):
    schema_version: Literal[1] = Field(default=1, alias="schema")


class ExportedRun(RunHeader, _Versioned):
    """The document that `runs export` prints: the run's header and every trial as it is kept."""

    status: Literal["running", "complete", "interrupted", "failed"]
    stopped_because: str
    trials: tuple[ExportedTrial, ...]


def exported(stored: StoredRun) -> ExportedRun:
    """The run's header and, for each trial, its case, place, verdict, proof, outcomes, histograms and counts.

    Raises MachineFault where a stored histogram cannot be decoded.
    """
    return ExportedRun(
        **dict(stored.header),
        status=stored.status,
        stopped_because=stored.stopped_because,
        trials=tuple(_trial(record) for record in stored.trials),
    )


def export_text(stored: StoredRun) -> str:
    """A run with everything in it as one JSON document, on one line."""
    return json.dumps(exported(stored).model_dump(mode="json"), ensure_ascii=False)


def _trial(record: TrialRecord) -> ExportedTrial:
    trial, done = record.trial, record.done
    return ExportedTrial(
        case=trial.case.levels,
        role=trial.case.role,
        block=trial.block,
        position=trial.position,
        profiled=trial.profiled,
        captured=trial.captured,
        machine=record.machine,
        started_at=record.started_at,
        took_s=record.took_s,
        verdict=record.verdict.value,
        reasons=record.verdict.reasons,
        notes=record.verdict.notes,
        proof=Proof(
            client=record.ready,
            client_mapped_tls_libraries=record.client_mapped_tls_libraries,
            server=record.server,
            window=done and done.window,
            lifetime=done and done.lifetime,
            row_mismatches=record.row_mismatches,
        ),
        observed=record.window,
        outcomes=outcomes(record),
        slices=record.slices,
        together=record.together,
        burned=record.burned,
        profile=record.profile,
        capture=record.capture,
        why_no_profile=record.why_no_profile,
        histograms_ns=done.histograms_ns if done else {},
        phase_wire=done.phase_wire if done else {},
        rounds_s=done.rounds_s if done else (),
        job=record.job,
        errors=(*record.client_errors, *(done.errors if done else ())),
        failure=record.failure,
        client_log=record.client_log,
        server_log=record.server_log,
    )
