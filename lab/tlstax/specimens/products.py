"""The server products that are known, and by which rules each is set up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tlstax.specimens.mariadb_server import MariaDb
from tlstax.specimens.mysql5_server import MySql5
from tlstax.specimens.mysql_server import MySql
from tlstax.specimens.product import Product
from tlstax.study.product import ProductName

Era = tuple[int, int]
"""The first two numbers of a version."""


def _mysql(era: Era) -> Product:
    return MySql() if era >= (5, 7) else MySql5()


RULES: Mapping[ProductName, Callable[[Era], Product]] = {"mariadb": MariaDb, "mysql": _mysql}
"""By product, what each era's servers are set up by."""


def rules_of(flavour: ProductName, era: Era) -> Product:
    """How a server of this product and era is set up."""
    return RULES[flavour](era)
