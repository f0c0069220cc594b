"""The claimed path carried the connections, alive and protecting as claimed: each doubt with its sentence."""

from __future__ import annotations

from typing import Any

import pytest

from check_by_check import doubts
from fake_trials import fake_record, tax_truth
from tlstax.checks.network import NAGLE, ended_programs, way
from tlstax.contract import UnixEndpoint
from tlstax.plan.order import cases
from tlstax.records.trial import PathObservation, PathPart, ServerClaim, Trial, TrialRecord
from tlstax.study import Case, load_study

PLAIN = next(case for case in cases(load_study("tax")) if case.levels.get("tls") == "off")
CLAIM = ServerClaim(
    name="mysql-9.7", version="9.7.4", program="/kept/mysqld", pid=70, data_directory="/session/1/data"
)
NEAR_CLIENT = PathPart(role="near the client", program="/kept/haproxy", pid=80, alive=True)
NEAR_SERVER = PathPart(role="near the server", program="/kept/haproxy", pid=81, alive=True)


def trial(path: str, **levels: str) -> TrialRecord:
    case = Case(levels={**PLAIN.levels, "path": path, **levels}, role="treatment")
    return fake_record(Trial(block=0, position=0, case=case), tax_truth(PLAIN), duration_s=0.1)


def made(record: TrialRecord) -> int:
    assert record.done is not None
    return record.done.lifetime.connections


def through(path: str, protection: str | None = None, **changes: Any) -> TrialRecord:
    record = trial(path)
    seen = PathObservation(
        name=path,
        specimen="it",
        version="1",
        parts=(NEAR_CLIENT, NEAR_SERVER),
        protection=protection,
        said_by="its log",
        connections=made(record),
        entry_port=13306,
        server_port=3306,
    )
    return record.model_copy(update={"path": seen.model_copy(update=changes)})


def test_a_path_that_was_as_claimed_is_no_doubt() -> None:
    assert doubts(way, through("haproxy")) == []
    assert doubts(way, through("stunnel", "TLSv1.3")) == []
    assert doubts(way, through("stunnel", "TLSv1.3, TLS_AES_128_GCM_SHA256")) == []
    assert doubts(way, trial("direct")) == []


def test_of_ssh_it_is_noted_what_sshd_does() -> None:
    assert doubts(way, through("ssh-aes256-ctr", "aes256-ctr, hmac-sha2-256")) == [("note", NAGLE)]
    assert NAGLE.startswith("sshd holds small packets back")


@pytest.mark.parametrize(
    ("record", "doubt"),
    [
        (trial("stunnel"), ("unknown", "nothing shows that the path stunnel was between client and server")),
        (
            through("stunnel", "TLSv1.3", name="haproxy-tls"),
            ("invalid", "the path haproxy-tls was used, where the case is of path stunnel"),
        ),
        (
            through("haproxy", "TLSv1.3"),
            ("invalid", "the path haproxy protects nothing, and its log says TLSv1.3"),
        ),
        (through("stunnel"), ("unknown", "its log does not say what protected the bytes on stunnel")),
        (through("stunnel", "TLSv1.2"), ("invalid", "its log says TLSv1.2, where stunnel is TLSv1.3")),
        (
            through("stunnel", "TLSv1.3 and TLSv1.2"),
            ("invalid", "its log says TLSv1.3 and TLSv1.2, where stunnel is TLSv1.3"),
        ),
        (
            through("stunnel", "TLSv1.2, TLSv1.3"),
            ("invalid", "its log says TLSv1.2, TLSv1.3, where stunnel is TLSv1.3"),
        ),
        (
            through("stunnel", "TLSv1.3, and TLSv1.2 and more"),
            ("invalid", "its log says TLSv1.3, and TLSv1.2 and more, where stunnel is TLSv1.3"),
        ),
        (
            through("haproxy", connections=None),
            ("unknown", "its log does not show how many connections passed haproxy"),
        ),
        (
            through("haproxy", connections=3),
            ("invalid", f"3 connections passed haproxy, the client made {made(trial('haproxy'))}"),
        ),
    ],
)
def test_a_path_that_was_not_as_claimed_is_doubted(record: TrialRecord, doubt: tuple[str, str]) -> None:
    assert doubts(way, record) == [doubt]


def test_a_program_that_ended_is_told_and_then_nobody_counts() -> None:
    dead = NEAR_SERVER.model_copy(update={"alive": False, "ended": "ended by SIGKILL"})
    record = through("haproxy", parts=(NEAR_CLIENT, dead), connections=None)
    assert doubts(way, record) == [
        (
            "invalid",
            "haproxy of the path haproxy, near the server, ended "
            "mid-trial (ended by SIGKILL); it logged nothing",
        )
    ]


def test_no_path_may_be_in_the_way_of_a_direct_case() -> None:
    record = through("haproxy")
    assert doubts(way, record, {"tls": "off"}) == [
        ("invalid", "the path haproxy was used, where the case is of path direct")
    ]
    assert doubts(way, record, {"tls": "off", "path": "unix-socket"}) == [
        ("invalid", "the path haproxy was used, where the case is of path unix-socket"),
        ("invalid", "the client was not sent to a Unix socket"),
    ]


def test_a_socket_is_the_claimed_servers_own() -> None:
    record = trial("unix-socket")
    assert record.job is not None
    own = record.job.model_copy(update={"endpoint": UnixEndpoint(path="/session/1/mysqld.sock")})
    other = record.job.model_copy(update={"endpoint": UnixEndpoint(path="/session/2/mysqld.sock")})
    claimed = record.model_copy(update={"claim": CLAIM})
    assert doubts(way, claimed.model_copy(update={"job": own})) == []
    said = "the client was sent to /session/2/mysqld.sock, which is not a socket of mysql-9.7"
    assert doubts(way, claimed.model_copy(update={"job": other})) == [("invalid", said)]
    assert doubts(way, record.model_copy(update={"job": other})) == [], "without a claim any socket may be it"
    assert doubts(way, claimed.model_copy(update={"job": other}), {"path": "direct"}) == []
    assert doubts(way, record.model_copy(update={"job": None})) == [
        ("invalid", "the client was not sent to a Unix socket")
    ]


def test_of_programs_that_ended_the_killed_is_first_and_a_status_of_its_own_last() -> None:
    parts = tuple(
        NEAR_CLIENT.model_copy(
            update={"alive": alive, "program": f"/bin/{name}", "ended": ended, "last_line": last}
        )
        for name, alive, ended, last in (
            ("a", False, "ended with status 1", "bye"),
            ("b", True, "", ""),
            ("c", False, "nobody knows how", ""),
            ("d", False, "ended by SIGSEGV", "oh"),
        )
    )
    assert ended_programs(through("haproxy", parts=parts)) == (
        "d of the path haproxy, near the client, ended mid-trial "
        "(ended by SIGSEGV); the last line of its log: oh",
        "c of the path haproxy, near the client, ended mid-trial (nobody knows how); it logged nothing",
        "a of the path haproxy, near the client, ended mid-trial "
        "(ended with status 1); the last line of its "
        "log: bye",
    )
    assert ended_programs(trial("direct")) == ()
