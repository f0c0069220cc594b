"""Which drivers could connect to a PostgreSQL: without TLS, over TLS alone, and by its methods of login."""

from __future__ import annotations

from typing import Any

import pytest
from test_who_connects import TAKEN, Seen, fate, seen, told_of

from known_ones import known_driver, known_drivers, login
from tlstax.results.inspection import WhoConnects
from tlstax.stats.programs import all_programs
from tlstax.topics.inspection.known_drivers import known_drivers as shipped

SERVER = "postgresql-18"
SCRAM, BOUND = "scram-sha-256", "scram-sha-256-plus"


def at_postgres(*taken: str, encrypted: bool = True, **more: Any) -> Seen:
    """A PostgreSQL, whose account was proved by SCRAM bound to the channel."""
    was = seen(*taken, **{"version": "PostgreSQL 18.6 (Debian 18.6-3)", "plugin": BOUND, **more})
    refused = was.server.word.requires_tls
    word = was.server.word.model_copy(
        update={
            "account_is_encrypted": encrypted,
            "lets_in_clear": None if refused is None else not refused,
        }
    )
    return Seen(was.server.model_copy(update={"word": word}), was.host, was.is_known_authority)


def told(at: Seen, *, encrypts: bool = True, plugin: str = SCRAM, said: str = "", **more: Any) -> WhoConnects:
    """Of a driver that was seen to encrypt with nothing said of it, or not, and to log in by one method."""
    logins = (login(SERVER, plugin, encrypts=encrypts, in_clear=said, over_tls=said),)
    known = {"versions": {SERVER: ("TLS 1.2", "TLS 1.3")}, "logins": logins, "takes_rsa_1024": None, **more}
    drivers = known_drivers(known_driver("node-pg-8", **known))
    return told_of(drivers.model_copy(update={"servers": {SERVER: "PostgreSQL 18.6"}}), at)


@pytest.mark.parametrize(
    ("server", "driver", "by_default", "over_tls"),
    [
        # As most are: `prefer`, and as those of Node.js: in the clear.
        (at_postgres(), {}, "encrypted", "encrypted"),
        (at_postgres(), {"encrypts": False}, "in clear", "encrypted"),
        # hostssl alone.
        (at_postgres(requires_tls=True), {}, "encrypted", "encrypted"),
        (at_postgres(requires_tls=True), {"encrypts": False}, "plaintext", "encrypted"),
        # Whether it refuses plaintext, an ordinary account cannot read; its own login in the clear shows it.
        (at_postgres(requires_tls=None), {"encrypts": False}, "unknown", "encrypted"),
        (at_postgres(requires_tls=None), {}, "encrypted", "encrypted"),
        (at_postgres(requires_tls=None, encrypted=False), {"encrypts": False}, "in clear", "encrypted"),
        # ssl = off.
        (at_postgres(offers_tls=False, plugin=SCRAM, encrypted=False), {}, "in clear", "no TLS"),
        (at_postgres(offers_tls=False, plugin=SCRAM), {"demands_tls": True}, "no TLS", "no TLS"),
        # Who shares no version: it may begin anew in the clear, where that is taken.
        (at_postgres("TLS 1.0"), {}, "unknown", "version"),
        (at_postgres("TLS 1.0"), {"demands_tls": True}, "version", "version"),
        (at_postgres("TLS 1.0", requires_tls=True), {}, "version", "version"),
        (at_postgres(*TAKEN[1:]), {"versions": {SERVER: ("TLS 1.2",)}}, "unknown", "version"),
        # Who verifies with nothing said, and does not know the authority.
        (at_postgres(), {"verifies_by_default": ("authority",)}, "certificate", "encrypted"),
        # A method of login that was tried, or was not, or that it has not.
        (at_postgres(plugin="md5"), {"plugin": "md5"}, "encrypted", "encrypted"),
        (at_postgres(plugin="md5"), {"plugin": "md5", "said": "no MD5 here"}, "login", "login"),
        (at_postgres(plugin="none"), {}, "unknown", "unknown"),
        (at_postgres(plugin=SCRAM), {"said": "SCRAM is not supported"}, "login", "login"),
        # Neither was tried at any PostgreSQL.
        (at_postgres(key="RSA 1024"), {}, "unknown", "unknown"),
        (at_postgres(key="MLDSA65"), {"signatures": ("mldsa65",)}, "unknown", "unknown"),
    ],
)
def test_how_a_driver_fares(server: Seen, driver: dict[str, Any], by_default: str, over_tls: str) -> None:
    found = told(server, **driver)
    assert (fate(found.by_default), fate(found.over_tls)) == (by_default, over_tls)


def test_one_that_goes_in_the_clear_is_told_how_to_reach_a_server_with_hostssl_alone() -> None:
    (obstacle,) = told(at_postgres(requires_tls=True), encrypts=False).by_default.obstacles
    (step,) = obstacle.client
    (own,) = (each for each in all_programs("postgresql") if "node-pg-8" in each.drivers)
    assert step.lines == (own.verify,)
    assert obstacle.unmended == ()


def test_without_tls_the_servers_lines_are_postgresqls() -> None:
    (obstacle,) = told(at_postgres(offers_tls=False), demands_tls=True).by_default.obstacles
    assert obstacle.server[0].lines[0] == "ssl = on"


def test_of_those_that_are_shipped_it_is_told_who_does_not_encrypt_and_who_demands_it() -> None:
    known = shipped("postgresql")
    strict = told_of(known, at_postgres(requires_tls=True)).by_default
    (plain,) = (own for own in strict.obstacles if own.at == "plaintext")
    assert plain.drivers == ("node-pg-8", "postgres-js-3")
    (demanding,) = told_of(known, at_postgres(offers_tls=False, encrypted=False)).by_default.obstacles
    assert (demanding.at, demanding.drivers) == ("no TLS", ("lib-pq-1",))
