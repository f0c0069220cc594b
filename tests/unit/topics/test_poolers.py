"""What a pooler costs, by hand: each side's CPU time, its thread's share, and as many as it has time for."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import pytest

from fake_trials import Truth, fake_run, kept, reconnecting
from tlstax.plan.order import cases
from tlstax.records.window import ProcessUse, Window
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.stats.series import Series
from tlstax.study import Case, Level, Levels, load_study, override, within
from tlstax.study.factors import CaseLevels
from tlstax.study.tls_levels import POOLS
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.table import Table
from tlstax.topics.poolers import TOPIC
from tlstax.topics.statements import statement_rows
from told_runs import run_of

STUDY = load_study("pgbouncer")
WIGGLE = (-0.01, 0.0, 0.01)
"""What three blocks are off, so that there is an interval."""


def levels_of(path: str, connections: int, workload: str = "reconnect") -> Levels:
    return {
        "server": "postgresql-18",
        "path": path,
        "tls": "1.3",
        "workload": workload,
        "connections": connections,
    }


TERMINATE = "pgbouncer-terminate"
MEASURED: dict[tuple[str, int, str], dict[str, float]] = {
    ("direct", 1, "reconnect"): {"server_cpu_us_per_op": 4000.0, "all_cpu_us_per_op": 4500.0},
    ("direct", 8, "reconnect"): {"server_cpu_us_per_op": 4000.0, "all_cpu_us_per_op": 4500.0},
    (TERMINATE, 1, "reconnect"): {
        "path_cpu_us_per_op": 1000.0,
        "client_cpu_us_per_op": 500.0,
        "server_cpu_us_per_op": 200.0,
        "all_cpu_us_per_op": 1700.0,
        "ops_per_s": 400.0,
    },
    (TERMINATE, 8, "reconnect"): {
        "path_cpu_us_per_op": 800.0,
        "client_cpu_us_per_op": 500.0,
        "server_cpu_us_per_op": 200.0,
        "all_cpu_us_per_op": 1500.0,
        "ops_per_s": 1200.0,
    },
    (TERMINATE, 8, "oltp-read-only"): {"path_cpu_us_per_op": 50.0, "ops_per_s": 2000.0},
}


def told(measured: dict[tuple[str, int, str], dict[str, float]], **more: Level) -> Told:
    """What is told of these cases."""
    return TOPIC.told(run_of(series(measured, **more)))


def series(measured: dict[tuple[str, int, str], dict[str, float]], **more: Level) -> Series:
    """These cases in three blocks; the costs of what goes through a pooler wiggle from block to block."""
    cases, values = {}, {}
    for (path, connections, workload), own in measured.items():
        levels = {**levels_of(path, connections, workload), **more}
        cases[CaseLevels.of(levels)] = Case(levels=dict(levels), role="treatment")
        values[CaseLevels.of(levels)] = {
            block: {
                name: value * exp(WIGGLE[block] if path != "direct" and "cpu" in name else 0)
                for name, value in own.items()
            }
            for block in range(3)
        }
    return Series(study=STUDY, cases=cases, values=values, controls={})


def row_of(rows: Told, outcome: str, connections: int = 8, workload: str = "reconnect") -> Row:
    (row,) = (
        row
        for row in rows.of(outcome)
        if (row.case["connections"], row.case["workload"]) == (connections, workload)
    )
    return row


def interval(row: Row) -> Interval:
    assert row.interval is not None
    return row.interval


def test_each_side_is_told_by_itself_and_the_server_beside_a_direct_connection() -> None:
    rows = told(MEASURED)
    for side, us in (("path", 800), ("client", 500), ("server", 200), ("all", 1500)):
        assert row_of(rows, f"{side}_cpu_us_per_op").value == pytest.approx(us)
    beside = row_of(rows, "server_cpu_us_per_op beside direct")
    assert interval(beside).point == pytest.approx(0.05)
    assert beside.baseline["path"] == "direct"
    assert interval(row_of(rows, "all_cpu_us_per_op beside direct")).point == pytest.approx(1 / 3)


def test_each_figure_has_its_unit_and_the_case_its_name_in_the_study() -> None:
    rows = [
        row
        for row in told(MEASURED).rows
        if (row.case["connections"], row.case["workload"]) == (1, "reconnect")
    ]
    assert [(row.outcome, row.unit, row.of) for row in rows] == [
        ("path_cpu_us_per_op", "us", "value"),
        ("client_cpu_us_per_op", "us", "value"),
        ("server_cpu_us_per_op", "us", "value"),
        ("all_cpu_us_per_op", "us", "value"),
        ("server_cpu_us_per_op beside direct", "1", "ratio"),
        ("all_cpu_us_per_op beside direct", "1", "ratio"),
        ("pooler_busy", "1", "value"),
        ("most_per_s", "1/s", "value"),
    ]
    assert {row.label for row in rows} == {
        "TLS 1.3, through PgBouncer, which ends TLS, reconnecting for every point select, 1 connection"
    }


def test_a_block_whose_rate_is_not_known_does_not_tell_how_busy_the_pooler_was() -> None:
    whole = series(MEASURED)
    at = CaseLevels.of(levels_of(TERMINATE, 8))
    (first, *others) = whole.values[at].items()
    without = {name: value for name, value in first[1].items() if name != "ops_per_s"}
    values = {**whole.values, at: {first[0]: without, **dict(others)}}
    rows = TOPIC.told(run_of(replace(whole, values=values)))
    assert (row_of(rows, "pooler_busy").blocks, row_of(rows, "most_per_s").blocks) == (2, 3)


def test_a_thread_has_time_for_so_many_and_is_full_where_it_works_nine_tenths_of_the_time() -> None:
    rows = told(MEASURED)
    few, many = (row_of(rows, "pooler_busy", connections) for connections in (1, 8))
    assert (few.value, few.judgement) == (pytest.approx(0.4), "")
    assert (many.value, many.judgement) == (pytest.approx(0.96), "full")
    assert row_of(rows, "most_per_s", 1).value == pytest.approx(1000)
    most = interval(row_of(rows, "most_per_s"))
    assert most.low is not None
    assert most.high is not None
    assert most.low < 1250 < most.high
    assert most.point == pytest.approx(1250)


def test_what_is_kept_makes_no_connections_to_have_time_for() -> None:
    rows = told(MEASURED)
    assert row_of(rows, "path_cpu_us_per_op", workload="oltp-read-only").value == pytest.approx(50)
    assert {row.case["workload"] for row in rows.of("most_per_s")} == {"reconnect"}


def test_the_sentence_is_of_the_number_of_connections_at_which_it_is_busiest() -> None:
    assert told(MEASURED).sentences == (
        "TLS 1.3, through PgBouncer, which ends TLS: a connection costs the pooler 800 µs (772 to 829) of "
        "CPU time, of which its one thread takes 1,250 (1,210 to 1,300) a second at the most; with 8 "
        "connections it was 96 % busy, and has no room for more; it spares the server 95.00 % (94.82 to "
        "95.18 %) of a connection's CPU time",
    )


def test_the_sentence_names_the_client_where_a_study_has_several() -> None:
    (sentence,) = told(MEASURED, client="pgbench").sentences
    assert sentence.startswith("TLS 1.3, through PgBouncer, which ends TLS, by pgbench: a connection")


def test_nothing_is_spared_where_it_is_not_known_to_be_less() -> None:
    direct = {key: {**own, "server_cpu_us_per_op": 200.0} for key, own in MEASURED.items()}
    (sentence,) = told(direct).sentences
    assert "spares" not in sentence


def test_a_run_without_a_pooler_tells_nothing() -> None:
    rows = told({key: own for key, own in MEASURED.items() if key[0] == "direct"})
    assert (rows.rows, rows.sentences) == ((), ())


CLAIMS = ("pgbouncer-logins", "pgbouncer-bytes", "postgres-direct-near")
"""The studies that put published claims about PgBouncer, SCRAM and direct TLS to the test."""


@pytest.mark.parametrize("name", CLAIMS)
def test_each_published_figure_that_something_stands_in_for_has_one_case(name: str) -> None:
    study = load_study(name)
    planned = [case.levels for case in cases(study) if case.role != "control"]
    assert study.published
    for figure in study.published:
        if figure.beside:
            assert sum(within(levels, figure.beside) for levels in planned) == 1, figure.label


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("times", [0.5, 1.0, 40.0])
def test_a_published_statement_is_judged_by_what_its_two_sides_came_to(name: str, times: float) -> None:
    """Of a rate it is what is published that is higher, of a cost and of a time what it is set against."""
    study = load_study(name)
    planned = {case.levels: case for case in cases(study) if case.role != "control"}
    for statement in study.statements:
        lower = statement.outcome != "ops_per_s"
        better, _ = statement.sides()
        values = {
            levels: {
                block: {
                    statement.outcome: 100.0
                    * exp(WIGGLE[block])
                    * ((1 / times if lower else times) if within(levels, better) else 1.0)
                }
                for block in range(3)
            }
            for levels in planned
        }
        own, *judged = statement_rows(
            Series(study=study, cases=planned, values=values, controls={}), statement
        )
        assert len(judged) == 1
        assert own.judgement == ("held" if times > statement.by else "did not hold")


POOLER_US, DIRECT_US, LENT_US, TRANSACTION_US = 600.0, 4000.0, 200.0, 500.0
"""CPU time of a connection at the pooler, at the server, and there behind a pooler; and of a transaction."""


def truth(case: Case) -> Truth:
    if case.levels["workload"] != "reconnect":
        return kept(1000.0, TRANSACTION_US, 50.0, record_bytes=0)
    server_us = DIRECT_US if case.levels["path"] == "direct" else LENT_US
    return reconnecting(1000.0, server_us, 100.0, handshake=0.0)


def test_the_study_is_answered_by_what_the_pooler_costs_and_what_a_connection_is_worth() -> None:
    """Connections of either way are told apart by it, and what the pooler used is in its own column."""
    study = override(override(STUDY, "path", ["direct", "pgbouncer-terminate"]), "connections", ["8"])
    run = fake_run(study, number_of_blocks=4, noise=0.004, truth=truth, invalid=False)
    trials = tuple(
        record.model_copy(
            update={
                "window": Window(
                    took_s=1.0, path=ProcessUse(cpu_total_us=POOLER_US * record.watched_operations)
                )
            }
        )
        if record.trial.case.levels["path"] in POOLS
        else record
        for record in run.trials
    )
    found = document(run.model_copy(update={"trials": trials}))
    first, *rest = headline(found)
    assert first.startswith(
        "TLS 1.3, through PgBouncer, which ends TLS: a connection costs the pooler 600 µs"
    )
    assert "it spares the server 95" in first
    worth = {line.split(":")[0]: line for line in rest}
    assert list(worth) == [
        "postgresql-18, plaintext",
        "postgresql-18, TLS 1.3",
        "postgresql-18, TLS 1.3, through PgBouncer, which ends TLS",
    ]
    assert "costs the server as much CPU time as 8" in worth["postgresql-18, TLS 1.3"]
    of_tls = found.rows_of("pool", "made_to_plaintext")
    assert [row.case["path"] for row in of_tls] == ["direct"], (
        "through a pooler there is more than TLS between"
    )
    (section,) = TOPIC.sections(found.topics["poolers"], found)
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    assert [line[0] for line in table.rows] == [row.label for row in found.rows_of("poolers", "pooler_busy")]
