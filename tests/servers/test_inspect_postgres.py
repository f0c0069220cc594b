"""`tlstax inspect` of PostgreSQL: what it takes and shows, and how it lets clients in, as accounts see it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lent_postgres import HOSTS, PASSWORD, Lent, as_owner, hosts_are, lent, make_role
from pg8000 import native
from test_inspect import document, inspected, taken

from tlstax.results.inspection import InspectedServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session

TRUSTED = "host all nobody 10.0.0.0/8 trust"
IN_CLEAR = "host all nobody 172.16.0.0/12 password"
VERIFYING = ("tokio-postgres-0.7", "tokio-postgres-native-tls-0.7", "tokio-postgres-openssl-0.7")
NODE = ("node-pg-8", "postgres-js-3")


@pytest.fixture(scope="module")
def house(session: Session, postgresql_build: ServerBuild) -> Iterator[Lent]:
    """A server whose lines for its own machine are safe, and those for others not; `boss` may read them."""
    with lent(postgresql_build, session) as server:
        make_role(server, "boss", "SUPERUSER")
        as_owner(server, "CREATE DATABASE scratch OWNER app")
        hosts_are(server, HOSTS, TRUSTED, IN_CLEAR)
        yield Lent(server, "scratch")


@pytest.fixture(scope="module")
def seen(house: Lent) -> tuple[InspectedServer, InspectedServer]:
    """By an ordinary account and by a superuser."""
    before = house.owner("SELECT COUNT(*) FROM pg_database")
    found = document(house.url()), document(house.url("boss"))
    house.wait_until_gone()
    assert house.owner("SELECT COUNT(*) FROM pg_database") == before
    assert house.app("SELECT COUNT(*) FROM pg_tables WHERE schemaname LIKE 'tlstax%'") == [[0]]
    return found


def test_what_it_takes_is_asked_with_direct_tls_in_place_of_resumption(
    seen: tuple[InspectedServer, InspectedServer],
) -> None:
    found, _ = seen
    assert found.status == "complete"
    assert taken(found, "version") == {"TLS 1.2", "TLS 1.3"}
    assert taken(found, "direct") == {"direct TLS"}
    assert found.of("resumption") == ()
    assert found.word.version.startswith("PostgreSQL 18")
    assert found.word.account_plugin == "scram-sha-256-plus"
    assert found.chain[0].key == "RSA 2048"
    assert found.connect[0].round_trips >= 6


def test_how_others_are_let_in_is_told_by_who_may_read_it(
    seen: tuple[InspectedServer, InspectedServer],
) -> None:
    ordinary, boss = ({own.what for own in found.concerns} for found in seen)
    assert seen[0].word.admission == ()
    assert {"host password", "host trust"} <= set(seen[1].word.admission)
    assert boss - ordinary == {
        "pg_hba.conf trusts clients over TCP (trust)",
        "pg_hba.conf asks for passwords in the clear on connections without TLS (password)",
        "connections in the clear are accepted",
        # One of the laboratory's own accounts.
        "accounts log in by md5",
    }


def test_who_could_connect_is_told_as_far_as_the_account_sees_who_is_let_in(
    seen: tuple[InspectedServer, InspectedServer],
) -> None:
    ordinary, boss = (found.who_connects for found in seen)
    assert ordinary is not None
    assert boss is not None
    assert {"libpq-18", "pgjdbc-42.7", "pg8000-1"} <= set(ordinary.by_default.encrypted)
    # They do not encrypt with nothing said, and only pg_hba.conf says whether that is taken.
    assert ordinary.by_default.unknown == NODE
    assert boss.by_default.in_clear == NODE
    # They verify with nothing said, and do not know the laboratory's authority.
    (verifies,) = boss.by_default.obstacles
    assert (verifies.at, verifies.drivers) == ("certificate", VERIFYING)


def test_where_pg_hba_has_hostssl_alone_who_does_not_encrypt_would_be_refused_and_is(house: Lent) -> None:
    ((path,),) = house.owner("SHOW hba_file")
    file = Path(str(path))
    before = file.read_text()
    file.write_text(re.sub(r"^host\s", "hostssl ", before, flags=re.MULTILINE))
    house.owner("SELECT pg_reload_conf()")
    try:
        found = document(house.url("boss")).who_connects
        port = house.server.endpoint().port
        told = {"user": "app", "host": "127.0.0.1", "port": port, "password": PASSWORD, "database": "scratch"}
        with pytest.raises(native.DatabaseError, match="no encryption"):
            native.Connection(**told, ssl_context=False)
        native.Connection(**told).close()
    finally:
        file.write_text(before)
        house.owner("SELECT pg_reload_conf()")
    assert found is not None
    (refused,) = (own for own in found.by_default.obstacles if own.at == "plaintext")
    assert refused.drivers == NODE
    assert "pg8000-1" in found.by_default.encrypted


def test_who_is_connected_is_told_with_what_would_permit_more(house: Lent) -> None:
    with house.server.admin() as admin:
        assert admin.is_open
        done = inspected(house.url())
        by_boss = inspected(house.url("boss"))
    assert done.returncode == 0
    assert PASSWORD not in done.stdout + done.stderr
    assert "the account would need the role pg_read_all_stats" in " ".join(done.stdout.split())
    assert "pg_read_all_stats" not in by_boss.stdout
    assert "Socket" in by_boss.stdout


def test_a_wrong_password_is_told_in_one_sentence(house: Lent) -> None:
    done = inspected(house.url(), password="wrong")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("tlstax: ")
    assert "Traceback" not in done.stderr
