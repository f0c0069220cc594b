"""The servers that can be fetched by name, and what each is made of."""

from __future__ import annotations

from tlstax.specimens.apt_root import Recipe
from tlstax.specimens.server_build import Flavour

MYSQL_9_7 = Recipe(
    name="mysql-9.7",
    title="MySQL 9.7 from Debian sid",
    suite="sid",
    packages=("mysql-server-core=9.7*", "mysql-client-core=9.7*"),
    given=("perl",),
    program="usr/sbin/mysqld",
    bytes_needed=800_000_000,
)
"""Perl is for maintenance scripts only (mysqldumpslow, mysqld_multi), which are never run here."""

MARIADB_11_8 = Recipe(
    name="mariadb-11.8",
    title="MariaDB 11.8 from Debian trixie",
    suite="trixie",
    packages=("mariadb-server-core=1:11.8*", "mariadb-client-core=1:11.8*"),
    given=("perl",),
    program="usr/sbin/mariadbd",
    bytes_needed=500_000_000,
)

RECIPES: dict[str, tuple[Recipe, Flavour]] = {
    MYSQL_9_7.name: (MYSQL_9_7, "mysql"),
    MARIADB_11_8.name: (MARIADB_11_8, "mariadb"),
}

DEFAULT_SERVERS = (MYSQL_9_7.name, MARIADB_11_8.name)
"""The embedded default server and what takes its place, in the order in which they are tried."""
