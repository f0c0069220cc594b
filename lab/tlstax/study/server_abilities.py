"""What servers can do, as far as cases depend on it: the catalogue's, and others as they answered."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.contract import Frozen
from tlstax.study.level_names import CACHING_SHA2, COMPRESSIONS, NATIVE_PASSWORD


class ServerAbilities(Frozen):
    """The TLS versions that a server negotiates ("1.2"), and the plugins by which its accounts are proved.

    `compressions` are the levels of `compression` that it agrees on; where nobody asked, it may have all.
    """

    tls_versions: tuple[str, ...]
    account_plugins: tuple[str, ...]
    compressions: tuple[str, ...] = COMPRESSIONS

    @property
    def has_modern_tls(self) -> bool:
        """Whether it has TLS 1.2 or 1.3, without which most clients of today do not encrypt."""
        return bool({"1.2", "1.3"} & set(self.tls_versions))


_ZLIB = ("off", "zlib")
_MYSQL_5 = ServerAbilities(tls_versions=("1.0",), account_plugins=(NATIVE_PASSWORD,), compressions=_ZLIB)
_MYSQL_8_0 = ServerAbilities(tls_versions=("1.2", "1.3"), account_plugins=(CACHING_SHA2, NATIVE_PASSWORD))
_MYSQL_9 = ServerAbilities(tls_versions=("1.2", "1.3"), account_plugins=(CACHING_SHA2,))
_MARIADB = ServerAbilities(
    tls_versions=("1.2", "1.3"), account_plugins=(NATIVE_PASSWORD,), compressions=_ZLIB
)

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
