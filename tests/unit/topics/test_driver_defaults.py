"""What a driver did when given no TLS options: from the server's answers and its counters, trial by trial."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fake_driver_cases import NEW, OLD, STUDY, driver_case
from fake_trials import Truth, fake_record, untrue
from tlstax.contract import Negotiated, TlsView
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import Window
from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case
from tlstax.study.factors import CaseLevels
from tlstax.topics.drivers.defaults import (
    COMMAND,
    DEFAULT,
    Observed,
    is_left_alone,
    observed,
    own_options,
    rows,
    sentences,
)

NEWER = TlsView(version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384", resumed=None)
OLDER = TlsView(version="TLSv1.2", cipher="ECDHE-RSA-AES128-SHA256", resumed=None)
LEFT_ALONE = driver_case(NEW)
TRUTH = Truth(100.0, {}, 20.0, 10.0)


def record(
    case: Case, *views: TlsView | None, block: int = 0, counted: Mapping[str, int] | None = None
) -> TrialRecord:
    """A valid trial of 100 operations whose connections spoke like this; watched if something is counted."""
    made = fake_record(Trial(block=block, position=0, case=case), TRUTH)
    assert made.ready is not None
    seen = tuple(Negotiated(connections=1, client=None, server=v, client_tells=False) for v in views)
    window = None if counted is None else Window(took_s=1.0, status_delta=dict(counted))
    return made.model_copy(
        update={"ready": made.ready.model_copy(update={"negotiated": seen}), "window": window}
    )


def only(*records: TrialRecord) -> Observed:
    (found,) = observed(records).values()
    return found


@pytest.mark.parametrize(
    ("views", "encrypts", "negotiated"),
    [
        ((NEWER, NEWER), "always", ("TLSv1.3 TLS_AES_256_GCM_SHA384",)),
        ((None, None), "never", ()),
        ((None, NEWER), "sometimes", ("TLSv1.3 TLS_AES_256_GCM_SHA384",)),
        (
            (OLDER, NEWER, OLDER),
            "always",
            ("TLSv1.2 ECDHE-RSA-AES128-SHA256", "TLSv1.3 TLS_AES_256_GCM_SHA384"),
        ),
    ],
)
def test_whether_and_how_it_encrypts_is_the_servers_word(
    views: tuple[TlsView | None, ...], encrypts: str, negotiated: tuple[str, ...]
) -> None:
    within_one = only(record(LEFT_ALONE, *views))
    assert (within_one.encrypts, within_one.negotiated, within_one.trials) == (encrypts, negotiated, 1)
    each = only(*(record(LEFT_ALONE, view, block=block) for block, view in enumerate(views)))
    assert (each.encrypts, each.negotiated, each.trials) == (encrypts, negotiated, len(views))


def test_cases_are_observed_apart_and_a_control_with_its_baseline() -> None:
    old = driver_case(OLD)
    again = old.model_copy(update={"role": "control"})
    found = observed([record(LEFT_ALONE, NEWER), record(old, None), record(again, None)])
    assert {at: (seen.encrypts, seen.trials) for at, seen in found.items()} == {
        LEFT_ALONE.levels: ("always", 1),
        old.levels: ("never", 2),
    }


def test_trials_that_are_not_valid_or_were_not_asked_tell_nothing() -> None:
    seen = record(LEFT_ALONE, NEWER)
    assert observed([untrue(seen, "it was not so")]) == {}
    assert observed([record(LEFT_ALONE)]) == {}
    assert observed([seen.model_copy(update={"ready": None})]) == {}
    assert only(seen, untrue(record(LEFT_ALONE, None), "so"), record(LEFT_ALONE)) == only(seen)


def test_commands_are_counted_over_all_windows_the_most_frequent_first() -> None:
    """By hand: 100 and 100 operations; 200 inserts and 3 selects among them."""
    first = record(
        LEFT_ALONE, NEWER, counted={"Com_select": 1, "Com_insert": 100, "Com_stmt_execute": 100, "Bytes": 9}
    )
    second = record(LEFT_ALONE, NEWER, block=1, counted={"Com_insert": 100, "Com_select": 2})
    found = only(first, second)
    assert list(found.commands_per_op.items()) == [("insert", 1.0), ("select", 0.015)]


def test_only_what_was_watched_counts() -> None:
    watched = record(LEFT_ALONE, NEWER, counted={"Com_insert": 50})
    assert watched.window is not None
    half = watched.model_copy(update={"window": watched.window.model_copy(update={"operations": 50})})
    assert only(half).commands_per_op == {"insert": 1.0}
    assert only(watched, record(LEFT_ALONE, NEWER, block=1)).commands_per_op == {"insert": 0.5}
    assert only(watched, half.model_copy(update={"done": None})).commands_per_op == {"insert": 0.5}
    none = watched.model_copy(update={"window": watched.window.model_copy(update={"operations": 0})})
    assert only(none).commands_per_op == {}
    assert only(record(LEFT_ALONE, NEWER)).commands_per_op == {}


def series_of(*cases: Case, values: Mapping[int, Mapping[str, float]]) -> Series:
    return Series(
        study=STUDY,
        cases={case.levels: case for case in cases},
        values={CaseLevels.of(cases[0].levels): values} if values else {},
        controls={},
    )


SEEN = Observed("always", ("TLSv1.3 X",), trials=3, commands_per_op={"insert": 1.0})


def told(series: Series) -> list[Row]:
    return list(rows(series, {LEFT_ALONE.levels: SEEN}))


def test_a_default_is_told_with_what_was_counted() -> None:
    """The geometric mean of 1 and 4 statements is 2; the block that was not watched has none."""
    statements = {
        0: {"statements_per_op": 1.0},
        1: {"statements_per_op": 4.0},
        2: {"ops_per_s": 7.0},
    }
    default, command = told(series_of(LEFT_ALONE, values=statements))
    assert (default.role, default.label, default.case) == (DEFAULT, "Connector/J 8.0.16", LEFT_ALONE.levels)
    assert (default.negotiated, default.more) == ("TLSv1.3 X", {"encrypts": "always", "trials": 3})
    assert (default.outcome, default.unit, default.value) == ("statements_per_op", "1", pytest.approx(2.0))
    assert (command.role, command.value, command.more) == (COMMAND, 1.0, {"command": "insert"})
    assert (command.case, command.label) == (default.case, default.label)
    assert list(sentences([default, command], STUDY)) == [
        "Connector/J 8.0.16 encrypts by default (TLSv1.3 X)"
    ]


def test_a_driver_in_the_clear_negotiated_plaintext() -> None:
    clear = Observed("never", (), trials=1)
    (row,) = rows(series_of(LEFT_ALONE, values={}), {LEFT_ALONE.levels: clear})
    assert (row.negotiated, row.word("encrypts")) == ("plaintext", "never")
    assert list(sentences([row], STUDY)) == ["Connector/J 8.0.16 does not encrypt by default"]


def test_what_a_driver_does_elsewhere_is_told_with_the_server() -> None:
    (here,) = told(series_of(LEFT_ALONE, values={}))
    there = here.model_copy(
        update={"case": here.case | {"server": "mysql-9.7"}, "negotiated": "TLSv1.2 OLD, TLSv1.3 X"}
    )
    assert list(sentences([here, there], STUDY)) == [
        "Connector/J 8.0.16 encrypts by default "
        "(TLSv1.3 X on mysql-8.0.33; TLSv1.2 OLD and TLSv1.3 X on mysql-9.7)"
    ]
    clear = there.model_copy(update={"more": {**there.more, "encrypts": "never"}, "negotiated": "plaintext"})
    assert list(sentences([here, clear], STUDY)) == [
        "Connector/J 8.0.16 encrypts (TLSv1.3 X) on mysql-8.0.33; does not encrypt on mysql-9.7 by default"
    ]


def test_what_no_valid_trial_counted_is_left_open() -> None:
    for values in ({}, {0: {"ops_per_s": 7.0}}):
        (default,) = told(series_of(LEFT_ALONE, values=values))
        assert default.value is None


def test_options_and_another_workload_are_named() -> None:
    case = driver_case(NEW, useSSL="false", workload="words-execute")
    (default,) = rows(series_of(case, values={}), {case.levels: SEEN})
    assert list(sentences([default], STUDY)) == [], "with options of its own it is not as it is"
    assert default.label == "Connector/J 8.0.16 with useSSL=false, words-execute"


def test_defaults_are_of_drivers_left_alone_that_were_observed_in_the_plans_order() -> None:
    told, engine = driver_case(NEW, tls="off"), driver_case("engine")
    off, old = driver_case(NEW, useSSL="false"), driver_case(OLD)
    planned = series_of(told, off, engine, LEFT_ALONE, old, values={})
    seen = {case.levels: SEEN for case in (old, told, engine, off)}
    assert [row.case for row in rows(planned, seen) if row.role == DEFAULT] == [off.levels, old.levels]


def test_left_alone_is_a_driver_that_is_told_nothing_of_tls() -> None:
    assert is_left_alone(LEFT_ALONE)
    assert is_left_alone(driver_case(NEW, useSSL="true")), "its own options are not ours"
    assert not is_left_alone(driver_case(NEW, tls="1.3"))
    assert not is_left_alone(driver_case("engine"))


def test_options_that_all_cases_have_are_not_its_own() -> None:
    assert own_options(LEFT_ALONE.levels, STUDY) == {}
    assert own_options(driver_case(NEW, useSSL="false").levels, STUDY) == {"useSSL": "false"}
