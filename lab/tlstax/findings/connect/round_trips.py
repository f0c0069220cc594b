"""Round trips and bytes of every case, phase by phase, as the client counted them. Pure.

They are counts: what decides is not an interval but whether trials agree. Over a distance the counted number
stands beside how many round trip times a connect took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from tlstax.contract import PhaseWire
from tlstax.findings.core.outcomes import outcome, phases_together
from tlstax.findings.core.wording import negotiated
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.connect import OverDistance, PhaseCrossing, RoundTripsResult, WirePhase
from tlstax.study import Case, Study
from tlstax.study.labels import group_label, label_levels
from tlstax.support.grouping import grouped

PHASES: Mapping[WirePhase, tuple[str, ...]] = {
    "connect": ("connect",),
    "tcp_connect": ("tcp_connect",),
    "greeting": ("greeting",),
    "tls_handshake": ("tls_handshake",),
    "authentication": ("authentication",),
    "query": ("first_query", "query"),
}
"""What is reported, and the client's phases that it is made of."""


def round_trips(stored: StoredRun) -> tuple[RoundTripsResult, ...]:
    """Every case whose client counted what a connect takes, in the study's order; controls are left out."""
    study = stored.header.study
    ended = (r for r in stored.measured if r.verdict.value == "valid" and r.done is not None)
    valid = grouped(ended, lambda record: record.trial.case.key())
    found = (
        _result(case, valid.get(case.key(), []), study) for case in cases(study) if case.role != "control"
    )
    return tuple(result for result in found if result is not None)


def _result(case: Case, records: Sequence[TrialRecord], study: Study) -> RoundTripsResult | None:
    """What was counted of this case; None where connects are no part of it."""
    crossings = [crossing for phase in PHASES if (crossing := _crossing(phase, records)) is not None]
    connect = next((crossing for crossing in crossings if crossing.phase == "connect"), None)
    if connect is None:
        return None
    return RoundTripsResult(
        case=dict(case.levels),
        label=_label(case, study),
        group=_group(case, study),
        trials=len(records),
        phases=tuple(crossings),
        hello_retry=_hello_retry(records),
        negotiated=negotiated(records),
        over_distance=_over_distance(records, connect),
    )


def _label(case: Case, study: Study) -> str:
    """What the case is called, without what it has in common with the baseline, but for TLS.

    Counts need no comparison, and such a name is short: "TLS 1.3, RSA 4096 certificate". The baseline of
    a study of something else than TLS has its whole name.
    """
    own = {name: level for name, level in case.levels.items() if level != study.baseline.get(name, level)}
    if not own and "tls" not in study.baseline:
        return label_levels(case.levels, study)
    tls = {name: level for name, level in case.levels.items() if name in {"tls", "resumption"}}
    return label_levels({**tls, **own}, study)


def _group(case: Case, study: Study) -> str:
    """What sets its group apart from other groups; empty where there is one alone."""
    varied = {name for name, levels in study.levels_of().items() if len(levels) > 1}
    shared = {name: level for name, level in study.group_of(case.levels).items() if name in varied}
    return group_label(shared, study)


def _crossing(phase: WirePhase, records: Sequence[TrialRecord]) -> PhaseCrossing | None:
    counted = [
        wire
        for record in records
        if record.done is not None and (wire := phases_together(record.done, PHASES[phase])) is not None
    ]
    times = sum(wire.times for wire in counted)
    if not times:
        return None
    return PhaseCrossing(
        phase=phase,
        times=times,
        round_trips=sum(wire.round_trips for wire in counted) / times,
        bytes_sent=sum(wire.bytes_sent for wire in counted) / times,
        bytes_received=sum(wire.bytes_received for wire in counted) / times,
        agreed=_agree(counted, "round_trips"),
        bytes_agreed=_agree(counted, "bytes_sent") and _agree(counted, "bytes_received"),
    )


def _agree(counted: Sequence[PhaseWire], what: str) -> bool:
    """Whether all trials have the same whole number of it each time."""
    each = {divmod(getattr(wire, what), wire.times) for wire in counted}
    return len(each) == 1 and next(iter(each))[1] == 0


def _hello_retry(records: Sequence[TrialRecord]) -> bool | None:
    """Whether full handshakes met a HelloRetryRequest, where all of them did or none."""
    seen = {
        bool(handshakes.hello_retry)
        for record in records
        if record.done is not None
        for handshakes in record.done.window.handshakes
    }
    return seen.pop() if len(seen) == 1 else None


def _over_distance(records: Sequence[TrialRecord], connect: PhaseCrossing) -> OverDistance | None:
    """How long connects took in round trip times; None without a distance, or of too few connects."""
    away = [record for record in records if record.distance is not None and record.distance.before.median_ms]
    medians = [p50 for record in away if (p50 := outcome(record, "connect_p50_us")) is not None]
    if not medians:
        return None
    connect_ms = median(medians) / 1e3
    rtt_ms = median(record.distance.before.median_ms for record in away if record.distance is not None)
    return OverDistance(
        connect_ms=connect_ms,
        rtt_ms=rtt_ms,
        in_round_trips=connect_ms / rtt_ms,
        extra_ms=connect_ms - connect.round_trips * rtt_ms,
    )
