"""What keeping connections saves: planted prices are found again, and the study's statements are judged."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from fake_trials import Truth, fake_run, kept, reconnecting
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun
from tlstax.report.formats.markdown import markdown
from tlstax.report.overview import page_sections
from tlstax.report.page.html import html
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study import Case, Study, load_study, override, parse_study, study_toml
from tlstax.study.labels import full_label
from tlstax.support.errors import UserMistake
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.section import Charts
from tlstax.topics.core.table import Table
from tlstax.topics.pool import TOPIC, rounded, whole

STUDY = load_study("pool-or-reconnect")

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


@cache
def run() -> StoredRun:
    small = override(STUDY, "connections", ["1", "8"])
    return fake_run(small, number_of_blocks=8, noise=0.004, truth=truth, invalid=False)


@cache
def shown() -> RunDocument:
    return document(run())


def saving(**levels: str) -> dict[str, Row]:
    """The rows of the first process of such a case, by their outcomes."""
    wanted = {"instance": 1, **levels}.items()
    return {row.outcome: row for row in shown().topics["pool"].rows if wanted <= row.case.items()}


@pytest.mark.parametrize("certificate", HANDSHAKE_US)
def test_a_connection_is_worth_so_many_operations_and_little_after_nineteen_times_as_many(
    certificate: str,
) -> None:
    worth = (PLAIN_US + HANDSHAKE_US[certificate]) / (OF_TLS * TRANSACTION_US)
    found = saving(server="mysql-9.7", certificate=certificate, tls="1.3")
    row = found["operations_worth"]
    own = row.interval
    assert own is not None
    assert own.low is not None
    assert own.high is not None
    assert own.point == pytest.approx(worth, rel=0.02)
    assert own.low < worth < own.high
    needed = found["operations_needed"].value or 0.0
    assert needed == pytest.approx(19 * own.point)
    assert (
        own.point / (own.point + needed) == pytest.approx(row.number("making_share")) == pytest.approx(0.05)
    )
    assert row.word("pooled_connections") == "1, 8"


def test_what_tls_adds_is_told_of_both_ways_and_not_of_plaintext() -> None:
    found = saving(server="mysql-9.7", certificate="rsa-2048", tls="1.3")
    kept_ratio, made_ratio = (found[name].interval for name in ("kept_to_plaintext", "made_to_plaintext"))
    assert kept_ratio is not None
    assert made_ratio is not None
    assert kept_ratio.point == pytest.approx(OF_TLS, rel=0.02)
    assert made_ratio.point == pytest.approx(6.0, rel=0.02)
    plain = saving(server="mysql-9.7", tls="off")
    assert plain.keys() == {"operations_worth", "operations_needed"}


def test_the_statements_of_2013_are_judged() -> None:
    alike, halves, *falls = shown().rows_of("statements", role="statement")
    assert STUDY.statements[0].kind == "alike"
    assert alike.judgement == "held"
    assert halves.judgement == "held in part", "on the old server alone"
    assert "less was seen in 2 (" in shown().topics["statements"].sentences[1]
    assert {row.judgement for row in falls} == {"held"}


def test_a_difference_within_the_noise_does_not_make_two_keys_alike() -> None:
    """Two blocks that scatter: no difference is seen, and likeness is not shown."""
    small = override(override(STUDY, "connections", ["1"]), "server", ["mysql-9.7"])
    noisy = fake_run(small, number_of_blocks=2, noise=0.1, truth=truth, invalid=False)
    (alike, *_) = document(noisy).rows_of("statements")
    assert alike.judgement == "inconclusive"


def test_keys_that_differ_by_more_than_is_allowed_are_not_alike() -> None:
    def slower(case: Case) -> Truth:
        is_long = case.levels["certificate"] == "rsa-4096"
        return truth(case).times(0.8 if is_long else 1.0)

    small = override(override(STUDY, "connections", ["1"]), "server", ["mysql-9.7"])
    found = document(fake_run(small, number_of_blocks=8, noise=0.004, truth=slower, invalid=False))
    told = found.topics["statements"]
    assert told.rows[0].judgement == "did not hold"
    assert "a larger difference was seen in 1 (" in told.sentences[0]


def test_the_answer_says_it_in_words() -> None:
    (said,) = (line for line in headline(shown()) if line.startswith("mysql-5.6.14, TLS 1.0"))
    assert "to make one connection costs the server as much CPU time as 0.4" in said
    assert "with RSA 1024, 1.0" in said
    assert "of sysbench's read-only transactions on a connection that is kept" in said
    assert said.endswith("making it is less than 5 % of what the server spends")
    (section,) = TOPIC.sections(shown().topics["pool"], shown())
    (table,) = section.blocks
    assert isinstance(table, Table)
    assert len(table.rows) == len(STUDY.treatments)
    assert "What a connection costs the server, in sysbench" in markdown(run(), shown())


def test_the_page_has_the_table_and_a_line_for_each_key() -> None:
    """Of one server alone, because drawing takes its time."""
    study = override(override(STUDY, "server", ["mysql-9.7"]), "workload", ["reconnect"])
    stored = fake_run(study, number_of_blocks=2, truth=truth, invalid=False)
    sections = {section.title: section for section in page_sections(stored, document(stored))}
    blocks = sections["Server CPU per operation, step by step"].blocks
    (drawn,) = (block for block in blocks if isinstance(block, Charts))
    assert [style.label for style in drawn.styles] == [
        "as it is",
        "RSA 1024",
        "RSA 2048",
        "RSA 4096",
        "EC P-256",
    ]
    assert len({style.colour for style in drawn.styles}) == 4, "plaintext looks like its process's own key"
    small = override(override(STUDY, "server", ["mysql-9.7"]), "certificate", ["rsa-2048"])
    stored = fake_run(override(small, "connections", ["8"]), number_of_blocks=2, truth=truth, invalid=False)
    assert "What keeping connections saves" in html(stored, document(stored))


def test_each_published_figure_has_its_stand_in() -> None:
    """All but those of the numbers of connections that were left out of this run."""
    figures = shown().topics["published"].of(role="published")
    named = {figure.label: figure for figure in figures}
    ratio = named["kept, 8 threads, TLS"]
    assert ratio.number("published") == pytest.approx(25_900 / 50_100)
    assert ratio.known.point == pytest.approx(1 / 2.2, rel=0.02)
    made = named["a connection for each request, RSA 4096"]
    assert made.known.point == pytest.approx(PLAIN_US / (PLAIN_US + HANDSHAKE_US["rsa-4096"]), rel=0.02)


def test_an_option_that_leaves_one_of_the_two_out_leaves_nothing_to_tell() -> None:
    alone = override(override(STUDY, "connections", ["8"]), "workload", ["oltp-read-only"])
    assert (
        document(fake_run(alone, number_of_blocks=2, truth=truth, invalid=False)).topics.get("pool") is None
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            'kept = "oltp-readonly"',
            r"pool.kept: 'oltp-readonly' is not a workload of this study \(did you mean",
        ),
        ('kept = "reconnect"\nfrom = 1', "there is no field pool.from; the fields are kept, made, share"),
    ],
)
def test_a_pool_of_what_is_not_measured_is_a_mistake_at_the_door(wrong: str, told: str) -> None:
    text = study_toml(STUDY).replace('kept = "oltp-read-only"', wrong)
    with pytest.raises(UserMistake, match=told):
        parse_study(text, where="mine.toml")


def test_alike_must_say_within_what() -> None:
    with pytest.raises(UserMistake, match="must say `by` what factor alike things may differ"):
        parse_study(study_toml(STUDY).replace("by = 1.05", ""), where="mine.toml")


def test_a_study_that_asks_nothing_of_pools_is_told_nothing() -> None:
    assert "pool" not in document(fake_run()).topics


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


def test_the_study_survives_its_own_file() -> None:
    again: Study = parse_study(study_toml(STUDY), where="again.toml")
    assert again == STUDY


def test_no_two_cases_are_called_the_same() -> None:
    named = [full_label(case, STUDY) for case in cases(STUDY)]
    assert len(set(named)) == len(named)
    assert (
        "TLS 1.3, RSA 4096 certificate, mysql-9.7, sysbench's read-only transactions, 8 connections" in named
    )
