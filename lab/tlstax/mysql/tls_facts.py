"""What a running server says of its TLS: library, versions, ciphers, the certificate in use."""

from __future__ import annotations

from pymysql.constants import CLIENT

from tlstax.contract import Frozen
from tlstax.mysql import answers
from tlstax.mysql.database import Database

STATUS = "WHERE Variable_name LIKE '%tls%' OR Variable_name LIKE 'Ssl%'"
VARIABLES = "WHERE Variable_name LIKE '%ssl%' OR Variable_name LIKE 'tls%'"


class TlsFacts(Frozen):
    """What a server reports; None where it does not report it.

    `offered` is the flag CLIENT_SSL of its greeting. `versions` are those it may negotiate;
    `cipher_list` holds for TLS 1.2 and before, `ciphersuites` for TLS 1.3, both as configured: empty means
    the library's default. `certificate_expires` is as OpenSSL prints it.
    """

    offered: bool
    library_version: str | None
    versions: tuple[str, ...]
    cipher_list: str
    ciphersuites: str
    certificate_file: str | None
    certificate_expires: str | None


def read(database: Database) -> TlsFacts:
    """Ask the server.

    MySQL reports its library in the status variable Tls_library_version from 8.0.30 on, what is in force in
    the status variables Current_tls_* from 8.0.16 on; MariaDB reports its library in the system variable
    version_ssl_library.
    """
    status = _pairs(database, f"SHOW GLOBAL STATUS {STATUS}")
    variables = _pairs(database, f"SHOW GLOBAL VARIABLES {VARIABLES}")
    versions = status.get("current_tls_version", variables.get("tls_version", ""))
    return TlsFacts(
        offered=offers_tls(database),
        library_version=status.get("tls_library_version") or variables.get("version_ssl_library") or None,
        versions=tuple(version for version in versions.split(",") if version),
        cipher_list=status.get("current_tls_cipher", variables.get("ssl_cipher", "")),
        ciphersuites=status.get("current_tls_ciphersuites", variables.get("tls_ciphersuites", "")),
        certificate_file=status.get("current_tls_cert") or variables.get("ssl_cert") or None,
        certificate_expires=status.get("ssl_server_not_after") or None,
    )


def offers_tls(database: Database) -> bool:
    """Whether the server's greeting on this connection had the capability flag CLIENT_SSL."""
    capabilities: int = getattr(database, "server_capabilities", 0)
    return bool(capabilities & CLIENT.SSL)


def _pairs(database: Database, statement: str) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in answers.rows(database, statement, columns=2)}
