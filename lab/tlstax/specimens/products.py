"""The server products that are known: how each is recognised, and which rules it is set up by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tlstax.specimens.mariadb_server import MariaDb
from tlstax.specimens.mysql5_server import MySql5
from tlstax.specimens.mysql_server import MySql
from tlstax.specimens.product import Product
from tlstax.specimens.recipe import Flavour

Era = tuple[int, int]
"""The first two numbers of a version."""


@dataclass(frozen=True)
class KnownProduct:
    """A product: a word of its --version, in small letters (empty for any), and how each era is set up."""

    word: str
    rules: Callable[[Era], Product]


def _mysql(era: Era) -> Product:
    return MySql() if era >= (5, 7) else MySql5()


PRODUCTS: Mapping[Flavour, KnownProduct] = {
    "mariadb": KnownProduct("mariadb", MariaDb),
    "mysql": KnownProduct("", _mysql),
}
"""Those with a word before the one without, for which every other server is taken."""


def flavour_of(version_words: str) -> Flavour:
    """The product that prints this for --version."""
    said = version_words.lower()
    return next(flavour for flavour, product in PRODUCTS.items() if product.word in said)


def product_of(flavour: Flavour, era: Era) -> Product:
    """How a server of this product and era is set up."""
    return PRODUCTS[flavour].rules(era)
