"""A contestant that did not do what it was told is found out, by the server's counters and in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fake_contestants import (
    RECONNECT_RESUMED,
    RECONNECT_TLS,
    SELECT,
    SELECT_TLS,
    SERVER,
    header,
    in_turns,
    observation,
)
from tlstax.contract import ErrorCount, Negotiated, TlsView
from tlstax.selfbench.outcomes import judged
from tlstax.selfbench.plan import Cell, Trial
from tlstax.selfbench.proof import Work, claims, doubts
from tlstax.selfbench.records import Observation, ServerFacts

RECONNECT = Cell(workload="reconnect", tls="off", connections=8)
ALL = (SELECT, SELECT_TLS, RECONNECT, RECONNECT_TLS, RECONNECT_RESUMED)


def honest(cell: Cell) -> Observation:
    return observation(Trial(block=0, position=0, cell=cell, contestant="engine"), cpu_us_per_op=10)


def reasons(seen: Observation, server: ServerFacts = SERVER) -> str:
    return "; ".join(doubts(seen, server))


def with_window(seen: Observation, changes: Mapping[str, int]) -> Observation:
    return seen.model_copy(update={"window_delta": {**seen.window_delta, **changes}})


def with_setup(seen: Observation, changes: Mapping[str, int]) -> Observation:
    return seen.model_copy(update={"setup_delta": {**seen.setup_delta, **changes}})


def with_done(seen: Observation, **changes: Any) -> Observation:
    assert seen.done is not None
    return seen.model_copy(update={"done": seen.done.model_copy(update=changes)})


def with_server_view(seen: Observation, view: TlsView | None) -> Observation:
    assert seen.ready is not None
    negotiated = (Negotiated(connections=1, client=view, server=view),)
    return seen.model_copy(update={"ready": seen.ready.model_copy(update={"negotiated": negotiated})})


@pytest.mark.parametrize("cell", ALL, ids=str)
def test_who_does_as_told_is_believed(cell: Cell) -> None:
    assert reasons(honest(cell)) == ""
    assert judged(honest(cell), header(cell)).outcomes["client_cpu_us_per_op"] == pytest.approx(10)


@pytest.mark.parametrize(
    ("cell", "counter", "counted", "said"),
    [
        (SELECT, "Com_select", 9_999, "9999 SELECT statements (Com_select) where there must be 10000"),
        (SELECT, "Com_select", 10_001, "10001 SELECT statements"),
        (SELECT, "Com_stmt_execute", 0, "0 executions of prepared statements"),
        (SELECT, "Connections", 10_000, "10000 connections (Connections) where there must be 0"),
        (SELECT_TLS, "Ssl_finished_accepts", 1, "1 TLS handshakes"),
        (RECONNECT, "Connections", 8, "8 connections (Connections) where there must be 10000"),
        (RECONNECT, "Com_stmt_execute", 10_000, "10000 executions of prepared statements"),
        (RECONNECT, "Ssl_finished_accepts", 10_000, "10000 TLS handshakes"),
        (RECONNECT_TLS, "Ssl_finished_accepts", 0, "0 TLS handshakes"),
        (RECONNECT_TLS, "Ssl_session_cache_hits", 10_000, "10000 look-ups of resumed sessions"),
        (RECONNECT_RESUMED, "Ssl_session_cache_hits", 0, "0 look-ups of resumed sessions"),
    ],
)
def test_a_count_that_differs_from_the_servers_is_told(
    cell: Cell, counter: str, counted: int, said: str
) -> None:
    assert said in reasons(with_window(honest(cell), {counter: counted}))


@pytest.mark.parametrize(
    ("cell", "counter", "counted", "said"),
    [
        (SELECT, "Connections", 7, "7 connections before the window, not 8"),
        (SELECT, "Ssl_finished_accepts", 8, "8 TLS handshakes before a window of plaintext"),
        (SELECT_TLS, "Ssl_finished_accepts", 0, "0 TLS handshakes for 8 connections"),
        (RECONNECT, "Ssl_finished_accepts", 1, "before a window of plaintext"),
    ],
)
def test_what_was_set_up_is_proved_too(cell: Cell, counter: str, counted: int, said: str) -> None:
    assert said in reasons(with_setup(honest(cell), {counter: counted}))


def test_the_servers_word_on_encryption_decides() -> None:
    old = TlsView(version="TLSv1.2", cipher="ECDHE-RSA-AES128-GCM-SHA256", resumed=None)
    assert "says TLSv1.2 where the cell is TLS 1.3" in reasons(with_server_view(honest(SELECT_TLS), old))
    assert "was not encrypted" in reasons(with_server_view(honest(RECONNECT_TLS), None))
    assert "was encrypted where the cell is plaintext" in reasons(with_server_view(honest(SELECT), old))
    seen = honest(SELECT_TLS)
    assert seen.ready is not None
    silent = seen.model_copy(update={"ready": seen.ready.model_copy(update={"negotiated": ()})})
    assert reasons(silent) == ""
    assert judged(silent, header(SELECT_TLS)).negotiated == "TLSv1.3"
    both = SERVER.model_copy(update={"tls_versions": "TLSv1.2,TLSv1.3"})
    assert "the server was not asked what was negotiated" in reasons(silent, both)


def test_a_full_handshake_among_resumed_ones_is_told() -> None:
    seen = honest(RECONNECT_RESUMED)
    assert seen.done is not None
    resumed = seen.done.window.handshakes[0]
    parts = (
        resumed.model_copy(update={"count": 9_999}),
        resumed.model_copy(update={"count": 1, "resumed": False}),
    )
    window = seen.done.window.model_copy(update={"handshakes": parts})
    assert "not all measured handshakes were resumed" in reasons(with_done(seen, window=window))
    assert "10000 handshakes were resumed where none may be" in reasons(
        with_done(honest(RECONNECT_TLS), window=seen.done.window)
    )


def test_mariadb_does_not_count_resumed_sessions() -> None:
    seen = with_window(honest(RECONNECT_RESUMED), {"Ssl_session_cache_hits": 0})
    assert reasons(seen, SERVER.model_copy(update={"version": "11.8.6-MariaDB"})) == ""


def test_mariadb_may_miss_handshakes_and_mysql_may_not() -> None:
    mariadb = SERVER.model_copy(update={"version": "11.8.6-MariaDB"})
    for missed, fine in ((0, True), (100, True), (101, False), (-1, False)):
        seen = with_window(honest(RECONNECT_TLS), {"Ssl_finished_accepts": 10_000 - missed})
        assert (reasons(seen, mariadb) == "") is fine, missed
        assert (reasons(seen) == "") is (missed == 0), missed


def test_failed_operations_may_be_counted_or_not_and_many_are_too_many() -> None:
    few = (ErrorCount(kind="server_closed", code=None, count=5),)
    for counted in (10_000, 10_003, 10_005):
        seen = with_window(with_done(honest(RECONNECT), errors=few), {"Connections": counted})
        assert reasons(seen) == ""
    beyond = with_window(with_done(honest(RECONNECT), errors=few), {"Connections": 10_006})
    assert "10006 connections" in reasons(beyond)
    many = (ErrorCount(kind="server_closed", code=None, count=500),)
    said = reasons(with_done(honest(RECONNECT), errors=many))
    assert "500 of 10500 operations failed (server_closed)" in said


def test_wrong_rows_slow_logins_and_idleness_are_told() -> None:
    wrong = honest(SELECT).model_copy(update={"row_mismatches": ("SELECT c FROM sbtest1 WHERE id=7",)})
    assert "rows differ from the server's: SELECT c FROM sbtest1 WHERE id=7" in reasons(wrong)
    seen = honest(RECONNECT)
    assert seen.done is not None
    slow = seen.done.window.model_copy(update={"authentications": {"full_tls": 3}})
    assert "3 measured logins took the slow path (full_tls)" in reasons(with_done(seen, window=slow))
    idle = with_window(with_done(honest(SELECT), operations=0), {"Com_select": 0, "Com_stmt_execute": 0})
    assert reasons(idle) == "no operation was finished"


def test_a_trial_that_broke_off_has_no_outcomes() -> None:
    failed = honest(SELECT).model_copy(update={"failure": "the load client fell silent"})
    result = judged(failed, header(SELECT))
    assert (result.valid, result.outcomes, result.reasons) == (False, {}, ("the load client fell silent",))
    assert "without its evidence" in reasons(honest(SELECT).model_copy(update={"done": None}))


def taking_turns(cell: Cell) -> Observation:
    """Slices of 200 operations, one watched, three in turns, and another contestant's 600 operations."""
    trial = Trial(block=0, position=0, cell=cell, contestant="engine")
    return in_turns(trial, slice_s=0.02, costs_us=[10, 20, 30], others_operations=600)


