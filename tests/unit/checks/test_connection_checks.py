"""Proof by the server alone: of a client that cannot be asked, every connection has reported itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from test_checks import reasons, with_done, with_server

from check_by_check import doubts
from fake_trials import fake_record, tax_truth
from observed_windows import window
from tlstax.checks import judge
from tlstax.checks.connections import logged, seen_at_server
from tlstax.checks.handshakes import missed
from tlstax.checks.statements import statements_counted
from tlstax.contract import Counts, TlsOff, TlsOn
from tlstax.records.server_counts import counting_of
from tlstax.records.trial import ConnectionsSeen, Trial, TrialRecord
from tlstax.study import Case, Level

MARIADB = counting_of("11.8.6-MariaDB", None, {})

PLAIN = ConnectionsSeen(connections=8, version=None, cipher=None)
TLS_1_3 = ConnectionsSeen(connections=8, version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384")
TLS_1_2 = ConnectionsSeen(connections=8, version="TLSv1.2", cipher="ECDHE-RSA-AES128-GCM-SHA256")

LIFETIME = 18
"""Eight connections worked, as many before the window, and each time one more led them."""


def trial(
    tls: str,
    seen: Sequence[ConnectionsSeen],
    *,
    handshakes: int,
    version: str = "8.0.33",
    verify: bool = False,
) -> TrialRecord:
    """A trial of mysqlslap on 8 connections, as the server saw it."""
    levels = {"workload": "point-select", "tls": tls, "connections": 8, "resumption": "off"}
    record = fake_record(Trial(block=0, position=0, case=Case(levels=levels, role="treatment")), TRUTH)
    assert record.ready is not None
    assert record.job is not None
    assert record.done is not None
    record = with_done(
        record,
        window=Counts(connections=8, handshakes=(), authentications={}),
        lifetime=Counts(connections=LIFETIME, handshakes=(), authentications={}),
        row_samples=(),
    )
    counted = {"Connections": LIFETIME, "Ssl_finished_accepts": handshakes}
    record = with_server(
        record, connections=tuple(seen), status_delta={name: n for name, n in counted.items() if n}
    )
    asked = TlsOff() if tls == "off" else TlsOn(verify="identity" if verify else "none", ca_file="/ca.pem")
    watched = window().model_copy(update={"status_delta": {"Com_select": record.done.operations}})
    return record.model_copy(
        update={
            "ready": record.ready.model_copy(
                update={
                    "client": "mysqlslap",
                    "client_version": version,
                    "tls_library": None,
                    "negotiated": (),
                }
            ),
            "job": record.job.model_copy(update={"tls": asked}),
            "window": watched,
        }
    )


TRUTH = tax_truth(
    Case(levels={"workload": "point-select", "tls": "off", "resumption": "off"}, role="baseline")
)


@pytest.mark.parametrize(
    "record",
    [
        trial("off", [PLAIN], handshakes=0),
        trial("1.3", [TLS_1_3], handshakes=LIFETIME),
        trial("default", [TLS_1_2], handshakes=LIFETIME),
    ],
    ids=["plaintext", "tls 1.3", "tls as it comes"],
)
def test_what_the_server_says_of_every_connection_is_proof(record: TrialRecord) -> None:
    verdict = judge(record)
    assert (verdict.value, verdict.reasons) == ("valid", ())


def test_a_client_that_encrypts_in_spite_of_its_option_is_told_in_a_sentence() -> None:
    disobedient = trial("off", [TLS_1_3], handshakes=16)
    first, second = judge(disobedient).reasons
    assert first == (
        "mysqlslap 8.0.33 was given --ssl-mode=DISABLED, and yet all 8 connections that did the measured "
        "work were encrypted (TLSv1.3, TLS_AES_256_GCM_SHA384), as the server says on each of them: this "
        "mysqlslap's workers ignore --ssl-mode"
    )
    assert second.startswith("the server counted 16 TLS handshakes on 18 connections")
    other = reasons(trial("off", [TLS_1_3], handshakes=16, version="9.7.4"))
    assert "as the server says on each of them; the server counted" in other


def test_a_client_that_does_not_encrypt_is_told_too() -> None:
    said = reasons(trial("default", [PLAIN], handshakes=2))
    assert "was given --ssl-mode=REQUIRED, and yet all 8 connections" in said
    assert "were not encrypted" in said


def test_few_connections_are_told_in_words() -> None:
    for number, words in ((1, "the connection that did the measured work was"), (2, "both connections that")):
        seen = TLS_1_3.model_copy(update={"connections": number})
        assert f"and yet {words}" in reasons(trial("off", [seen], handshakes=16))


def test_putting_the_data_back_between_rounds_is_noted() -> None:
    record = trial("off", [PLAIN], handshakes=0)
    assert record.job is not None
    job = record.job.model_copy(update={"rounds": 5, "reset": ("DELETE FROM t",)})
    (note,) = judge(record.model_copy(update={"job": job})).notes
    assert note.startswith("the server put its data back before each of 5 rounds")


def test_some_that_disobey_are_enough() -> None:
    six, two = (group.model_copy(update={"connections": n}) for group, n in ((TLS_1_3, 6), (PLAIN, 2)))
    assert "2 of the 8 connections that did the measured work were not encrypted" in reasons(
        trial("1.3", [six, two], handshakes=LIFETIME)
    )


def test_another_version_than_the_case_names_is_invalid() -> None:
    assert "were encrypted (TLSv1.2," in reasons(trial("1.3", [TLS_1_2], handshakes=LIFETIME))


def test_every_connection_must_have_told_of_itself() -> None:
    seven = PLAIN.model_copy(update={"connections": 7})
    assert "8 connections did the measured work, and 7 reported" in reasons(
        trial("off", [seven], handshakes=0)
    )
    assert "and 0 reported" in reasons(trial("off", [], handshakes=0))


def test_the_servers_counter_must_agree() -> None:
    assert "counted 17 TLS handshakes" in reasons(trial("1.3", [TLS_1_3], handshakes=17))
    assert "counted 1 TLS handshake" in reasons(trial("off", [PLAIN], handshakes=1))
    assert "counted 0 TLS handshakes" in reasons(trial("1.3", [TLS_1_3], handshakes=0))


def test_mariadb_may_have_missed_a_handshake() -> None:
    short = with_server(trial("1.3", [TLS_1_3], handshakes=LIFETIME - 1), version="11.8.6-MariaDB")
    assert missed(MARIADB, LIFETIME - 1, LIFETIME) in judge(short).notes
    assert "counted 16 TLS" in reasons(
        with_server(trial("1.3", [TLS_1_3], handshakes=LIFETIME - 2), version="11.8.6-MariaDB")
    )


def test_the_server_must_have_run_the_statements() -> None:
    record = trial("off", [PLAIN], handshakes=0)
    assert record.window is not None
    assert record.done is not None
    fewer = record.window.model_copy(update={"status_delta": {"Com_select": record.done.operations - 1}})
    assert "SELECT statements" in reasons(record.model_copy(update={"window": fewer}))
    assert judge(record.model_copy(update={"window": None})).value == "unknown"


def test_what_else_is_said_on_connecting_is_no_surprise() -> None:
    record = trial("off", [PLAIN], handshakes=0)
    assert record.job is not None
    assert record.window is not None
    assert record.done is not None
    more = record.window.model_copy(update={"status_delta": {"Com_select": record.done.operations + 8}})
    more_counted = record.model_copy(update={"window": more})
    assert "SELECT statements" in reasons(more_counted)
    workload = record.job.workload.model_copy(update={"on_connect": ("the proof", "SELECT 1")})
    asked = record.job.model_copy(update={"workload": workload})
    assert judge(more_counted.model_copy(update={"job": asked})).value == "valid"


def test_an_unverified_certificate_is_noted_where_the_workers_ignore_the_option() -> None:
    always, note = judge(trial("1.3", [TLS_1_3], handshakes=LIFETIME, verify=True)).notes
    assert "do not verify the server's certificate" in note
    assert judge(trial("1.3", [TLS_1_3], handshakes=LIFETIME, verify=True, version="9.7.4")).notes == (
        always,
    )


def test_handshakes_in_the_window_are_noted() -> None:
    (note,) = judge(trial("1.3", [TLS_1_3], handshakes=LIFETIME)).notes
    assert note.startswith("mysqlslap connects within the measured window")
    assert judge(trial("off", [PLAIN], handshakes=0)).notes == ()


def with_job(record: TrialRecord, **changes: object) -> TrialRecord:
    assert record.job is not None
    return record.model_copy(update={"job": record.job.model_copy(update=changes)})


def counting(record: TrialRecord, **counters: int) -> TrialRecord:
    assert record.window is not None
    return record.model_copy(update={"window": record.window.model_copy(update={"status_delta": counters})})


def operations(record: TrialRecord) -> int:
    assert record.done is not None
    return record.done.operations


HONEST = trial("off", [PLAIN], handshakes=0)


@pytest.mark.parametrize(
    ("rounds", "reset", "is_put_back"), [(1, ("DELETE",), False), (2, (), False), (2, ("DELETE",), True)]
)
def test_data_is_put_back_only_between_several_rounds(
    rounds: int, reset: tuple[str, ...], *, is_put_back: bool
) -> None:
    """More statements than are claimed are no surprise then, and otherwise are one."""
    more = counting(with_job(HONEST, rounds=rounds, reset=reset), Com_select=operations(HONEST) + 1)
    weights = [weight for weight, _ in doubts(statements_counted, more)]
    assert weights == ["note" if is_put_back else "invalid"]


def test_the_statements_of_each_kind_are_added_up() -> None:
    """Two selects of three repeats in all, and an insert, which may have been written in two ways."""
    (select,) = HONEST.job.workload.statements if HONEST.job is not None else ()
    insert = select.model_copy(update={"sql": "INSERT INTO rows VALUES ({id})"})
    mixed = with_job(
        HONEST,
        workload=HONEST.job.workload.model_copy(  # type: ignore[union-attr]
            update={"statements": (select.model_copy(update={"repeat": 2}), insert, select)}
        ),
    )
    n = operations(HONEST)
    fits = {"Com_select": 3 * n, "Com_insert": n - 5, "Com_insert_select": 5}
    assert doubts(statements_counted, counting(mixed, **fits)) == []
    assert doubts(statements_counted, counting(mixed, **{**fits, "Com_select": 3 * n - 1})) == [
        (
            "invalid",
            f"the server ran {3 * n - 1} SELECT statements in "
            "the window (Com_select), the client says "
            f"{3 * n}",
        )
    ]
    assert doubts(statements_counted, counting(mixed, Com_select=3 * n)) == [
        (
            "invalid",
            "the server ran 0 INSERT statements in the "
            "window (Com_insert and Com_insert_select), the "
            f"client says {n}",
        )
    ]


def test_statements_that_no_counter_is_known_of_are_not_counted() -> None:
    (select,) = HONEST.job.workload.statements if HONEST.job is not None else ()
    call = select.model_copy(update={"sql": "CALL something()"})
    workload = HONEST.job.workload.model_copy(update={"statements": (call,)})  # type: ignore[union-attr]
    assert doubts(statements_counted, with_job(HONEST, workload=workload)) == []


def test_only_one_thing_said_on_connecting_is_the_proof() -> None:
    workload = HONEST.job.workload.model_copy(update={"on_connect": ("the proof",)})  # type: ignore[union-attr]
    more = counting(with_job(HONEST, workload=workload), Com_select=operations(HONEST) + 1)
    assert [weight for weight, _ in doubts(statements_counted, more)] == ["invalid"]
    guest = more.model_copy(update={"guest": True})
    assert doubts(statements_counted, guest) == [], "others use an external server too"


def test_where_the_window_shows_nothing_the_statements_are_unknown() -> None:
    said = [("unknown", "nothing shows how many statements the server ran in the window")]
    assert doubts(statements_counted, counting(HONEST)) == said
    assert doubts(statements_counted, HONEST.model_copy(update={"window": None})) == said
    assert doubts(statements_counted, HONEST.model_copy(update={"job": None, "window": None})) == []
    silent = with_server(HONEST, connections=None).model_copy(update={"window": None})
    assert doubts(statements_counted, silent) == []


def test_each_sentence_of_the_servers_is_whole() -> None:
    seven = PLAIN.model_copy(update={"connections": 7})
    assert doubts(seen_at_server, trial("off", [seven], handshakes=0)) == [
        (
            "invalid",
            "the client says that 8 connections did the measured work, and 7 reported "
            "themselves to the server",
        )
    ]
    assert doubts(seen_at_server, trial("off", [PLAIN], handshakes=1)) == [
        (
            "invalid",
            "the server counted 1 TLS handshake on 18 connections "
            "(Ssl_finished_accepts), where there must be none",
        )
    ]
    assert doubts(seen_at_server, trial("1.3", [TLS_1_3], handshakes=17))[0] == (
        "invalid",
        "the server counted 17 TLS handshakes on 18 connections "
        "(Ssl_finished_accepts), where there must be 18",
    )
    assert doubts(seen_at_server, with_server(HONEST, connections=None)) == []


@pytest.mark.parametrize(
    ("number", "who", "on"),
    [
        (1, "the connection that did the measured work was", "it"),
        (2, "both connections that did the measured work were", "each of them"),
        (3, "all 3 connections that did the measured work were", "each of them"),
    ],
)
def test_few_connections_have_a_sentence_of_their_own(number: int, who: str, on: str) -> None:
    group = TLS_1_3.model_copy(update={"connections": number})
    (_, first), *_ = doubts(seen_at_server, trial("off", [group], handshakes=0, version="9.7.4"))
    assert first == (
        f"mysqlslap 9.7.4 was given --ssl-mode=DISABLED, and yet {who} encrypted "
        f"(TLSv1.3, TLS_AES_256_GCM_SHA384), as the server says on {on}"
    )


def test_a_case_without_a_level_of_tls_is_plaintext() -> None:
    nameless = {"workload": "point-select", "connections": 8}
    assert doubts(seen_at_server, HONEST, nameless) == []
    assert [
        weight for weight, _ in doubts(seen_at_server, trial("1.3", [TLS_1_3], handshakes=18), nameless)
    ] == [
        "invalid",
        "invalid",
    ]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (TlsOn(min_version="1.2", max_version="1.2"), "--ssl-mode=REQUIRED --tls-version=TLSv1.2, and"),
        (TlsOn(min_version="1.2", max_version="1.3"), "--ssl-mode=REQUIRED, and"),
        (TlsOn(verify="ca", ca_file="/ca.pem"), "--ssl-mode=VERIFY_CA, and"),
        (TlsOn(verify="identity", ca_file="/ca.pem", server_name="s"), "--ssl-mode=VERIFY_IDENTITY, and"),
    ],
)
def test_a_client_is_told_in_its_own_words(asked: TlsOn, words: str) -> None:
    (_, first), *_ = doubts(seen_at_server, with_job(trial("default", [PLAIN], handshakes=0), tls=asked))
    assert f"was given {words}" in first
    (_, unasked), *_ = doubts(
        seen_at_server, trial("default", [PLAIN], handshakes=0).model_copy(update={"job": None})
    )
    assert "was given --ssl-mode=DISABLED, and" in unasked


def test_an_unverified_certificate_is_no_matter_in_plaintext() -> None:
    verifying = trial("off", [PLAIN], handshakes=0).model_copy(
        update={"job": trial("1.3", [], handshakes=0, verify=True).job}
    )
    assert doubts(seen_at_server, verifying) == []


def test_of_another_client_nothing_is_known_to_be_ignored() -> None:
    record = trial("1.3", [TLS_1_3], handshakes=LIFETIME, verify=True)
    assert record.ready is not None
    other = record.model_copy(update={"ready": record.ready.model_copy(update={"client": "sysbench"})})
    assert doubts(seen_at_server, other) == [
        (
            "note",
            "sysbench connects within the measured window: the figures "
            "include a TLS handshake for each of its connections",
        )
    ]


def of_log(group: ConnectionsSeen, connections: int) -> ConnectionsSeen:
    return group.model_copy(update={"connections": connections})


def were(number: int, how: str, whose: str = "the server's log") -> str:
    return f"by {whose} {number} connections were {how}"


ENCRYPTED_1_3 = "encrypted (TLSv1.3, TLS_AES_256_GCM_SHA384)"
POOLER = "the pooler's log"


@pytest.mark.parametrize(
    ("named", "seen", "said"),
    [
        ({"tls": "1.3"}, [of_log(TLS_1_3, 18)], None),
        ({"tls": "1.3"}, [of_log(TLS_1_3, 11), of_log(TLS_1_3, 7)], None),
        ({"tls": "1.3"}, [of_log(TLS_1_3, 17)], "the server's log names 17 connections, the client 18"),
        ({"tls": "1.3"}, [of_log(TLS_1_3, 19)], "the server's log names 19 connections, the client 18"),
        ({"tls": "1.3"}, [], "the server's log names 0 connections, the client 18"),
        ({"tls": "1.3"}, [of_log(TLS_1_3, 16), of_log(PLAIN, 2)], were(2, "not encrypted")),
        (
            {"tls": "1.3"},
            [of_log(TLS_1_2, 18)],
            were(18, "encrypted (TLSv1.2, ECDHE-RSA-AES128-GCM-SHA256)"),
        ),
        ({"tls": "off"}, [of_log(PLAIN, 18)], None),
        ({"tls": "off"}, [of_log(TLS_1_3, 18)], were(18, ENCRYPTED_1_3)),
        ({"tls": "1.3", "client": "pymysql-1.1"}, [of_log(TLS_1_3, 19)], None),
        (
            {"tls": "1.3", "client": "pymysql-1.1"},
            [of_log(TLS_1_3, 17)],
            "the server's log names 17 connections, the client 18",
        ),
        ({"tls": "unset", "client": "pymysql-1.1"}, [of_log(TLS_1_3, 9), of_log(PLAIN, 9)], None),
        ({"tls": "1.3", "path": "router-terminate"}, [of_log(PLAIN, 18)], None),
        ({"tls": "1.3", "path": "router-terminate"}, [of_log(TLS_1_3, 18)], were(18, ENCRYPTED_1_3)),
        ({"tls": "off", "path": "router-encrypt"}, [of_log(TLS_1_3, 9), of_log(TLS_1_2, 9)], None),
        ({"tls": "1.3", "path": "pgbouncer-terminate"}, [of_log(TLS_1_3, 18)], None),
        (
            {"tls": "1.3", "path": "pgbouncer-terminate"},
            [of_log(PLAIN, 18)],
            were(18, "not encrypted", POOLER),
        ),
        (
            {"tls": "1.3", "path": "pgbouncer-terminate"},
            [of_log(TLS_1_3, 17)],
            "the pooler's log names 17 connections, the client 18",
        ),
        ({"tls": "1.3", "address": "proxy"}, [of_log(PLAIN, 3)], None),
    ],
)
def test_a_log_names_as_many_connections_as_there_were_each_as_the_case_has_it(
    named: dict[str, Level], seen: list[ConnectionsSeen], said: str | None
) -> None:
    record = with_server(HONEST, connections=None, logged=tuple(seen))
    levels: dict[str, Level] = {"workload": "point-select", "connections": 8, **named}
    assert doubts(logged, record, levels) == ([("invalid", said)] if said else [])


def test_a_log_that_ends_where_the_window_begins_has_the_connections_before_it() -> None:
    """18 were made, 8 of them while it was measured."""
    for number, said in ((10, None), (11, "names 11 connections before its window, the client 10")):
        record = with_server(
            HONEST, connections=None, logged=(of_log(PLAIN, number),), logged_until_ready=True
        )
        assert doubts(logged, record) == ([("invalid", f"the server's log {said}")] if said else [])


def test_without_a_log_nothing_is_held_against_it() -> None:
    assert doubts(logged, with_server(HONEST, logged=None)) == []
