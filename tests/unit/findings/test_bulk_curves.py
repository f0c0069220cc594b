"""Bytes a second and what they cost: planted costs of a statement and of a byte are found again."""

from __future__ import annotations

from math import exp

import pytest

from tlstax.findings.bulk.curves import MIB, bulk
from tlstax.findings.core.series import Series, frozen
from tlstax.report.bulk.charts import bulk_charts
from tlstax.report.bulk.csv_rows import rows as csv_rows
from tlstax.report.bulk.section import sections
from tlstax.report.bulk.words import kind_words, size_words
from tlstax.results.bulk import BulkCurve
from tlstax.results.document import RunDocument
from tlstax.study import Case, Level, load_study
from tlstax.topics.core.table import Table

STUDY = load_study("bytes")
WIGGLE = (-0.01, 0.0, 0.01)
A_STATEMENT, A_MIB, A_PATHS_MIB = 40.0, 900.0, 250.0
UNDER_TLS = {"off": 1.0, "1.3": 1.5}
SIZES = {
    "rows-1x1024": 1024,
    "rows-1x1048576": 1 << 20,
    "rows-100x100": 10_000,
    "rows-10000x100": 1_000_000,
    "sent-64": 64,
    "insert-1024": 1024,
    "insert-100x1024": 102_400,
}

RECORDS = {"bytes_sent_per_op": 60.0, "records_sent_per_op": 1.0, "records_received_per_op": 4.0}


def levels_of(workload: str, tls: str) -> dict[str, Level]:
    cipher = "default" if tls == "off" else "TLS_AES_128_GCM_SHA256"
    return {"server": "a", "workload": workload, "tls": tls, "cipher": cipher, "connections": 1}


def cost_us(payload_bytes: int, tls: str) -> float:
    return A_STATEMENT + A_MIB * UNDER_TLS[tls] * payload_bytes / MIB


def series() -> Series:
    cases, values = {}, {}
    for workload, payload in SIZES.items():
        for tls in UNDER_TLS:
            levels = levels_of(workload, tls)
            cases[frozen(levels)] = Case(levels=levels, role="treatment")
            values[frozen(levels)] = {
                block: {
                    "ops_per_s": 1e6 / cost_us(payload, tls) * exp(wiggle),
                    "server_cpu_us_per_op": cost_us(payload, tls) * exp(wiggle),
                    "bytes_received_per_op": 1.02 * payload,
                    "path_cpu_us_per_op": A_PATHS_MIB * payload / MIB,
                    **({} if tls == "off" else RECORDS),
                }
                for block, wiggle in enumerate(WIGGLE)
            }
    return Series(study=STUDY, cases=cases, values=values, controls={})


def found() -> dict[tuple[str, str, int | None], BulkCurve]:
    return {(curve.case["tls"], curve.direction, curve.row_bytes): curve for curve in bulk(series())}  # type: ignore[misc]


def test_rows_of_one_length_are_a_curve_and_what_is_sent_is_another() -> None:
    assert set(found()) == {
        (tls, direction, row_bytes)
        for tls in UNDER_TLS
        for direction, row_bytes in (
            ("received", None),
            ("received", 100),
            ("sent", None),
            ("inserted", None),
            ("inserted", 1024),
        )
    }
    curve = found()["off", "received", None]
    assert [point.payload_bytes for point in curve.points] == [1024, 1 << 20]
    assert "workload" not in curve.case


@pytest.mark.parametrize("tls", UNDER_TLS)
def test_what_each_further_mib_costs_is_what_was_planted(tls: str) -> None:
    curve = found()[tls, "received", None]
    assert curve.further_server_us is not None
    assert curve.further_server_us.point == pytest.approx(A_MIB * UNDER_TLS[tls], rel=1e-3)
    assert curve.further_client_us is None
    small, large = curve.points
    assert large.mib_per_s.point == pytest.approx(1e6 / cost_us(1 << 20, tls))
    assert small.server_cpu_us_per_mib is not None
    assert small.server_cpu_us_per_mib.point == pytest.approx(1024 * cost_us(1024, tls))


def test_what_lies_between_is_told_where_there_is_something() -> None:
    curve = found()["off", "received", None]
    assert curve.further_path_us is not None
    assert curve.further_path_us.point == pytest.approx(A_PATHS_MIB)
    titles = [block.title for block in page_blocks(document()) if isinstance(block, Table)]
    title = "CPU time of the programs between client and server, µs a MiB: results of one row"
    assert title in titles
    direct = tuple(
        curve.model_copy(
            update={"points": tuple(p.model_copy(update={"path_cpu_us_per_mib": None}) for p in curve.points)}
        )
        for curve in document().bulk
    )
    blocks = page_blocks(RunDocument.model_construct(bulk=direct, design=STUDY))
    assert not any("between client" in block.title for block in blocks if isinstance(block, Table))


def page_blocks(of: RunDocument) -> tuple[object, ...]:
    (page,) = sections(of, "page")
    return page.blocks


