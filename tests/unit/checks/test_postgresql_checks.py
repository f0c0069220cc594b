"""At PostgreSQL other evidence proves a trial, and whoever lies is found out by it."""

from __future__ import annotations

from typing import Any

import pytest
from test_checks import with_counter, with_done, with_server

from check_by_check import doubts
from fake_slices import slices_of
from fake_trials import fake_record, kept, reconnecting
from postgresql_trials import at_postgresql
from tlstax.checks import judge
from tlstax.checks.drivers import connections as opened_by_driver
from tlstax.checks.drivers import handshakes as handshakes_of_driver
from tlstax.checks.rows_changed import Written
from tlstax.checks.statements import statements_counted, transactions, transactions_counted
from tlstax.checks.together import together
from tlstax.checks.treatment import begun, logins, server_counts
from tlstax.contract import Counts, ErrorCount, PhaseWire, PostgreSqlServer
from tlstax.records.server_counts import counting_of
from tlstax.records.trial import ServerClaim, Trial, TrialRecord
from tlstax.records.window import Together, Window
from tlstax.study import Case, Level

COMMITTED, SESSIONS = "pg_stat_database.xact_commit", "pg_stat_database.sessions"
INSERTED = "pg_stat_database.tup_inserted"
CLAIM = ServerClaim(name="postgresql-18", version="18.1", program="/p", pid=1, data_directory="/d")


def trial(
    workload: str = "point-select", tls: str = "1.3", client: str = "engine", **how: Any
) -> TrialRecord:
    """An honest one."""
    levels = {"workload": workload, "tls": tls, "connections": 8, "server": "postgresql-18"}
    levels |= {} if client == "engine" else {"client": client}
    truth = kept(1e4, 20.0, 10.0, record_bytes=22 if tls != "off" else 0)
    if workload == "reconnect":
        truth = reconnecting(1e3, 20.0, 10.0, handshake=0.5 if tls != "off" else 0.0)
    case = Case(levels=levels, role="treatment")
    return at_postgresql(fake_record(Trial(block=0, position=0, case=case), truth, duration_s=0.1), **how)


def reasons(record: TrialRecord) -> str:
    verdict = judge(record)
    assert verdict.value == "invalid", verdict
    return "; ".join(verdict.reasons)


@pytest.mark.parametrize("version", ["18.1", "14.0", "13.9", "10.23"])
@pytest.mark.parametrize("tls", ["off", "1.3", "1.3-direct"])
@pytest.mark.parametrize("workload", ["point-select", "reconnect", "insert", "words-insert"])
def test_who_does_as_told_is_valid(workload: str, tls: str, version: str) -> None:
    verdict = judge(trial(workload, tls, version=version))
    assert (verdict.value, verdict.reasons) == ("valid", ())


def _delta(record: TrialRecord) -> dict[str, int]:
    assert record.server is not None
    return dict(record.server.status_delta)


@pytest.mark.parametrize("workload", ["point-select", "reconnect", "insert"])
def test_more_operations_than_transactions_are_invalid(workload: str) -> None:
    record = trial(workload)
    assert record.done is not None
    boasted = with_done(record, operations=record.done.operations * 3)
    assert "fewer than the" in reasons(boasted)
    assert "(pg_stat_database.xact_commit)" in reasons(boasted)


def test_a_login_is_a_transaction_of_its_own() -> None:
    """Without them one that claims two reconnects for each would have committed enough before 14."""
    record = trial("reconnect", version="13.9")
    assert record.done is not None
    assert doubts(transactions_counted, record) == []
    twice = with_done(record, operations=record.done.operations * 2)
    twice = with_done(twice, lifetime=_opened(record.done.lifetime, record.done.operations))
    assert [weight for weight, _ in doubts(transactions_counted, twice)] == ["invalid"]


def committed(record: TrialRecord, transactions: int, **more: Level) -> list[tuple[str, str]]:
    """What is doubted where the server counted this, of a case with these levels more."""
    made = with_server(record, status_delta={COMMITTED: transactions})
    return doubts(transactions_counted, made, {**record.trial.case.levels, **more})


