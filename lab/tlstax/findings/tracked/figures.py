"""The figures of a run, each with its interval, for tools that follow them from run to run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tlstax.findings.core.comparisons import counts_of
from tlstax.findings.core.outcomes import UNITS
from tlstax.findings.core.series import Logs, Series, series_of
from tlstax.findings.core.wording import negotiated
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.comparison import Measure
from tlstax.results.tracked import TrackedFigure, TrackedRun
from tlstax.study import Case
from tlstax.study.labels import full_label, label_levels
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped


def tracked(stored: StoredRun, outcomes: Sequence[str]) -> TrackedRun:
    """The figures of these outcomes: of every case but controls, itself and to its baseline.

    UserMistake for a run that did not come to its end, whose figures would stand among those of whole runs
    unnoticed, and for one that has no figure of these outcomes. Only valid trials count.
    """
    header = stored.header
    if stored.status != "complete":
        raise UserMistake(
            f"run {header.run} is {stored.status}, and only a run that is complete is handed on",
            remedy=f"`tlstax study run {header.study.name} --resume {header.run}` goes on with it",
        )
    found = tuple(_figures(stored, series_of(stored), outcomes))
    if not found:
        raise UserMistake(
            f"run {header.run} has no figure of {', '.join(outcomes)}",
            remedy="`tlstax report --format csv` has all that it yields",
        )
    return TrackedRun(
        run=header.run,
        study=header.study.name,
        started_at=header.started_at,
        tlstax_version=header.tlstax_version,
        ran=tuple((specimen.name, specimen.version) for specimen in header.specimens),
        trials=counts_of(stored.measured),
        figures=found,
    )


def _figures(stored: StoredRun, series: Series, outcomes: Sequence[str]) -> Iterator[TrackedFigure]:
    valid = (record for record in stored.measured if record.verdict.value == "valid")
    records = grouped(valid, lambda record: record.trial.case.key())
    for case in series.cases.values():
        baseline = series.own_baseline(case.levels)
        for outcome in outcomes:
            yield from _measured(series, case, outcome, "itself", series.logs(case.levels, outcome), records)
            if case.role != "baseline":
                ratios = series.log_ratios(case.levels, baseline, outcome)
                yield from _measured(series, case, outcome, "to the baseline", ratios, records)


def _measured(  # noqa: PLR0913, PLR0917 (all that one figure is made of)
    series: Series,
    case: Case,
    outcome: str,
    measure: Measure,
    logs: Logs,
    records: Mapping[str, Sequence[TrialRecord]],
) -> Iterator[TrackedFigure]:
    """The figure, where any block has one."""
    interval = series.interval(logs)
    if interval is not None:
        yield TrackedFigure(
            outcome=outcome,
            unit=UNITS[outcome] if measure == "itself" else "1",
            measure=measure,
            case=case.levels,
            label=full_label(case, series.study),
            baseline=label_levels(series.own_baseline(case.levels), series.study),
            interval=interval,
            negotiated=negotiated(records[case.key()]),
        )
