"""Trials through programs between client and server, run by hand."""

from __future__ import annotations

from tlstax.plan.jobs import job_for
from tlstax.records.trial import Trial, TrialRecord
from tlstax.run.bench import Bench
from tlstax.run.trial import run_trial
from tlstax.study import Case, Level
from tlstax.study.factors import CaseLevels
from tlstax.study.tls_levels import ENDS_TLS


def tried(bench: Bench, path: str, duration_s: float = 0.4, **changes: Level) -> TrialRecord:
    """The record of a short trial through this path."""
    tls = "1.3" if path in ENDS_TLS else "off"
    levels: dict[str, Level] = {
        "workload": "reconnect",
        "connections": 2,
        "tls": tls,
        "path": path,
        **changes,
    }
    terms = bench.terms_of(CaseLevels.of(levels)).model_copy(update={"duration_s": duration_s})
    trial = Trial(block=0, position=0, case=Case(levels=levels, role="treatment"))
    return run_trial(trial, job_for(CaseLevels.of(levels), terms, sequence=0), bench)


def assert_valid(record: TrialRecord) -> None:
    """With what speaks against it where it is not."""
    assert (record.verdict.value, record.verdict.reasons) == ("valid", ())
