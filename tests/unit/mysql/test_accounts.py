"""What CREATE USER says of an account, as MySQL 9.7 and MariaDB 11.8 answered it."""

from __future__ import annotations

import pytest

from tlstax.mysql.accounts import Terms, terms_in

MYSQL = (
    "CREATE USER `ann`@`127.0.0.1` IDENTIFIED WITH 'caching_sha2_password' AS '$A$00A$\\'L'' REQUIRE SSL "
    "/L' REQUIRE {} PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT"
)
MARIADB = "CREATE USER `ann`@`127.0.0.1` IDENTIFIED BY PASSWORD '*6E8C8B9EAB56702D0A6E4C9454B28245FAEDF7F7'{}"


@pytest.mark.parametrize(
    ("statement", "terms"),
    [
        (MYSQL.format("NONE"), Terms()),
        (MYSQL.format("SSL"), Terms("SSL")),
        (MYSQL.format("X509 WITH MAX_QUERIES_PER_HOUR 20"), Terms("X509", (("MAX_QUERIES_PER_HOUR", 20),))),
        (MYSQL.format("CIPHER 'A' ISSUER '/CN=b' SUBJECT '/CN=c'"), Terms("CIPHER ISSUER SUBJECT")),
        (MYSQL.format("NONE WITH MAX_USER_CONNECTIONS 3"), Terms()),
        (MARIADB.format(""), Terms()),
        (MARIADB.format(" REQUIRE ISSUER 'y' SUBJECT 'x'"), Terms("ISSUER SUBJECT")),
        (
            MARIADB.format(" WITH MAX_UPDATES_PER_HOUR 5 MAX_CONNECTIONS_PER_HOUR 7"),
            Terms("", (("MAX_UPDATES_PER_HOUR", 5), ("MAX_CONNECTIONS_PER_HOUR", 7))),
        ),
        (
            "CREATE USER `a`@`%` IDENTIFIED WITH 'caching_sha2_password' AS <secret> REQUIRE SSL PASSWORD",
            Terms("SSL"),
        ),
    ],
)
def test_terms_are_read_and_literals_passed_over(statement: str, terms: Terms) -> None:
    assert terms_in(statement) == terms