def with_counted(seen: Observation, counter: str, counted: int) -> Observation:
    assert seen.in_turns is not None
    delta = {**seen.in_turns.status_delta, counter: counted}
    return seen.model_copy(update={"in_turns": seen.in_turns.model_copy(update={"status_delta": delta})})


@pytest.mark.parametrize("cell", ALL, ids=str)
def test_turns_are_believed_where_all_that_is_claimed_of_them_was_counted(cell: Cell) -> None:
    seen = taking_turns(cell)
    assert reasons(seen) == ""
    found = judged(seen, header(cell))
    assert found.outcomes["client_cpu_us_per_op"] == pytest.approx(20), "the median slice"
    assert found.outcomes["client_instructions_user_per_op"] == 30_000
    assert found.slices == seen.slices


@pytest.mark.parametrize(
    ("cell", "counter", "counted", "said"),
    [
        (SELECT, "Com_select", 1_199, "1199 SELECT statements (Com_select) where there must be 1200"),
        (SELECT, "Com_stmt_execute", 1_201, "1201 executions of prepared statements"),
        (RECONNECT, "Connections", 16, "16 connections (Connections) where there must be 1200"),
        (RECONNECT_TLS, "Ssl_finished_accepts", 600, "600 TLS handshakes"),
        (RECONNECT_RESUMED, "Ssl_session_cache_hits", 600, "600 look-ups of resumed sessions"),
    ],
)
def test_turns_of_which_the_server_counted_something_else_are_not(
    cell: Cell, counter: str, counted: int, said: str
) -> None:
    found = reasons(with_counted(taking_turns(cell), counter, counted))
    assert found.startswith("while 2 contestants took turns the server counted ")
    assert said in found


