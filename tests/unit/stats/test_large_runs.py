"""What is done for a run grows with its trials, and no faster: calls are counted, and no time is taken."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from fake_slices import slices_of
from fake_trials import fake_run, whole_tax
from multiplied_runs import multiplied
from tlstax.plan.order import trials_per_block
from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import render
from tlstax.stats import histograms, stopping
from tlstax.stats.outcomes import log_ratio_between
from tlstax.stats.stopping import Taken, decide
from tlstax.topics.answer.document import document

FEW, MANY = 10, 20
"""Blocks. What is done once for each case is in both counts, and keeps the second below twice the first."""

MOST = 2.1
"""How many times as many calls twice the trials may take; what is quadratic takes four times as many."""


@cache
def long_run(number_of_blocks: int) -> StoredRun:
    """A run of the tax study in which all cases took turns, no two trials alike."""
    study = whole_tax()
    recorded = fake_run(number_of_blocks=1, invalid=False)
    sliced = slices_of([(40 + place, 1.0) for place in range(6)])
    models = tuple(record.model_copy(update={"slices": sliced}) for record in recorded.trials)
    recorded = recorded.model_copy(update={"trials": models})
    trials = tuple(multiplied(recorded, study, number_of_blocks * trials_per_block(study)))
    return recorded.model_copy(update={"trials": trials})


def calls(work: Callable[[], object]) -> int:
    """How many functions are called meanwhile, Python's own and those of libraries in C."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def grown(work: Callable[[StoredRun], object]) -> float:
    """How many times as many calls the work takes for twice the trials, once all that it imports is there."""
    few, many = long_run(FEW), long_run(MANY)
    work(few)
    histograms.summary.cache_clear()
    once = calls(lambda: work(few))
    histograms.summary.cache_clear()
    return calls(lambda: work(many)) / once


def test_what_a_run_shows_takes_twice_as_much_for_twice_the_trials() -> None:
    assert 1.2 < grown(document) < MOST


def test_so_does_printing_it() -> None:
    shown = {blocks: document(long_run(blocks)) for blocks in (FEW, MANY)}
    assert grown(lambda run: render(run, shown[len(run.trials) // 10], "terminal")) < MOST


def test_the_stopping_rule_takes_each_ratio_once_however_often_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = long_run(FEW)
    taken = Taken.of(run.header.study)
    asked = []

    def counted(*arguments: Any) -> float | None:
        asked.append(arguments)
        return log_ratio_between(*arguments)

    monkeypatch.setattr(stopping, "log_ratio_between", counted)
    trials = trials_per_block(run.header.study)
    for blocks in range(1, FEW + 1):
        known = decide(run.header.study, run.trials[: blocks * trials], 10.0, taken)
        assert known == decide(run.header.study, run.trials[: blocks * trials], 10.0), "and says the same"
    pairs = (trials - 2) * FEW  # two of them are baselines
    assert sum(range(1, FEW + 1)) * (trials - 2) + pairs == len(asked)


def test_no_histogram_is_decoded_twice() -> None:
    run = long_run(FEW)
    histograms.summary.cache_clear()
    document(run)
    sent = [text for record in run.trials if record.done for text in record.done.histograms_ns.values()]
    assert histograms.summary.cache_info().misses == len(set(sent))
