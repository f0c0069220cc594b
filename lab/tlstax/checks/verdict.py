"""The verdict: was a trial what it claims to be? Pure; it reads the evidence of both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tlstax.checks import (
    compressed,
    connections,
    drivers,
    identity,
    network,
    rows_changed,
    settings,
    statements,
    streams,
    together,
    treatment,
    verification,
)
from tlstax.checks.complete import Complete, Doubt
from tlstax.records.trial import Evidence, TrialRecord, Verdict

CHECKS: tuple[Callable[[Complete], Iterator[Doubt]], ...] = (
    network.way,
    network.crossed,
    connections.seen_at_server,
    statements.statements_counted,
    statements.transactions_counted,
    statements.slices_add_up,
    streams.whole,
    treatment.encryption,
    treatment.begun,
    connections.logged,
    treatment.key_exchange,
    treatment.cipher,
    treatment.resumption,
    compressed.compressed,
    treatment.connected,
    treatment.server_counts,
    together.together,
    together.began_together,
    connections.enough_ports,
    drivers.connections,
    drivers.handshakes,
    drivers.resumption,
    drivers.steady,
    treatment.logins,
    treatment.work,
    rows_changed.rows_changed,
    rows_changed.came_to_its_number,
    verification.unverified,
    *settings.CHECKS,
    network.distance,
    identity.answering,
    identity.listening,
    identity.server_library,
    identity.client_library,
    identity.planted,
    identity.burned,
    identity.counted,
)


def judged(evidence: Evidence) -> TrialRecord:
    """The record of a trial: its evidence and the verdict. A check that breaks gives "unknown"."""
    try:
        verdict = judge(evidence)
    except Exception as error:
        reason = f"the evidence could not be judged ({type(error).__name__}: {error})"
        verdict = Verdict(value="unknown", reasons=(reason,))
    return TrialRecord(**{name: getattr(evidence, name) for name in Evidence.model_fields}, verdict=verdict)


def judge(evidence: Evidence) -> Verdict:
    """Valid when every claim of the case is proved, invalid when one is disproved, else unknown."""
    if evidence.failure:
        return Verdict(value="invalid", reasons=(*network.ended_programs(evidence), evidence.failure))
    if evidence.ready is None or evidence.done is None or evidence.server is None:
        return Verdict(value="unknown", reasons=("the trial ended without its evidence",))
    complete = Complete(evidence.trial.case.levels, evidence.ready, evidence.done, evidence.server, evidence)
    doubts = [doubt for check in CHECKS for doubt in check(complete)]
    by_weight = {
        weight: tuple(doubt.reason for doubt in doubts if doubt.weight == weight)
        for weight in ("invalid", "unknown", "note")
    }
    if by_weight["invalid"]:
        return Verdict(value="invalid", reasons=by_weight["invalid"], notes=by_weight["note"])
    if by_weight["unknown"]:
        return Verdict(value="unknown", reasons=by_weight["unknown"], notes=by_weight["note"])
    return Verdict(value="valid", notes=by_weight["note"])
