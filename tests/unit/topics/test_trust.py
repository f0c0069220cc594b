"""What files of authorities cost: who reads them for each connect, who once; planted costs are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import golden
from tlstax.records.trial import TrustFile
from tlstax.results.rows import Told
from tlstax.specimens.certificates import issue, requested, write_authorities
from tlstax.stats.series import Series
from tlstax.study import Case, Level, load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.topics.trust import AUTHORITY_BYTES, CLIENT_CPU, READS, TIME, TOPIC, rows, sentences
from told_runs import run_of

STUDY = load_study("trust")
EACH_US = 20.0
READ_TIMES = {"libmariadb-3.4": 1, "pymysql-1.2": 0, "mysql2-3": 2}
WIGGLE = (-1.0, 0.0, 1.0)


def levels_of(client: str, trust: int) -> dict[str, Level]:
    return {
        "client": client,
        "trust": trust,
        "server": "mysql-9.7",
        "tls": "1.3",
        "workload": "reconnect",
        "connections": 1,
    }


def series() -> Series:
    cases, values = {}, {}
    for client, reads in READ_TIMES.items():
        for trust in (1, 16, 128):
            levels = levels_of(client, trust)
            cases[CaseLevels.of(levels)] = Case(levels=levels, role="treatment")
            values[CaseLevels.of(levels)] = {
                block: {
                    "latency_mean_us": 2000 + reads * EACH_US * trust + off,
                    "client_cpu_us_per_op": 900 + reads * EACH_US * trust + off,
                    "client_read_bytes_per_op": 700.0 + reads * trust * AUTHORITY_BYTES,
                }
                for block, off in enumerate(WIGGLE)
            }
    return Series(study=STUDY, cases=cases, values=values, controls={})


def told(series: Series) -> Told:
    return TOPIC.told(run_of(series))


def test_planted_costs_and_reads_are_found() -> None:
    found = {(row.outcome, row.case["client"], row.more["authorities"]): row for row in told(series()).rows}
    assert set(found) == {
        (outcome, client, size)
        for outcome in (TIME, CLIENT_CPU)
        for client in READ_TIMES
        for size in (16, 128)
    }
    for (_, client, size), row in found.items():
        times = READ_TIMES[str(client)]
        assert row.number(READS) == pytest.approx(times)
        assert (row.of, row.unit, row.baseline["trust"]) == ("difference", "us", 1)
        assert row.interval is not None
        assert row.interval.point == pytest.approx(times * EACH_US * (float(str(size)) - 1), abs=1e-6)
        assert row.blocks == 3


def test_an_interval_that_holds_nothing_and_much_is_inconclusive() -> None:
    run = run_of(series())
    row = next(rows(run))
    assert row.interval is not None
    wide = row.interval.model_copy(update={"low": -9000.0, "high": 14000.0, "blocks": 2})
    unknown = row.model_copy(update={"interval": wide, "judgement": "inconclusive"})
    (said,) = sentences(run, [unknown])
    assert f"what {row.more['authorities']} of them take is inconclusive by 2 blocks" in said
    (enough,) = sentences(
        run, [unknown.model_copy(update={"interval": wide.model_copy(update={"blocks": 3})})]
    )
    assert "is inconclusive, " in enough
    assert "(\u22129 to 14) more" in enough


def test_who_keeps_the_text_and_makes_a_context_anew_is_told_apart() -> None:
    kept = series()
    for blocks in kept.values.values():
        for values in blocks.values():
            values["client_read_bytes_per_op"] = 700.0  # type: ignore[index]
    (first, second, _) = told(kept).sentences
    assert "reads its authorities once and takes them in anew on every connect: 128 of them take" in first
    assert second.endswith("reads its authorities once: a connect with 128 of them takes as long as with one")


def test_where_bytes_are_not_counted_only_the_cost_is_told() -> None:
    silent = series()
    for blocks in silent.values.values():
        for values in blocks.values():
            del values["client_read_bytes_per_op"]  # type: ignore[attr-defined]
    found = told(silent)
    assert all(row.number(READS) is None for row in found.rows)
    assert found.sentences[0].startswith("MariaDB Connector/C 3.4 was given files of authorities")


def test_a_file_of_the_users_own_stands_beside_what_is_needed_of_it() -> None:
    """Two of its authorities are needed, 2 kB of 52; clients of one size alone are compared with nothing."""
    own = TrustFile(sha256="a" * 64, size_bytes=52_000, authorities=16, needed=2, needed_bytes=2_000)
    with_two, alone = levels_of("pymysql-1.2", 2), {**levels_of("pymysql-1.2", 16), "connections": 8}
    with_all = levels_of("pymysql-1.2", 16)
    read = {2: 2_000.0, 16: 2_000.0 + 1.5 * 50_000}
    values = {
        CaseLevels.of(levels): {
            block: {TIME: 2000.0 + 10 * size + off, "client_read_bytes_per_op": read[size]}
            for block, off in enumerate(WIGGLE)
        }
        for size, levels in ((2, with_two), (16, with_all), (16, alone))
    }
    cases = {
        CaseLevels.of(levels): Case(levels=levels, role="treatment") for levels in (with_two, with_all, alone)
    }
    found = TOPIC.told(run_of(replace(series(), cases=cases, values=values), trust=own))
    (row,) = found.rows
    assert (row.case, row.baseline) == (with_all, with_two)
    assert row.more == {"authorities": 16, "authorities_needed": 2, READS: 1.5}
    assert row.interval is not None
    assert row.interval.point == pytest.approx(140.0)
    assert found.sentences[0].startswith(
        "The file has 16 authorities in 52,000 bytes (SHA-256 aaaaaaaaaaaaaaaa…)"
    )
    assert "than a file with the 2 that are needed" in found.sentences[1]


@pytest.mark.parametrize(
    ("more_us", "judgement"), [(2.0, "alike"), (101.0, "inconclusive"), (160.0, "higher")]
)
def test_a_connect_is_alike_within_the_studys_margin_of_its_own_time(more_us: float, judgement: str) -> None:
    """The margin is 5 % of 2,000 µs; of CPU time nothing is judged."""
    levels = {size: levels_of("pymysql-1.2", size) for size in (1, 128)}
    scatter = (-60.0, 0.0, 60.0) if judgement == "inconclusive" else WIGGLE
    values = {
        CaseLevels.of(own): {
            block: {
                TIME: 2000.0 + (more_us + off if size > 1 else 0.0),
                CLIENT_CPU: 900.0,
            }
            for block, off in enumerate(scatter)
        }
        for size, own in levels.items()
    }
    cases = {CaseLevels.of(own): Case(levels=own, role="treatment") for own in levels.values()}
    time, cpu = told(replace(series(), cases=cases, values=values)).rows
    assert (time.judgement, cpu.judgement) == (judgement, "")


def test_only_blocks_that_both_have_count_and_what_else_differs_is_named() -> None:
    known = series()
    at = CaseLevels.of(levels_of("libmariadb-3.4", 128))
    values = {**known.values, at: {block: own for block, own in known.values[at].items() if block}}
    assert {
        row.blocks for row in told(replace(known, values=values)).rows if CaseLevels.of(row.case) == at
    } == {2}
    study = override(override(STUDY, "connections", ["1", "8"]), "client", list(READ_TIMES))
    labels = {row.label for row in told(replace(known, study=study)).rows}
    assert "PyMySQL 1.2.4, 1 connection" in labels
    both = override(study, "tls", ["1.2", "1.3"])
    labels = {row.label for row in told(replace(known, study=both)).rows}
    assert "PyMySQL 1.2.4, TLS 1.3, 1 connection" in labels


def test_a_case_that_names_no_client_is_the_engines() -> None:
    known = series()
    few, many = (CaseLevels.of(levels_of("pymysql-1.2", trust)) for trust in (1, 128))
    nameless = {at.without("client"): at for at in (few, many)}
    cases = {at: Case(levels=at, role="treatment") for at in nameless}
    values = {at: known.values[named] for at, named in nameless.items()}
    labels = {row.label for row in told(replace(known, cases=cases, values=values)).rows}
    assert labels == {"the engine"}


def test_without_the_factor_there_is_nothing() -> None:
    assert told(replace(series(), cases={})) == Told(title=TOPIC.title)


def test_what_the_study_shows() -> None:
    golden.check_series("trust", series(), TOPIC)


def test_an_authority_is_as_long_as_is_reckoned_with(tmp_path: Path) -> None:
    own = issue(tmp_path, requested("ec-p256")).ca_file
    write_authorities(tmp_path / "all.pem", own, 201)
    more = (tmp_path / "all.pem").stat().st_size - own.stat().st_size
    assert more / 200 == pytest.approx(AUTHORITY_BYTES, rel=0.02)
