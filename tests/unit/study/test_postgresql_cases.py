"""What a study may say of PostgreSQL, what is left out and why, and what its jobs are."""

from __future__ import annotations

import pytest

from left_out import why_left_out
from tlstax.contract import Account, Job, PostgreSqlServer, TcpEndpoint, TlsOn
from tlstax.plan.jobs import job_for
from tlstax.study import Level, load_study, override, workloads
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import ClientProof, JobTerms, Verification
from tlstax.study.labels import label_levels
from tlstax.study.level_names import AUTH_PLUGINS, POSTGRESQL_AUTH, path_words
from tlstax.study.server_abilities import abilities_named

ADMITTED = Account(user="load", password="", database="scratch")
TERMS = JobTerms(
    product="postgresql",
    endpoint=TcpEndpoint(host="127.0.0.1", port=5432),
    account=ADMITTED,
    accounts={method: Account(user=method, password="", database="scratch") for method in POSTGRESQL_AUTH},
    tables=dict(workloads.TABLES),
    rows=100_000,
    verification=Verification(),
    client_cpus=(),
    client_proof=ClientProof(account=ADMITTED, certificate_file="c.pem", key_file="k.pem"),
    duration_s=0.1,
    seed=1,
)


def why(server: str | None, **levels: Level) -> str:
    """Why the case at this server cannot be measured; empty where it can."""
    named: dict[str, Level] = {"server": server} if server else {}
    return why_left_out({"tls": "1.3", "workload": "reconnect", **named, **levels})


@pytest.mark.parametrize(
    ("server", "levels", "words"),
    [
        ("postgresql-18", {"tls": "1.3-direct"}, ""),
        ("postgresql-17-openssl1.1", {"tls": "1.3-direct"}, ""),
        ("postgresql-16", {"tls": "1.3-direct"}, "postgresql-16 cannot begin TLS at once"),
        ("mysql-9.7", {"tls": "1.3-direct"}, "MySQL begins in the clear"),
        ("mariadb-11.8", {"tls": "1.3-direct"}, "MariaDB begins in the clear"),
        (None, {"tls": "1.3-direct"}, "MySQL begins in the clear"),
        ("postgresql-13", {"tls": "1.1"}, "postgresql-13 accepts TLS from 1.2 on"),
        ("postgresql-18-openssl1.1", {"tls": "1.0"}, "postgresql-18-openssl1.1 accepts TLS from 1.2 on"),
        ("postgresql-12", {"tls": "1.0"}, ""),
        ("postgresql-10", {"tls": "1.1"}, ""),
        ("postgresql-18", {"resumption": "on"}, "PostgreSQL resumes no TLS session"),
        ("postgresql-18", {"compression": "zlib"}, "PostgreSQL's protocol has no compression"),
        ("postgresql-18", {"client": "sysbench"}, "sysbench does not speak PostgreSQL's protocol"),
        ("postgresql-18", {"client": "pymysql-1.1"}, "pymysql-1.1 does not speak PostgreSQL's protocol"),
        ("postgresql-18", {"path": "router-passthrough"}, "router-passthrough is MySQL's"),
        ("postgresql-18", {"path": "pgbouncer-terminate", "tls": "off"}, "with tls = off there is none"),
        ("postgresql-18", {"path": "pgbouncer", "tls": "1.3"}, "accepts only clients without TLS"),
        ("postgresql-18", {"path": "pgbouncer-encrypt-transaction", "tls": "1.2"}, "clients without TLS"),
        ("postgresql-18", {"path": "pgbouncer-terminate", "tls": "1.3-direct"}, "waits for a client to ask"),
        (
            "postgresql-18",
            {"path": "pgbouncer-1.18-transaction", "tls": "off", "protocol": "prepared"},
            "by transaction from 1.21 on",
        ),
        (
            "postgresql-18",
            {"path": "pgbouncer", "tls": "off", "auth": "md5"},
            "logs in at the server with what SCRAM tells it",
        ),
        ("postgresql-18", {"path": "unix-socket"}, "unix-socket has no TLS at PostgreSQL"),
        ("postgresql-18", {"path": "unix-socket", "tls": "off"}, ""),
        ("postgresql-18", {"path": "haproxy"}, ""),
        ("postgresql-18", {"auth": "md5"}, ""),
        ("postgresql-18", {"auth": "trust", "tls": "off"}, ""),
        ("postgresql-18", {"auth": "caching_sha2_password"}, "postgresql-18 has no accounts with caching"),
        ("mysql-9.7", {"auth": "md5"}, "mysql-9.7 has no accounts with md5"),
        (None, {"auth": "trust"}, "MySQL has no accounts with trust"),
        ("postgresql-18", {"auth": "scram-sha-256-plus", "tls": "off"}, "binds the login to the TLS channel"),
        ("postgresql-18", {"auth": "password", "tls": "off"}, "sends the password as it is"),
        ("postgresql-18", {"auth": "cert"}, "is by the client's certificate"),
        ("postgresql-18", {"auth": "cert", "client_certificate": "on"}, ""),
        ("postgresql-18", {"auth": "md5", "client_certificate": "on"}, "has the server's default plugin"),
    ],
)
def test_what_cannot_be_is_left_out_with_a_sentence(
    server: str | None, levels: dict[str, Level], words: str
) -> None:
    said = why(server, **levels)
    assert said.startswith(words) or words in said
    assert bool(said) == bool(words)