def test_a_size_without_a_valid_trial_does_not_count() -> None:
    some = series()
    for key in list(some.values):
        if dict(key)["workload"] == "rows-1x1048576":
            del some.values[key]  # type: ignore[attr-defined]
    cases = dict(some.cases)
    more = levels_of("rows-1x524288", "off")
    cases[frozen(more)] = Case(levels=more, role="treatment")
    costs = {block: {"server_cpu_us_per_op": cost_us(1 << 19, "off")} for block in range(3)}
    values = {**some.values, frozen(more): costs}
    curves = bulk(Series(study=STUDY, cases=cases, values=values, controls={}))
    wanted = ("off", "received", None)
    (curve,) = (own for own in curves if (own.case["tls"], own.direction, own.row_bytes) == wanted)
    assert curve.further_server_us is not None
    assert curve.further_server_us.point == pytest.approx(A_MIB, rel=0.01)


def test_one_size_has_no_slope() -> None:
    assert found()["off", "sent", None].further_server_us is None


def test_against_plaintext_it_is_the_planted_ratio() -> None:
    large = found()["1.3", "received", None].points[-1]
    assert large.server_to_plaintext is not None
    assert large.server_to_plaintext.point == pytest.approx(cost_us(1 << 20, "1.3") / cost_us(1 << 20, "off"))
    assert found()["off", "received", None].points[0].server_to_plaintext is None


def test_what_crosses_the_wire_is_told_in_the_payloads_direction() -> None:
    received = found()["off", "received", 100].points[0].wire_bytes_per_byte
    assert received is not None
    assert received.point == pytest.approx(1.02)
    assert found()["off", "sent", None].points[0].wire_bytes_per_byte is None
    assert found()["1.3", "sent", None].points[0].wire_bytes_per_byte is not None
    assert found()["off", "inserted", 1024].points[0].wire_bytes_per_byte is None


def test_records_and_their_bytes_are_those_of_each_side_and_none_in_the_clear() -> None:
    point = found()["1.3", "received", 100].points[0]
    assert point.client_records is not None
    assert point.server_records is not None
    assert point.client_records.per_statement.point == pytest.approx(1)
    assert point.client_records.bytes_each.point == pytest.approx(60)
    assert point.server_records.per_statement.point == pytest.approx(4)
    assert point.server_records.bytes_each.point == pytest.approx(1.02 * 10_000 / 4)
    plain = found()["off", "received", 100].points[0]
    assert plain.client_records is plain.server_records is None


def test_kinds_of_statements_have_names() -> None:
    assert {kind_words(curve) for curve in found().values()} == {
        "results of one row",
        "results in rows of 100 B",
        "sent in a statement",
        "inserts of one row",
        "inserts in rows of 1 KiB",
    }


def test_what_is_compressed_in_the_clear_is_compared_as_well() -> None:
    some = series()
    packed: dict[str, Level] = {**levels_of("rows-1x1024", "off"), "compression": "zlib"}
    plain = {**packed, "compression": "off"}
    study = load_study("compression")
    values = {
        frozen(levels): {block: {"ops_per_s": 100.0, "server_cpu_us_per_op": cost} for block in range(3)}
        for levels, cost in ((packed, 30.0), (plain, 10.0))
    }
    cases = {frozen(levels): Case(levels=levels, role="treatment") for levels in (packed, plain)}
    curves = {curve.case["compression"]: curve for curve in bulk(Series(study, cases, values, some.controls))}
    assert curves["off"].points[0].server_to_plaintext is None
    ratio = curves["zlib"].points[0].server_to_plaintext
    assert ratio is not None
    assert ratio.point == pytest.approx(3)


def document() -> RunDocument:
    return RunDocument.model_construct(bulk=bulk(series()), design=STUDY)


def test_it_is_told_in_tables_a_picture_and_rows() -> None:
    (narrow,) = sections(document(), "short")
    (page,) = sections(document(), "page")
    assert len(page.blocks) > len(narrow.blocks)
    cells = [cell for block in page.blocks if isinstance(block, Table) for row in block.rows for cell in row]
    assert "1.00 of 60 B" in cells
    assert "4.00 of 2.49 KiB" in cells
    assert len(bulk_charts(document().bulk)) == 2
    told = list(csv_rows(document()))
    assert {row["outcome"] for row in told} == {
        "MiB a second",
        "TLS records that the client sends",
        "TLS records that the server sends",
        "bytes of a TLS record of the client",
        "bytes of a TLS record of the server",
        "bytes on the wire for each byte",
        "server CPU of a MiB",
        "server CPU of a further MiB",
        "path CPU of a MiB",
        "path CPU of a further MiB",
    }
    assert all(row["role"] == "bulk" for row in told)
    assert list(sections(RunDocument.model_construct(bulk=(), design=STUDY), "page")) == []


def test_sizes_are_said_as_people_write_them() -> None:
    assert [size_words(size) for size in (64, 1024, 16_384, 1_677_312)] == [
        "64 B",
        "1 KiB",
        "16 KiB",
        "1.6 MiB",
    ]
