"""Which private server stands in for one of a version that is not ours: the nearest of its product. Pure."""

from __future__ import annotations

import re

from tlstax.study.product import product_of

MYSQL = {(5, 5): "mysql-5.5.34", (5, 6): "mysql-5.6.14", (5, 7): "mysql-8.0.33", (9, 0): "mysql-9.7"}
MARIADB = {(10, 0): "mariadb-10.5", (10, 11): "mariadb-10.11", (11, 0): "mariadb-11.8"}
"""From which version on each specimen is the nearest. Of 5.7 there is none: 8.0's TLS is as modern."""


def stand_in_for(version: str) -> str | None:
    """The specimen for a server's own word of its version; None for what is neither MySQL nor MariaDB.

    Forks of MySQL (Percona Server) say the version that they are made from, and get its specimen.
    """
    found = re.search(r"([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,4}", version)
    if found is None:
        return None
    own = int(found[1]), int(found[2])
    known = MARIADB if product_of(version) == "mariadb" else MYSQL
    older = [since for since in known if since <= own]
    return known[max(older)] if older else None
