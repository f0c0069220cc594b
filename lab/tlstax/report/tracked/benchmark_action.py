"""JSON for github-action-benchmark, whose tools customSmallerIsBetter and customBiggerIsBetter read it.

An array of `name`, `value`, `unit`, `range` and `extra`; a file holds what is better in one direction. The
action finds a figure of an earlier commit by its name alone, so each figure has a name of its own.
https://github.com/benchmark-action/github-action-benchmark
"""

from __future__ import annotations

from typing import Any

from tlstax.findings.core.wording import percent
from tlstax.report.tracked.numbers import as_json, rounded
from tlstax.results.tracked import TrackedFigure, TrackedRun
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted
from tlstax.topics.core import outcome_names

UNITS = {"us": "µs", "1/s": "per second", "1": ""}


def benchmark_action(run: TrackedRun, *, smaller_is_better: bool) -> str:
    """The figures that are better when smaller, or when bigger. UserMistake where there is none."""
    chosen = [
        figure for figure in run.figures if OUTCOMES[figure.outcome].lower_is_better is smaller_is_better
    ]
    if not chosen:
        direction = "smaller" if smaller_is_better else "bigger"
        raise UserMistake(
            f"no outcome that was chosen is better when {direction}",
            remedy="name others with --outcomes, or take the other format",
        )
    return as_json([_entry(run, figure) for figure in chosen])


def _entry(run: TrackedRun, figure: TrackedFigure) -> dict[str, Any]:
    interval = figure.interval
    entry: dict[str, Any] = {
        "name": _name(figure),
        "value": rounded(interval.point),
        "unit": "×" if figure.measure == "to the baseline" else UNITS.get(figure.unit, figure.unit),
    }
    if interval.low is not None and interval.high is not None:
        ends = f"{rounded(interval.low):g} to {rounded(interval.high):g}"
        entry["range"] = f"{ends} at {percent(interval.confidence)}"
    return {**entry, "extra": _extra(run, figure)}


def _name(figure: TrackedFigure) -> str:
    title = outcome_names.title(figure.outcome)
    beside = f", to {figure.baseline}" if figure.measure == "to the baseline" else ""
    return f"{figure.label}: {title}{beside}"


def _extra(run: TrackedRun, figure: TrackedFigure) -> str:
    """From how many blocks, and what really ran."""
    trials = run.trials
    lines = (
        counted(figure.interval.blocks, "block"),
        figure.negotiated,
        ", ".join(f"{name} {version}".strip() for name, version in run.ran),
        f"run {run.run} by tlstax {run.tlstax_version}: {counted(trials.valid, 'valid trial')}, "
        f"{trials.invalid} invalid, {trials.unknown} unknown",
    )
    return "\n".join(line for line in lines if line)
