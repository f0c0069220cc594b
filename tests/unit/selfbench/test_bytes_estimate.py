"""Reading long results: planted rates are found again, and a slow engine is said to be one."""

from __future__ import annotations

import pytest

from fake_contestants import MACHINE
from tlstax.selfbench.bytes_document import BytesDocument, BytesHeader, Pair, Reading, Shape
from tlstax.selfbench.bytes_estimate import MIB, document
from tlstax.selfbench.bytes_measure import RESULT_BYTES, ROW_BYTES, shapes
from tlstax.selfbench.bytes_table import bytes_markdown, bytes_terminal

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


def found(share: float, *, sender_cpu_us: float = 500.0, beside_another: bool = False) -> BytesDocument:
    header = BytesHeader(
        started_at="2026-11-26", tlstax_version="0.1.0", slice_s=0.2, machine=MACHINE, specimens=()
    )
    pairs = [
        Pair(
            engine=reading(share * BARE_MIB_PER_S * wiggle, 300.0 / share, sender_cpu_us),
            bare=reading(BARE_MIB_PER_S, 300.0),
        )
        for wiggle in WIGGLE
    ]
    return document(header, {SHAPE: pairs}, "complete", beside_another=beside_another)


def test_rates_costs_and_ratios_are_those_that_were_planted() -> None:
    (result,) = found(0.95).results
    assert result.bare.mib_per_s.point == pytest.approx(BARE_MIB_PER_S)
    assert result.engine.reader_cpu_us_per_mib.point == pytest.approx(300 / 0.95)
    assert result.rate_to_bare.point == pytest.approx(0.95, rel=1e-3)
    assert result.cpu_to_bare.point == pytest.approx(1 / 0.95)
    assert result.rate_to_bare.blocks == len(WIGGLE)
    assert result.rate_to_bare.low is not None
    assert result.rate_to_bare.low < 0.95


def test_an_engine_that_is_surely_slower_than_wanted_is_said_to_be() -> None:
    assert not any("less than 0.9" in caveat for caveat in found(0.95).caveats)
    assert any(
        "rows of 1,000 bytes: the engine reads less than 0.9" in caveat for caveat in found(0.7).caveats
    )
    assert any("another" in caveat for caveat in found(0.95, beside_another=True).caveats)


def test_a_sender_whose_clock_stood_still_has_no_figure() -> None:
    (result,) = found(0.95, sender_cpu_us=0.0).results
    assert result.engine.sender_cpu_us_per_mib is None
    assert result.bare.sender_cpu_us_per_mib is not None


def test_the_tables_have_both_and_the_ratio() -> None:
    for text in (bytes_terminal(found(0.95)), bytes_markdown(found(0.95))):
        assert "2,000" in text
        assert "0.95 " in text
        assert "engine to bare" in text
        assert "4 pairs of slices of 0.2 s" in text


def test_results_have_sixteen_mebibytes_at_the_least() -> None:
    assert [shape.row_bytes for shape in shapes()] == list(ROW_BYTES)
    assert all(0 <= shape.rows * shape.row_bytes - RESULT_BYTES < shape.row_bytes for shape in shapes())
