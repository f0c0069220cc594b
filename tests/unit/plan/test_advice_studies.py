"""What is measured for an advice: each change beside what is now, once, and nothing that a server lacks."""

from __future__ import annotations

import pytest

from tlstax.plan.advice_studies import (
    AT_ONCE,
    ROWS_THERE,
    Changes,
    changes_like_it,
    changes_there,
    stand_in_for,
    study_like_it,
    study_there,
)
from tlstax.plan.order import cases
from tlstax.plan.turns import takes_turns
from tlstax.study.factors import CaseLevels


def full() -> Changes:
    return changes_there("1.3", "1.2", answer_bytes=700, resumes=True, retried=True)


def least() -> Changes:
    return changes_there("1.2", None, answer_bytes=120, resumes=False, retried=False)


def test_each_change_is_one_level_of_what_clients_do_now() -> None:
    now = {"tls": "1.3", "resumption": "off", "group": "default", "workload": "session-1x700"}
    assert full().now == now
    assert full().changed == {
        "pool": {**now, "workload": "answer-700"},
        "resumption": {**now, "resumption": "on"},
        "group": {**now, "group": "P-256-first"},
        "version": {**now, "tls": "1.2"},
    }


def test_there_only_what_clients_can_change_is_measured() -> None:
    assert set(least().changed) == {"pool"}
    study = study_there(full(), 30)
    assert (study.name, study.deciding_outcome, study.minimum_blocks) == (
        "advice-there",
        "latency_mean_us",
        3,
    )
    assert set(study.levels_of()) == {"tls", "resumption", "group", "workload", "connections"}
    assert (study.rows, study.budget_s, study.levels_of()["connections"]) == (ROWS_THERE, 30, (1,))
    measured = [case.levels for case in cases(study) if case.role != "control"]
    assert len(measured) == 5
    assert all(case.is_encrypted for case in measured), "nothing goes over somebody's network in the clear"


def test_like_it_the_key_is_changed_as_well_beside_plaintext_on_both_processes() -> None:
    changes = changes_like_it(full(), "rsa-4096")
    assert set(changes.changed) == {*full().changed, "clear", "certificate", "clear of certificate"}
    study = study_like_it(changes, "mysql-8.0.33", 60)
    assert (study.name, study.minimum_blocks, study.precision) == ("advice", 3, 0.01)
    assert study.levels_of()["server"] == ("mysql-8.0.33",)
    assert study.levels_of()["connections"] == (AT_ONCE,)
    assert set(study.levels_of()["certificate"]) == {"rsa-4096", "ec-p256"}
    assert all(takes_turns(case.levels, study) for case in cases(study))
    clear = [CaseLevels.of(levels).certificate for levels in study.treatments if levels["tls"] == "off"]
    assert sorted(clear) == ["ec-p256", "rsa-4096"]


def test_a_server_with_the_cheapest_key_needs_no_second_process() -> None:
    changes = changes_like_it(least(), "ec-p256")
    now = {**least().now, "certificate": "ec-p256"}
    assert changes.now == now
    assert changes.changed == {
        "pool": {**now, "workload": "answer-120"},
        "resumption": {**now, "resumption": "on"},
        "version": {**now, "tls": "1.3"},
        "clear": {**now, "tls": "off"},
    }
    study = study_like_it(changes, "mysql-9.7", 60)
    assert study.levels_of()["certificate"] == ("ec-p256",)


def test_a_postgresql_s_groups_are_changed_beside_plaintext_on_both_processes() -> None:
    there = changes_there("1.3", None, answer_bytes=120, resumes=False, retried=True, direct=True)
    assert set(there.changed) == {"pool", "group", "direct"}
    assert there.changed["direct"]["tls"] == "1.3-direct"
    for option, offered in (
        ("ssl_groups=prime256v1", "default"),
        ("ssl_ecdh_curve=secp384r1", "P-256-first"),
    ):
        changes = changes_like_it(there, "ec-p256", resumes=False, groups=option)
        assert set(changes.changed) == {*there.changed, "clear", "groups", "clear of groups"}
        assert changes.now["configuration"] == changes.changed["pool"]["configuration"] == option
        mended = changes.changed["groups"]
        assert (mended["configuration"], mended["group"]) == ("default", offered)
        assert changes.changed["clear of groups"]["configuration"] == "default"
        study = study_like_it(changes, "postgresql-18", 60)
        assert all(takes_turns(case.levels, study) for case in cases(study))
    assert "resumption" not in changes_like_it(there, "ec-p256", resumes=False).changed


@pytest.mark.parametrize(
    ("version", "specimen"),
    [
        ("PostgreSQL 18.4", "postgresql-18"),
        ("PostgreSQL 15.18 (Debian 15.18-0+deb12u1)", "postgresql-15"),
        ("PostgreSQL 10.23", "postgresql-10"),
        ("PostgreSQL 19devel", "postgresql-18"),
        ("PostgreSQL 9.6.24", None),
        ("9.7.4", "mysql-9.7"),
        ("8.0.36-28", "mysql-8.0.33"),
        ("8.4.2", "mysql-8.0.33"),
        ("5.7.44-log", "mysql-8.0.33"),
        ("5.6.51", "mysql-5.6.14"),
        ("5.5.62", "mysql-5.5.34"),
        ("5.1.73", None),
        ("10.6.18-MariaDB", "mariadb-10.5"),
        ("10.11.6-MariaDB-0+deb12u1", "mariadb-10.11"),
        ("11.8.9-MariaDB", "mariadb-11.8"),
        ("12.1.2-MariaDB", "mariadb-11.8"),
        ("unknown", None),
    ],
)
def test_the_nearest_server_of_the_product_stands_in(version: str, specimen: str | None) -> None:
    assert stand_in_for(version) == specimen
