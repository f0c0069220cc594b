"""What a server's count of TLS handshakes is worth as proof."""

from __future__ import annotations

import pytest
from test_checks import FULL, record_of, with_server

from tlstax.checks.complete import Doubt
from tlstax.checks.handshakes import missed, unless_counted
from tlstax.records.server_counts import counting_of

MARIADB = "11.8.6-MariaDB-0+deb13u1"
COUNTING = counting_of(MARIADB, None, {})


def test_what_was_missed_is_said() -> None:
    assert missed(COUNTING, 325, 326) == (
        "MariaDB counted 325 of 326 TLS handshakes: it counts without a lock, and may miss some"
    )


@pytest.mark.parametrize(
    ("version", "counted", "doubts"),
    [
        (MARIADB, 326, []),
        (MARIADB, 325, [Doubt("note", missed(COUNTING, 325, 326))]),
        (MARIADB, 321, [Doubt("invalid", "it made 326")]),
        (MARIADB, 327, [Doubt("invalid", "it made 326")]),
        ("9.7.4", 326, []),
        ("9.7.4", 325, [Doubt("invalid", "it made 326")]),
        ("9.7.4", None, [Doubt("invalid", "it made 326")]),
    ],
)
def test_a_count_is_right_or_short_or_wrong(version: str, counted: int | None, doubts: list[Doubt]) -> None:
    delta = {} if counted is None else {"Ssl_finished_accepts": counted}
    server = with_server(record_of(FULL), version=version, status_delta=delta).server
    assert server is not None
    assert list(unless_counted(server, 326, "it made 326")) == doubts


def test_a_server_that_counted_none_made_none() -> None:
    server = with_server(record_of(FULL), version="9.7.4", status_delta={}).server
    assert server is not None
    assert list(unless_counted(server, 0, "it made some")) == []
