"""From a stored run to what it shows: the one document that every way of reporting starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tlstax.findings.core import stats
from tlstax.findings.core.comparisons import counts_of
from tlstax.findings.core.estimates import Estimate
from tlstax.findings.core.judgements import judge, seconds_needed
from tlstax.findings.core.outcomes import UNITS
from tlstax.findings.core.series import seconds_of_a_block
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.document import Finding, NeverValid, RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Told
from tlstax.study.labels import finding_levels, full_label
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics import machines
from tlstax.topics.answer import caveats
from tlstax.topics.answer.caveats import of_external
from tlstax.topics.captures import first_bytes
from tlstax.topics.core.topic import Run
from tlstax.topics.drivers.warmups import restless
from tlstax.topics.index import TOPICS


def document(stored: StoredRun) -> RunDocument:
    """What a run shows. Only valid trials count, in blocks where the baseline's trial is valid too.

    There is a finding for every outcome that a case shares with its baseline; what the baseline cannot
    have (plaintext has no handshake) is among the unpaired. Raises MachineFault where a stored histogram
    cannot be decoded.
    """
    header, study = stored.header, stored.header.study
    run = Run(stored)
    found = run.estimates
    busy = caveats.busy_clients(study, found, run.values)
    topics = {topic.name: told for topic in TOPICS if (told := topic.told(run)).rows}
    return RunDocument(
        run=header.run,
        study=study.name,
        status=stored.status,
        stopped_because=stored.stopped_because,
        started_at=header.started_at,
        seed=header.seed,
        design=study,
        specimens=header.specimens,
        machine=header.machine,
        topics=topics,
        machines=header.all_machines if machines.TOPIC.name in topics else {},
        load_machines=header.load.machines if header.load is not None else {},
        findings=tuple(_findings(found, stored, busy, seconds_of_a_block(stored.measured))),
        never_valid=never_valid(stored),
        trust_file=header.trust,
        first_bytes=first_bytes(stored),
        trials=counts_of(stored.measured),
        caveats=(
            *caveats.of_run(stored, found, busy),
            *_of_how_it_ran(stored, topics),
            *(topics["profiling"].rows[0].caveats if "profiling" in topics else ()),
            *(restless(study, topics["drivers"].rows) if "drivers" in topics else ()),
        ),
    )


def _of_how_it_ran(stored: StoredRun, topics: Mapping[str, Told]) -> tuple[str, ...]:
    """How figures of several machines are to be read, and of cases that took turns or did not."""
    several = topics.get(machines.TOPIC.name)
    return (*((machines.reading(several.rows),) if several else ()), *of_external(stored))


def _findings(
    found: list[Estimate], stored: StoredRun, busy: caveats.Busy, block_s: float | None
) -> Iterator[Finding]:
    """Of every estimate that has a ratio; all that share a baseline stand beside the same figure of it."""
    baselines = {
        (e.comparison.key, e.outcome): stats.geometric_mean([value for value, _ in e.pairs])
        for e in found
        if e.comparison.case.role == "baseline" and e.pairs
    }
    for e in found:
        if e.ratio is not None:
            baseline = baselines.get((e.comparison.baseline_key, e.outcome))
            yield _finding(e, e.ratio, baseline, stored, busy, block_s)


def _finding(  # noqa: PLR0913, PLR0917 (what is known of the estimate, and of its run)
    estimate: Estimate,
    interval: Interval,
    baseline: float | None,
    stored: StoredRun,
    busy: caveats.Busy,
    block_s: float | None,
) -> Finding:
    """`baseline` is the baseline's own figure, None where only these pairs have one."""
    comparison, study = estimate.comparison, stored.header.study
    role = comparison.case.role
    own = stats.geometric_mean([value for value, _ in estimate.pairs])
    beside = stats.geometric_mean([value for _, value in estimate.pairs]) if baseline is None else baseline
    exact = interval.model_copy(update={"point": 1.0, "low": 1.0, "high": 1.0})
    floor = estimate.noise_floor
    judgement = "baseline" if role == "baseline" else judge(interval, floor, study.alike_within)
    is_open = judgement == "inconclusive"
    return Finding(
        outcome=estimate.outcome,
        unit=UNITS[estimate.outcome],
        role=role,
        case=finding_levels(comparison.case),
        baseline=dict(comparison.baseline.levels),
        value=own if role == "baseline" else stats.beside(beside, interval, own),
        baseline_value=beside,
        ratio=exact if role == "baseline" else interval,
        ratio_of_totals=estimate.ratio_of_totals,
        noise_floor=floor,
        judgement=judgement,
        more_s=seconds_needed(interval, floor, study.alike_within, block_s) if is_open else None,
        negotiated=comparison.negotiated,
        caveats=caveats.of_finding(study, estimate, interval, busy),
    )


def never_valid(stored: StoredRun) -> tuple[NeverValid, ...]:
    """Each such case, in the order of its first trial; a control is left out where its baseline is there."""
    by_case = grouped(stored.measured, lambda record: record.trial.case.key())
    lost = [records for records in by_case.values() if _none_is_valid(records)]
    baselines = [records[0].trial.case.levels for records in lost if records[0].trial.case.role == "baseline"]
    return tuple(
        _told(stored, records)
        for records in lost
        if records[0].trial.case.role != "control" or records[0].trial.case.levels not in baselines
    )


def never_valid_words(found: Sequence[NeverValid]) -> Iterator[str]:
    """A sentence for each reason, with the first of the cases that it is the reason of."""
    for reason in dict.fromkeys(case.reason for case in found):
        first, *others = [case for case in found if case.reason == reason]
        label = f"{first.label} (and {counted(len(others), 'more case')})" if others else first.label
        none = f"none of {first.trials:,} trials was valid" if first.trials > 1 else "its trial was not valid"
        yield f"{label}: nothing can be told, as {none}: {reason}"


def _none_is_valid(records: Sequence[TrialRecord]) -> bool:
    return all(record.verdict.value != "valid" for record in records)


def _told(stored: StoredRun, records: Sequence[TrialRecord]) -> NeverValid:
    case = records[0].trial.case
    first = Counter(record.verdict.reasons[0] for record in records if record.verdict.reasons)
    return NeverValid(
        case=dict(case.levels),
        label=full_label(case, stored.header.study),
        trials=len(records),
        reason=first.most_common(1)[0][0] if first else "their evidence is missing",
    )
