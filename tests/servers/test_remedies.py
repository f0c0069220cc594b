"""Every line that is printed for pasting into a server is pasted into each that it is for."""

from __future__ import annotations

from dataclasses import replace

import pymysql
import pytest
from test_guest_run import PASSWORD, SMALL, as_owner, lent

from conftest import fetched
from tlstax.contract import Account, TlsOn
from tlstax.results.inspection import Step
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.stats.remedies import (
    ADMINISTRATOR,
    RESTART,
    SERVER,
    TABLE,
    Entry,
    Remedy,
    entry_for,
    remedies_at,
)
from tlstax.study.product import product_of, release_of
from tlstax.tools.tls_probe import ask, questions

PLAIN = ServerSettings(buffer_pool_bytes=SMALL)
OLDER = (
    "mysql-8.0.33",
    "mysql-5.6.14",
    "mysql-5.6.24",
    "mysql-5.5.34",
    "mariadb-10.11",
    "mariadb-10.5",
    "mariadb-10.11-wolfssl",
    "mariadb-11.4-wolfssl",
    "mariadb-10.1-yassl",
)
SERVERS = ("mysql-9.7", "mariadb-11.8", *(pytest.param(name, marks=pytest.mark.long) for name in OLDER))
HAS_TODAYS_TLS = ((5, 7, 28), (10, 4, 6))
"""By product, MySQL and MariaDB."""

SAFE = {"TLS 1.2", "TLS 1.3", "ECDHE with AES-GCM"}

WANTS_TLS = {3159, 1045, 4151}
"""By which a server refuses a login in the clear: of everybody, of an account."""


def entries(server: PrivateServer) -> dict[Remedy, Entry]:
    return {remedy: entry_for(remedy, server.version) for remedy in remedies_at(server.version)}


def steps(server: PrivateServer, where: str) -> list[Step]:
    return [step for own in entries(server).values() for step in own.steps if step.where == where]


def options(server: PrivateServer) -> tuple[str, ...]:
    """All lines for the option file, as options, with files that are there."""
    lines = []
    for head, *own in (step.lines for step in steps(server, SERVER)):
        assert head == "[mysqld]"
        lines += [
            line for line in own if not line.startswith("ssl_cert ") and not line.startswith("ssl_key ")
        ]
    assert not [line for line in lines if "/path/to" in line]
    return tuple(f"--{'='.join(part.strip() for part in line.split('=', 1))}" for line in lines)


def refuses_plaintext(server: PrivateServer) -> bool:
    try:
        pymysql.connect(
            host="127.0.0.1",
            port=server.endpoint().port,
            user="ann",
            password=PASSWORD,
            ssl_disabled=True,
            connect_timeout=20,
        ).close()
    except pymysql.MySQLError as error:
        if error.args[0] in WANTS_TLS:
            return True
        raise
    return False


def taken(server: PrivateServer) -> set[str]:
    """Which versions and suites the server takes."""
    account = Account(user="ann", password=PASSWORD, database="lent")
    asked = [own for own in questions(TlsOn()) if own.name.startswith(("TLS 1", "ECDHE with AES", "RSA"))]
    return {
        own.name
        for own in asked
        if own.topic in {"version", "suite"} and ask(own, server.endpoint(), account).agreed
    }


@pytest.mark.parametrize("name", SERVERS)
def test_each_line_works_where_it_is_printed(session: Session, name: str) -> None:
    """TLS is required, and what is no longer safe is gone, but nothing else with it."""
    build = fetched(name)
    with lent(build, session, PLAIN) as server:
        assert not refuses_plaintext(server)
        is_todays = release_of(server.version) >= HAS_TODAYS_TLS[product_of(server.version) == "mariadb"]
        before = taken(server) if is_todays else set()
        for step in steps(server, ADMINISTRATOR):
            as_owner(server, *(line.replace("'user'@'host'", "'ann'@'127.0.0.1'") for line in step.lines))
        assert refuses_plaintext(server)
        needs_restart = any(step is RESTART for own in entries(server).values() for step in own.steps)
        after = taken(server) if is_todays and not needs_restart else None
        again = options(server)
    if again:
        with lent(build, session, replace(PLAIN, options=again)) as server:
            is_by_option = "--require_secure_transport=ON" in again
            assert refuses_plaintext(server) == is_by_option
            after = taken(server) if is_todays else set()
    if is_todays:
        assert after == before & SAFE
        assert after


def test_no_line_stands_in_the_table_that_no_server_here_tries() -> None:
    """What cannot be fetched is named: MySQL 5.7, and what holds only for it."""
    versions = {
        "9.7.4",
        "8.0.33",
        "5.6.14",
        "5.5.34",
        "11.8.9-MariaDB",
        "10.11.5-MariaDB",
        "10.5.29-MariaDB",
        "10.1.8-MariaDB",
    }
    tried = {id(entry_for(remedy, own)) for own in versions for remedy in remedies_at(own)}
    of_family = [own for own in TABLE if own.product != "postgresql"]
    untried = [
        (own.remedy, own.product, own.since) for own in of_family if id(own) not in tried and own.steps
    ]
    assert untried == [
        ("require TLS", "mysql", (5, 7, 8)),
        ("versions", "mysql", (5, 7, 28)),
        ("ciphers", "mysql", (5, 7, 28)),
    ]