def test_the_slice_that_is_watched_is_proved_by_itself_and_the_result_is_its_slices() -> None:
    watched = with_window(taking_turns(SELECT), {"Com_select": 199})
    assert reasons(watched) == "the server counted 199 SELECT statements (Com_select) where there must be 200"
    doubled = with_done(taking_turns(SELECT), operations=1_600)
    assert reasons(doubled) == "its result has 1600 operations and its slices have 800"


def test_slices_beside_a_window_are_proved_with_the_others() -> None:
    trial = Trial(block=0, position=0, cell=RECONNECT, contestant="engine")
    seen = in_turns(trial, slice_s=0.02, costs_us=[10, 20, 30], beside_us=[40, 60])
    assert reasons(seen) == ""
    found = judged(seen, header(RECONNECT))
    assert found.beside == seen.beside
    assert found.outcomes["client_cpu_us_per_op"] == pytest.approx(20)
    left_out = reasons(seen.model_copy(update={"beside": None}))
    assert left_out == "its result has 4800 operations and its slices have 800"
    assert "600 connections (Connections) where there must be 4600" in reasons(
        with_counted(seen, "Connections", 600)
    )


def test_what_failed_in_turns_may_be_counted_and_of_one_that_broke_off_anything_may() -> None:
    one = Work(operations=600, handshakes=(), failed=0)
    some = one.model_copy(update={"failed": 4})
    assert claims(RECONNECT, [one, some])["Connections"] == (1_200, 1_204)
    assert claims(RECONNECT, [one, some])["Com_stmt_execute"] == (0, 0)
    broken_off = one.model_copy(update={"failed": None})
    assert claims(RECONNECT, [one, broken_off])["Connections"] == (1_200, None)
    assert claims(RECONNECT, [one, broken_off])["Com_stmt_execute"] == (0, None)