def too_few(counted: int, claimed: int, logins: int) -> list[tuple[str, str]]:
    committed = f"the server committed {counted} transactions (pg_stat_database.xact_commit), "
    claims = f"fewer than the {claimed} of the client's 1000 operations and {logins} logins"
    return [("invalid", committed + claims)]


def test_a_commit_less_than_operations_and_logins_is_told_in_a_sentence() -> None:
    record = trial()
    assert record.watched_operations == 1000
    assert committed(record, 1008) == []
    assert committed(record, 1007) == too_few(1007, 1008, 8)


def test_through_a_pooler_logins_at_the_server_are_not_the_clients() -> None:
    record = trial()
    assert committed(record, 1000, path="pgbouncer-terminate") == []
    assert committed(record, 999, path="pgbouncer-terminate") == too_few(999, 1000, 0)


@pytest.mark.parametrize(
    "named",
    [{"client": "psycopg-3"}, {"client": "pg-basebackup"}, {"workload": "orders"}, {"address": "pooler"}],
)
def test_where_it_is_not_known_what_an_operation_commits_nothing_is_held_to_it(
    named: dict[str, Level],
) -> None:
    """Drivers run more, others do not ask this database; at another address may be what is not the server."""
    assert committed(trial(), 0, **named) == []
    assert committed(trial().model_copy(update={"job": None}), 0) == []


def test_in_turns_those_who_make_their_connections_are_held_to_their_own_transactions() -> None:
    """A pooler keeps its connections, and so the server may not have counted what was done on them."""
    record = trial("reconnect").model_copy(update={"slices": slices_of([(100, 1.0)])})
    assert [weight for weight, _ in committed(record, 0)] == ["invalid"]
    assert committed(record, 0, path="pgbouncer-terminate") == []


def _opened(counts: Counts, more: int) -> Counts:
    return counts.model_copy(update={"connections": counts.connections + more})


@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_sessions_is_invalid(change: int) -> None:
    assert "connections (pg_stat_database.sessions)" in reasons(with_counter(trial(), SESSIONS, change))


def test_before_14_nobody_counts_connections_and_the_trial_says_so() -> None:
    notes = [said for weight, said in doubts(server_counts, trial(version="13.9")) if weight == "note"]
    assert "PostgreSQL before 14 does not count connections: the client's word alone shows how many" in notes
    assert not any("does not count connections" in said for _, said in doubts(server_counts, trial()))


@pytest.mark.parametrize("workload", ["insert", "words-insert"])
def test_rows_that_were_not_inserted_are_missed(workload: str) -> None:
    assert "7 added no row" in reasons(with_counter(trial(workload), INSERTED, -7))


def test_plaintext_that_says_tls_is_invalid() -> None:
    record = trial()
    assert record.ready is not None
    (asked,) = record.ready.negotiated
    lying = record.ready.model_copy(update={"negotiated": (asked.model_copy(update={"server": None}),)})
    said = reasons(record.model_copy(update={"ready": lying}))
    assert "the server says that the connection is not encrypted" in said


@pytest.mark.parametrize("tls", ["off", "1.3"])
def test_a_log_proves_every_connection(tls: str) -> None:
    record = trial("reconnect", tls, logs=True)
    assert judge(record).value == "valid"
    assert not any("does not count" in note for note in judge(record).notes)
    assert record.server is not None
    assert record.server.logged is not None
    (seen,) = record.server.logged
    fewer = seen.model_copy(update={"connections": seen.connections - 1})
    assert "the server's log names" in reasons(with_server(record, logged=(fewer,)))
    other = {"version": None, "cipher": None} if tls == "1.3" else {"version": "TLSv1.3", "cipher": "X"}
    one = seen.model_copy(update={**other, "connections": 1})
    were = "not encrypted" if tls == "1.3" else "encrypted (TLSv1.3, X)"
    found_out = reasons(with_server(record, logged=(fewer, one)))
    assert f"by the server's log 1 connection was {were}" in found_out


