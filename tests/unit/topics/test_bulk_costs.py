"""Bytes a second and what they cost: planted costs of a statement, a byte and a handshake are found again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp

import pytest

import golden
from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case, Level, load_study
from tlstax.study.factors import CaseLevels
from tlstax.topics.bulk import (
    MIB,
    MIB_PER_S,
    OF_A_FURTHER_MIB,
    OF_A_MIB,
    ON_THE_WIRE,
    RECORD_BYTES,
    RECORDS,
    SHARE,
    SMALL_FROM,
    TO_PLAINTEXT,
    TOPIC,
    Curve,
    bulk_charts,
    curves_of,
    share_charts,
    size_words,
)
from tlstax.topics.core.section import Items
from tlstax.topics.core.table import Table
from told_runs import run_of, shown

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

ON_WIRE = {"bytes_sent_per_op": 60.0, "records_sent_per_op": 1.0, "records_received_per_op": 4.0}


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
            cases[CaseLevels.of(levels)] = Case(levels=levels, role="treatment")
            values[CaseLevels.of(levels)] = {
                block: {
                    "ops_per_s": 1e6 / cost_us(payload, tls) * exp(wiggle),
                    "server_cpu_us_per_op": cost_us(payload, tls) * exp(wiggle),
                    "bytes_received_per_op": 1.02 * payload,
                    "path_cpu_us_per_op": A_PATHS_MIB * payload / MIB,
                    **({} if tls == "off" else ON_WIRE),
                }
                for block, wiggle in enumerate(WIGGLE)
            }
    return Series(study=STUDY, cases=cases, values=values, controls={})


def curves(of: Series) -> list[Curve]:
    return curves_of(TOPIC.told(run_of(of)).rows)


def found() -> dict[tuple[str, str, float | None], Curve]:
    return {(str(curve.rows[0].case["tls"]), *curve.kind): curve for curve in curves(series())}


def of(curve: Curve, outcome: str) -> list[float]:
    """A figure at each size that has it, the smallest first."""
    return [interval.point for interval in curve.by_size(outcome).values()]


def overall(curve: Curve, outcome: str) -> float | None:
    interval = curve.interval(outcome)
    return None if interval is None else interval.point


SERVER, FURTHER = OF_A_MIB.format("server"), OF_A_FURTHER_MIB.format("server")


def test_rows_of_one_length_are_a_curve_and_what_is_sent_is_another() -> None:
    assert {key: curve.kind_words for key, curve in found().items()} == {
        (tls, direction, row_bytes): words
        for tls in UNDER_TLS
        for direction, row_bytes, words in (
            ("received", None, "results of one row"),
            ("received", 100, "results in rows of 100 B"),
            ("sent", None, "sent in a statement"),
            ("inserted", None, "inserts of one row"),
            ("inserted", 1024, "inserts in rows of 1 KiB"),
        )
    }
    curve = found()["off", "received", None]
    assert curve.sizes == (1024, 1 << 20)
    assert [row.more["row_bytes"] for row in curve.rows if row.outcome == MIB_PER_S] == [1024, 1 << 20]
    assert "workload" not in curve.rows[0].case


@pytest.mark.parametrize("tls", UNDER_TLS)
def test_what_each_further_mib_costs_is_what_was_planted(tls: str) -> None:
    curve = found()[tls, "received", None]
    assert overall(curve, FURTHER) == pytest.approx(A_MIB * UNDER_TLS[tls], rel=1e-3)
    assert overall(curve, OF_A_FURTHER_MIB.format("client")) is None
    assert of(curve, MIB_PER_S)[-1] == pytest.approx(1e6 / cost_us(1 << 20, tls))
    assert of(curve, SERVER)[0] == pytest.approx(1024 * cost_us(1024, tls))


def tables(rows: Sequence[Row]) -> list[Table]:
    told = TOPIC.told(run_of(series())).model_copy(update={"rows": tuple(rows)})
    (section,) = shown(TOPIC, told, series())
    return [block for block in section.blocks if isinstance(block, Table)]


def test_what_lies_between_is_told_where_there_is_something() -> None:
    between = OF_A_MIB.format("path")
    curve = found()["off", "received", None]
    assert overall(curve, OF_A_FURTHER_MIB.format("path")) == pytest.approx(A_PATHS_MIB)
    rows = TOPIC.told(run_of(series())).rows
    title = "CPU time of the programs between client and server, µs a MiB: results of one row"
    assert title in [table.title for table in tables(rows)]
    direct = [row for row in rows if row.outcome != between]
    assert not any("between client" in table.title for table in tables(direct))


def test_a_size_without_a_valid_trial_does_not_count() -> None:
    some = series()
    for key in list(some.values):
        if dict(key)["workload"] == "rows-1x1048576":
            del some.values[key]  # type: ignore[attr-defined]
    cases = dict(some.cases)
    more = levels_of("rows-1x524288", "off")
    cases[CaseLevels.of(more)] = Case(levels=more, role="treatment")
    costs = {block: {"server_cpu_us_per_op": cost_us(1 << 19, "off")} for block in range(3)}
    values = {**some.values, CaseLevels.of(more): costs}
    found = curves(Series(study=STUDY, cases=cases, values=values, controls={}))
    wanted = ("off", "received", None)
    (curve,) = (own for own in found if (own.rows[0].case["tls"], *own.kind) == wanted)
    assert overall(curve, FURTHER) == pytest.approx(A_MIB, rel=0.01)


def test_where_a_block_says_that_more_bytes_cost_nothing_no_slope_is_told() -> None:
    some = series()
    most = CaseLevels.of(levels_of("rows-1x1048576", "off"))
    less = {**some.values[most][0], "server_cpu_us_per_op": cost_us(1024, "off") / 2}
    values = {**some.values, most: {**some.values[most], 0: less}}
    (curve, *_) = curves(replace(some, values=values))
    assert (curve.rows[0].case["tls"], curve.kind) == ("off", ("received", None))
    assert overall(curve, FURTHER) is None


def test_one_size_has_no_slope() -> None:
    assert overall(found()["off", "sent", None], FURTHER) is None


def test_against_plaintext_it_is_the_planted_ratio() -> None:
    curve = found()["1.3", "received", None]
    assert of(curve, TO_PLAINTEXT)[-1] == pytest.approx(cost_us(1 << 20, "1.3") / cost_us(1 << 20, "off"))
    (first, _) = (row for row in curve.rows if row.outcome == TO_PLAINTEXT)
    assert (first.of, first.baseline["tls"], first.baseline["workload"]) == ("ratio", "off", "rows-1x1024")
    assert of(found()["off", "received", None], TO_PLAINTEXT) == []


def test_what_crosses_the_wire_is_told_in_the_payloads_direction() -> None:
    for key, on_the_wire in (
        (("off", "received", 100), [1.02, 1.02]),
        (("off", "sent", None), []),
        (("1.3", "sent", None), [60 / 64]),
        (("off", "inserted", 1024), []),
    ):
        assert of(found()[key], ON_THE_WIRE) == pytest.approx(on_the_wire)


def test_records_and_their_bytes_are_those_of_each_side_and_none_in_the_clear() -> None:
    for side, number, bytes_each in (("client", 1, 60), ("server", 4, 1.02 * 10_000 / 4)):
        curve = found()["1.3", "received", 100]
        assert of(curve, RECORDS.format(side))[0] == pytest.approx(number)
        assert of(curve, RECORD_BYTES.format(side))[0] == pytest.approx(bytes_each)
        assert of(found()["off", "received", 100], RECORDS.format(side)) == []


def test_what_is_compressed_in_the_clear_is_compared_as_well() -> None:
    packed: dict[str, Level] = {**levels_of("rows-1x1024", "off"), "compression": "zlib"}
    plain = {**packed, "compression": "off"}
    values = {
        CaseLevels.of(levels): {
            block: {"ops_per_s": 100.0, "server_cpu_us_per_op": cost} for block in range(3)
        }
        for levels, cost in ((packed, 30.0), (plain, 10.0))
    }
    cases = {CaseLevels.of(levels): Case(levels=levels, role="treatment") for levels in (packed, plain)}
    both = curves(Series(load_study("compression"), cases, values, {}))
    of_packing = {curve.rows[0].case["compression"]: of(curve, TO_PLAINTEXT) for curve in both}
    assert of_packing == {"off": [], "zlib": [pytest.approx(3)]}


def test_what_the_study_shows() -> None:
    whole = series()
    few = {at: case for at, case in whole.cases.items() if "rows-1x" in str(case.levels["workload"])}
    golden.check_series("bytes", replace(whole, cases=few), TOPIC)
    assert len(list(bulk_charts(curves(series())))) == 2


def test_cells_have_the_ends_of_their_interval_where_there_is_room() -> None:
    rate = tables(TOPIC.told(run_of(series())).rows)[0]
    assert (rate.title, rate.heads) == ("MiB/s: results of one row", ("1 KiB", "1 MiB"))
    short, roomy = (rate.lines(roomy=is_roomy)[0][1] for is_roomy in (False, True))
    found = re.fullmatch(rf"{short} \[([\d.]+) … ([\d.]+)\]", roomy)
    assert found is not None
    assert float(found[2]) - float(found[1]) == pytest.approx(2 * 0.86, abs=0.2)


def test_sizes_are_said_as_people_write_them() -> None:
    assert [size_words(size) for size in (64, 1024, 16_384, 1_677_312, 1_048_575.7)] == [
        "64 B",
        "1 KiB",
        "16 KiB",
        "1.6 MiB",
        "1 MiB",
    ]


CONNECTING = load_study("connect-bytes")
LOGIN_US, HANDSHAKE_US = 200.0, 800.0
MIB_US = {"off": 300.0, "1.3": 700.0}
RESULTS = {"connect-rows-1x64": 64, "connect-rows-1x1048576": MIB, "connect-rows-40x1048576": 40 * MIB}


def connection_us(size: int, tls: str) -> float:
    return LOGIN_US + (HANDSHAKE_US if tls == "1.3" else 0.0) + MIB_US[tls] * size / MIB


def connected(names: Sequence[str], factor: Mapping[str, float] | None = None) -> Series:
    cases, values = {}, {}
    for name in names:
        for tls in MIB_US:
            levels: dict[str, Level] = {"workload": name, "tls": tls, "resumption": "off", "connections": 1}
            cases[CaseLevels.of(levels)] = Case(levels=levels, role="treatment")
            us = connection_us(RESULTS[name], tls) * (factor or {}).get(tls, 1.0)
            values[CaseLevels.of(levels)] = {
                block: {
                    "ops_per_s": 100.0,
                    "server_cpu_us_per_op": us * exp(wiggle),
                    "bytes_received_per_op": RESULTS[name] + 3000.0,
                    "records_received_per_op": 3.0,
                    "bytes_sent_per_op": 900.0,
                    "records_sent_per_op": 2.0,
                }
                for block, wiggle in enumerate(WIGGLE)
            }
    return Series(study=CONNECTING, cases=cases, values=values, controls={})


def by_tls(of: Series) -> dict[str, Curve]:
    return {str(curve.rows[0].case["tls"]): curve for curve in curves(of)}


def test_every_figure_has_its_unit() -> None:
    rows = [*TOPIC.told(run_of(series())).rows, *TOPIC.told(run_of(connected(list(RESULTS)))).rows]
    sides = ("server", "path")
    assert {row.outcome: row.unit for row in rows} == {
        MIB_PER_S: "MiB/s",
        **dict.fromkeys((OF_A_MIB.format(side) for side in sides), "us"),
        **dict.fromkeys((OF_A_FURTHER_MIB.format(side) for side in sides), "us"),
        **dict.fromkeys((RECORDS.format(side) for side in ("client", "server")), "1"),
        **dict.fromkeys((RECORD_BYTES.format(side) for side in ("client", "server")), "B"),
        **dict.fromkeys((ON_THE_WIRE, TO_PLAINTEXT, SHARE), "1"),
        SMALL_FROM: "B",
    }


def test_results_of_all_sizes_on_new_connections_are_one_curve() -> None:
    found = by_tls(connected(list(RESULTS)))
    assert {curve.kind for curve in found.values()} == {("connected", None)}
    assert found["1.3"].kind_words == "a connection for one result"
    assert found["1.3"].sizes == tuple(RESULTS.values())
    assert overall(found["1.3"], FURTHER) == pytest.approx(MIB_US["1.3"], rel=1e-3)
    assert not any(found["1.3"].by_size(RECORDS.format(side)) for side in ("client", "server"))


def test_the_share_is_that_of_what_was_planted() -> None:
    found = by_tls(connected(list(RESULTS)))
    for size, share in found["1.3"].by_size(SHARE).items():
        assert share.point == pytest.approx(HANDSHAKE_US / connection_us(size, "1.3"), rel=1e-3)
        assert share.blocks == len(WIGGLE)
    assert list(found["1.3"].by_size(SHARE)) == list(RESULTS.values())
    assert found["off"].by_size(SHARE) == {}


def test_the_size_at_which_it_is_small_lies_between_two_that_were_measured() -> None:
    expected = (HANDSHAKE_US / 0.05 - LOGIN_US - HANDSHAKE_US) / MIB_US["1.3"] * MIB
    assert overall(by_tls(connected(list(RESULTS)))["1.3"], SMALL_FROM) == pytest.approx(expected, rel=1e-3)


def test_it_is_not_made_up_beyond_the_sizes() -> None:
    found = by_tls(connected(list(RESULTS)[:2]))["1.3"]
    assert overall(found, SMALL_FROM) is None
    assert len(found.by_size(SHARE)) == 2
    assert overall(by_tls(connected(list(RESULTS)))["off"], SMALL_FROM) is None


def test_tls_that_adds_nothing_has_no_share() -> None:
    cheaper = by_tls(connected(list(RESULTS), {"1.3": 0.1}))["1.3"]
    assert cheaper.by_size(SHARE) == {}
    assert overall(cheaper, SMALL_FROM) is None


def test_it_is_said_in_a_sentence_and_drawn() -> None:
    told = TOPIC.told(run_of(connected(list(RESULTS))))
    (sentence,) = told.sentences
    assert sentence.startswith("TLS 1.3")
    assert "the handshake is less than 5 % of what a new connection costs the server" in sentence
    assert "21.4 MiB" in sentence
    assert "each further MiB takes it 700 µs" in sentence
    (section,) = shown(TOPIC, told, connected([]))
    assert Items(told.sentences, all_of_them=True) in section.blocks
    assert len(list(share_charts(curves_of(told.rows)))) == 1


def test_where_it_is_not_reached_that_is_said() -> None:
    (sentence,) = TOPIC.told(run_of(connected(list(RESULTS)[:2]))).sentences
    assert "with a result of 1 MiB the handshake is" in sentence
    assert "not between the sizes that were measured" in sentence
