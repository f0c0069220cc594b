"""Paths: what each cannot carry, what is proved of a trial behind one, and what is said when one dies."""

from __future__ import annotations

import pwd
from typing import Any

import pytest

from fake_trials import fake_record, tax_truth
from left_out import why_no_path
from tlstax.checks import judge
from tlstax.cli.measure_app import RunOptions
from tlstax.cli.run_command import study_of
from tlstax.network.paths.ssh import someone_else
from tlstax.plan.order import cases
from tlstax.records.trial import PathObservation, PathPart, Trial, TrialRecord
from tlstax.stats.wording import negotiated
from tlstax.study import Case, load_study
from tlstax.study.factors import CaseLevels
from tlstax.study.tls_levels import is_of_client, tls_at_server
from tlstax.support.errors import UserMistake

PLAIN = next(case for case in cases(load_study("tax")) if case.levels.get("tls") == "off")
ENTERED = 13306
"""The port that jobs of fake trials are sent to."""


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"path": "router-terminate", "tls": "off"}, "there is none"),
        ({"path": "router-reencrypt"}, "there is none"),
        ({"path": "router-encrypt", "tls": "1.3"}, "without TLS"),
        ({"path": "router-terminate", "tls": "1.1"}, "only TLS 1.2 and 1.3"),
        ({"path": "router-encrypt", "server": "mysql-5.6.14"}, "mysql-5.6.14 has neither"),
        ({"path": "router-terminate", "tls": "1.3", "group": "X25519"}, "P-256"),
        ({"path": "router-reencrypt", "tls": "1.2", "cipher": "AES256-SHA"}, "does not accept AES256-SHA"),
        ({"path": "router-encrypt", "certificate": "rsa-1024"}, "1024 bits"),
        ({"path": "router-terminate", "tls": "1.3", "client": "sysbench"}, "hide"),
        ({"path": "pgbouncer"}, "is PostgreSQL's, and leads to no MySQL"),
        ({"path": "unix-socket", "rtt_ms": 45}, "distance"),
    ],
)
def test_what_a_path_cannot_carry_is_left_out_and_said(levels: dict[str, Any], words: str) -> None:
    why = why_no_path(levels)
    assert why.startswith(levels["path"])
    assert words in why


@pytest.mark.parametrize(
    "levels",
    [
        {},
        {"path": "direct", "rtt_ms": 45, "tls": "1.3", "group": "X25519"},
        {"path": "unix-socket"},
        {"path": "stunnel", "tls": "1.3", "rtt_ms": 170},
        {"path": "router-passthrough", "tls": "1.0", "server": "mysql-5.6.14"},
        {"path": "router-reencrypt", "tls": "1.3", "group": "P-256"},
        {"path": "router-encrypt", "tls": "off"},
    ],
)
def test_what_it_can_carry_stays_in(levels: dict[str, Any]) -> None:
    assert why_no_path(levels) == ""


def test_what_the_server_sees_of_tls_is_the_clients_unless_the_path_ends_it() -> None:
    seen = {
        path: (tls_at_server(case), is_of_client(case))
        for path in ("direct", "stunnel", "router-passthrough", "router-terminate", "router-reencrypt")
        for case in (CaseLevels.of({"path": path, "tls": "1.2"}),)
    }
    assert seen == {
        "direct": ("1.2", True),
        "stunnel": ("1.2", True),
        "router-passthrough": ("1.2", True),
        "router-terminate": ("off", False),
        "router-reencrypt": ("default", False),
    }


def part(role: str = "near the client", program: str = "ssh", **changes: Any) -> PathPart:
    return PathPart.model_validate(
        {"role": role, "program": f"/kept/{program}", "pid": 80, "alive": True, **changes}
    )


def through(path: str = "ssh-aes256-cbc", **changes: Any) -> TrialRecord:
    """A valid trial of plaintext through a tunnel, with these changes of what was seen of the tunnel."""
    case = Case(levels={**PLAIN.levels, "path": path}, role="treatment")
    record = fake_record(Trial(block=0, position=0, case=case), tax_truth(PLAIN), duration_s=0.1)
    assert record.done is not None
    seen = PathObservation(
        name=path,
        specimen="openssh",
        version="9.2p1",
        parts=(part(), part("near the server", "sshd")),
        protection="aes256-cbc, umac-64-etm@openssh.com",
        said_by="the log of ssh",
        connections=record.done.lifetime.connections,
        entry_port=ENTERED,
        server_port=3306,
    )
    return record.model_copy(update={"path": seen.model_copy(update=changes)})