@pytest.mark.parametrize("workload", ["reconnect", "point-select"])
def test_a_log_until_the_window_proves_the_connections_before_it(workload: str) -> None:
    """Of a client that keeps its connections these are all of them."""
    record = trial(workload, logs=True)
    assert record.server is not None
    assert record.server.logged is not None
    assert record.done is not None
    (seen,) = record.server.logged
    before = record.done.lifetime.connections - record.done.window.connections
    seen = seen.model_copy(update={"connections": before})
    told = with_server(record, logged=(seen,), logged_until_ready=True)
    assert judge(told).value == "valid"
    note = "PostgreSQL does not count handshakes: the client's word alone shows how many"
    assert (note in judge(told).notes) is (workload == "reconnect")
    for change in (-1, 1):
        other = seen.model_copy(update={"connections": before + change})
        said = reasons(with_server(record, logged=(other,), logged_until_ready=True))
        assert f"names {before + change} connections before its window, the client {before}" in said
    unencrypted = seen.model_copy(update={"version": None, "cipher": None})
    said = reasons(with_server(record, logged=(unencrypted,), logged_until_ready=True))
    assert f"by the server's log {before} connections were not encrypted" in said


@pytest.mark.parametrize("version", ["18.1", "13.9"])
def test_a_log_proves_the_connections_of_a_driver_which_may_open_more(version: str) -> None:
    """Before 14 nothing else counts them."""
    record = trial("reconnect", logs=True, version=version)
    assert record.server is not None
    assert record.server.logged is not None
    case = Case(levels={**record.trial.case.levels, "client": "psycopg-3"}, role="treatment")
    record = record.model_copy(update={"trial": record.trial.model_copy(update={"case": case})})
    assert judge(record).value == "valid"
    assert doubts(handshakes_of_driver, record) == []
    (seen,) = record.server.logged
    fewer, more = (seen.model_copy(update={"connections": seen.connections + change}) for change in (-1, 2))
    assert "the server's log names" in reasons(with_server(record, logged=(fewer,)))
    ((weight, said),) = doubts(opened_by_driver, with_server(record, logged=(more,)))
    assert (weight, "opened 2 connections by itself" in said, "(the server's log)" in said) == (
        "note",
        True,
        True,
    )
    in_clear = seen.model_copy(update={"connections": 2, "version": None, "cipher": None})
    assert "not encrypted" in reasons(with_server(record, logged=(seen, in_clear)))


@pytest.mark.parametrize(("case", "really"), [("1.3", "1.3-direct"), ("1.3-direct", "1.3")])
def test_tls_that_began_otherwise_is_invalid(case: str, really: str) -> None:
    record = trial("reconnect", really).model_copy(update={"claim": CLAIM})
    assert doubts(begun, record) == []
    claimed = Case(levels={**record.trial.case.levels, "tls": case}, role="treatment")
    lying = record.model_copy(update={"trial": record.trial.model_copy(update={"case": claimed})})
    assert record.done is not None
    times = record.done.window.connections
    said = {
        "1.3-direct": f"{times} connections asked for TLS, where it was to begin at once",
        "1.3": f"{times} connections did not ask for TLS, where it was to be asked for",
    }
    assert doubts(begun, lying) == [("invalid", said[case])]
    elsewhere = doubts(begun, lying.model_copy(update={"claim": None}))
    told = [] if case == "1.3" else [("invalid", said[case])]
    assert elsewhere == told, "at an external server its user may have said it for all cases"


def with_begun(record: TrialRecord, *, asked: int | None, made: int | None = 10) -> TrialRecord:
    """The trial in which this many connections asked for TLS, and made it; None: none did."""
    phases = {"greeting": asked, "tls_handshake": made}
    wire = {
        name: PhaseWire(times=times, round_trips=times, bytes_sent=times, bytes_received=times)
        for name, times in phases.items()
        if times is not None
    }
    return with_done(record, phase_wire=wire)


