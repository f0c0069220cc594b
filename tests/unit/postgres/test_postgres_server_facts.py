"""What PostgreSQL reports of itself, and which connections are an ordinary account's."""

from __future__ import annotations

import pytest

from answering_database import AnsweringDatabase
from tlstax.postgres import server_facts
from tlstax.records.trial import ConnectionsSeen
from tlstax.sql import recorded_connections

LIMITS = {"max_connections": "100", "superuser_reserved_connections": "3", "reserved_connections": "5"}


@pytest.mark.parametrize(
    ("told", "limit"),
    [(LIMITS, 92), ({**LIMITS, "reserved_connections": "0"}, 97), (dict(list(LIMITS.items())[:2]), 97)],
)
def test_reserved_connections_are_not_the_loads(told: dict[str, str], limit: int) -> None:
    server = AnsweringDatabase({"server_version": [("18.4 (Debian)",)], "pg_settings": list(told.items())})
    assert server_facts.version_and_limit(server) == ("PostgreSQL 18.4 (Debian)", limit)


@pytest.mark.parametrize(
    ("role", "of_database", "own"),
    [
        ((-1, 1), (-1, 3), (0, 0)),
        ((-1, 1), (7, 3), (7, 3)),
        ((5, 1), (7, 2), (5, 1)),
        ((5, 1), (7, 6), (7, 6)),
        ((5, 1), (-1, 9), (5, 1)),
    ],
)
def test_the_accounts_limit_is_its_roles_or_its_databases_whichever_leaves_less(
    role: tuple[int, int], of_database: tuple[int, int], own: tuple[int, int]
) -> None:
    told = [(*role, *of_database, 11)]
    server = AnsweringDatabase({"rolconnlimit": told, "pg_settings": list(LIMITS.items())})
    assert server_facts.connection_limits(server) == (92, own[0], 11, own[1])


def test_settings_that_cost_each_connection_are_told_with_their_units() -> None:
    found = {"log_hostname": "on", "idle_session_timeout": "30000", "pre_auth_delay": "0"}
    server = AnsweringDatabase({"pg_settings": list(found.items())})
    assert server_facts.costly_settings(server) == ("log_hostname = on", "idle_session_timeout = 30000 ms")
    off = AnsweringDatabase({"pg_settings": [("log_hostname", "off"), ("idle_session_timeout", "0")]})
    assert server_facts.costly_settings(off) == ()


def test_standbys_have_the_data_of_their_primary_and_are_others() -> None:
    def identity(directory: str, began: str = "noon") -> server_facts.Identity:
        found = [("data_directory", directory), ("port", "5432")]
        return server_facts.identity(
            AnsweringDatabase({"system_identifier": [("7412", began)], "pg_settings": found})
        )

    assert identity("/a").data == identity("/b").data == "7412"
    assert identity("/a").node != identity("/b").node
    assert identity("/a").node == identity("/a", "later").node
    assert identity("").node != identity("", "later").node, "an ordinary account is not told the directory"


def test_what_postgresql_does_not_have_is_none() -> None:
    server = AnsweringDatabase()
    assert server_facts.most_used_connections(server) is None
    assert server_facts.most_connect_errors(server) is None
    assert server_facts.compressions(server) == ("off",)
    assert server.statements == []


def test_who_answers_is_unknown_without_a_socket() -> None:
    server = AnsweringDatabase({"server_version": [("18.4",)], "data_directory": [("/no/such/data",)]})
    found = server_facts.answering(server, None)
    assert (found.pid, found.program, found.listening_port) == (None, None, None)
    assert (found.version, found.data_directory) == ("PostgreSQL 18.4", "/no/such/data")


def test_recorded_connections_are_counted_by_their_encryption() -> None:
    server = AnsweringDatabase({"GROUP BY": [("TLSv1.3", "TLS_AES_256_GCM_SHA384", 5), (None, None, "1")]})
    assert recorded_connections.read(server) == (
        ConnectionsSeen(connections=5, version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384"),
        ConnectionsSeen(connections=1, version=None, cipher=None),
    )


@pytest.mark.parametrize(
    ("said", "kept"), [("scram-sha-256", "scram-sha-256"), ("md5", "md5"), ("on", "md5"), (None, None)]
)
def test_how_passwords_are_kept_is_told_in_one_word(said: str | None, kept: str | None) -> None:
    rows = [] if said is None else [("password_encryption", said)]
    assert server_facts.password_encryption(AnsweringDatabase({"password_encryption": rows})) == kept