def test_a_run_on_postgresql_leaves_out_what_it_cannot_do_and_keeps_the_rest() -> None:
    study = override(load_study("tax"), "server", ["postgresql-18"])
    study = override(study, "tls", ["off", "1.3", "1.3-direct"])
    shown = {label_levels(case, study) for case in study.included()}
    assert "TLS 1.3 direct" in {each.split(",")[0] for each in shown}
    assert not any(case.resumes for case in study.included())


@pytest.mark.parametrize("major", range(10, 20))
def test_direct_tls_came_with_17(major: int) -> None:
    for name in (f"postgresql-{major}", f"postgresql-{major}-openssl1.1"):
        abilities = abilities_named(name)
        assert abilities is not None
        assert abilities.product == "postgresql"
        assert abilities.direct_tls is (major >= 17)
        assert abilities.account_plugins == POSTGRESQL_AUTH


def test_other_names_are_no_servers_of_postgresql() -> None:
    assert abilities_named("postgresql") is None
    assert abilities_named("postgresql-9") is None
    mysql = abilities_named("mysql-9.7")
    assert mysql is not None
    assert not set(mysql.account_plugins) - set(AUTH_PLUGINS)


def job(**levels: Level) -> Job:
    return job_for(CaseLevels.of({"server": "postgresql-18", **levels}), TERMS, sequence=0)


@pytest.mark.parametrize(
    ("levels", "begins", "asked"),
    [
        ({"tls": "off"}, "request", ()),
        ({"tls": "1.3"}, "request", ()),
        ({"tls": "1.3-direct"}, "direct", ()),
        ({"tls": "1.3", "auth": "scram-sha-256"}, "request", ("scram-sha-256",)),
        ({"tls": "1.3", "auth": "scram-sha-256-plus"}, "request", ("scram-sha-256-plus",)),
        ({"tls": "off", "auth": "md5"}, "request", ("md5",)),
        ({"tls": "1.3", "auth": "password"}, "request", ("password",)),
        ({"tls": "off", "auth": "trust"}, "request", ("none",)),
        ({"tls": "1.3", "auth": "cert", "client_certificate": "on"}, "request", ("none",)),
    ],
)
def test_a_job_says_how_tls_begins_and_how_to_log_in(
    levels: dict[str, Level], begins: str, asked: tuple[str, ...]
) -> None:
    made = job(**levels)
    assert isinstance(made.server, PostgreSqlServer)
    assert (made.server.ssl_negotiation, made.server.require_auth) == (begins, asked)
    assert made.account.user == levels.get("auth", ADMITTED.user)
    if isinstance(made.tls, TlsOn):
        assert (made.tls.min_version, made.tls.max_version) == ("1.3", "1.3")
        assert (made.tls.key_file == "k.pem") is ("client_certificate" in levels)


def test_trials_are_told_apart_by_the_names_of_their_clients() -> None:
    """Names of one length: the bytes that a connection sends are measured."""
    case = CaseLevels.of({"tls": "off"})
    names = {job_for(case, TERMS, sequence=at).attributes["application_name"] for at in (0, 7, 99_999)}
    assert len(names) == 3
    assert len({len(name) for name in names}) == 1


def test_a_job_says_nothing_that_postgresql_would_refuse() -> None:
    """StartupMessage takes settings alone: those of MySQL's attributes are none."""
    assert set(job(tls="off").attributes) == {"application_name"}
    assert (
        "server"
        not in job_for(
            CaseLevels.of({"tls": "off"}), TERMS.model_copy(update={"product": "mysql"}), sequence=0
        ).model_dump()
    )


@pytest.mark.parametrize("name", [*workloads.NAMES, "rows-3x1000", "rows-1x100000", "connect-rows-2x1000"])
def test_the_statements_have_no_words_of_mysqls_own(name: str) -> None:
    made = job(workload=name, tls="off").workload
    said = [*made.on_connect, *(one.sql for each in made.transactions for one in each.statements)]
    for words in ("autocommit", "@tlstax", "GROUP_CONCAT", "ELT("):
        assert not any(words in sql for sql in said), words


def test_words_are_inserted_within_one_transaction() -> None:
    assert job(workload="words-insert", tls="off").workload.on_connect == ("BEGIN",)


def test_long_rows_are_settings_of_the_session() -> None:
    made = job(workload="rows-3x1000", tls="off").workload
    (sets,), (statement,) = made.on_connect, made.statements
    assert sets.count("set_config('tlstax.value_") == 3
    assert [f"tlstax.value_{number}" in statement.sql for number in range(4)] == [True, True, True, False]
    (of_one,) = job(workload="rows-1x1000", tls="off").workload.statements
    assert "CASE" not in of_one.sql


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("pgbouncer", "through PgBouncer without TLS"),
        ("pgbouncer-terminate", "through PgBouncer, which ends TLS"),
        ("pgbouncer-transaction", "through PgBouncer by transaction, without TLS"),
        ("pgbouncer-1.18-password", "through PgBouncer 1.18 with the password, without TLS"),
        (
            "pgbouncer-1.18-reencrypt-password-transaction",
            "through PgBouncer 1.18 by transaction with the password, which ends TLS and begins it anew",
        ),
    ],
)
def test_a_pooler_is_named_by_its_release_and_by_what_it_does(path: str, words: str) -> None:
    assert path_words(path) == words