def test_each_connection_is_held_to_how_tls_begins() -> None:
    asking, direct = trial("reconnect"), trial("reconnect", "1.3-direct")
    assert doubts(begun, with_begun(asking, asked=7)) == [
        ("invalid", "3 connections did not ask for TLS, where it was to be asked for")
    ]
    assert doubts(begun, with_begun(direct, asked=1)) == [
        ("invalid", "1 connection asked for TLS, where it was to begin at once")
    ]
    assert doubts(begun, with_begun(direct, asked=None)) == []
    mute = [("invalid", "10 connections did not ask for TLS, where it was to be asked for")]
    assert doubts(begun, with_begun(asking, asked=None)) == mute


def test_where_no_connection_was_made_while_it_was_measured_nothing_shows_how_tls_begins() -> None:
    record = trial("reconnect")
    assert doubts(begun, with_begun(record, asked=None, made=None)) == []
    assert record.job is not None
    mysql = record.job.model_copy(update={"server": None})
    for job in (None, mysql):
        assert doubts(begun, with_begun(record, asked=None).model_copy(update={"job": job})) == []


@pytest.mark.parametrize(
    ("asked", "by", "named", "wanted"),
    [
        (("scram-sha-256",), "scram-sha-256", {}, None),
        (("scram-sha-256",), "scram-sha-256-plus", {}, "scram-sha-256"),
        (("none",), "scram-sha-256", {}, "none"),
        (("md5",), "none", {}, "md5"),
        ((), "scram-sha-256-plus", {}, None),
        ((), "scram-sha-256", {}, None),
        ((), "none", {}, "scram-sha-256-plus"),
        ((), "md5", {}, "scram-sha-256-plus"),
        ((), "scram-sha-256", {"tls": "off"}, None),
        ((), "scram-sha-256-plus", {"tls": "off"}, "scram-sha-256"),
        ((), "none", {"client_certificate": "on"}, None),
    ],
)
def test_logins_by_another_method_are_invalid(
    asked: tuple[str, ...], by: str, named: dict[str, Level], wanted: str | None
) -> None:
    record = trial().model_copy(update={"claim": CLAIM})
    assert record.job is not None
    assert record.done is not None
    server = PostgreSqlServer.model_validate({"require_auth": asked})
    record = record.model_copy(update={"job": record.job.model_copy(update={"server": server})})
    lifetime = record.done.lifetime.model_copy(update={"authentications": {by: 8}})
    said = [] if wanted is None else [("invalid", f"8 logins were by {by}, where all are to be by {wanted}")]
    assert doubts(logins, with_done(record, lifetime=lifetime), {**record.trial.case.levels, **named}) == said


@pytest.mark.parametrize(
    ("versions", "sees"),
    [
        (["TLSv1.3"], "TLSv1.3"),
        ([None], "no TLS"),
        ([None, "TLSv1.3", "TLSv1.2"], "TLSv1.2 and TLSv1.3 and no TLS"),
        ([], "what is not known"),
    ],
)
def test_behind_another_address_the_server_counts_its_own_leg(versions: list[str | None], sees: str) -> None:
    record = with_counter(trial("reconnect"), SESSIONS, -5)
    assert record.ready is not None
    (one,) = record.ready.negotiated
    assert one.server is not None
    views = [version and one.server.model_copy(update={"version": version}) for version in versions]
    seen = tuple(one.model_copy(update={"server": view}) for view in views)
    record = record.model_copy(update={"ready": record.ready.model_copy(update={"negotiated": seen})})
    leg = "what it counts is of that leg, and is not set against the client's"
    assert doubts(server_counts, record, {**record.trial.case.levels, "address": "pooler"}) == [
        ("note", f"behind pooler the server sees {sees}: {leg}")
    ]


@pytest.mark.parametrize("named", [{"path": "pgbouncer-terminate"}, {"client": "pg-basebackup"}])
def test_where_the_servers_sessions_are_others_they_are_not_held_to_the_clients(
    named: dict[str, Level],
) -> None:
    record = with_counter(trial("reconnect"), SESSIONS, -5)
    said = doubts(server_counts, record, {**record.trial.case.levels, **named})
    assert [weight for weight, _ in said if weight == "invalid"] == []
    assert [weight for weight, _ in doubts(server_counts, record)] == ["note", "invalid"]


