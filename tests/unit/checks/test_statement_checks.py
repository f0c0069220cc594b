"""Proof of work: who claims statements that the server has not counted, or hides some, is found out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from test_checks import with_done, with_server

from check_by_check import doubts
from fake_slices import slices_of
from fake_trials import fake_record, kept, reconnecting
from tlstax.checks.rows_changed import Written
from tlstax.checks.statements import claims, slices_add_up, statements_counted
from tlstax.checks.together import together
from tlstax.checks.treatment import connected, encryption, server_counts, work
from tlstax.contract import Counts, ErrorCount, Workload
from tlstax.records.server_counts import counting_of
from tlstax.records.trial import ServerObservation, Trial, TrialRecord
from tlstax.records.window import Load, Together, Window
from tlstax.study import Case, workloads
from tlstax.study.factors import CaseLevels

CONNECTIONS, OPERATIONS = 8, 1_000
NOTHING = Counts(connections=0, handshakes=(), authentications={})


@dataclass(frozen=True)
class Cell:
    """What a client is asked to do."""

    client: str = "engine"
    workload: str = "point-select"
    tls: str = "off"

    @property
    def case(self) -> Case:
        levels = {"client": self.client, "workload": self.workload, "tls": self.tls, "resumption": "off"}
        return Case(levels={**levels, "connections": CONNECTIONS}, role="treatment")

    @property
    def statement(self) -> Workload:
        return workloads.built_in(self.workload, "sbtest1", 10_000)


def honest(cell: Cell, **counted: int) -> TrialRecord:
    """A trial whose server counted what the client claims, but for these counters."""
    truth = (reconnecting if cell.workload == "reconnect" else kept)(
        1e4, 20.0, 10.0, **({"handshake": 1.0} if cell.workload == "reconnect" else {"record_bytes": 0})
    )
    record = fake_record(Trial(block=0, position=0, case=cell.case), truth)
    assert record.job is not None
    prepared = cell.workload == "point-select"
    seen = {"Com_select": OPERATIONS, **({"Com_stmt_execute": OPERATIONS} if prepared else {}), **counted}
    job = record.job.model_copy(update={"workload": cell.statement})
    window = Window(took_s=1.0, status_delta=seen)
    return with_done(record.model_copy(update={"job": job, "window": window}), operations=OPERATIONS)


def of_floor(tls: str, *, accepts: str | None, handshakes: int) -> TrialRecord:
    """A trial of the floor, which asks nothing, counts no handshakes and shows no rows."""
    record = honest(Cell(client="floor", tls=tls))
    assert record.ready is not None
    opened = Counts(connections=CONNECTIONS, handshakes=(), authentications={})
    record = with_done(record, window=NOTHING, lifetime=opened, row_samples=())
    delta = {"Connections": CONNECTIONS, **({"Ssl_finished_accepts": handshakes} if handshakes else {})}
    record = with_server(record, tls_versions=accepts, status_delta=delta)
    return record.model_copy(update={"ready": record.ready.model_copy(update={"negotiated": ()})})


@pytest.mark.parametrize("client", ["engine", "sysbench", "floor"])
@pytest.mark.parametrize("workload", ["point-select", "reconnect"])
def test_who_does_as_told_is_believed(client: str, workload: str) -> None:
    assert doubts(statements_counted, honest(Cell(client=client, workload=workload))) == []


@pytest.mark.parametrize("client", ["engine", "sysbench", "floor"])
@pytest.mark.parametrize(
    ("workload", "counter", "counted", "words"),
    [
        ("point-select", "Com_select", 999, "999 SELECT statements in the window (Com_select)"),
        ("point-select", "Com_select", 1_001, "1001 SELECT statements"),
        ("point-select", "Com_select", 500, "500 SELECT statements"),
        ("point-select", "Com_stmt_execute", 0, "0 prepared statements in the window (Com_stmt_execute)"),
        ("reconnect", "Com_stmt_execute", 1_000, "1000 prepared statements"),
    ],
)
def test_a_count_that_differs_from_the_servers_makes_the_trial_invalid(
    client: str, workload: str, counter: str, counted: int, words: str
) -> None:
    record = honest(Cell(client=client, workload=workload), **{counter: counted})
    ((weight, said),) = doubts(statements_counted, record)
    assert weight == "invalid"
    assert said.startswith(f"the server ran {words}")


def test_operations_that_failed_may_have_run_their_statement_or_not() -> None:
    few = (ErrorCount(kind="server_closed", code=None, count=5),)
    for counted, is_fine in ((999, False), (1_000, True), (1_005, True), (1_006, False)):
        record = honest(Cell(), Com_select=counted, Com_stmt_execute=counted)
        assert (doubts(statements_counted, with_done(record, errors=few)) == []) is is_fine, counted


def test_what_a_drivers_statements_come_to_is_not_known() -> None:
    assert doubts(statements_counted, honest(Cell(client="pymysql-1.1"), Com_select=3)) == []
    assert claims([_written(Cell(client="pymysql-1.1"), 10), _written(Cell(), 10)]) == {}


def test_nothing_but_its_statements_proves_a_client_that_shows_no_rows() -> None:
    unseen = {"window": Window(took_s=1.0, status_delta={})}
    assert doubts(statements_counted, honest(Cell()).model_copy(update=unseen)) == []
    of_silent = honest(Cell(client="floor")).model_copy(update=unseen)
    assert [weight for weight, _ in doubts(statements_counted, of_silent)] == ["unknown"]


def test_what_the_server_does_not_count_proves_no_client_that_shows_no_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A product may count nothing of a kind: rows prove who shows them, and nothing the others."""
    silent = replace(counting_of("9.7.4", None, {}), counters={})
    monkeypatch.setattr(ServerObservation, "counting", silent)
    assert doubts(statements_counted, honest(Cell())) == []
    said = doubts(statements_counted, honest(Cell(client="floor")))
    assert said[0] == ("unknown", "the server does not count SELECT statements, and nothing else proves them")
    assert {weight for weight, _ in said} == {"unknown"}


