"""A run with everything in it, for whoever wants to do the arithmetic anew."""

from __future__ import annotations

from tlstax.findings.core.outcomes import outcomes
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.exported_run import ExportedRun, ExportedTrial, Proof


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
