"""What mends a server is looked up by its product and version, and has lines that it knows."""

from __future__ import annotations

import pytest

from tlstax.results.inspection import Step
from tlstax.stats.remedies import FIRST, TABLE, Remedy, entry_for, reload_for, remedies_at
from tlstax.study.product import product_of, release_of


@pytest.mark.parametrize(
    ("said", "product", "release"),
    [
        ("9.7.4-2", "mysql", (9, 7, 4)),
        ("5.6.14", "mysql", (5, 6, 14)),
        ("11.8.9-MariaDB-0+deb13u1 from Debian", "mariadb", (11, 8, 9)),
        ("5.5.5-10.5.29-MariaDB", "mariadb", (10, 5, 29)),
        ("mystery", "mysql", FIRST),
    ],
)
def test_a_version_is_read(said: str, product: str, release: tuple[int, int, int]) -> None:
    assert (product_of(said), release_of(said)) == (product, release)


def lines(remedy: Remedy, version: str) -> str:
    return " ".join(line for step in entry_for(remedy, version).steps for line in step.lines)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("9.7.4", "SET PERSIST require_secure_transport = ON;"),
        ("8.0.0", "SET PERSIST require_secure_transport = ON;"),
        ("5.7.44", "SET GLOBAL require_secure_transport = ON;"),
        ("5.7.7", "REQUIRE SSL"),
        ("11.8.9-MariaDB", "SET GLOBAL require_secure_transport = ON;"),
        ("10.5.1-MariaDB", "REQUIRE SSL"),
    ],
)
def test_how_tls_is_required(version: str, words: str) -> None:
    assert words in lines("require TLS", version)
    assert ("PERSIST" in lines("require TLS", version)) == ("PERSIST" in words)


@pytest.mark.parametrize(
    ("version", "step"),
    [
        ("8.0.16", Step(where="the server, as an administrator", lines=("ALTER INSTANCE RELOAD TLS;",))),
        ("8.0.15", Step(where="then", lines=("restart the server",))),
        ("10.4.1-MariaDB", Step(where="the server, as an administrator", lines=("FLUSH SSL;",))),
        ("10.4.0-MariaDB", Step(where="then", lines=("restart the server",))),
    ],
)
def test_how_a_certificate_is_taken(version: str, step: Step) -> None:
    files = ("[mysqld]", "ssl_key = /path/to/server-key.pem", "ssl_cert = /path/to/server-cert.pem")
    entry = entry_for("certificate", version)
    assert entry.steps == (Step(where="the server's my.cnf", lines=files), step)
    assert reload_for(version) == step


def test_postgresql_has_a_certificate_in_its_own_file_and_reads_it_without_a_restart() -> None:
    files, again = entry_for("certificate", "18.1").steps
    assert files.where == "the server's postgresql.conf"
    assert files.lines[0] == "ssl = on"
    assert again == reload_for("18.1")
    assert again == Step(where="the server, as an administrator", lines=("SELECT pg_reload_conf();",))


def test_there_is_always_a_remedy_in_lines_or_in_words() -> None:
    for version in (
        "18.1",
        "10.23",
        "5.5.34",
        "5.6.14",
        "5.7.44",
        "8.0.33",
        "9.7.4",
        "10.1.8-MariaDB",
        "11.8.9-MariaDB",
    ):
        for remedy in remedies_at(version):
            entry = entry_for(remedy, version)
            assert entry.steps or entry.says


def test_what_a_product_has_is_named_once() -> None:
    of_both = ("require TLS", "versions", "ciphers", "certificate", "resumption")
    assert remedies_at("9.7.4") == remedies_at("11.8.9-MariaDB") == of_both
    assert remedies_at("18.1") == (*of_both, "groups", "scram", "iterations")


def test_no_entry_stands_twice() -> None:
    keys = [(entry.remedy, entry.product, entry.since) for entry in TABLE]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("remedy", "version", "words"),
    [
        ("require TLS", "18.1", "hostssl all all all scram-sha-256"),
        ("versions", "12.0", "ALTER SYSTEM SET ssl_min_protocol_version = 'TLSv1.2';"),
        ("ciphers", "10.23", "ALTER SYSTEM SET ssl_ciphers = 'ECDHE-ECDSA-AES128-GCM-SHA256:"),
        ("certificate", "15.18 (Debian 15.18-0+deb12u1)", "ssl_cert_file = '/path/to/server-cert.pem'"),
    ],
)
def test_postgresql_has_lines_of_its_own(remedy: Remedy, version: str, words: str) -> None:
    said = lines(remedy, version)
    assert words in said
    assert said.endswith("SELECT pg_reload_conf();")
    assert not any(word in said for word in ("mysqld", "PERSIST", "secure_transport"))


def test_what_postgresql_cannot_be_told() -> None:
    assert "upgrade it" in entry_for("versions", "11.22").says
    assert "resumes no session" in entry_for("resumption", "18.1").says
    assert entry_for("resumption", "18.1").steps == ()
