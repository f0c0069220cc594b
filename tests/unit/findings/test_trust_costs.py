"""What files of authorities cost: who reads them for each connect, who once; planted costs are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.findings.core.series import Series, frozen
from tlstax.findings.trust.costs import AUTHORITY_BYTES, trust_costs
from tlstax.findings.trust.words import trust_sentences
from tlstax.report.trust.csv_rows import rows as csv_rows
from tlstax.report.trust.section import sections
from tlstax.results.document import RunDocument
from tlstax.specimens.certificates import issue, requested, write_authorities
from tlstax.study import Case, Level, load_study

STUDY = load_study("trust")
EACH_US = 20.0
READS = {"libmariadb-3.4": 1, "pymysql-1.2": 0, "mysql2-3": 2}
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
    for client, reads in READS.items():
        for trust in (1, 16, 128):
            levels = levels_of(client, trust)
            cases[frozen(levels)] = Case(levels=levels, role="treatment")
            values[frozen(levels)] = {
                block: {
                    "latency_mean_us": 2000 + reads * EACH_US * trust + off,
                    "client_cpu_us_per_op": 900 + reads * EACH_US * trust + off,
                    "client_read_bytes_per_op": 700.0 + reads * trust * AUTHORITY_BYTES,
                }
                for block, off in enumerate(WIGGLE)
            }
    return Series(study=STUDY, cases=cases, values=values, controls={})


def test_planted_costs_and_reads_are_found() -> None:
    found = {(cost.case["client"], cost.authorities): cost for cost in trust_costs(series())}
    assert set(found) == {(client, size) for client in READS for size in (16, 128)}
    for (client, size), cost in found.items():
        reads = READS[str(client)]
        assert cost.reads == pytest.approx(reads)
        assert cost.more_us is not None
        assert cost.more_us.point == pytest.approx(reads * EACH_US * (size - 1), abs=1e-6)
        assert cost.more_cpu_us is not None
        assert cost.more_cpu_us.blocks == 3


def test_a_sentence_says_who_reads_them_how_often_and_what_that_costs() -> None:
    said = trust_sentences(trust_costs(series()))
    assert said == [
        "MariaDB Connector/C 3.4 reads its authorities on every connect: 128 of them take 2.54 ms "
        "(2.54 to 2.54) more than a file with one",
        "PyMySQL 1.2.4 reads its authorities once: a connect with 128 of them takes as long as with one",
        "mysql2 3.24.6 reads its authorities 2 times on every connect: 128 of them take 5.08 ms "
        "(5.08 to 5.08) more than a file with one",
    ]


def test_an_interval_that_holds_nothing_and_much_is_inconclusive() -> None:
    (cost, *_) = trust_costs(series())
    assert cost.more_us is not None
    wide = cost.more_us.model_copy(update={"low": -9000.0, "high": 14000.0, "blocks": 2})
    open_cost = cost.model_copy(update={"more_us": wide, "judgement": "inconclusive"})
    (said,) = trust_sentences([open_cost])
    assert f"what {cost.authorities} of them take is inconclusive by 2 blocks" in said
    more = open_cost.model_copy(update={"more_us": wide.model_copy(update={"blocks": 3})})
    (enough,) = trust_sentences([more])
    assert "is inconclusive, " in enough
    assert "(\u22129 to 14) more" in enough


def test_who_keeps_the_text_and_makes_a_context_anew_is_told_apart() -> None:
    kept = series()
    for blocks in kept.values.values():
        for values in blocks.values():
            values["client_read_bytes_per_op"] = 700.0  # type: ignore[index]
    (first, second, _) = trust_sentences(trust_costs(kept))
    assert "reads its authorities once and takes them in anew on every connect: 128 of them take" in first
    assert second.endswith("reads its authorities once: a connect with 128 of them takes as long as with one")


def test_where_bytes_are_not_counted_only_the_cost_is_told() -> None:
    silent = series()
    for blocks in silent.values.values():
        for values in blocks.values():
            del values["client_read_bytes_per_op"]  # type: ignore[attr-defined]
    assert all(cost.reads is None for cost in trust_costs(silent))
    (first, *_) = trust_sentences(trust_costs(silent))
    assert first.startswith("MariaDB Connector/C 3.4 was given files of authorities")


def test_without_the_factor_there_is_nothing() -> None:
    assert trust_costs(Series(study=STUDY, cases={}, values={}, controls={})) == ()


def test_it_is_told_in_sentences_tables_and_rows() -> None:
    document = RunDocument.model_construct(trust=trust_costs(series()), design=STUDY)
    (narrow,), (page,) = sections(document, "short"), sections(document, "page")
    assert len(page.blocks) == 5
    assert len(narrow.blocks) == 1
    told = list(csv_rows(document))
    assert len(told) == 2 * 2 * len(READS)
    assert "the file was read 1.00 times a connect" in str(told[0]["caveats"])


def test_an_authority_is_as_long_as_is_reckoned_with(tmp_path: Path) -> None:
    own = issue(tmp_path, requested("ec-p256")).ca_file
    write_authorities(tmp_path / "all.pem", own, 201)
    more = (tmp_path / "all.pem").stat().st_size - own.stat().st_size
    assert more / 200 == pytest.approx(AUTHORITY_BYTES, rel=0.02)
