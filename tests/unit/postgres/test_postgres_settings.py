"""Settings of a running PostgreSQL: what is asked for comes into force, or it is said that it does not."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest

from tlstax.postgres import server_facts, server_tls, settings
from tlstax.sql.database import Database, SqlError
from tlstax.support.errors import MachineFault


class Configured(Database):
    """A server with settings, which it reads again some questions after it was told to."""

    def __init__(self, late: int = 0, fixed: str = "", kept: str = "", **settings: str) -> None:
        self.settings = dict(settings)
        self.said: list[str] = []
        self._asked_for: dict[str, str] = {}
        self._late, self._fixed, self._kept = late, fixed, kept
        self._reloads = 0

    @property
    def is_open(self) -> bool:
        return True

    @property
    def is_encrypted(self) -> bool:
        return False

    @property
    def channel(self) -> socket.socket | None:
        return None

    def close(self) -> None:
        """Nothing to close."""

    def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        if "FROM pg_settings" in statement:
            return [(name, self.settings[name]) for name in map(str, values) if name in self.settings]
        if "pg_conf_load_time" in statement:
            self._late -= self._reloads
            if self._reloads and self._late < 0:
                self.settings |= self._asked_for
            return [(self._reloads if self._late < 0 else 0,)]
        self.said.append(statement % values if values else statement)
        if changed := re.fullmatch(r"ALTER SYSTEM SET (\w+) = %s", statement):
            if changed[1] == self._fixed:
                raise SqlError("42501", f'parameter "{changed[1]}" cannot be changed')
            if changed[1] != self._kept:
                self._asked_for[changed[1]] = str(values[0])
        self._reloads += "pg_reload_conf" in statement
        return []


def test_a_change_is_waited_for() -> None:
    server = Configured(late=5, fsync="on")
    settings.change(server, {"fsync": "off"})
    assert server.settings == {"fsync": "off"}
    assert server.said == ["ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()"]


def test_a_change_that_does_not_come_into_force_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_IN_FORCE_S", 0.01)
    with pytest.raises(MachineFault, match="keeps fsync at 'on', where 'off' was asked for") as fault:
        settings.change(Configured(kept="fsync", fsync="on"), {"fsync": "off"})
    assert "command line" in (fault.value.remedy or "")
    with pytest.raises(MachineFault, match="does not read its settings again"):
        settings.change(Configured(late=10**9, fsync="on"), {"fsync": "off"})


def test_a_change_that_is_refused_names_its_statement() -> None:
    with pytest.raises(MachineFault, match=r"did not carry out ALTER SYSTEM SET ssl .* cannot be changed"):
        server_tls.accept(Configured(fixed="ssl", ssl="on"), server_tls.NO_TLS)


NEW = {"ssl": "on", "ssl_min_protocol_version": "TLSv1.2", "ssl_max_protocol_version": ""}


@pytest.mark.parametrize(
    ("told", "accepted"),
    [
        (NEW, "TLSv1.2,TLSv1.3"),
        ({**NEW, "ssl_max_protocol_version": "TLSv1.2"}, "TLSv1.2"),
        ({**NEW, "ssl_min_protocol_version": ""}, "TLSv1,TLSv1.1,TLSv1.2,TLSv1.3"),
        ({**NEW, "ssl_min_protocol_version": "TLSv1.9"}, server_tls.ANY),
        ({**NEW, "ssl": "off"}, server_tls.NO_TLS),
        ({"ssl": "on"}, server_tls.ANY),
    ],
)
def test_accepted_versions_are_those_between_the_least_and_the_most(
    told: dict[str, str], accepted: str
) -> None:
    server = Configured(**told)
    assert server_tls.accepted_versions(server) == accepted
    assert server_tls.facts(server).offered is (accepted != server_tls.NO_TLS)


@pytest.mark.parametrize("told", [NEW, {**NEW, "ssl_max_protocol_version": "TLSv1.2"}, {"ssl": "on"}])
def test_tls_is_turned_off_and_on_as_it_was(told: dict[str, str]) -> None:
    server = Configured(**told)
    before = server_tls.accepted_versions(server)
    server_tls.accept(server, server_tls.NO_TLS)
    assert server_tls.accepted_versions(server) == server_tls.NO_TLS
    server_tls.accept(server, before)
    assert server_tls.accepted_versions(server) == before
    assert server.settings.keys() == told.keys(), "what the server does not have is not asked of it"


def test_the_facts_of_tls_are_what_the_server_says() -> None:
    facts = server_tls.facts(Configured(ssl="on", ssl_ciphers="HIGH", ssl_cert_file="/c.pem"))
    assert (facts.library_version, facts.versions, facts.ciphersuites) == (None, (), "")
    assert (facts.cipher_list, facts.certificate_file) == ("HIGH", "/c.pem")
    named = Configured(ssl="on", ssl_library="OpenSSL", ssl_tls13_ciphers="TLS_AES_128_GCM_SHA256")
    assert server_tls.facts(named).library_version == "OpenSSL"
    assert server_tls.facts(named).ciphersuites == "TLS_AES_128_GCM_SHA256"


@pytest.mark.parametrize(
    ("told", "groups"),
    [
        ({"ssl_ecdh_curve": "prime256v1"}, ("prime256v1",)),
        ({"ssl_groups": "X25519:prime256v1"}, ("X25519", "prime256v1")),
        ({}, ()),
    ],
)
def test_groups_are_one_or_a_list(told: dict[str, str], groups: tuple[str, ...]) -> None:
    assert server_tls.groups(Configured(**told)) == groups


@pytest.mark.parametrize(
    ("level", "fsync", "synchronous_commit"),
    [
        ("full", "on", "on"),
        ("write", "off", "on"),
        ("none", "on", "off"),
        ("fsync=off, synchronous_commit=remote_apply", "off", "remote_apply"),
    ],
)
def test_durability_is_told_as_it_is_set(level: str, fsync: str, synchronous_commit: str) -> None:
    server = Configured(fsync="?", synchronous_commit="?")
    server_facts.set_durability(server, level)
    assert server.settings == {"fsync": fsync, "synchronous_commit": synchronous_commit}
    assert server_facts.durability(server) == level


def test_variables_are_those_that_the_server_has_in_the_order_asked_for() -> None:
    server = Configured(a="1", b="2")
    assert list(server_facts.variables(server, ["b", "no", "a"]).items()) == [("b", "2"), ("a", "1")]
    assert server_facts.variables(server, []) == {}


def test_a_server_without_ssl_cannot_switch_it() -> None:
    assert server_tls.can_switch(Configured(ssl="off"))
    assert not server_tls.can_switch(Configured())