def test_an_external_server_may_ask_for_whatever_it_likes() -> None:
    record = trial()
    assert record.done is not None
    lifetime = record.done.lifetime.model_copy(update={"authentications": {"md5": 8}})
    assert doubts(logins, with_done(record, lifetime=lifetime)) == []


def test_conflicts_of_transactions_belong_to_their_load() -> None:
    met = (ErrorCount(kind="server_error", code=int("40P01", 36), count=500),)
    verdict = judge(with_done(trial(), errors=met))
    assert verdict.value == "valid"
    assert "the server rolled back 500 operations that conflicted with others" in verdict.notes
    others = (ErrorCount(kind="server_error", code=int("42P01", 36), count=500),)
    assert judge(with_done(trial(), errors=others)).value == "invalid"


def test_in_turns_all_clients_together_are_held_against_the_servers_count() -> None:
    """What was done on connections that are still open may not be counted yet: nobody is judged by it."""
    record = trial().model_copy(update={"slices": slices_of([(100, 1.0)])})
    record = with_counter(record, COMMITTED, -_delta(record)[COMMITTED])
    assert doubts(transactions_counted, record) == []
    case, job = record.trial.case.levels, record.job
    assert job is not None
    claims = transactions([Written(case, job.workload, 100, 0), Written(case, job.workload, 50, 0)])
    assert claims == {"transactions": (150, None)}
    own = Counts(connections=0, handshakes=(), authentications={})
    for counted, is_fine in ((150, True), (149, False), (400, True)):
        seen = Together(clients=2, status_delta={COMMITTED: counted}, claims=claims, own=own)
        assert (doubts(together, record.model_copy(update={"together": seen})) == []) is is_fine


def test_of_a_silent_client_in_turns_the_transactions_of_all_show_what_it_did() -> None:
    """Its window shows nothing: a session reports what it did once a second, and at its end."""
    record = trial(client="floor").model_copy(update={"slices": slices_of([(100, 1.0)])})
    unseen = record.model_copy(update={"window": None})
    said = [("unknown", "nothing shows how many statements the server ran in the window")]
    assert doubts(statements_counted, unseen) == said
    own = Counts(connections=0, handshakes=(), authentications={})
    seen = Together(clients=2, status_delta={COMMITTED: 150}, claims={"transactions": (150, None)}, own=own)
    assert doubts(statements_counted, unseen.model_copy(update={"together": seen})) == []
    of_selects = seen.model_copy(update={"claims": {"selects": (150, 150)}})
    assert doubts(statements_counted, unseen.model_copy(update={"together": of_selects})) == said


def test_of_a_silent_client_alone_transactions_show_what_it_did_where_its_operations_are_known() -> None:
    """A pooler keeps the server's connections: it has counted nothing of the window while that lasts."""
    record = trial(client="pgbench").model_copy(update={"window": None})
    assert doubts(statements_counted, record) == []
    case = Case(levels={**record.trial.case.levels, "workload": "orders"}, role="treatment")
    own = record.model_copy(update={"trial": record.trial.model_copy(update={"case": case})})
    said = [("unknown", "nothing shows how many statements the server ran in the window")]
    assert doubts(statements_counted, own) == said
    assert doubts(transactions_counted, own) == []


def test_rows_in_the_window_may_be_counted_late() -> None:
    """The window's count is not what rows are held against: it may lack what a connection did last."""
    record = trial("insert")
    late = record.model_copy(update={"window": Window(took_s=1.0, status_delta={INSERTED: 0})})
    assert judge(late).value == "valid"


@pytest.mark.parametrize("version", ["18.1", "10.23"])
def test_what_postgresql_does_not_count_is_none(version: str) -> None:
    counting = counting_of(version, "OpenSSL 3.5.5", {})
    for count in ("handshakes", "session_lookups", "selects", "inserts", "prepared_executions"):
        assert counting.of({}, count) is None
    assert counting.of({COMMITTED: 3}, "transactions") == 3
    assert (counting.of({SESSIONS: 3}, "connections") == 3) is (version == "18.1")
    assert counting_of("9.7.4", None, {}).of({}, "transactions") is None
