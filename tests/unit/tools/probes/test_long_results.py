"""Reading long results: planted rates are found again, a slow engine is said to be one, in every format."""

from __future__ import annotations

import csv
import io

import pytest

from library_runs import MACHINE
from tlstax.report.formats.render import bench_report
from tlstax.results.document import BenchDocument
from tlstax.results.rows import Told
from tlstax.tools.probes.long_results import (
    MIB,
    RATE,
    RATIO,
    READER_CPU,
    RESULT_BYTES,
    ROW_BYTES,
    SENDER_CPU,
    TOPIC,
    Pair,
    Reading,
    Shape,
    shapes,
    slow,
)

BARE_MIB_PER_S = 2000.0
WIGGLE = (0.98, 1.0, 1.02, 1.0)
SHAPE = Shape(rows=10, row_bytes=1000)


def reading(mib_per_s: float, cpu_us_per_mib: float, sender_cpu_us: float = 500.0) -> Reading:
    return Reading(
        results=4,
        received_bytes=64 * MIB,
        elapsed_s=64 / mib_per_s,
        reader_cpu_us=64 * cpu_us_per_mib,
        sender_cpu_us=sender_cpu_us,
    )


def told(share: float, *, sender_cpu_us: float = 500.0) -> Told:
    pairs = [
        Pair(
            engine=reading(share * BARE_MIB_PER_S * wiggle, 300.0 / share, sender_cpu_us),
            bare=reading(BARE_MIB_PER_S, 300.0),
        )
        for wiggle in WIGGLE
    ]
    return TOPIC.told({SHAPE: pairs})


def document(share: float) -> BenchDocument:
    found = told(share)
    return BenchDocument(
        bench=TOPIC.name,
        status="complete",
        started_at="2026-11-26",
        tlstax_version="0.1.0",
        machine=MACHINE,
        facts={"budget_s": 30.0, "slice_s": 0.2},
        told=found,
        caveats=tuple(slow(found)),
    )


def test_rates_costs_and_ratios_are_those_that_were_planted() -> None:
    found = told(0.95)
    values = {(row.case["reader"], row.outcome): row.value for row in found.of(role="reader")}
    assert values["bare", RATE] == pytest.approx(BARE_MIB_PER_S)
    assert values["engine", READER_CPU] == pytest.approx(300 / 0.95)
    assert values["bare", SENDER_CPU] == pytest.approx(500 / 64)
    rate, cpu = found.of(role=RATIO)
    assert (rate.outcome, rate.baseline["reader"]) == (RATE, "bare")
    assert rate.ratio.point == pytest.approx(0.95, rel=1e-3)
    assert cpu.ratio.point == pytest.approx(1 / 0.95)
    assert rate.ratio.blocks == len(WIGGLE)
    assert rate.ratio.low is not None
    assert rate.ratio.low < 0.95


def test_an_engine_that_is_surely_slower_than_wanted_is_said_to_be() -> None:
    assert not list(slow(told(0.95)))
    (sentence,) = slow(told(0.7))
    assert sentence.startswith("results in rows of 1,000 bytes: the engine reads less than 0.9")


def test_a_sender_whose_clock_stood_still_has_no_figure() -> None:
    found = told(0.95, sender_cpu_us=0.0)
    assert [row.case["reader"] for row in found.of(SENDER_CPU)] == ["bare"]


@pytest.mark.parametrize("form", ["terminal", "md"])
def test_the_tables_have_both_and_the_ratio(form: str) -> None:
    text = bench_report(TOPIC, document(0.95), form)
    assert "Results of 16 MiB read from a server that does nothing, in the clear" in text
    for line in (
        ["rows of 1,000 B"],
        ["bare", "2,000", "300", "7.81"],
        ["engine to bare", "0.95 [0.92 … 0.98]", "1.05 [1.05 … 1.05]"],
    ):
        assert any(all(cell in shown.replace("\\", "") for cell in line) for shown in text.splitlines()), line
    assert "4 pairs of slices of 0.2 s for each length of row; intervals are of 95 %" in text
    assert "less than 0.9" not in text
    assert "less than 0.9" in " ".join(bench_report(TOPIC, document(0.7), form).split())


def test_csv_and_json_have_every_number() -> None:
    found = document(0.95)
    lines = list(csv.DictReader(io.StringIO(bench_report(TOPIC, found, "csv"))))
    assert [line["case_row_bytes"] for line in lines] == ["1000"] * 8
    (ratio,) = (line for line in lines if (line["role"], line["outcome"]) == (RATIO, RATE))
    assert float(ratio["ratio"]) == pytest.approx(0.95, rel=1e-3)
    assert BenchDocument.model_validate_json(bench_report(TOPIC, found, "json")) == found


def test_results_have_sixteen_mebibytes_at_the_least() -> None:
    assert [shape.row_bytes for shape in shapes()] == list(ROW_BYTES)
    assert all(0 <= shape.rows * shape.row_bytes - RESULT_BYTES < shape.row_bytes for shape in shapes())
