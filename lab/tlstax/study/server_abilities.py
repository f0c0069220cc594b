"""What servers can do, as far as cases depend on it: the catalogue's, and others as they answered."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import Field

from tlstax.contract import Frozen
from tlstax.study.level_names import CACHING_SHA2, COMPRESSIONS, NATIVE_PASSWORD, POSTGRESQL_AUTH
from tlstax.study.product import DEFAULT, ProductName


class ServerAbilities(Frozen):
    """The TLS versions that a server negotiates ("1.2"), and the plugins by which its accounts are proved.

    `compressions` are the levels of `compression` that it agrees on; where nobody asked, it may have all.
    Those of a PostgreSQL are of its base backups alone.
    `direct_tls` is whether TLS may begin at once, without the client's question (PostgreSQL's SSLRequest).
    """

    product: ProductName = Field(default=DEFAULT, exclude_if=lambda product: product == DEFAULT)
    tls_versions: tuple[str, ...]
    account_plugins: tuple[str, ...]
    compressions: tuple[str, ...] = COMPRESSIONS
    direct_tls: bool = Field(default=False, exclude_if=lambda direct: not direct)

    @property
    def has_modern_tls(self) -> bool:
        """Whether it has TLS 1.2 or 1.3, without which most clients of today do not encrypt."""
        return bool({"1.2", "1.3"} & set(self.tls_versions))


_ZLIB = ("off", "zlib")
_MYSQL_5 = ServerAbilities(tls_versions=("1.0",), account_plugins=(NATIVE_PASSWORD,), compressions=_ZLIB)
_MYSQL_8_0 = ServerAbilities(tls_versions=("1.2", "1.3"), account_plugins=(CACHING_SHA2, NATIVE_PASSWORD))
_MYSQL_9 = ServerAbilities(tls_versions=("1.2", "1.3"), account_plugins=(CACHING_SHA2,))
_MARIADB = ServerAbilities(
    product="mariadb", tls_versions=("1.2", "1.3"), account_plugins=(NATIVE_PASSWORD,), compressions=_ZLIB
)


FIRST_WITH_PACKED_BACKUPS = 15
"""The PostgreSQL whose server can compress base backups, and later ones (release notes of 15)."""


def of_postgresql(major: int) -> ServerAbilities:
    """A PostgreSQL of this major version (10 or later), over an OpenSSL that has TLS 1.3.

    TLS begins at once from 17 on (release notes of PostgreSQL 17, E.1.3.3, `sslnegotiation`). Before 13 it
    takes TLS 1.0 where its OpenSSL does: 10 and 11 turn off SSL 2 and 3 alone (`be_tls_init` in
    src/backend/libpq/be-secure-openssl.c), and `ssl_min_protocol_version`, which came with 12, was TLSv1
    there (release notes of PostgreSQL 12 and 13).
    """
    return ServerAbilities(
        product="postgresql",
        tls_versions=("1.2", "1.3") if major >= 13 else ("1.0", "1.1", "1.2", "1.3"),
        account_plugins=POSTGRESQL_AUTH,
        compressions=COMPRESSIONS if major >= FIRST_WITH_PACKED_BACKUPS else ("off",),
        direct_tls=major >= 17,
    )


UNNAMED = ""
"""What an external server is called that is alone, and that no case names."""

EXTERNAL_POSTGRESQL = of_postgresql(17).model_copy(update={"tls_versions": ("1.0", "1.1", "1.2", "1.3")})
"""An external PostgreSQL before it has been asked: whatever any of them can do."""

CATALOGUED: Mapping[str, ServerAbilities] = {
    "mysql-9.7": _MYSQL_9,
    "mysql-sid": _MYSQL_9,
    "mysql-8.0.33": _MYSQL_8_0,
    "mysql-5.6.24": _MYSQL_5,
    "mysql-5.6.14": _MYSQL_5,
    "mysql-5.5.34": _MYSQL_5,
    "mariadb-11.8": _MARIADB,
    "mariadb-10.11": _MARIADB,
    "mariadb-10.5": _MARIADB,
    "mariadb-11.4-wolfssl": _MARIADB,
    "mariadb-10.11-wolfssl": _MARIADB,
    "mariadb-10.1-yassl": _MARIADB.model_copy(update={"tls_versions": ("1.0", "1.1")}),
}
"""The servers that can be fetched, so that a study of them can be planned before they are here."""


def product_named(server: str | None) -> ProductName:
    """The product of the server that can be fetched under this name; the default server's for another."""
    abilities = abilities_named(server or "")
    return DEFAULT if abilities is None else abilities.product


_POSTGRESQL_NAME = re.compile(r"postgresql-([1-9][0-9])(?:-[a-z0-9.]+)?")


def abilities_named(server: str) -> ServerAbilities | None:
    """What the server that can be fetched under this name can do; None for another name."""
    major = _POSTGRESQL_NAME.fullmatch(server)
    return CATALOGUED.get(server) or (of_postgresql(int(major[1])) if major else None)
