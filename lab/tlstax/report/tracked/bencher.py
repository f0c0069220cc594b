"""Bencher Metric Format: JSON in which each case has measures with a value and the ends of its interval.

A measure is named for its outcome; that of a ratio to the baseline ends in `-ratio`. The format has no place
for what ran. https://bencher.dev/docs/reference/bencher-metric-format
"""

from __future__ import annotations

from tlstax.report.tracked.numbers import as_json, rounded
from tlstax.results.interval import Interval
from tlstax.results.tracked import TrackedFigure, TrackedRun

MOST_CHARACTERS = 64
"""Of a measure's name, by Bencher's rules; a benchmark's may have 1,024."""

Metric = dict[str, float]


def bencher(run: TrackedRun) -> str:
    """All figures, case by case; a case is named for its study too, as a project may have several."""
    cases: dict[str, dict[str, Metric]] = {}
    for figure in run.figures:
        cases.setdefault(f"{run.study}: {figure.label}", {})[_measure(figure)] = _metric(figure.interval)
    return as_json(cases)


def _measure(figure: TrackedFigure) -> str:
    name = figure.outcome.replace("_", "-")
    return f"{name}-ratio" if figure.measure == "to the baseline" else name


def _metric(interval: Interval) -> Metric:
    metric = {"value": rounded(interval.point)}
    if interval.low is not None and interval.high is not None:
        metric |= {"lower_value": rounded(interval.low), "upper_value": rounded(interval.high)}
    return metric
