"""Figures side by side of which one follows from the others: what is printed never contradicts itself."""

from __future__ import annotations

import csv
import re
from io import StringIO
from math import floor, isclose, log10

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fake_slices import slices_of
from report_runs import EVERY_RUN, changed, exact_run, noisy_run
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.formats.render import json_document
from tlstax.report.page.charts import block_strips
from tlstax.report.page.html import card_rows
from tlstax.report.run_tables import csv_table
from tlstax.results.document import RunDocument
from tlstax.stats.estimates import compare
from tlstax.stats.stats import geometric_mean
from tlstax.topics.answer.document import document
from tlstax.topics.core.groups import Column, arranged, main_columns

Range = tuple[float, float]
"""What a printed figure may have been before it was rounded."""


def disturbed(seed: int) -> StoredRun:
    """A run in turns, in which bursts hit slices, drift whole blocks, and some trials are lost."""
    random = np.random.default_rng(seed)
    drift = random.lognormal(0.0, 0.2, 16)

    def change(record: TrialRecord) -> TrialRecord:
        rate = 200 / (1 + record.trial.position % 5) * drift[record.trial.block]
        slow = np.where(random.random(12) < 0.3, random.uniform(1.2, 4.0, 12), random.lognormal(0.0, 0.1, 12))
        turns = [(max(5, int(rate)), 0.1 * float(factor)) for factor in slow]
        verdict = record.verdict
        if random.random() < 0.1:
            verdict = verdict.model_copy(update={"value": "invalid", "reasons": ("lost",)})
        return record.model_copy(update={"slices": slices_of(turns), "verdict": verdict})

    return changed(noisy_run() if seed % 2 else exact_run(), change)


def range_of(text: str) -> Range:
    """Of "21,600", "1.05 ms", "÷4.78", "-23.6 %" as a ratio: between which values it was."""
    number = re.search(r"[\d,]*\.?\d+", text)
    assert number, text
    digits = number[0].replace(",", "")
    value = float(digits)
    decimals = len(digits.split(".")[1]) if "." in digits else 0
    half = 0.5 * 10.0**-decimals
    if not decimals and value >= 1000:  # three digits of it count
        half = 0.5 * 10.0 ** (floor(log10(value)) - 2)
    return value - half, value + half


def ratio_range(change: str) -> Range:
    low, high = range_of(change)
    if "×" in change:
        return low, high
    if "÷" in change:
        return 1 / high, 1 / low
    return (1 - high / 100, 1 - low / 100) if "\N{MINUS SIGN}" in change else (1 + low / 100, 1 + high / 100)


def agree(value: str, baseline: str, change: str) -> bool:
    """Whether there are figures that are printed so, of which the third is the first to the second."""
    (low, high), (base_low, base_high), (least, most) = (
        range_of(value),
        range_of(baseline),
        ratio_range(change),
    )
    slack = 1e-9
    return low / base_high <= most + slack and least <= high / base_low + slack


def contradictions(column: Column) -> list[str]:
    baseline, *others = column.cells
    return [
        f"{column.outcome}: {cell.value} beside {baseline.value}, {cell.change}"
        for cell in others
        if cell.change and not agree(cell.value, baseline.value, cell.change)
    ]


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000))
def test_every_table_says_what_its_changes_say(seed: int) -> None:
    stored = disturbed(seed)
    shown = document(stored)
    columns = [column for group in arranged(stored, shown) for column in main_columns(group)]
    assert [words for column in columns for words in contradictions(column)] == []
    for column in columns:
        assert_same_order(column)
    for _, cards in card_rows(arranged(stored, shown), shown.design.deciding_outcome):
        for _, cell, sentence in cards:
            value, baseline = sentence.split(" instead of ")
            assert agree(value, baseline, cell.change), (sentence, cell.change)
    assert_rows_agree(shown)


def assert_same_order(column: Column) -> None:
    """A case that is ahead by its change is not behind by its value."""
    cells = [cell for cell in column.cells[1:] if cell.change]
    for one in cells:
        for other in cells:
            if ratio_range(one.change)[0] > ratio_range(other.change)[1]:
                assert range_of(one.value)[1] >= range_of(other.value)[0], (column.outcome, one, other)


def assert_rows_agree(shown: RunDocument) -> None:
    """CSV and JSON give all digits."""
    for row in csv.DictReader(StringIO(csv_table(shown))):
        if row["role"] in {"treatment", "control", "contrast", "baseline"} and row["ratio"]:
            product = float(row["baseline_value"]) * float(row["ratio"])
            assert isclose(float(row["value"]), product, rel_tol=1e-6), row
    for found in RunDocument.model_validate_json(json_document(shown)).findings:
        assert isclose(found.value, found.baseline_value * found.ratio.point, rel_tol=1e-6)


@pytest.mark.parametrize("name", EVERY_RUN)
def test_no_run_contradicts_itself(name: str) -> None:
    stored = EVERY_RUN[name]()
    shown = document(stored)
    columns = [column for group in arranged(stored, shown) for column in main_columns(group)]
    assert [words for column in columns for words in contradictions(column)] == []
    assert_rows_agree(shown)


def test_all_cases_of_a_group_stand_beside_one_figure_of_the_baseline() -> None:
    shown = document(disturbed(3))
    for found in shown.findings:
        beside = {
            other.baseline_value
            for other in shown.findings
            if (other.outcome, other.baseline) == (found.outcome, found.baseline)
        }
        assert beside == {found.baseline_value}


def test_the_blocks_of_a_strip_are_those_that_its_interval_is_of() -> None:
    stored = disturbed(4)
    shown = document(stored)
    pairs = {found.key: found.pairs for found in compare(stored.header.study, stored.measured)}
    for group in arranged(stored, shown):
        strips = block_strips(group, pairs, "ops_per_s")
        assert strips
        for strip in strips:
            known = [point.ratio for point in strip.points if point.ratio is not None]
            assert geometric_mean(known) == pytest.approx(strip.middle)
