"""Whom pg_hba.conf lets in: the first line that fits decides, and what cannot be known is not guessed."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import ip_address

import pytest

from answering_database import AnsweringDatabase
from tlstax.postgres import hba, server_facts
from tlstax.postgres.database import PostgresDatabase
from tlstax.postgres.hba import Client, Line
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError

ANN = Client("ann", "shop", ip_address("10.1.2.3"), encrypted=False, roles=frozenset({"ann", "staff"}))
MASKS = {
    "": "",
    "8": "255.0.0.0",
    "16": "255.255.0.0",
    "32": "255.255.255.255",
    "0": "0.0.0.0",  # noqa: S104 (a mask)
    "10": "ffc0::",
    "128": "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
}


def line(text: str) -> Line:
    """As it stands in the file, with a network as "10.0.0.0/8"."""
    kind, databases, users, where, method = text.split()
    address, _, bits = where.partition("/")
    return Line(kind, tuple(databases.split(",")), tuple(users.split(",")), address, MASKS[bits], method)


def lines(text: str) -> tuple[Line, ...]:
    return tuple(line(own) for own in text.split("; "))


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("host all all all md5", "md5"),
        ("hostnossl all all all md5", "md5"),
        ("hostnogssenc all all all md5", "md5"),
        ("hostssl all all all md5", "reject"),
        ("hostgssenc all all all md5", "reject"),
        ("hostnossl all all all reject; host all all all md5", "reject"),
        ("hostssl all all all trust; host all all all md5", "md5"),
        ("host other all all trust; host shop,else all all md5", "md5"),
        ("host sameuser all all trust", "reject"),
        ("host replication all all trust", "reject"),
        ("host all +staff all md5", "md5"),
        ("host all +ann all md5", "md5"),
        ("host all +boss all md5", "reject"),
        ("host all staff all md5", "reject"),
        ("host all bob,ann all md5", "md5"),
        ("host all all 10.1.0.0/16 md5", "md5"),
        ("host all all 10.1.9.9/16 md5", "md5"),
        ("host all all 10.2.0.0/16 trust; host all all 0.0.0.0/0 md5", "md5"),
        ("host all all db.example md5", None),
        ("host all bob db.example trust; host all all all md5", "md5"),
        ("host all all samehost md5", None),
        ("host all all samenet md5", None),
        ("host all /^an all md5", "md5"),
        ("host /^an all all md5", "reject"),
    ],
)
def test_the_first_line_that_fits_decides(text: str, method: str | None) -> None:
    client = replace(ANN, fitting=frozenset({("/^an", "ann")}))
    assert hba.method_for(lines(text), client) == method


def test_databases_are_named_by_who_connects_and_by_its_roles() -> None:
    for word, database, method in (
        ("sameuser", "ann", "md5"),
        ("samerole", "staff", "md5"),
        ("samegroup", "staff", "md5"),
        ("samerole", "shop", "reject"),
        ("replication", "replication", "reject"),
    ):
        client = replace(ANN, database=database)
        assert hba.method_for(lines(f"host {word} all all md5"), client) == method


def test_over_tls_other_lines_are_for_it() -> None:
    over_tls = replace(ANN, encrypted=True)
    assert hba.method_for(lines("hostnossl all all all trust; hostssl all all all md5"), over_tls) == "md5"


@pytest.mark.parametrize(
    ("address", "of_server", "same_host", "same_net"),
    [
        ("127.0.0.1", True, "md5", "md5"),
        ("127.0.0.9", False, "reject", "md5"),
        ("::1", True, "md5", "md5"),
        ("10.1.2.3", True, "md5", "md5"),
        ("10.1.2.3", False, None, None),
    ],
)
def test_which_networks_are_the_servers_is_known_of_its_own_machine_alone(
    address: str, of_server: bool, same_host: str | None, same_net: str | None
) -> None:
    client = replace(ANN, address=ip_address(address), is_of_server=of_server)
    assert hba.method_for(lines("host all all samehost md5"), client) == same_host
    assert hba.method_for(lines("host all all samenet md5"), client) == same_net


@pytest.mark.parametrize(
    ("text", "admitted", "requires_tls"),
    [
        ("local all all all trust; hostssl all all all cert", ["hostssl cert"], True),
        ("host all all all md5", ["host md5"], False),
        ("hostnossl all all all md5", ["hostnossl md5"], False),
        ("hostnossl all all all reject; host all all all md5", ["hostssl md5"], True),
        ("hostssl all all all reject; host all all all md5", ["hostnossl md5"], False),
        ("host all all all reject; host all all all md5", [], True),
        ("host all all 0.0.0.0/0 reject; host all all all md5", ["host md5"], False),
        (
            "host all all 10.0.0.0/8 md5; hostssl all all 10.1.0.0/16 trust",
            ["host md5", "hostssl trust (behind other lines)"],
            False,
        ),
        ("host all all all md5; host all all 127.0.0.1/32 trust", ["host md5"], False),
        ("host all all 10.0.0.0/8 md5; host all all 10.1.0.0/16 cert", ["host md5"], False),
        ("host all ann all md5; host all all all trust", ["host md5", "host trust"], False),
        ("host all all all md5; host replication all all trust", ["host md5", "host trust"], False),
        ("host shop all all md5; host shop ann all ldap", ["host md5"], False),
        ("host shop all all md5; host shop,else all all ldap", ["host ldap", "host md5"], False),
        ("host all all db.example md5; host all all db.example ldap", ["host md5"], False),
        ("host all all 127.0.0.1/32 trust; hostssl all all all md5", ["hostssl md5"], True),
        ("hostgssenc all all all gss", [], True),
        ("host all all 0.0.0.0/0 md5; host all all all trust", ["host md5", "host trust"], False),
        (
            "host all all all md5; host all all fe80::/10 trust",
            ["host md5", "host trust (behind other lines)"],
            False,
        ),
        ("host all all fe80::/10 md5; host all all 10.0.0.0/8 trust", ["host md5", "host trust"], False),
        ("host all all fe80::/10 md5; host all all all trust", ["host md5", "host trust"], False),
        ("host all all ::1/128 trust; hostssl all all all md5", ["hostssl md5"], True),
        ("hostssl all all all reject; hostnossl all all all reject; host all all all md5", [], True),
        ("hostssl all all all md5; host all all all cert", ["hostnossl cert", "hostssl md5"], False),
        ("host all bob all md5; host all ann,bob all ldap", ["host ldap", "host md5"], False),
        ("host all ann,bob all md5; host all ann all ldap", ["host md5"], False),
    ],
)
def test_a_line_that_earlier_ones_are_before_lets_nobody_in(
    text: str, admitted: list[str], requires_tls: bool
) -> None:
    server = serving(text)
    assert list(server_facts.admission(server)) == admitted
    assert server_facts.requires_tls(server) is requires_tls


def serving(text: str, *, version: int = 180004, error: str = "", who: object = None) -> AnsweringDatabase:
    rules = [
        (
            *(own.kind, json.dumps(own.databases), json.dumps(own.users), own.address, own.netmask),
            *(own.method, error),
        )
        for own in lines(text)
    ]
    return AnsweringDatabase(
        {
            "server_version_num": [(version,)],
            "pg_hba_file_rules": rules,
            "session_user": [who or ("ann", "shop", "10.1.2.3", 0, '["ann"]')],
            "::int": [(1,)],
        }
    )


@pytest.mark.parametrize(
    ("address", "method"),
    [("fe80::1", "md5"), ("fec0::1", "reject"), ("10.1.2.3", "reject"), ("::1", "trust")],
)
def test_networks_of_ipv6_are_for_addresses_of_it(address: str, method: str) -> None:
    of_both = lines("host all all fe80::/10 md5; host all all ::1/128 trust")
    assert hba.method_for(of_both, replace(ANN, address=ip_address(address))) == method


def test_lines_are_for_loopback_where_every_address_of_theirs_is() -> None:
    own = [line(f"host all all {where} md5") for where in ("127.0.0.1/32", "::1/128")]
    others = [
        line(f"host all all {where} md5") for where in ("all", "10.0.0.0/8", "0.0.0.0/0", "samehost", "db")
    ]
    assert [one.is_for_loopback for one in (*own, *others)] == [True, True, False, False, False, False, False]


def test_lines_that_no_connection_comes_as_far_as_are_told_and_refusals_are_not() -> None:
    of_file = lines(
        "local all all all trust; host all all all md5; host all all 10.0.0.0/8 trust; "
        "hostssl shop all all cert; host all all all reject; host replication all all ldap"
    )
    assert [own.method for own in hba.behind(of_file)] == ["trust", "cert"]
    assert [(kind, own.method) for kind, own in hba.reached(of_file)] == [("host", "md5"), ("host", "ldap")]


@pytest.mark.parametrize(
    ("text", "lets_in"),
    [
        ("host all all all md5", True),
        ("hostssl all all all md5", False),
        ("host all all db.example md5", None),
        ("host all /^an all md5", True),
    ],
)
def test_whether_this_account_is_let_in_in_the_clear(text: str, lets_in: bool | None) -> None:
    assert server_facts.lets_in_clear(serving(text)) is lets_in


def test_lines_for_the_servers_own_host_let_in_who_came_from_there() -> None:
    for of_server, lets_in in ((1, True), (0, False)):
        came = ("ann", "shop", "127.0.0.1", of_server, '["ann"]')
        assert server_facts.lets_in_clear(serving("host all all samehost md5", who=came)) is lets_in


def test_what_is_no_address_is_malformed() -> None:
    with pytest.raises(Malformed, match="'nowhere' was answered where an address was expected"):
        server_facts.lets_in_clear(serving("host all all all md5", who=("a", "b", "nowhere", 0, "[]")))


@pytest.mark.parametrize(("version", "number"), [(160000, "rule_number"), (150018, "line_number")])
def test_lines_are_read_in_their_order_and_a_name_is_set_against_an_expression(
    version: int, number: str
) -> None:
    server = serving("host all /^an all md5", version=version)
    assert server_facts.lets_in_clear(server) is (version >= 160000)
    assert any(own.endswith(f"ORDER BY {number}") for own in server.statements)
    assert ("SELECT (ann ~ ^an)::int" in server.statements) is (version >= 160000)


def test_before_16_a_slash_is_a_letter() -> None:
    assert server_facts.lets_in_clear(serving("host all /^an all md5", version=150018)) is False


@pytest.mark.parametrize("encrypted", [True, False])
def test_who_connects_is_known_with_its_roles_and_the_expressions_that_fit(encrypted: bool) -> None:
    """Of each expression the server is asked with the name that it is for, and answers by what it finds."""

    class Matching(AnsweringDatabase):
        def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
            found = super().rows(statement, values)
            return [(int(values in {("ann", "^an"), ("shop", "^sh")}),)] if "~" in statement else found

    who = ("ann", "shop", "10.1.2.3", 1, '["ann", "staff"]')
    server = Matching({"server_version_num": [(160000,)], "session_user": [who]})
    of_file = lines("host /^sh,/^an,shop /^an,/^sh,ann all md5")
    assert hba.own_client(server, of_file, encrypted=encrypted) == Client(
        user="ann",
        database="shop",
        address=ip_address("10.1.2.3"),
        encrypted=encrypted,
        roles=frozenset({"ann", "staff"}),
        is_of_server=True,
        fitting=frozenset({("/^an", "ann"), ("/^sh", "shop")}),
    )
    assert any("SELECT session_user, current_database(), COALESCE" in said for said in server.statements)


def test_the_database_is_the_one_that_the_load_works_in() -> None:
    """It is asked in another session, whose own database is not meant."""

    class OfLoad(AnsweringDatabase, PostgresDatabase):
        name = "shop"
        apart = AnsweringDatabase(  # type: ignore[assignment]
            {"server_version_num": [(150000,)], "shop": [("ann", "shop", "::1", 0, "[]")]}
        )

    client = hba.own_client(OfLoad({"server_version_num": [(150000,)]}), (), encrypted=False)
    assert client == Client("ann", "shop", ip_address("::1"), encrypted=False)


def test_of_who_came_over_a_socket_nothing_is_told() -> None:
    assert server_facts.lets_in_clear(serving("host all all all md5", who=("a", "b", "", 0, "[]"))) is None


def test_of_a_file_with_an_error_or_that_is_not_shown_nothing_is_known() -> None:
    refused = AnsweringDatabase(
        {"server_version_num": [(180004,)], "pg_hba": SqlError("42501", "permission denied")}
    )
    for server in (serving("host all all all trust", error="a typing error"), refused):
        assert server_facts.requires_tls(server) is None
        assert server_facts.lets_in_clear(server) is None
        assert server_facts.admission(server) == ()
    one = [("host", '["all"]', '["all"]', "all", "", "md5", error) for error in ("", "a typing error")]
    half = AnsweringDatabase({"server_version_num": [(180004,)], "pg_hba_file_rules": one})
    assert hba.read(half) is None, "the server keeps what it had read before"
    gone = AnsweringDatabase({"server_version": SqlError("08006", "gone", is_of_connection=True)})
    with pytest.raises(SqlError, match="gone"):
        server_facts.requires_tls(gone)


@pytest.mark.parametrize("text", ["no list", '{"a": 1}', "null"])
def test_what_is_no_list_is_malformed(text: str) -> None:
    row = ("host", text, "[]", "all", "", "md5", "")
    server = AnsweringDatabase({"server_version_num": [(180004,)], "pg_hba_file_rules": [row]})
    with pytest.raises(Malformed):
        hba.read(server)
