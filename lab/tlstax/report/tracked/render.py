"""Which formats other tools read a run in, and the one function that gives any of them."""

from __future__ import annotations

from typing import Literal

from tlstax.report.tracked.bencher import bencher
from tlstax.report.tracked.benchmark_action import benchmark_action
from tlstax.report.tracked.openmetrics import openmetrics
from tlstax.results.tracked import TrackedRun

TrackedFormat = Literal["smaller-is-better", "bigger-is-better", "bencher", "openmetrics"]


def render_tracked(run: TrackedRun, format: TrackedFormat) -> str:  # noqa: A002 - users' option
    """The run's figures in that format. UserMistake where that has no place for any of them."""
    match format:
        case "smaller-is-better":
            return benchmark_action(run, smaller_is_better=True)
        case "bigger-is-better":
            return benchmark_action(run, smaller_is_better=False)
        case "bencher":
            return bencher(run)
        case "openmetrics":
            return openmetrics(run)
