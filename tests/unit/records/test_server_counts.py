"""What servers count, product by product: in terms that they share, or not at all."""

from __future__ import annotations

import pytest

from tlstax.records.server_counts import COUNTS, WORDS, Count, counting_of, in_words

MYSQL = counting_of("9.7.4", "OpenSSL 3.5.5", {})
MARIADB = counting_of("11.8.6-MariaDB-0+deb13u1", "OpenSSL 3.5.5", {})


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
    delta = {"Ssl_finished_accepts": counted} if counted else {}
    counting = counting_of(version, word, delta)
    assert counting.of(delta, "handshakes") == (counted if counts else None)
    assert (counting.silent == "yaSSL") is not counts
    assert counting.of({"Connections": 3}, "connections") == 3, "those it counts whatever its library"


@pytest.mark.parametrize(
    ("made", "fewest"), [(0, 0), (1, 0), (9, 8), (100, 99), (101, 99), (200, 198), (201, 198)]
)
def test_mariadb_may_miss_one_handshake_in_a_hundred(made: int, fewest: int) -> None:
    assert MARIADB.least("handshakes", made) == fewest
    assert MARIADB.fits("handshakes", fewest, made)
    assert not MARIADB.fits("handshakes", fewest - 1, made)
    assert MARIADB.fits("handshakes", made, made)
    assert not MARIADB.fits("handshakes", made + 1, made)


@pytest.mark.parametrize(("counting", "count"), [(MARIADB, "connections"), (MYSQL, "handshakes")])
def test_what_is_counted_with_a_lock_misses_none(counting: object, count: Count) -> None:
    assert isinstance(counting, type(MYSQL))
    assert counting.least(count, 326) == 326
    assert counting.fits(count, 326, 326)
    assert not counting.fits(count, 325, 326)
    assert not counting.fits(count, 327, 326)


def test_counters_of_a_kind_are_added_up_and_named() -> None:
    delta = {"Com_insert": 3, "Com_insert_select": 4, "Innodb_rows_inserted": 9, "Handler_write": 7}
    assert MYSQL.of(delta, "inserts") == 7
    assert MYSQL.name("inserts") == "Com_insert and Com_insert_select"
    assert (MYSQL.of(delta, "rows_inserted"), MARIADB.of(delta, "rows_inserted")) == (9, 7)
    assert MYSQL.of({}, "selects") == 0, "a counter that did not change"
    assert MARIADB.of({"Ssl_session_cache_hits": 4}, "session_lookups") is None
    assert MYSQL.counters_of(["connections", "inserts"]) == ("Connections", "Com_insert", "Com_insert_select")


def test_each_command_is_counted_once_by_its_name() -> None:
    delta = {"Com_select": 5, "Com_stmt_execute": 5, "Com_set_option": 1, "Connections": 2}
    assert MYSQL.of_commands(delta) == {"select": 5, "set_option": 1}


def test_every_count_has_its_words() -> None:
    assert WORDS.keys() == set(COUNTS)


def test_one_of_what_is_counted_is_said_as_one() -> None:
    assert [in_words(1, many) for many in WORDS.values()] == [
        "1 connection",
        "1 TLS handshake",
        "1 look-up of resumed sessions",
        "1 SELECT statement",
        "1 INSERT statement",
        "1 UPDATE statement",
        "1 DELETE statement",
        "1 execution of prepared statements",
        "1 row inserted",
        "1 row updated",
        "1 row deleted",
        "1 committed transaction",
    ]
    assert in_words(2, WORDS["handshakes"]) == "2 TLS handshakes"
