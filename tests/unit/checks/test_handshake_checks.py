"""A server's counter of TLS handshakes: which servers have one, and how many it may miss."""

from __future__ import annotations

import pytest
from test_checks import FULL, record_of, with_server

from tlstax.checks.complete import Doubt
from tlstax.checks.handshakes import COUNTER, counts_handshakes, fits, least, missed, unless_counted

MARIADB = "11.8.6-MariaDB-0+deb13u1"


@pytest.mark.parametrize(
    ("word", "version", "counted", "counts"),
    [
        ("OpenSSL 3.5.5", "9.7.4", 0, True),
        ("OpenSSL 3.5.5", "5.7.44", 0, True),
        ("yaSSL 2.3.8", "10.1.8-MariaDB", 0, False),
        ("YASSL 2.3.8", "10.1.8-MariaDB", 0, False),
        ("yaSSL 2.3.8", "10.1.8-MariaDB", 1, True),
        (None, "5.6.14", 0, False),
        (None, "5.6.14", 1, True),
        (None, "8.0.33", 0, True),
    ],
)
def test_which_servers_count_handshakes(
    word: str | None, version: str, counted: int, *, counts: bool
) -> None:
    counters = {"Ssl_finished_accepts": counted} if counted else {}
    record = with_server(record_of(FULL), version=version, tls_library_version=word, status_delta=counters)
    assert record.server is not None
    assert counts_handshakes(record.server) is counts


@pytest.mark.parametrize(
    ("made", "fewest"), [(0, 0), (1, 0), (9, 8), (100, 99), (101, 99), (200, 198), (201, 198)]
)
def test_mariadb_may_miss_one_in_a_hundred(made: int, fewest: int) -> None:
    assert least(MARIADB, COUNTER, made) == fewest
    assert fits(MARIADB, COUNTER, fewest, made)
    assert not fits(MARIADB, COUNTER, fewest - 1, made)
    assert fits(MARIADB, COUNTER, made, made)
    assert not fits(MARIADB, COUNTER, made + 1, made)


def test_of_connections_mariadb_misses_none() -> None:
    assert least(MARIADB, "Connections", 326) == 326
    assert fits(MARIADB, "Connections", 326, 326)
    assert not fits(MARIADB, "Connections", 325, 326)


def test_mysql_misses_none() -> None:
    assert least("9.7.4", COUNTER, 326) == 326
    assert fits("9.7.4", COUNTER, 326, 326)
    assert not fits("9.7.4", COUNTER, 325, 326)
    assert not fits("9.7.4", COUNTER, 327, 326)


def test_what_was_missed_is_said() -> None:
    assert missed(325, 326) == (
        "MariaDB counted 325 of 326 TLS handshakes: it counts without a lock, and may miss some"
    )


@pytest.mark.parametrize(
    ("version", "counted", "doubts"),
    [
        (MARIADB, 326, []),
        (MARIADB, 325, [Doubt("note", missed(325, 326))]),
        (MARIADB, 321, [Doubt("invalid", "it made 326")]),
        (MARIADB, 327, [Doubt("invalid", "it made 326")]),
        ("9.7.4", 326, []),
        ("9.7.4", 325, [Doubt("invalid", "it made 326")]),
        ("9.7.4", None, [Doubt("invalid", "it made 326")]),
    ],
)
def test_a_count_is_right_or_short_or_wrong(version: str, counted: int | None, doubts: list[Doubt]) -> None:
    delta = {} if counted is None else {COUNTER: counted}
    server = with_server(record_of(FULL), version=version, status_delta=delta).server
    assert server is not None
    assert list(unless_counted(server, 326, "it made 326")) == doubts


def test_a_server_that_counted_none_made_none() -> None:
    server = with_server(record_of(FULL), version="9.7.4", status_delta={}).server
    assert server is not None
    assert list(unless_counted(server, 0, "it made some")) == []
