"""Copies of a server: planted rates and costs come out as MiB a second, seconds and CPU time of a MiB."""

from __future__ import annotations

from dataclasses import replace

import pytest

import golden
from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case, Level, load_study
from tlstax.study.factors import CaseLevels
from tlstax.topics.core.outcome_names import MIB, MIB_PER_S, OF_A_MIB
from tlstax.topics.streams import BESIDE, LAST_BYTE, TOPIC, sentences
from told_runs import run_of

STUDY = load_study("streams")
LENGTHS = {"pg-dump": 50, "pg-basebackup": 120}
RATES = {"off": 2.0, "1.3": 1.6}
SERVER_MS, CLIENT_MS = {"off": 2.0, "1.3": 3.0}, {"off": 1.0, "1.3": 1.5}
WIGGLE = (0.99, 1.0, 1.01)


PACKED = {"off": 1.02, "zlib": 0.5}
"""What crosses the wire of each byte."""

SLOWER = {"off": 1.0, "zlib": 4.0}


def levels_of(client: str, tls: str, compression: str | None = None) -> dict[str, Level]:
    packed: dict[str, Level] = {} if compression is None else {"compression": compression}
    return packed | {
        "server": "postgresql-18",
        "instance": 1,
        "client": client,
        "workload": "stream",
        "connections": 1,
        "tls": tls,
        "rtt_ms": 0,
        "queries": 1,
    }


def series(rates: dict[str, float] | None = None) -> Series:
    cases, values = {}, {}
    for client, length in LENGTHS.items():
        for tls, rate in (RATES if rates is None else rates).items():
            at = CaseLevels.of(levels_of(client, tls))
            cases[at] = Case(levels=dict(at), role="baseline" if tls == "off" else "treatment")
            values[at] = {
                block: {
                    "ops_per_s": rate * off,
                    "copy_bytes": float(length * MIB),
                    "server_cpu_us_per_op": SERVER_MS[tls] * 1000 * length * off,
                    "client_cpu_us_per_op": CLIENT_MS[tls] * 1000 * length * off,
                }
                for block, off in enumerate(WIGGLE)
            }
    return Series(study=STUDY, cases=cases, values=values, controls={})


def compressed(*levels: str) -> Series:
    """Base backups in the clear, at these levels of compression."""
    cases, values = {}, {}
    for level in levels:
        at = CaseLevels.of(levels_of("pg-basebackup", "off", level))
        cases[at] = Case(levels=dict(at), role="baseline" if level == "off" else "treatment")
        values[at] = {
            block: {
                "ops_per_s": off / SLOWER[level],
                "copy_bytes": 100.0 * MIB,
                "copy_wire_bytes": 100.0 * MIB * PACKED[level],
                "server_cpu_us_per_op": 100_000 * 10 * SLOWER[level] * off,
                "client_cpu_us_per_op": 100_000 / SLOWER[level] * off,
            }
            for block, off in enumerate(WIGGLE)
        }
    return Series(study=STUDY, cases=cases, values=values, controls={})


def test_a_compressed_copy_is_beside_the_same_that_is_not() -> None:
    run = run_of(compressed("off", "zlib"))
    shown = TOPIC.told(run).rows
    beside = {each.outcome: each for each in shown if each.of == "ratio"}
    assert {outcome: round(each.ratio.point, 6) for outcome, each in beside.items()} == {
        "time to the last byte beside not compressed": 4.0,
        "server CPU beside not compressed": 4.0,
        "client CPU beside not compressed": 0.25,
    }
    for each in beside.values():
        assert (each.case["compression"], each.baseline["compression"]) == ("zlib", "off")
        assert (each.more["copy_bytes"], each.more["copy_wire_bytes"]) == (100 * MIB, 50 * MIB)
    (sentence,) = sentences(run, shown)
    assert sentence.endswith(
        ": 0.500 of its bytes cross the wire; beside not compressed: +300 % [+300 % … +300 %] of the time, "
        "+300 % [+300 % … +300 %] of the server's CPU, −75 % [−75 % … −75 %] of the client's CPU"
    )


def test_what_has_nothing_uncompressed_beside_it_is_compared_with_nothing() -> None:
    run = run_of(compressed("zlib"))
    told = TOPIC.told(run)
    assert {each.of for each in told.rows} == {"value"}
    assert list(sentences(run, told.rows)) == []


def row(client: str, tls: str, outcome: str) -> Row:
    found = [
        each
        for each in TOPIC.told(run_of(series())).rows
        if each.outcome == outcome and (each.case["client"], each.case["tls"]) == (client, tls)
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("client", LENGTHS)
@pytest.mark.parametrize("tls", RATES)
def test_planted_figures_are_found(client: str, tls: str) -> None:
    length = LENGTHS[client]
    assert row(client, tls, MIB_PER_S).value == pytest.approx(RATES[tls] * length, rel=1e-3)
    assert row(client, tls, LAST_BYTE).value == pytest.approx(1 / RATES[tls], rel=1e-3)
    assert row(client, tls, OF_A_MIB.format("server")).value == pytest.approx(1000 * SERVER_MS[tls], rel=1e-3)
    assert row(client, tls, OF_A_MIB.format("client")).value == pytest.approx(1000 * CLIENT_MS[tls], rel=1e-3)
    assert row(client, tls, MIB_PER_S).more["copy_bytes"] == length * MIB


def test_tls_is_beside_the_same_program_in_the_clear() -> None:
    for side in ("server", "client"):
        beside = row("pg-dump", "1.3", BESIDE.format(side))
        assert beside.of == "ratio"
        assert beside.ratio.point == pytest.approx(1.5)
        assert (beside.baseline["client"], beside.baseline["tls"]) == ("pg-dump", "off")


def test_where_programs_are_compared_each_copy_is_named_by_its_own() -> None:
    compared = STUDY.model_copy(update={"baseline": {"tls": "off", "client": "pg-dump"}})
    rows = TOPIC.told(run_of(replace(series(), study=compared))).rows
    assert {each.label for each in rows if each.case["tls"] == "1.3"} == {
        "TLS 1.3, by pg_dump, postgresql-18, on the same machine",
        "TLS 1.3, by pg_basebackup, postgresql-18, on the same machine",
    }


def test_without_plaintext_nothing_is_compared_and_nothing_said() -> None:
    run = run_of(series({"1.3": 1.6}))
    told = TOPIC.told(run)
    assert {each.outcome for each in told.rows} == {
        MIB_PER_S,
        LAST_BYTE,
        *map(OF_A_MIB.format, ("server", "client")),
    }
    assert list(sentences(run, told.rows)) == []


def test_what_the_study_shows() -> None:
    golden.check_series("streams", series(), TOPIC)


def test_what_is_shown_of_compressed_copies() -> None:
    golden.check_series("streams-compressed", compressed("off", "zlib"), TOPIC)
