"""The small export: a reader who has the CSV alone computes the figures of the report again."""

from __future__ import annotations

import csv
import io
from math import exp, log, sqrt
from statistics import fmean, stdev

import pytest

from machine_runs import machine_run
from report_runs import all_invalid, one_block, one_workload_one_level, with_document
from tlstax.records.trial import StoredRun
from tlstax.report.run_tables import blocks_csv
from tlstax.stats.series import block_rows

OUTCOMES = ("ops_per_s", "server_cpu_us_per_op")
T_OF_FIVE_BLOCKS = 3.495406
"""Student's t for 97.5 % and 4 degrees of freedom, both sides: see `ALPHA_SHARE`."""


def five_blocks() -> StoredRun:
    return one_workload_one_level()


def read(stored: StoredRun, *outcomes: str) -> list[dict[str, str]]:
    names = outcomes or OUTCOMES
    return list(csv.DictReader(io.StringIO(blocks_csv(block_rows(stored, names), names))))


@pytest.mark.parametrize(("role", "outcome"), [(r, o) for r in ("treatment", "control") for o in OUTCOMES])
def test_a_ratio_and_its_interval_are_computed_again(role: str, outcome: str) -> None:
    stored, document = with_document(five_blocks)
    logs = [log(float(row[f"{outcome}_ratio"])) for row in read(stored) if row["role"] == role]
    (found,) = [f.ratio for f in document.findings if f.role == role and f.outcome == outcome]
    half = T_OF_FIVE_BLOCKS * stdev(logs) / sqrt(len(logs))
    again = (exp(fmean(logs)), exp(fmean(logs) - half), exp(fmean(logs) + half))
    assert again == pytest.approx((found.point, found.low, found.high), rel=1e-4)
    assert len(logs) == found.blocks == 5


def test_a_row_is_a_case_and_block_with_what_varies() -> None:
    rows = read(five_blocks())
    assert list(rows[0]) == [
        "role",
        "tls",
        "block",
        "ops_per_s",
        "ops_per_s_ratio",
        "server_cpu_us_per_op",
        "server_cpu_us_per_op_ratio",
    ]
    named = [(row["role"], row["tls"], row["block"]) for row in rows]
    assert named == [
        (role, tls, str(block))
        for role, tls in (("baseline", "off"), ("treatment", "1.3"), ("control", "off"))
        for block in range(1, 6)
    ]
    assert {row["ops_per_s_ratio"] for row in rows if row["role"] == "baseline"} == {"1"}
    assert all(float(row["ops_per_s"]) > 0 for row in rows)


def test_only_what_was_asked_for_and_measured_is_there() -> None:
    (baseline, *_) = read(one_block(), "latency_p50_us", "tls_handshake_p50_us")
    assert list(baseline)[3:] == [
        "latency_p50_us",
        "latency_p50_us_ratio",
        "tls_handshake_p50_us",
        "tls_handshake_p50_us_ratio",
    ]
    assert float(baseline["latency_p50_us"]) > 0
    assert (baseline["tls_handshake_p50_us"], baseline["tls_handshake_p50_us_ratio"]) == ("", "")


def test_of_one_machine_no_row_names_it() -> None:
    assert {row.machine for row in block_rows(five_blocks(), OUTCOMES)} == {""}


def test_invalid_trials_have_no_row() -> None:
    assert read(all_invalid()) == []


def test_of_several_machines_each_row_names_its_own() -> None:
    machines = {row["machine"] for row in read(machine_run({"a": 1.0, "b": 1.0}))}
    assert len(machines) == 2
    assert "" not in machines
