"""From a stored run to what it shows: the one document that every way of reporting starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.records.trial import StoredRun
from tlstax.results.document import Finding, NeverValid, RunDocument
from tlstax.stats import stats
from tlstax.stats.contrasts import judge, seconds_needed
from tlstax.stats.estimates import Estimate, counts_of, first_reason
from tlstax.stats.outcomes import UNITS
from tlstax.stats.series import seconds_of_a_block
from tlstax.study.labels import finding_levels, full_label
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics import machines
from tlstax.topics.answer import caveats
from tlstax.topics.answer.caveats import of_external
from tlstax.topics.captures import first_bytes
from tlstax.topics.core.topic import Run
from tlstax.topics.drivers.topic import restless
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
    several = machines.TOPIC.name
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
        machines=header.all_machines if several in topics else {},
        load_machines=header.load.machines if header.load is not None else {},
        findings=tuple(_findings(stored, found, busy)),
        never_valid=never_valid(stored),
        trust_file=header.trust,
        first_bytes=first_bytes(stored),
        trials=counts_of(stored.measured),
        caveats=(
            *caveats.of_run(stored, found, busy),
            *((machines.reading(topics[several].rows),) if several in topics else ()),
            *of_external(stored),
            *(topics["profiling"].rows[0].caveats if "profiling" in topics else ()),
            *(restless(study, topics["drivers"].rows) if "drivers" in topics else ()),
        ),
    )


def _findings(stored: StoredRun, found: Sequence[Estimate], busy: caveats.Busy) -> Iterator[Finding]:
    """Of every estimate that has a ratio; all that share a baseline stand beside the same figure of it."""
    study, block_s = stored.header.study, seconds_of_a_block(stored.measured)
    baselines = {
        (e.comparison.key, e.outcome): stats.geometric_mean([value for value, _ in e.pairs])
        for e in found
        if e.comparison.case.role == "baseline" and e.pairs
    }
    for e in found:
        if e.ratio is None:
            continue
        comparison, floor, ratio = e.comparison, e.noise_floor, e.ratio
        is_baseline = comparison.case.role == "baseline"
        own = stats.geometric_mean([value for value, _ in e.pairs])
        baseline = baselines.get((comparison.baseline_key, e.outcome))
        if baseline is None:
            baseline = stats.geometric_mean([value for _, value in e.pairs])
        judgement = "baseline" if is_baseline else judge(ratio, floor, study.alike_within)
        is_open = judgement == "inconclusive"
        yield Finding(
            outcome=e.outcome,
            unit=UNITS[e.outcome],
            role=comparison.case.role,
            case=finding_levels(comparison.case),
            baseline=comparison.baseline.levels,
            value=own if is_baseline else stats.beside(baseline, ratio, own),
            baseline_value=baseline,
            ratio=ratio.model_copy(update={"point": 1.0, "low": 1.0, "high": 1.0}) if is_baseline else ratio,
            ratio_of_totals=e.ratio_of_totals,
            noise_floor=floor,
            judgement=judgement,
            more_s=seconds_needed(ratio, floor, study.alike_within, block_s) if is_open else None,
            negotiated=comparison.negotiated,
            caveats=caveats.of_finding(study, e, ratio, busy),
        )


def never_valid(stored: StoredRun) -> tuple[NeverValid, ...]:
    """Each such case, in the order of its first trial; a control is left out where its baseline is there."""
    by_case = grouped(stored.measured, lambda record: record.trial.case.key()).values()
    lost = [own for own in by_case if all(not record.is_valid for record in own)]
    cases = [own[0].trial.case for own in lost]
    baselines = [case.levels for case in cases if case.role == "baseline"]
    return tuple(
        NeverValid(
            case=case.levels,
            label=full_label(case, stored.header.study),
            trials=len(own),
            reason=first_reason(own) or "their evidence is missing",
        )
        for case, own in zip(cases, lost, strict=True)
        if case.role != "control" or case.levels not in baselines
    )


def never_valid_words(found: Sequence[NeverValid]) -> Iterator[str]:
    """A sentence for each reason, with the first of the cases that it is the reason of."""
    for reason in dict.fromkeys(case.reason for case in found):
        first, *others = [case for case in found if case.reason == reason]
        label = f"{first.label} (and {counted(len(others), 'more case')})" if others else first.label
        none = f"none of {first.trials:,} trials was valid" if first.trials > 1 else "its trial was not valid"
        yield f"{label}: nothing can be told, as {none}: {reason}"
