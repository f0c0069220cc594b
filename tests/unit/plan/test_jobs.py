"""A job tells the client exactly what its case says, and whose library it was told to load is on record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tlstax import __version__
from tlstax.contract import (
    Account,
    ClosedLoop,
    DriverTerms,
    Job,
    OpenLoop,
    TcpEndpoint,
    TlsOff,
    TlsOn,
    TlsRequired,
    TlsUnset,
)
from tlstax.plan.jobs import (
    STEADY_WITHIN_S,
    captured,
    counted_operations,
    job_for,
    longest_warmup_s,
    rounds_of,
)
from tlstax.plan.timing import overhead_s, window_s
from tlstax.records.trial import LibraryClaim, Trial
from tlstax.run.trial import _client_claim
from tlstax.study import Case, Level, load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import JobTerms, Verification
from tlstax.study.workloads import put_back_sql
from tlstax.study.workloads.user_defined import UserWorkload

TERMS = JobTerms(
    endpoint=TcpEndpoint(host="127.0.0.1", port=3306),
    account=Account(user="u", password="", database="d"),
    tables={"sbtest": "t", "people": "p"},
    rows=10,
    verification=Verification(),
    client_cpus=(),
    client_libraries={"openssl-3.0": "/shelf/openssl-3.0/libssl.so.3"},
    duration_s=0.1,
    seed=1,
)
PROMISED = TERMS.model_copy(update={"counts_lingering": True})
LEVELS = CaseLevels.of({"workload": "reconnect", "connections": 2, "tls": "1.3"})
CLAIM = LibraryClaim(name="openssl-3.0", version="3.0.8", libssl_sha256="ab" * 32, libcrypto_sha256="cd" * 32)


@pytest.mark.parametrize(
    ("levels", "path", "claim"),
    [
        ({"client_tls_library": "openssl-3.0"}, "/shelf/openssl-3.0/libssl.so.3", CLAIM),
        ({"client_tls_library": "own"}, None, None),
        ({}, None, None),
    ],
)
def test_the_client_loads_the_library_of_its_case(
    levels: dict[str, Level], path: str | None, claim: LibraryClaim | None
) -> None:
    job = job_for(LEVELS | {**levels}, TERMS, sequence=0)
    assert isinstance(job.tls, TlsOn)
    assert job.tls.library == path
    assert _claimed({**LEVELS, **levels}) == claim


@pytest.mark.parametrize(
    ("levels", "groups"),
    [
        ({"group": "P-256"}, "P-256"),
        ({"group": "default"}, None),
        ({}, None),
        ({"group": "P-256", "tls": "1.0"}, None),
    ],
)
def test_the_client_offers_the_group_of_its_case(levels: dict[str, Level], groups: str | None) -> None:
    job = job_for(LEVELS | {**levels}, TERMS, sequence=0)
    assert isinstance(job.tls, TlsOn)
    assert job.tls.groups == groups


def test_a_client_in_the_clear_loads_none() -> None:
    levels: dict[str, Level] = {**LEVELS, "tls": "off", "client_tls_library": "openssl-3.0"}
    assert job_for(CaseLevels.of(levels), TERMS, sequence=0).tls == TlsOff()
    assert _claimed(levels) is None


@pytest.mark.parametrize("tls", ["off", "1.3"])
def test_a_client_that_is_started_over_a_library_is_not_told_of_it(tls: str) -> None:
    """libpq asks libcrypto for the hashes of SCRAM in plaintext, too."""
    levels: dict[str, Level] = {
        **LEVELS,
        "tls": tls,
        "client": "pgbench",
        "client_tls_library": "openssl-3.0",
    }
    job = job_for(CaseLevels.of(levels), TERMS, sequence=0)
    assert isinstance(job.tls, TlsOff) or job.tls.library is None
    assert _claimed(levels) == CLAIM


def test_a_servers_key_is_asked_for_only_where_it_may_be() -> None:
    """A driver, to which the field is unknown, is told it only where it is not to ask."""
    levels: dict[str, Level] = {**LEVELS, "tls": "off"}
    plain = job_for(CaseLevels.of(levels), TERMS, sequence=0).tls
    assert plain.model_dump_json() == '{"mode":"off"}'
    known = TERMS.model_copy(update={"verification": Verification(get_server_public_key=False)})
    assert job_for(CaseLevels.of(levels), known, sequence=0).tls == TlsOff(get_server_public_key=False)


def _claimed(levels: dict[str, Level]) -> LibraryClaim | None:
    trial = Trial(block=0, position=0, case=Case(levels=levels, role="treatment"))
    bench: Any = SimpleNamespace(
        equipment=SimpleNamespace(libraries={"openssl-3.0": SimpleNamespace(claim=lambda: CLAIM)})
    )
    return _client_claim(job_for(CaseLevels.of(levels), TERMS, sequence=0), trial, bench)


def test_a_trial_of_so_many_operations_has_them_in_its_rounds() -> None:
    counted = {**LEVELS, "workload": "people-delete", "queries": 500, "rounds": 3}
    job = job_for(CaseLevels.of({**counted, "client": "mysqlslap-9.7"}), TERMS, sequence=0)
    assert (job.operations, job.rounds) == (1500, 3)
    in_one_go = job_for(CaseLevels.of(counted), TERMS, sequence=0)
    assert (in_one_go.operations, in_one_go.rounds, in_one_go.reset) == (500, 1, ())
    assert job.warmup_s == 0, "a warm-up would delete rows that the operations are to find"
    assert job.reset == ("TRUNCATE TABLE p", "INSERT INTO p SELECT * FROM p_kept")
    adding = job_for(
        CaseLevels.of({**counted, "workload": "people-insert", "client": "mysqlslap-9.7"}), TERMS, sequence=0
    )
    assert adding.reset == (), "it would be in the window, and the table has no index that grows"
    timed = job_for(LEVELS | {"workload": "people-delete"}, TERMS, sequence=0)
    assert (timed.operations, timed.rounds, timed.reset, timed.duration_s) == (None, 1, (), 0.1)
    reading = job_for(LEVELS | {"workload": "people-select", "queries": 5}, TERMS, sequence=0)
    assert (reading.operations, reading.reset) == (5, ())
    assert reading.duration_s > 60, "so many operations take what they take"
    assert reading.warmup_s > 0


@pytest.mark.parametrize(
    ("workload", "level", "sent"),
    [
        ("point-select", "default", "prepared"),
        ("point-select", "text", "text"),
        ("people-select", "prepared", "prepared"),
        ("own", "text", "text"),
    ],
)
def test_statements_travel_as_the_case_has_it(workload: str, level: str, sent: str) -> None:
    own = {"sql": "SELECT 1 FROM {table}", "protocol": "prepared"}
    mine = UserWorkload.model_validate({"name": "own", "transactions": ({"statements": (own,)},)})
    terms = TERMS.model_copy(update={"workloads": {"own": mine}})
    job = job_for(LEVELS | {"workload": workload, "protocol": level}, terms, sequence=0)
    assert job.workload.protocol == sent
    assert all(one.protocol is None for each in job.workload.transactions for one in each.statements)


def test_a_workload_works_on_the_table_of_its_shape() -> None:
    assert " t " in f"{job_for(LEVELS, TERMS, sequence=0).workload.statements[0].sql} "
    people = job_for(LEVELS | {"workload": "people-select"}, TERMS, sequence=0)
    assert people.workload.statements[0].sql == "SELECT * FROM p"


def test_a_round_of_a_storm_has_an_operation_for_each_connection() -> None:
    storm = job_for(LEVELS | {"workload": "storm", "connections": 100}, TERMS, sequence=0)
    assert storm.workload.storm
    assert (storm.connections, storm.rounds, storm.operations) == (100, 10, 1000)
    assert storm.duration_s > 60, "so many connections take what they take"
    assert storm.reset == ()
    assert storm.warmup_s == 0, "every connection was opened once already, to be asked"
    assert storm.timeout_s >= 50, "the last connection waits for a hundred slow handshakes"
    fewer = job_for(LEVELS | {"workload": "storm", "connections": 8, "rounds": 3}, TERMS, sequence=0)
    assert fewer.timeout_s == TERMS.timeout_s
    assert (fewer.rounds, fewer.operations) == (3, 24)


def test_a_driver_is_told_its_options_and_nothing_of_tls_where_that_is_unset() -> None:
    told: dict[str, Level] = {"client": "pymysql-1.1", "tls": "unset", "option.a": "1", "option.b": "unset"}
    terms = TERMS.model_copy(update={"verification": Verification(verify="ca", ca_file="/ca.pem")})
    job = job_for(LEVELS | {**told, "batch": 10}, terms, sequence=0)
    assert job.tls == TlsUnset(trusted_ca_file="/ca.pem")
    assert job.driver == DriverTerms(options={"a": "1"}, steady_within_s=STEADY_WITHIN_S, batch=10)
    assert longest_warmup_s(job) == STEADY_WITHIN_S
    assert job_for(LEVELS, TERMS, sequence=0).driver is None


def test_a_driver_is_not_warmed_up_where_that_would_use_up_what_is_counted() -> None:
    counted: dict[str, Level] = {**LEVELS, "client": "pymysql-1.1", "workload": "insert", "queries": 5}
    job = job_for(CaseLevels.of(counted), TERMS, sequence=0)
    assert job.driver is not None
    assert longest_warmup_s(job) == job.driver.steady_within_s == 0.0


def test_a_driver_is_given_a_users_workload_as_its_statements() -> None:
    statement = {"sql": "SELECT {id}", "parameters": {"id": {"kind": "uniform_int"}}}
    own = {
        "mine": UserWorkload.model_validate({"name": "mine", "transactions": [{"statements": [statement]}]})
    }
    terms = TERMS.model_copy(update={"workloads": own})
    job = job_for(LEVELS | {"client": "pymysql-1.1", "workload": "mine"}, terms, sequence=0)
    assert (job.workload.mix, [one.sql for one in job.workload.statements]) == ((), ["SELECT {id}"])
    assert job_for(LEVELS | {"workload": "mine"}, terms, sequence=0).workload.mix


def test_the_account_is_the_one_of_the_plugin() -> None:
    other = Account(user="by-plugin", password="", database="d")
    terms = TERMS.model_copy(update={"accounts": {"mysql_native_password": other}})
    assert job_for(LEVELS | {"auth": "mysql_native_password"}, terms, sequence=0).account == other
    assert job_for(LEVELS | {"auth": "default"}, terms, sequence=0).account == TERMS.account


def test_trials_of_drivers_measure_as_long_as_those_that_they_are_compared_with() -> None:
    study = override(load_study("tax"), "client", ["engine", "pymysql-1.1"])
    levels: dict[str, Level] = {"workload": "point-select", "connections": 1, "client": "engine"}
    of_both = {
        window_s(CaseLevels.of({**levels, "client": client}), 0.1, study)
        for client in ("engine", "pymysql-1.1")
    }
    assert len(of_both) == 1
    assert of_both != {window_s(CaseLevels.of(levels), 0.1)}
    assert overhead_s(CaseLevels.of({**levels, "client": "pymysql-1.1"})) > overhead_s(CaseLevels.of(levels))


FULL_TERMS = TERMS.model_copy(
    update={
        "verification": Verification(
            verify="identity", ca_file="/ca.pem", certificate_file="/c.pem", key_file="/k.pem"
        ),
        "client_cpus": (1, 3),
        "source_addresses": ("127.0.0.2",),
        "schedule": OpenLoop(rate_per_s=50),
        "duration_s": 0.7,
        "timeout_s": 12.0,
        "seed": 100,
    }
)


def test_a_job_has_everything_of_its_case_and_its_terms() -> None:
    levels: dict[str, Level] = {**LEVELS, "connections": 8, "resumption": "on", "group": "P-256-first"}
    job = job_for(CaseLevels.of(levels), FULL_TERMS, sequence=7)
    assert job == Job(
        endpoint=FULL_TERMS.endpoint,
        account=FULL_TERMS.account,
        tls=TlsOn(
            min_version="1.3",
            max_version="1.3",
            groups="P-256:X25519:P-384:P-521",
            verify="identity",
            ca_file="/ca.pem",
            certificate_file="/c.pem",
            key_file="/k.pem",
            resumption=True,
        ),
        workload=job.workload,
        schedule=OpenLoop(rate_per_s=50),
        connections=8,
        threads=2,
        cpus=(1, 3),
        warmup_s=0.05,
        duration_s=0.7,
        timeout_s=12.0,
        source_addresses=("127.0.0.2",),
        seed=107,
        attributes={"program_name": "tlstax", "_client_version": __version__},
    )
    assert job.workload.reconnect
    assert job_for(CaseLevels.of({**levels, "connections": 1}), FULL_TERMS, sequence=7).threads == 1
    assert job_for(CaseLevels.of(levels), TERMS, sequence=0).threads == 1, (
        "on one thread where no processors are given"
    )


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({"tls": "default"}, TlsOn()),
        ({"tls": "1.2", "resumption": "off"}, TlsOn(min_version="1.2", max_version="1.2")),
        (
            {"cipher": "TLS_AES_128_GCM_SHA256"},
            TlsOn(min_version="1.3", max_version="1.3", ciphersuites="TLS_AES_128_GCM_SHA256"),
        ),
        (
            {"tls": "1.2", "cipher": "ECDHE-RSA-AES128-GCM-SHA256"},
            TlsOn(min_version="1.2", max_version="1.2", cipher_list="ECDHE-RSA-AES128-GCM-SHA256"),
        ),
        ({"tls": "1.2", "group": "X25519"}, TlsOn(min_version="1.2", max_version="1.2", groups="X25519")),
        ({"tls": "1.0"}, TlsOn(min_version="1.0", max_version="1.0", cipher_list="AES256-SHA:@SECLEVEL=0")),
        (
            {"certificate": "rsa-1024"},
            TlsOn(min_version="1.3", max_version="1.3", cipher_list="DEFAULT:@SECLEVEL=0"),
        ),
        ({"tls": "required"}, TlsRequired()),
        ({"tls": "unset"}, TlsUnset()),
    ],
)
def test_tls_is_told_as_the_case_has_it(levels: dict[str, Level], expected: object) -> None:
    assert job_for(LEVELS | {**levels}, TERMS, sequence=0).tls == expected


def test_without_a_level_of_tls_there_is_none() -> None:
    nameless = {name: level for name, level in LEVELS.items() if name != "tls"}
    assert job_for(CaseLevels.of(nameless), TERMS, sequence=0).tls == TlsOff()


def test_old_versions_are_spoken_without_groups_and_may_have_weak_keys() -> None:
    for version, weak in (("1.0", True), ("1.1", True), ("1.2", False)):
        levels: dict[str, Level] = {"tls": version, "cipher": "DHE-RSA-AES256-SHA", "group": "P-256"}
        tls = job_for(LEVELS | {**levels}, TERMS, sequence=0).tls
        assert isinstance(tls, TlsOn)
        assert tls.weak_dh is weak
        assert tls.groups == (None if weak else "P-256")
    ordinary = job_for(LEVELS | {"tls": "1.0", "cipher": "AES256-SHA"}, TERMS, sequence=0).tls
    assert isinstance(ordinary, TlsOn)
    assert not ordinary.weak_dh


def test_a_required_tls_names_the_authority() -> None:
    terms = TERMS.model_copy(update={"verification": Verification(verify="ca", ca_file="/ca.pem")})
    assert job_for(LEVELS | {"tls": "required"}, terms, sequence=0).tls == TlsRequired(
        trusted_ca_file="/ca.pem"
    )


def test_a_users_own_statements_put_back_what_they_change() -> None:
    change = {"sql": "DELETE FROM {table} LIMIT 1", "parameters": {}}
    own = UserWorkload.model_validate(
        {"name": "mine", "transactions": [{"statements": [change]}], "restore": ["UPDATE {table} SET c = 1"]}
    )
    terms = TERMS.model_copy(update={"workloads": {"mine": own}})
    levels: dict[str, Level] = {
        **LEVELS,
        "workload": "mine",
        "client": "mysqlslap-9.7",
        "queries": 5,
        "rounds": 2,
    }
    job = job_for(CaseLevels.of(levels), terms, sequence=0)
    assert job.reset[-1] == "UPDATE t SET c = 1"
    assert job.reset[:-1] == put_back_sql("t")


def test_a_storm_waits_half_a_second_for_each_connection_where_that_is_more() -> None:
    for connections, timeout_s in ((8, 12.0), (24, 12.0), (100, 50.0)):
        storm = {**LEVELS, "workload": "storm", "connections": connections}
        assert job_for(CaseLevels.of(storm), FULL_TERMS, sequence=0).timeout_s == timeout_s
    assert job_for(LEVELS | {"connections": 100}, FULL_TERMS, sequence=0).timeout_s == 12.0
    assert job_for(LEVELS | {"connections": 2000}, FULL_TERMS, sequence=0).timeout_s == 40.0
    hasty = TERMS.model_copy(update={"timeout_s": 0.25})
    assert job_for(LEVELS, hasty, sequence=0).timeout_s == 0.25


@pytest.mark.parametrize(
    ("levels", "operations"),
    [
        ({}, 50),
        ({"connections": 8}, 56),
        ({"connections": 64}, 64),
        ({"connections": 3, "client": "pymysql-1.1", "batch": 10}, 60),
        ({"connections": 8, "workload": "storm"}, 8),
        ({"workload": "people-delete", "client": "mysqlslap-9.7", "queries": 9, "rounds": 3}, 50),
    ],
)
def test_a_captured_trial_has_some_fifty_operations_that_divide(
    levels: dict[str, Level], operations: int
) -> None:
    whole = job_for(LEVELS | {**levels}, FULL_TERMS, sequence=0)
    few = captured(whole)
    changes = {"operations": operations, "rounds": 1, "reset": (), "warmup_s": 0.0, "duration_s": 600.0}
    driver = whole.driver and whole.driver.model_copy(update={"steady_within_s": 0.0})
    assert few == whole.model_copy(update={**changes, "schedule": ClosedLoop(), "driver": driver})


def test_a_client_warms_up_as_long_as_its_job_says() -> None:
    assert longest_warmup_s(job_for(LEVELS, TERMS, sequence=0)) == 0.05
    driver = job_for(LEVELS | {"client": "pymysql-1.1"}, TERMS, sequence=0)
    assert driver.driver is not None
    assert driver.driver.batch == 1
    assert longest_warmup_s(driver) == 10.0
    assert longest_warmup_s(driver.model_copy(update={"warmup_s": 11.0})) == 11.0
    for workload, queries, within_s in (
        ("insert", 5, 0.0),
        ("insert", None, 10.0),
        ("point-select", 5, 10.0),
    ):
        told: dict[str, Level] = {**LEVELS, "client": "pymysql-1.1", "workload": workload}
        job = job_for(CaseLevels.of({**told, "queries": queries} if queries else told), TERMS, sequence=0)
        assert job.driver is not None
        assert job.driver.steady_within_s == within_s


@pytest.mark.parametrize(
    ("levels", "operations", "rounds"),
    [
        ({}, None, 1),
        ({"rounds": 3}, None, 1),
        ({"queries": 500}, 500, 1),
        ({"queries": 500, "rounds": 3}, 500, 1),
        ({"queries": 500, "client": "mysqlslap-9.7"}, 500, 1),
        ({"queries": 500, "rounds": 3, "client": "mysqlslap-9.7"}, 1500, 3),
        ({"workload": "storm"}, 20, 10),
        ({"workload": "storm", "rounds": 3}, 6, 3),
    ],
)
def test_how_many_operations_in_how_many_rounds(
    levels: dict[str, Level], operations: int | None, rounds: int
) -> None:
    told = {**LEVELS, **levels}
    assert (counted_operations(CaseLevels.of(told)), rounds_of(CaseLevels.of(told))) == (operations, rounds)


def test_only_what_changes_data_and_is_counted_is_not_warmed_up() -> None:
    writing: dict[str, Level] = {**LEVELS, "workload": "people-delete"}
    assert job_for(CaseLevels.of(writing), TERMS, sequence=0).warmup_s == 0.05
    assert job_for(CaseLevels.of({**writing, "queries": 5}), TERMS, sequence=0).warmup_s == 0.0
    assert job_for(LEVELS | {"queries": 5}, TERMS, sequence=0).warmup_s == 0.05


@pytest.mark.parametrize(
    ("workload", "lingering", "is_warmed_up"),
    [("reconnect", 3, False), ("point-select", 0, True), ("storm", 0, False)],
)
def test_only_where_the_server_was_promised_something_does_a_job_tell_of_what_lingers(
    workload: str, lingering: int, is_warmed_up: bool
) -> None:
    levels = {**LEVELS, "workload": workload, "connections": 5}
    promised, private = (job_for(CaseLevels.of(levels), terms, sequence=1) for terms in (PROMISED, TERMS))
    assert (promised.lingering, promised.warmup_s > 0) == (lingering, is_warmed_up)
    assert "lingering" not in private.model_dump_json()
    unchanged = {"lingering": None, "warmup_s": private.warmup_s}
    assert promised.model_copy(update=unchanged) == private


def test_a_driver_at_an_external_server_is_told_nothing_that_it_does_not_know() -> None:
    """Every driver refused such jobs: "job has a field that this client does not know"."""
    there = PROMISED.model_copy(update={"verification": Verification(get_server_public_key=False)})
    kept: dict[str, Level] = {"workload": "point-select", "connections": 2, "tls": "off"}
    told = {
        client: job_for(CaseLevels.of({**kept, "client": client}), there, sequence=0)
        for client in ("engine", "pymysql-1.2")
    }
    plain = {client: job.model_dump(mode="json", by_alias=True) for client, job in told.items()}
    assert plain["engine"]["lingering"] == 0
    assert plain["engine"]["tls"] == {"mode": "off", "get_server_public_key": False}
    assert "lingering" not in plain["pymysql-1.2"]
    assert plain["pymysql-1.2"]["tls"] == {"mode": "off"}


def test_at_postgresql_a_trial_is_named_by_its_number_in_names_of_one_length() -> None:
    there = TERMS.model_copy(update={"product": "postgresql"})
    names = [job_for(LEVELS, there, sequence=number).attributes for number in (0, 42, 123_456)]
    assert names == [
        {"application_name": f"tlstax {__version__} trial {digits}"}
        for digits in ("000000", "000042", "123456")
    ]