def _written(cell: Cell, operations: int, failed: int = 0) -> Written:
    return Written(CaseLevels.of(cell.case.levels), cell.statement, operations, failed)


def test_of_all_who_take_turns_the_server_counts_what_they_claim_together() -> None:
    claimed = claims([_written(Cell(), 600, failed=4), _written(Cell(client="floor"), 400)])
    assert claimed == {"selects": (1_000, 1_004), "prepared_executions": (1_000, 1_004)}
    assert claims([_written(Cell(workload="reconnect"), 7)]) == {
        "selects": (7, 7),
        "prepared_executions": (0, 0),
    }
    for counter, words in (
        ("Com_select", "SELECT statements"),
        ("Com_stmt_execute", "executions of prepared statements"),
    ):
        for counted, is_fine in ((999, False), (1_000, True), (1_004, True), (1_005, False), (2_000, False)):
            delta = {"Com_select": 1_000, "Com_stmt_execute": 1_000, counter: counted}
            seen = Together(clients=2, status_delta=delta, claims=claimed, own=NOTHING)
            said = doubts(together, honest(Cell()).model_copy(update={"together": seen}))
            expected = f"while 2 clients took turns the server counted {counted} {words} ({counter})"
            assert [reason.startswith(expected) for _, reason in said] == ([] if is_fine else [True])


def test_every_statement_of_an_operation_is_claimed() -> None:
    (select,) = Cell().statement.statements
    twice = Cell().statement.model_copy(update={"statements": (select, select)})
    written = _written(Cell(), 10)._replace(workload=twice)
    assert claims([written]) == {"selects": (20, 20), "prepared_executions": (20, 20)}


def test_a_result_has_the_operations_of_its_slices_and_no_others() -> None:
    slices = slices_of([(300, 1.0), (500, 1.0)])
    window = Window(took_s=0.1, status_delta={}, operations=200)
    record = honest(Cell()).model_copy(update={"slices": slices, "window": window})
    assert doubts(slices_add_up, record) == []
    doubled = with_done(record, operations=2_000)
    assert doubts(slices_add_up, doubled) == [
        ("invalid", "the client's result has 2000 operations, and its slices have 1000")
    ]
    unknown = slices.model_copy(update={"finished": ()})
    assert doubts(slices_add_up, doubled.model_copy(update={"slices": unknown})) == [], "an older record"
    # Slices that began too far apart on several machines are among the result's, and not among those kept.
    assert doubts(slices_add_up, doubled.model_copy(update={"load": Load.model_construct()})) == []


def test_fewer_connections_than_are_to_work_are_told() -> None:
    record = of_floor("off", accepts="TLSv1.3", handshakes=0)
    assert doubts(connected, record) == []
    few = with_done(record, lifetime=Counts(connections=7, handshakes=(), authentications={}))
    assert doubts(connected, few) == [("invalid", "the client opened 7 connections, where 8 are to work")]


def test_a_client_that_asks_nothing_is_proved_by_what_the_server_counts_and_accepts() -> None:
    encrypted = of_floor("1.3", accepts="TLSv1.3", handshakes=CONNECTIONS)
    for check in (encryption, server_counts, work):
        assert doubts(check, encrypted) == []
        assert doubts(check, of_floor("off", accepts="TLSv1.3", handshakes=0)) == []
    for accepts in ("TLSv1.2,TLSv1.3", "", None):
        ((weight, said),) = doubts(encryption, of_floor("1.3", accepts=accepts, handshakes=CONNECTIONS))
        assert weight == "unknown"
        assert "floor asks no connection what it has negotiated" in said
    for tls, handshakes in (("1.3", 0), ("1.3", 7), ("off", 8)):
        said = dict(doubts(server_counts, of_floor(tls, accepts="TLSv1.3", handshakes=handshakes)))
        assert f"the server counted {handshakes} TLS handshakes" in said["invalid"], tls
