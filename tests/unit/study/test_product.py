"""A server's product and release, by its own word of its version."""

from __future__ import annotations

import pytest

from tlstax.study.product import FIRST, ProductName, Release, product_of, release_of


@pytest.mark.parametrize(
    ("version", "product", "release"),
    [
        ("9.7.4", "mysql", (9, 7, 4)),
        ("5.7.44-48", "mysql", (5, 7, 44)),
        ("mysqld  Ver 8.0.33 for Linux on x86_64 (Source distribution)", "mysql", (8, 0, 33)),
        ("11.8.6-MariaDB-0+deb13u1", "mariadb", (11, 8, 6)),
        ("5.5.5-10.5.29-MariaDB", "mariadb", (10, 5, 29)),
        ("18.1", "postgresql", (18, 1, 0)),
        ("15.18 (Debian 15.18-0+deb12u1)", "postgresql", (15, 18, 0)),
        ("19devel", "postgresql", (19, 0, 0)),
        ("PostgreSQL 10.23 on x86_64-pc-linux-gnu, compiled by gcc 12.2.0", "postgresql", (10, 23, 0)),
        ("postgres (PostgreSQL) 18.1", "postgresql", (18, 1, 0)),
        ("9.7", "mysql", FIRST),
        ("", "mysql", FIRST),
    ],
)
def test_a_version_says_whose_it_is(version: str, product: ProductName, release: Release) -> None:
    assert (product_of(version), release_of(version)) == (product, release)
