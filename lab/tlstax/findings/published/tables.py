"""Every published table of a study beside what each part of the run measured, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.findings.core.series import Series
from tlstax.findings.published.arithmetic import claim_result, table_faults
from tlstax.findings.published.load_differences import load_differences
from tlstax.findings.published.processor_tables import processor_table
from tlstax.findings.published.sides import measured, part_result
from tlstax.findings.published.time_differences import time_differences
from tlstax.findings.published.time_tables import time_table
from tlstax.records.trial import TrialRecord
from tlstax.results.published_tables import (
    ClaimHere,
    ClaimResult,
    PartOfProcessors,
    ProcessorTableResult,
    Tables,
)
from tlstax.study import Claim


def published_tables(series: Series, records: Sequence[TrialRecord]) -> Tables | None:
    """The tables of the study; None where it has none. Trials that are not valid are among `records`."""
    study = series.study
    if not (study.processor_tables or study.time_tables):
        return None
    run = measured(study, records)
    processors = tuple(processor_table(table, run) for table in study.processor_tables)
    times = tuple(time_table(table, run, series) for table in study.time_tables)
    of_times = (difference for found in times for difference in time_differences(found))
    of_loads = (difference for table in study.processor_tables for difference in load_differences(table, run))
    return Tables(
        parts=tuple(part_result(part, run) for part in run.parts),
        processors=processors,
        times=times,
        claims=tuple(_claim(claim, found) for found in processors for claim in found.published.claims),
        faults=tuple(
            fault for table in study.processor_tables for fault in table_faults(table, study.time_tables)
        ),
        differences=(*of_times, *of_loads),
    )


def _claim(claim: Claim, found: ProcessorTableResult) -> ClaimResult:
    """The claim against its own table, and what stands in its place in every part."""
    here = tuple(_here(claim, part) for part in found.parts)
    return claim_result(claim, found.published).model_copy(update={"here": here})


def _here(claim: Claim, part: PartOfProcessors) -> ClaimHere:
    measured = next(own for own in part.sides if own.side == claim.side)
    if claim.kind == "mean":
        value = measured.mean[claim.column] if measured.mean is not None else None
        return ClaimHere(part=part.part, shown=measured.shown, value=value)
    highest = max(measured.steps, key=lambda step: step.values[claim.column], default=None)
    return ClaimHere(
        part=part.part,
        shown=measured.shown,
        value=highest.values[claim.column] if highest else None,
        at_s=highest.to_s if highest else None,
    )
