"""What a connection is worth in operations: by hand, ladder by ladder, and the study in a fake world."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import pytest

import golden
from fake_trials import Truth, fake_run, kept, reconnecting
from tlstax.records.trial import StoredRun
from tlstax.report.overview import page_sections
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case, Levels, Study, load_study, override, parse_study, study_toml
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import UserMistake
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.section import Charts
from tlstax.topics.pool import TOPIC, rounded, whole
from told_runs import run_of

STUDY = load_study("pool-or-reconnect")
KEPT, MADE = "oltp-read-only", "reconnect"
WIGGLE = (-0.01, 0.0, 0.01)
"""What three blocks are off: a standard error of 0.0057735; t(2) at 97.5 % is 6.20535."""
HALF = 6.20535 * 0.0057735


def levels_of(workload: str, tls: str, connections: int) -> dict[str, str | int]:
    certificate = "rsa-2048"
    return {
        "server": "mysql-9.7",
        "instance": 1,
        "tls": tls,
        "certificate": certificate,
        "workload": workload,
        "connections": connections,
    }


def series_of(
    prices_us: dict[tuple[str, str, int], float], *, study: Study = STUDY, blocks: int = 3
) -> Series:
    """Cases by workload, TLS and connections; what is made wiggles, what is kept does not."""
    cases, values = {}, {}
    for (workload, tls, connections), us in prices_us.items():
        levels: Levels = levels_of(workload, tls, connections)
        cases[CaseLevels.of(levels)] = Case(levels=dict(levels), role="treatment")
        values[CaseLevels.of(levels)] = {
            block: {"server_cpu_us_per_op": us * exp(WIGGLE[block] if workload == MADE else 0.0)}
            for block in range(blocks)
        }
    return Series(study=study, cases=cases, values=values, controls={})


PRICES = {
    (KEPT, "off", 1): 10.0,
    (MADE, "off", 1): 40.0,
    (KEPT, "1.3", 1): 20.0,
    (MADE, "1.3", 1): 200.0,
    (KEPT, "1.3", 8): 20.0,
    (MADE, "1.3", 8): 800.0,
    (KEPT, "off", 8): 10.0,
    (MADE, "off", 8): 160.0,
    (KEPT, "1.3", 64): 20.0,
}


def rows(series: Series) -> tuple[Row, ...]:
    return TOPIC.told(run_of(series)).rows


def found(tls: str, *, study: Study = STUDY, blocks: int = 3) -> dict[str, Row]:
    """The rows of one case, by their outcomes."""
    series = series_of(PRICES, study=study, blocks=blocks)
    return {row.outcome: row for row in rows(series) if row.case["tls"] == tls}


def interval(row: Row) -> Interval:
    assert row.interval is not None
    return row.interval


def test_a_connection_is_worth_the_ratio_of_prices_pooled_connections_the_ladder() -> None:
    """Ten times on 1 connection and forty times on 8 is twenty times together; 64 makes no connections."""
    worth = interval(found("1.3")["operations_worth"])
    assert worth.point == pytest.approx(20.0)
    assert (worth.low, worth.high) == pytest.approx((20 * exp(-HALF), 20 * exp(HALF)), rel=1e-5)
    assert (worth.blocks, worth.confidence) == (3, 0.95)


def test_nineteen_times_as_many_make_its_share_a_twentieth() -> None:
    row = found("1.3")["operations_needed"]
    needed = interval(row)
    assert (row.number("making_share"), row.of, row.value) == (0.05, "value", needed.point)
    assert needed.point == pytest.approx(19 * 20.0)
    assert (needed.low, needed.high) == pytest.approx((380 * exp(-HALF), 380 * exp(HALF)), rel=1e-5)
    assert STUDY.pool is not None
    quarter = STUDY.model_copy(update={"pool": STUDY.pool.model_copy(update={"share": 0.25})})
    assert found("1.3", study=quarter)["operations_needed"].value == pytest.approx(3 * 20.0)


def test_what_it_is_told_of() -> None:
    for row in found("1.3").values():
        assert row.case == {"server": "mysql-9.7", "instance": 1, "tls": "1.3", "certificate": "rsa-2048"}
        assert [row.word(name) for name in ("kept", "made", "pooled_connections")] == [KEPT, MADE, "1, 8"]
        assert row.label.endswith("RSA 2048 certificate, TLS 1.3")


def test_what_tls_adds_to_both_is_told_but_not_of_plaintext() -> None:
    own, made = (found("1.3")[name] for name in ("kept_to_plaintext", "made_to_plaintext"))
    assert (own.of, interval(own).point) == ("ratio", pytest.approx(2.0))
    assert (interval(made).point, interval(made).confidence) == (pytest.approx(5.0), 0.95)
    assert found("off").keys() == {"operations_worth", "operations_needed"}


def test_without_plaintext_there_is_nothing_to_set_tls_against() -> None:
    only_tls = {place: us for place, us in PRICES.items() if place[1] == "1.3"}
    assert [row.outcome for row in rows(series_of(only_tls))] == ["operations_worth", "operations_needed"]


def test_one_block_has_points_alone() -> None:
    needed = interval(found("1.3", blocks=1)["operations_needed"])
    assert needed.point == pytest.approx(19 * 20.0 * exp(-0.01))
    assert (needed.low, needed.high) == (None, None)


def test_what_was_not_measured_on_both_sides_saves_nothing() -> None:
    assert rows(series_of({(MADE, "1.3", 1): 200.0, (KEPT, "1.3", 8): 20.0})) == ()
    assert rows(series_of({(MADE, "1.3", 1): 200.0})) == ()
    assert rows(series_of({(MADE, "1.3", 1): 200.0, (KEPT, "1.3", 1): 0.0})) == ()


def test_a_study_that_does_not_ask_is_not_told() -> None:
    assert rows(series_of(PRICES, study=STUDY.model_copy(update={"pool": None}))) == ()


def test_a_study_of_one_number_of_connections_and_no_tls_names_neither() -> None:
    """What is not a factor of the study is one connection, in plaintext."""
    whole = series_of({(MADE, "off", 1): 40.0, (KEPT, "off", 1): 10.0})
    cases, values = {}, {}
    for at, case in whole.cases.items():
        fewer = {name: level for name, level in case.levels.items() if name not in {"connections", "tls"}}
        cases[CaseLevels.of(fewer)] = Case(levels=fewer, role="treatment")
        values[CaseLevels.of(fewer)] = whole.values[at]
    worth, needed = rows(Series(study=STUDY, cases=cases, values=values, controls={}))
    assert worth.value == pytest.approx(4.0)
    assert (worth.word("pooled_connections"), needed.outcome) == ("1", "operations_needed")


HANDSHAKE_US = {"rsa-1024": 300.0, "rsa-2048": 1000.0, "rsa-4096": 5000.0, "ec-p256": 400.0}
PLAIN_US, TRANSACTION_US = 200.0, 500.0
OF_TLS = 1.1
"""What TLS does to a transaction on a kept connection; on the server of 2013 it doubles it and more."""


def truth(case: Case) -> Truth:
    levels = case.levels
    is_plain = levels["tls"] == "off"
    if levels["workload"] == "reconnect":
        us = PLAIN_US + (0.0 if is_plain else HANDSHAKE_US[str(levels["certificate"])])
        return reconnecting(1e6 / us, us, 100.0, handshake=0.0 if is_plain else 0.5)
    of_tls = 2.2 if levels["tls"] == "1.0" else OF_TLS
    us = TRANSACTION_US * (1.0 if is_plain else of_tls)
    return replace(kept(1e6 / us, us, 50.0, record_bytes=0), rss_bytes=1)


def stored_of(blocks: int = 8, noise: float = 0.004, slower: float = 1.0, **levels: str) -> StoredRun:
    """Of the cases with these levels alone; everything goes this many times as fast with RSA 4096."""
    study = STUDY
    for factor, level in levels.items():
        study = override(study, factor, level.split(","))

    def world(case: Case) -> Truth:
        return truth(case).times(slower if case.levels["certificate"] == "rsa-4096" else 1.0)

    return fake_run(study, number_of_blocks=blocks, noise=noise, truth=world, invalid=False)


def test_what_the_study_shows() -> None:
    """Of one server and few keys, because drawing the page takes its time."""
    stored = stored_of(4, connections="8", server="mysql-9.7", certificate="rsa-2048")
    golden.check("pool-or-reconnect", stored, TOPIC)


def test_the_answer_has_its_sentences_and_the_statements_of_2013_are_judged() -> None:
    found = document(stored_of(connections="1,8"))
    said = headline(found)
    assert [line for line in found.topics["pool"].sentences if line not in said] == []
    figures = {row.label: row for row in found.topics["published"].of(role="published")}
    ratio, made = figures["kept, 8 threads, TLS"], figures["a connection for each request, RSA 4096"]
    judged = [row.judgement for row in found.rows_of("statements", role="statement")]
    assert judged == ["held", "held in part", *["held"] * (len(judged) - 2)], "half is the old server's alone"
    assert ratio.number("published") == pytest.approx(25_900 / 50_100)
    assert ratio.known.point == pytest.approx(1 / 2.2, rel=0.02)
    assert made.known.point == pytest.approx(PLAIN_US / (PLAIN_US + HANDSHAKE_US["rsa-4096"]), rel=0.02)


@pytest.mark.parametrize(
    ("blocks", "noise", "slower", "verdict", "words"),
    [
        (8, 0.004, 1.0, "held", "of 1 case"),
        (2, 0.1, 1.0, "inconclusive", "inconclusive"),
        (8, 0.004, 0.8, "did not hold", "a larger difference was seen in 1 ("),
    ],
)
def test_two_keys_are_alike_where_that_is_shown(
    *, blocks: int, noise: float, slower: float, verdict: str, words: str
) -> None:
    stored = stored_of(blocks, noise, slower, connections="1", server="mysql-9.7")
    told = document(stored).topics["statements"]
    assert STUDY.statements[0].kind == "alike"
    assert told.rows[0].judgement == verdict
    assert words in told.sentences[0]


def test_the_page_has_a_line_for_each_key() -> None:
    """Of one server alone, because drawing takes its time."""
    stored = stored_of(2, server="mysql-9.7", workload="reconnect")
    sections = {section.title: section for section in page_sections(stored, document(stored))}
    blocks = sections["Server CPU per operation, step by step"].blocks
    (drawn,) = (block for block in blocks if isinstance(block, Charts))
    labels = ["as it is", *(f"RSA {bits}" for bits in (1024, 2048, 4096)), "EC P-256"]
    assert [style.label for style in drawn.styles] == labels
    assert len({style.colour for style in drawn.styles}) == 4, "plaintext looks like its process's own key"


def test_a_run_without_both_or_of_another_study_is_told_nothing() -> None:
    for stored in (stored_of(2, connections="8", workload="oltp-read-only"), fake_run()):
        assert "pool" not in document(stored).topics


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        (
            'kept = "oltp-read-only"',
            'kept = "oltp-readonly"',
            r"pool.kept: 'oltp-readonly' is not a workload of this study \(did you mean",
        ),
        (
            'kept = "oltp-read-only"',
            'kept = "reconnect"\nfrom = 1',
            "there is no field pool.from; the fields are kept, made, share",
        ),
        ("by = 1.05", "", "must say `by` what factor alike things may differ"),
    ],
)
def test_a_pool_or_likeness_that_makes_no_sense_is_a_mistake_at_the_door(
    right: str, wrong: str, told: str
) -> None:
    with pytest.raises(UserMistake, match=told):
        parse_study(study_toml(STUDY).replace(right, wrong), where="mine.toml")


@pytest.mark.parametrize(
    ("operations", "text"), [(437.2, "440"), (440, "440"), (4.1, "5"), (0.3, "1"), (12_301, "13,000")]
)
def test_a_number_that_is_enough_is_never_too_few(operations: float, text: str) -> None:
    assert whole(operations) == text


def test_a_price_that_is_not_known_is_not_told() -> None:
    assert (
        rounded(Interval(point=3.0, low=0.5, high=20.0, confidence=0.95, blocks=2))
        == "not known to a factor of ten"
    )
    assert (
        rounded(Interval(point=3.04, low=None, high=None, confidence=0.95, blocks=1))
        == "3.0 in one block alone"
    )
