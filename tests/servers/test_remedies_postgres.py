"""Every line that is printed for pasting into a PostgreSQL is pasted into each that it is for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lent_postgres import PASSWORD, Lent, as_owner, hosts_are, lent
from pg8000 import native
from test_inspect import document, taken

from conftest import fetched
from tlstax.results.inspection import InspectedServer, Step
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.stats.remedies import (
    ADMINISTRATOR,
    ADMISSION,
    CONFIGURATION,
    PSQL,
    Remedy,
    entry_for,
    remedies_at,
)

SERVERS = (
    "postgresql-18",
    *(pytest.param(f"postgresql-{own}", marks=pytest.mark.long) for own in (10, 12, 17)),
)


@contextmanager
def running(name: str, session: Session, *options: str) -> Iterator[Lent]:
    with lent(fetched(name), session, ServerSettings(options=options)) as server:
        as_owner(server, "CREATE DATABASE scratch OWNER app")
        yield Lent(server, "scratch")


def paste(server: PrivateServer, steps: tuple[Step, ...]) -> None:
    """Do what the steps say, in their places, with the files that the server has."""
    ((hba,),) = as_owner(server, "SHOW hba_file")
    for step in steps:
        if step.where == ADMINISTRATOR:
            as_owner(server, *step.lines)
        elif step.where == ADMISSION:
            hosts_are(server, *step.lines)
        elif step.where == CONFIGURATION:
            files = server.certificates
            known = {"server-key.pem": files.key_file, "server-cert.pem": files.certificate_file}
            text = "\n".join(step.lines)
            for file, path in known.items():
                text = text.replace(f"/path/to/{file}", str(path))
            with Path(str(hba)).with_name("postgresql.conf").open("a", encoding="utf-8") as conf:
                conf.write(f"{text}\n")
        else:
            assert step.where == PSQL, step


def mend(house: Lent, remedy: Remedy) -> None:
    paste(house.server, entry_for(remedy, house.server.version).steps)


def is_refused_in_the_clear(house: Lent) -> bool:
    address = {"host": "127.0.0.1", "port": house.server.endpoint().port, "database": house.name}
    try:
        native.Connection("app", password=PASSWORD, ssl_context=False, **address).close()
    except native.DatabaseError as error:
        return "no pg_hba.conf entry" in str(error)
    return False


@pytest.mark.parametrize("name", SERVERS)
def test_each_line_does_what_it_is_printed_for(session: Session, name: str) -> None:
    with running(name, session) as house:
        known = remedies_at(house.server.version)
        before = document(house.url())
        assert not is_refused_in_the_clear(house)
        as_owner(house.server, "ALTER SYSTEM SET ssl = off", "SELECT pg_reload_conf()")
        assert not document(house.url()).offers_tls
        # ALTER SYSTEM comes before the file, in which the lines are pasted.
        as_owner(house.server, "ALTER SYSTEM RESET ssl")
        for remedy in known:
            mend(house, remedy)
        assert is_refused_in_the_clear(house)
        after = document(house.url())
    assert {"TLS 1.0", "TLS 1.1", "RSA key exchange"} & (
        taken(after, "version") | taken(after, "suite")
    ) == set()
    assert taken(after, "version") >= {"TLS 1.2", "TLS 1.3"}
    assert taken(after, "suite") == taken(before, "suite") - {"DHE", "RSA key exchange"}
    assert after.word.password_encryption == "scram-sha-256"


@pytest.mark.long
def test_groups_and_versions_that_were_set_otherwise_are_mended(session: Session) -> None:
    with running("postgresql-18", session) as house:
        settings = {
            "ssl_groups": "secp384r1",
            "ssl_max_protocol_version": "TLSv1.2",
            "password_encryption": "md5",
        }
        said = (f"ALTER SYSTEM SET {name} = '{value}'" for name, value in settings.items())
        for statement in said:
            as_owner(house.server, statement)
        as_owner(house.server, "SELECT pg_reload_conf()")
        before = document(house.url())
        for remedy in ("groups", "versions", "scram"):
            mend(house, remedy)
        after = document(house.url())
    assert (taken(before, "version"), taken(before, "group")) == ({"TLS 1.2"}, {"P-384"})
    assert (taken(after, "version"), taken(after, "group")) == ({"TLS 1.2", "TLS 1.3"}, {"X25519", "P-256"})
    assert any("kept by md5" in own.what for own in before.concerns)
    assert not any("md5" in own.what for own in after.concerns)
    assert_not_asked_twice(after)


def assert_not_asked_twice(found: InspectedServer) -> None:
    assert found.default is not None
    assert not found.default.hello_retry


@pytest.mark.long
def test_a_password_that_is_set_anew_is_hashed_as_often_as_is_said(session: Session) -> None:
    """By the server, as it says psql's \\password is to do it (`scram_iterations` is reported to clients)."""
    with running("postgresql-18", session) as house:
        as_owner(house.server, "ALTER SYSTEM SET scram_iterations = 20000", "SELECT pg_reload_conf()")
        as_owner(house.server, f"ALTER ROLE app PASSWORD '{PASSWORD}'")
        before = document(house.url()).word.scram_iterations
        mend(house, "iterations")
        as_owner(house.server, f"ALTER ROLE app PASSWORD '{PASSWORD}'")
        assert (before, document(house.url()).word.scram_iterations) == (20_000, 4_096)


def test_there_is_no_remedy_that_is_not_pasted() -> None:
    """Those for older servers are pasted by the long ones."""
    assert set(remedies_at("18.1")) == {
        *("require TLS", "versions", "ciphers", "certificate", "resumption"),
        *("groups", "scram", "iterations"),
    }
