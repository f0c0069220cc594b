"""Which product a server is, by its own word of its version, or by its address: the one place for that."""

from __future__ import annotations

import re
from typing import Literal

ProductName = Literal["mysql", "mariadb", "postgresql"]
"""The products that are told apart. Forks of MySQL (Percona Server) say the version that they come from."""

Family = Literal["mysql", "postgresql"]
"""The products whose protocol is one. Which product a server of a family is, it says itself."""

Release = tuple[int, int, int]
"""A version's numbers."""

FIRST: Release = (0, 0, 0)
"""Before any release: of a version without numbers."""

FIRST_WITH_GROUPS: Release = (18, 0, 0)
"""The PostgreSQL that has a list of groups; those before take one (release notes of 18, `ssl_groups`)."""

DEFAULT: ProductName = "mysql"
"""The product of the server that is measured where none is named."""


def family_of(product: ProductName) -> Family:
    """The products whose protocol this one speaks."""
    return "postgresql" if product == "postgresql" else "mysql"


_POSTGRESQL = re.compile(r".*PostgreSQL|[1-9][0-9](?:\.[0-9]+)?(?![0-9.])")
"""SELECT version() answers "PostgreSQL 18.1 on …", --version "postgres (PostgreSQL) 18.1"; `server_version`
is "18.1" or "18.1 (Debian 18.1-1)": since 10 a version of PostgreSQL's has two numbers, and one before its
release ("19devel"; PostgreSQL documentation, "Versioning Policy"). MySQL's and MariaDB's have three."""


def product_of(version: str) -> ProductName:
    """The product, by what a server answers or --version prints: MariaDB's has its name in it."""
    if "mariadb" in version.lower():
        return "mariadb"
    return "postgresql" if _POSTGRESQL.match(version) else "mysql"


def is_postgresql_url(text: str) -> bool:
    """Whether it is the address of a PostgreSQL server, as libpq writes it."""
    return text.lower().startswith(("postgres://", "postgresql://"))


def release_of(version: str) -> Release:
    """Its numbers: (10, 5, 29) for "5.5.5-10.5.29-MariaDB", which old clients are told. FIRST for none.

    Of PostgreSQL, which has two numbers, the last is 0: (18, 1, 0).
    """
    if product_of(version) == "postgresql":
        two = re.search(r"(\d+)(?:\.(\d+))?", version)
        return FIRST if two is None else (int(two[1]), int(two[2] or 0), 0)
    numbers = re.search(r"(\d+)\.(\d+)\.(\d+)", version.removeprefix("5.5.5-"))
    return FIRST if numbers is None else (int(numbers[1]), int(numbers[2]), int(numbers[3]))