def test_a_trial_through_a_tunnel_that_was_in_the_way_is_valid_and_says_what_protected_it() -> None:
    record = through()
    assert judge(record).value == "valid", judge(record)
    assert negotiated([record]) == "plaintext, within aes256-cbc, umac-64-etm@openssh.com (openssh)"


@pytest.mark.parametrize(
    ("changes", "value", "reason"),
    [
        ({"name": "stunnel"}, "invalid", "the path stunnel was used"),
        (
            {"protection": "aes256-ctr, umac-64-etm@openssh.com"},
            "invalid",
            "where ssh-aes256-cbc is aes256-cbc",
        ),
        ({"protection": "aes256-cbcx"}, "invalid", "says aes256-cbcx"),
        ({"protection": None}, "unknown", "does not say what protected"),
        ({"connections": 0}, "invalid", "0 connections passed"),
        ({"connections": None}, "unknown", "does not show how many"),
        ({"parts": (part(), part("near the server", "sshd", alive=False))}, "invalid", "sshd of the path"),
    ],
)
def test_a_tunnel_that_was_not_as_claimed_is_found_out(
    changes: dict[str, Any], value: str, reason: str
) -> None:
    verdict = judge(through(**changes))
    assert verdict.value == value
    assert reason in verdict.reasons[0]


def test_a_path_without_evidence_is_unknown_and_one_where_there_should_be_none_is_invalid() -> None:
    record = through()
    assert judge(record.model_copy(update={"path": None})).value == "unknown"
    direct = record.trial.model_copy(update={"case": PLAIN})
    verdict = judge(record.model_copy(update={"trial": direct}))
    assert verdict.reasons == ("the path ssh-aes256-cbc was used, where the case is of path direct",)


def test_a_client_that_was_not_sent_to_the_socket_did_not_use_it() -> None:
    case = Case(levels={**PLAIN.levels, "path": "unix-socket"}, role="treatment")
    record = fake_record(Trial(block=0, position=0, case=case), tax_truth(PLAIN), duration_s=0.1)
    assert judge(record).reasons == ("the client was not sent to a Unix socket",)


def test_of_programs_that_ended_the_one_that_was_killed_is_named_first() -> None:
    ended = (
        part("near the server", "sshd", alive=False, ended="ended with status 255", last_line="bye"),
        part(alive=False, ended="ended by SIGKILL"),
    )
    verdict = judge(through(parts=ended).model_copy(update={"failure": "the connection was lost"}))
    assert verdict.value == "invalid"
    assert verdict.reasons == (
        "ssh of the path ssh-aes256-cbc, near the client, ended mid-trial (ended by SIGKILL); it logged "
        "nothing",
        "sshd of the path ssh-aes256-cbc, near the server, ended mid-trial (ended with status 255); the "
        "last line of its log: bye",
        "the connection was lost",
    )


def test_the_option_compares_paths_with_the_direct_one() -> None:
    study = study_of(RunOptions(path="stunnel,haproxy", tls="off"))
    assert study.baseline["path"] == "direct"
    assert study.levels_of()["path"] == ("direct", "stunnel", "haproxy")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("ssh-aes256", "did you mean 'ssh-aes256-c"),
        ("stunel", "did you mean 'stunnel'?"),
        ("router-terminate", "ends the TLS of the client"),
    ],
)
def test_a_path_that_is_none_or_cannot_be_taken_is_a_mistake(path: str, words: str) -> None:
    with pytest.raises(UserMistake, match="--path") as mistake:
        study_of(RunOptions(path=path, tls="off"))
    assert words in mistake.value.message


def test_ssh_logs_in_as_somebody_whose_shell_is_there() -> None:
    lines = (
        "root:*:0:0::/root:/bin/sh",
        "daemon:*:1:1::/usr/sbin:/nowhere/nologin",
        "sync:*:4:4::/bin:/bin/sh",
    )
    users = [
        pwd.struct_passwd((name, word, int(uid), int(gid), gecos, home, shell))
        for name, word, uid, gid, gecos, home, shell in (line.split(":") for line in lines)
    ]
    found = someone_else(users)
    assert found is not None
    assert found.pw_name == "sync"
    assert someone_else(users[:2]) is None
