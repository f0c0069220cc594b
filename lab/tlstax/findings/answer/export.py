"""A run as one JSON document with everything in it: each trial's proof, outcomes and histograms."""

from __future__ import annotations

from typing import Any

from tlstax.findings.core.outcomes import outcomes
from tlstax.records.trial import StoredRun, TrialRecord

SCHEMA = 1
"""Version of the export."""


def exported(stored: StoredRun) -> dict[str, Any]:
    """The run's header and, for each trial, its case, place, verdict, proof, outcomes, histograms and counts.

    Only what JSON can hold; latencies in the histograms are nanoseconds, in HdrHistogram's V2 encoding.
    Raises MachineFault where a stored histogram cannot be decoded.
    """
    return {
        "schema": SCHEMA,
        **stored.header.model_dump(mode="json"),
        "status": stored.status,
        "stopped_because": stored.stopped_because,
        "trials": [_trial(record) for record in stored.trials],
    }


def _trial(record: TrialRecord) -> dict[str, Any]:
    raw = record.model_dump(mode="json")
    trial, done = record.trial, raw["done"] or {}
    return {
        "case": trial.case.levels,
        "role": trial.case.role,
        "block": trial.block,
        "position": trial.position,
        "profiled": trial.profiled,
        "captured": trial.captured,
        "started_at": record.started_at,
        "took_s": record.took_s,
        "verdict": record.verdict.value,
        "reasons": list(record.verdict.reasons),
        "notes": list(record.verdict.notes),
        "proof": {
            "client": raw["ready"],
            "client_mapped_tls_libraries": raw["client_mapped_tls_libraries"],
            "server": raw["server"],
            "window": done.get("window"),
            "lifetime": done.get("lifetime"),
            "row_mismatches": raw["row_mismatches"],
        },
        "observed": raw["window"],
        "outcomes": outcomes(record),
        "profile": raw["profile"],
        "capture": raw["capture"],
        "why_no_profile": record.why_no_profile,
        "histograms_ns": done.get("histograms_ns", {}),
        "phase_wire": done.get("phase_wire", {}),
        "rounds_s": done.get("rounds_s", []),
        "job": raw["job"],
        "errors": [*raw["client_errors"], *done.get("errors", [])],
        "failure": record.failure,
        "client_log": record.client_log,
        "server_log": record.server_log,
    }
