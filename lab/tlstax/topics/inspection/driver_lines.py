"""What mends it at a driver that cannot shake hands with a server: lines to paste, by driver and cause. Pure.

`tests/campaigns/who_connects.py` pastes each into the real driver, at a real server that it could not reach.
Sources: config(5) and SSL_CONF_cmd(3) of OpenSSL, Node.js' command line, java.security of OpenJDK, Go's
"crypto/tls" and "GODEBUG history", Python's "ssl". The words that verify a server are those of `advise`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tlstax.findings.core.programs import all_programs
from tlstax.results.inspection import Cause, Step

ENVIRONMENT, PROGRAM, CONNECTION = "the client's environment", "the client's program", "the client's options"
OPENSSL_FILE, JAVA_FILE = "openssl.cnf", "legacy.properties"

OLD_TLS = Step(
    where=OPENSSL_FILE,
    lines=(
        "openssl_conf = modules",
        "[modules]",
        "ssl_conf = ssl",
        "[ssl]",
        "system_default = all",
        "[all]",
        "MinProtocol = TLSv1",
        "CipherString = DEFAULT:!DHE:@SECLEVEL=0",
        "Options = UnsafeLegacyServerConnect",
    ),
)
"""Old versions, whose hashes and keys need level 0, without Diffie-Hellman, whose primes may be too short,
and with servers that do not know RFC 5746."""

OLD_JAVA = Step(
    where=JAVA_FILE,
    lines=("jdk.tls.disabledAlgorithms = SSLv3, RC4, DES, MD5withRSA, DHE, anon, NULL",),
)

OPENSSL = (OLD_TLS, Step(where=ENVIRONMENT, lines=(f"OPENSSL_CONF=/path/to/{OPENSSL_FILE}",)))
NODE = (
    OLD_TLS,
    Step(
        where=ENVIRONMENT,
        lines=(
            "NODE_OPTIONS=--tls-min-v1.0 --tls-cipher-list=DEFAULT:!DHE:@SECLEVEL=0 "
            f"--openssl-config=/path/to/{OPENSSL_FILE} --openssl-shared-config",
        ),
    ),
)
JAVA = (
    OLD_JAVA,
    Step(
        where=ENVIRONMENT,
        lines=(f"JAVA_TOOL_OPTIONS=-Djava.security.properties=/path/to/{JAVA_FILE}",),
    ),
)
GO_RSA = Step(where=ENVIRONMENT, lines=("GODEBUG=tlsrsakex=1",))
GO_OLD = Step(where=PROGRAM, lines=("MinVersion: tls.VersionTLS10 in its tls.Config",))
PYTHON = (
    Step(
        where=PROGRAM,
        lines=(
            "context = ssl.create_default_context(cafile='ca.pem')",
            "context.minimum_version = ssl.TLSVersion.TLSv1",
            "context.set_ciphers('DEFAULT:!DHE:@SECLEVEL=0')",
            "context.options |= 0x4  # servers that do not know RFC 5746",
            "pymysql.connect(…, ssl=context)",
        ),
    ),
)

PYTHON_RSA = (
    Step(
        where=PROGRAM,
        lines=(
            "context = ssl.create_default_context(cafile='ca.pem')",
            "context.set_ciphers('DEFAULT')",
            "pymysql.connect(…, ssl=context)",
        ),
    ),
)

VERSIONS = ("TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3")


@dataclass(frozen=True)
class Line:
    """What mends these causes at these drivers; `oldest` is the oldest version of TLS that it then speaks."""

    causes: frozenset[Cause]
    drivers: frozenset[str]
    steps: tuple[Step, ...]
    oldest: str = "TLS 1.0"


BOOKWORM = frozenset(
    {"libmariadb-3.3", "mysqlclient-2.2", "dbd-mysql-4.050", "dbd-mariadb-1.22", "ruby-mysql2-0.5.3"}
)
TRIXIE = frozenset({"libmariadb-3.4", "dbd-mysql-4.053", "ruby-mysql2-0.5.5", "rmariadb-1.3"})
PHP = frozenset({"mysqli-8.2", "mysqli-8.4", "pdo-mysql-8.2", "pdo-mysql-8.4"})
GO = frozenset({"go-sql-driver-1.9", "go-mysql-1.13"})
NODES = frozenset({"mysql2-3", "mariadb-node-3"})
OLDER_CONNECTOR_J = frozenset({"connector-j-5.1.49", "connector-j-8.0.16"})
MARIADB_CONNECTOR_J = frozenset({"mariadb-connector-j-3.5"})
PYMYSQL = frozenset({"pymysql-1.1", "pymysql-1.2"})

OLD: frozenset[Cause] = frozenset({"version", "key"})


def _lines(newest: str) -> tuple[Line, ...]:
    """All of them, for a server whose newest version of TLS this is."""
    protocol = newest.replace("TLS ", "TLSv").removesuffix(".0")
    options = (*JAVA, Step(where=CONNECTION, lines=(f"enabledSslProtocolSuites={protocol}",)))
    return (
        Line(OLD, BOOKWORM, OPENSSL),
        Line(OLD, TRIXIE | PHP, OPENSSL, oldest="TLS 1.1"),
        Line(OLD, NODES, NODE),
        Line(frozenset({"version"}), OLDER_CONNECTOR_J, JAVA),
        Line(frozenset({"version"}), MARIADB_CONNECTOR_J, options),
        Line(frozenset({"version"}), GO, (GO_OLD, GO_RSA)),
        Line(frozenset({"suite"}), GO, (GO_RSA,)),
        Line(OLD, PYMYSQL, PYTHON),
        Line(frozenset({"suite"}), PYMYSQL, PYTHON_RSA),
    )


def lines_for(
    cause: Cause, drivers: Collection[str], newest: str, *, has_rsa: bool
) -> Iterator[tuple[tuple[Step, ...], list[str]]]:
    """What mends it at each of these drivers that something mends: the lines, and for whom they are.

    `newest` is the newest version of TLS that the server takes, `has_rsa` whether it has RSA key exchange.
    """
    if cause in {"plaintext", "certificate"}:
        yield from _verifying(drivers)
        return
    if cause == "suite" and not has_rsa:
        return
    if newest not in VERSIONS or VERSIONS.index(newest) > VERSIONS.index("TLS 1.2"):
        return
    for line in _lines(newest):
        names = [name for name in drivers if name in line.drivers]
        if cause in line.causes and names and VERSIONS.index(line.oldest) <= VERSIONS.index(newest):
            yield line.steps, names


def _verifying(drivers: Collection[str]) -> Iterator[tuple[tuple[Step, ...], list[str]]]:
    """What requires TLS and verifies the server, by each driver's own word."""
    for program in all_programs():
        names = [name for name in drivers if name in program.drivers]
        if names and "cannot" not in program.verify and "can neither" not in program.verify:
            yield (Step(where=PROGRAM, lines=(program.verify,)),), names
