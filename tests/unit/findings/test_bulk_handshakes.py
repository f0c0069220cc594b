"""From which size on the handshake is small: a planted handshake and planted bytes are found again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

import pytest

from tlstax.findings.bulk.curves import MIB, bulk
from tlstax.findings.core.series import Series, frozen
from tlstax.report.bulk.csv_rows import rows as csv_rows
from tlstax.report.bulk.section import sections
from tlstax.report.bulk.share_chart import share_charts
from tlstax.results.bulk import BulkCurve
from tlstax.results.document import RunDocument
from tlstax.study import Case, Level, load_study
from tlstax.topics.core.section import Items

STUDY = load_study("connect-bytes")
LOGIN_US, HANDSHAKE_US = 200.0, 800.0
MIB_US = {"off": 300.0, "1.3": 700.0}
SIZES = {"connect-rows-1x64": 64, "connect-rows-1x1048576": MIB, "connect-rows-40x1048576": 40 * MIB}
WIGGLES = (-0.01, 0.0, 0.01)


def cost_us(size: int, tls: str) -> float:
    return LOGIN_US + (HANDSHAKE_US if tls == "1.3" else 0.0) + MIB_US[tls] * size / MIB


def series(names: Sequence[str], factor: Mapping[str, float] | None = None) -> Series:
    cases, values = {}, {}
    for name in names:
        for tls in MIB_US:
            levels: dict[str, Level] = {"workload": name, "tls": tls, "resumption": "off", "connections": 1}
            cases[frozen(levels)] = Case(levels=levels, role="treatment")
            us = cost_us(SIZES[name], tls) * (factor or {}).get(tls, 1.0)
            values[frozen(levels)] = {
                block: {
                    "ops_per_s": 100.0,
                    "server_cpu_us_per_op": us * exp(wiggle),
                    "bytes_received_per_op": SIZES[name] + 3000.0,
                    "records_received_per_op": 3.0,
                    "bytes_sent_per_op": 900.0,
                    "records_sent_per_op": 2.0,
                }
                for block, wiggle in enumerate(WIGGLES)
            }
    return Series(study=STUDY, cases=cases, values=values, controls={})


def curves(of: Series) -> dict[str, BulkCurve]:
    return {str(curve.case["tls"]): curve for curve in bulk(of)}


def test_results_of_all_sizes_on_new_connections_are_one_curve() -> None:
    found = curves(series(list(SIZES)))
    assert {curve.direction for curve in found.values()} == {"connected"}
    assert [point.payload_bytes for point in found["1.3"].points] == list(SIZES.values())
    assert all(point.client_records is point.server_records is None for point in found["1.3"].points)


def test_the_share_is_that_of_what_was_planted() -> None:
    encrypted = curves(series(list(SIZES)))["1.3"]
    for point in encrypted.points:
        assert point.handshake_share is not None
        expected = HANDSHAKE_US / cost_us(point.payload_bytes, "1.3")
        assert point.handshake_share.point == pytest.approx(expected, rel=1e-3)
        assert point.handshake_share.blocks == len(WIGGLES)
    assert all(point.handshake_share is None for point in curves(series(list(SIZES)))["off"].points)


def test_the_size_at_which_it_is_small_lies_between_two_that_were_measured() -> None:
    small = curves(series(list(SIZES)))["1.3"].handshake_is_small_bytes
    expected = (HANDSHAKE_US / 0.05 - LOGIN_US - HANDSHAKE_US) / MIB_US["1.3"] * MIB
    assert small is not None
    assert small.point == pytest.approx(expected, rel=1e-3)


def test_it_is_not_made_up_beyond_the_sizes() -> None:
    found = curves(series(list(SIZES)[:2]))["1.3"]
    assert found.handshake_is_small_bytes is None
    assert found.points[-1].handshake_share is not None
    assert curves(series(list(SIZES)))["off"].handshake_is_small_bytes is None


def test_tls_that_adds_nothing_has_no_share() -> None:
    cheaper = curves(series(list(SIZES), {"1.3": 0.1}))["1.3"]
    assert all(point.handshake_share is None for point in cheaper.points)
    assert cheaper.handshake_is_small_bytes is None


def document(names: Sequence[str]) -> RunDocument:
    return RunDocument.model_construct(bulk=bulk(series(names)), design=STUDY)


def test_it_is_said_in_a_sentence_drawn_and_in_rows() -> None:
    whole = document(list(SIZES))
    (page,) = sections(whole, "page")
    (said,) = (block for block in page.blocks if isinstance(block, Items))
    (sentence,) = said.texts
    assert sentence.startswith("TLS 1.3")
    assert "the handshake is less than 5 % of what a new connection costs the server" in sentence
    assert "21.4 MiB" in sentence
    assert "each further MiB takes it 700 µs" in sentence
    assert len(share_charts(whole.bulk)) == 1
    outcomes = {row["outcome"] for row in csv_rows(whole)}
    assert {
        "share of the handshake in the server's CPU",
        "size from which the handshake is small",
    } <= outcomes


def test_where_it_is_not_reached_that_is_said() -> None:
    short = document(list(SIZES)[:2])
    (page,) = sections(short, "page")
    (said,) = (block for block in page.blocks if isinstance(block, Items))
    assert "with a result of 1 MiB the handshake is" in said.texts[0]
    assert "not between the sizes that were measured" in said.texts[0]
