"""A study's further comparisons: cases that differ in one factor alone, in the same blocks."""

from __future__ import annotations

from tlstax.findings.core.judgements import judge
from tlstax.findings.core.outcomes import UNITS
from tlstax.findings.core.series import Series, frozen
from tlstax.findings.core.twins import Twins, twins
from tlstax.results.document import (
    ContrastFinding,
)
from tlstax.study import Contrast, Level, Levels, within

CONTRASTED = (
    "ops_per_s",
    "latency_mean_us",
    "latency_p50_us",
    "latency_p99_us",
    "connect_p50_us",
    "tls_handshake_p50_us",
    "server_cpu_us_per_op",
    "server_instructions_per_op",
    "client_cpu_us_per_op",
)
"""The outcomes that are contrasted: speed, and what each side spends. Memory is not: it grows over a
process's life, and two processes have not lived alike. Bytes are the same whatever the library."""


def contrasts(series: Series) -> tuple[ContrastFinding, ...]:
    """Every contrast of the study in every outcome worth it, in the plan's order."""
    if not series.study.contrasts:
        return ()
    floors = {outcome: twins(series, outcome) for outcome in CONTRASTED}
    return tuple(
        finding
        for contrast in series.study.contrasts
        for case in series.cases.values()
        if (other := counterpart(series, contrast, case.levels)) is not None
        for outcome, floor in floors.items()
        if (finding := _finding(series, contrast.factor, case.levels, other, outcome, floor)) is not None
    )


def counterpart(series: Series, contrast: Contrast, levels: Levels) -> dict[str, Level] | None:
    """The case that this one is contrasted with; None where the contrast does not speak of it."""
    if levels.get(contrast.factor) in {None, contrast.baseline} or not within(levels, contrast.within):
        return None
    other = {**levels, contrast.factor: contrast.baseline}
    return other if frozen(other) in series.cases else None


def _finding(  # noqa: PLR0913, PLR0917 (the two cases, the outcome and what it is judged by)
    series: Series, factor: str, levels: Levels, other: Levels, outcome: str, floors: Twins
) -> ContrastFinding | None:
    interval = series.interval(series.log_ratios(levels, other, outcome))
    if interval is None:
        return None
    value, baseline_value = series.geometric_means(levels, other, outcome)
    floor = floors.floor(levels)
    return ContrastFinding(
        factor=factor,
        outcome=outcome,
        unit=UNITS[outcome],
        case=dict(levels),
        baseline=dict(other),
        value=value,
        baseline_value=baseline_value,
        ratio=interval,
        noise_floor=floor.relative,
        noise_from=floor.source,
        judgement=judge(interval, floor.relative, series.study.alike_within),
    )
