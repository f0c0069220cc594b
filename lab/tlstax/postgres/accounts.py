"""The accounts of a private PostgreSQL: roles, what proves each of them, and who is let in from where.

Passwords are never said to the server: it is given what it keeps of them, computed here.

Source: PostgreSQL documentation, "CREATE ROLE" (a password may be given as it is kept), "pg_authid", "The
pg_hba.conf File" and "User Name Maps"; RFC 5802, 3 (the keys of SCRAM).
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterable
from typing import Final

from tlstax.postgres import scram
from tlstax.postgres.database import apart
from tlstax.sql import answers
from tlstax.sql.credentials import Credentials
from tlstax.sql.database import Database
from tlstax.sql.facts import Terms
from tlstax.study.level_names import SCRAM_ITERATIONS

BOOTSTRAP: Final = "postgres"
"""The role that initdb makes by this name: it owns what is the system's, and nobody logs in as it."""

ADMINISTRATOR: Final = "tlstax_admin"
LOAD_USER: Final = "tlstax_load"
LOAD_USER_BY_CERTIFICATE: Final = "tlstax_load_by_certificate"
SCHEMA: Final = "tlstax"
"""The database of the load."""

SCRAM, MD5, PASSWORD, TRUST, CERTIFICATE = "scram-sha-256", "md5", "password", "trust", "cert"
METHODS: Final = (SCRAM, MD5, PASSWORD, TRUST, CERTIFICATE)
"""What may prove a load account, by the names of pg_hba.conf."""

SCRAM_PLUS: Final = "scram-sha-256-plus"
"""SCRAM bound to the TLS channel: the method is SCRAM to the server, and the client binds it."""

REMEMBERED: Final[frozenset[str]] = frozenset()
"""The methods by which later logins are shorter than the first: none."""

CERTIFICATE_MAP: Final = "tlstax"
"""The map of pg_ident.conf by which a client's certificate stands for an account."""

ITERATIONS: Final = SCRAM_ITERATIONS

_SALT_BYTES: Final = 16
_FIRST_WITH_VERIFY_CA: Final = 12


def user_by_plugin(plugin: str) -> str:
    """The load account that is proved by this method: one for each, as cases of one run may have several."""
    return f"tlstax_by_{plugin}"


def scram_secret(password: str, iterations: int = ITERATIONS, salt: bytes | None = None) -> str:
    """What a server keeps of an ASCII password for SCRAM-SHA-256, which does not give it away.

    Every version from 10 on takes any number of iterations so, whether it has `scram_iterations` or not.
    """
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    client_key, server_key = scram.keys(password.encode("ascii"), salt, iterations)
    parts = (salt, hashlib.sha256(client_key).digest(), server_key)
    kept_salt, kept_stored, kept_server = (base64.b64encode(part).decode() for part in parts)
    return f"SCRAM-SHA-256${iterations}:{kept_salt}${kept_stored}:{kept_server}"


def md5_secret(user: str, password: str) -> str:
    """What a server keeps of a password for the method md5: whoever has it can log in."""
    return "md5" + hashlib.md5((password + user).encode(), usedforsecurity=False).hexdigest()


def statements(credentials: Credentials) -> list[str]:
    """What makes both accounts and the load's database, said one by one in `BOOTSTRAP`'s.

    In the load's database the administrator is the load account, so that what it makes there is the load's;
    what only a superuser may it does elsewhere. No other account is let in.
    """
    return [
        f"ALTER ROLE {BOOTSTRAP} NOLOGIN",
        f"CREATE ROLE {ADMINISTRATOR} SUPERUSER LOGIN PASSWORD '{scram_secret(credentials.admin_password)}'",
        f"CREATE ROLE {LOAD_USER} LOGIN PASSWORD '{scram_secret(credentials.load_password)}'",
        f"CREATE DATABASE {SCHEMA} OWNER {LOAD_USER}",
        f"ALTER ROLE {ADMINISTRATOR} IN DATABASE {SCHEMA} SET role = '{LOAD_USER}'",
    ]


def replication_statements() -> list[str]:
    """What lets the load account read the log of changes and all files (CREATE ROLE, REPLICATION)."""
    return [f"ALTER ROLE {LOAD_USER} REPLICATION"]


REPLICATION_LINE: Final = f'host replication "{LOAD_USER}" all {SCRAM}'
"""The line of pg_hba.conf for that: no other database's line is for it."""


def hba_lines(*, certificates: bool, major: int) -> list[str]:
    """The lines of pg_hba.conf for these accounts, the first that fits deciding.

    The administrator comes over the socket alone. A password in the clear is taken over TLS or the socket.
    `certificates` says whether the server can verify clients', `major` its version: 18.
    """
    asked = "clientcert=verify-ca" if major >= _FIRST_WITH_VERIFY_CA else "clientcert=1"
    by_certificate = [
        ("hostssl", LOAD_USER_BY_CERTIFICATE, f"{SCRAM} {asked}"),
        ("hostssl", user_by_plugin(CERTIFICATE), f"{CERTIFICATE} map={CERTIFICATE_MAP}"),
    ]
    lines = [
        *_same(ADMINISTRATOR, SCRAM, ("local",)),
        *(by_certificate if certificates else []),
        *_same(user_by_plugin(PASSWORD), PASSWORD, ("local", "hostssl")),
        *(
            line
            for method in (MD5, TRUST, SCRAM)
            for line in _same(user_by_plugin(method), method, ("local", "host"))
        ),
        *_same(user_by_plugin(SCRAM_PLUS), SCRAM, ("hostssl",)),
        *_same(LOAD_USER, SCRAM, ("local", "host")),
    ]
    # What no line is for is refused; a load account has nothing to do in another database.
    return [
        " ".join(
            (
                kind,
                "all" if user == ADMINISTRATOR else SCHEMA,
                f'"{user}"',
                *(["all"] if kind != "local" else []),
                by,
            )
        )
        for kind, user, by in lines
    ]


def _same(user: str, method: str, kinds: Iterable[str]) -> list[tuple[str, str, str]]:
    return [(kind, user, method) for kind in kinds]


def ident_lines(common_name: str) -> list[str]:
    """The lines of pg_ident.conf: whose certificate stands for the load account that is proved by one."""
    return [f'{CERTIFICATE_MAP} "{common_name}" "{user_by_plugin(CERTIFICATE)}"']


def let_it_see_connections(admin: Database) -> None:
    """Give the load account what an inspection reads of those that are connected (`pg_read_all_stats`)."""
    answers.carry_out(apart(admin), f"GRANT pg_read_all_stats TO {LOAD_USER}")


def make_by_plugin(admin: Database, plugin: str, password: str, iterations: int = ITERATIONS) -> None:
    """Make the load account that is proved by this method, or give the one that is there the password.

    It may do what the load account may. `iterations` are SCRAM's. Raises SqlError where the server does not
    take what is kept of the password.
    """
    user = user_by_plugin(plugin)
    kept = md5_secret(user, password) if plugin == MD5 else scram_secret(password, iterations)
    _make(admin, user, None if plugin in {TRUST, CERTIFICATE} else kept)


def make_by_certificate(admin: Database, password: str) -> None:
    """Make the load account that also demands a client certificate: pg_hba.conf does (`clientcert`)."""
    _make(admin, LOAD_USER_BY_CERTIFICATE, scram_secret(password))


def _make(admin: Database, user: str, kept: str | None) -> None:
    server = apart(admin)
    if not answers.rows(server, "SELECT 1 FROM pg_roles WHERE rolname = %s", user, columns=1):
        answers.carry_out(server, f'CREATE ROLE "{user}" LOGIN IN ROLE {LOAD_USER}')
    answers.carry_out(server, f'ALTER ROLE "{user}" PASSWORD %s', kept)


def kept_secrets(admin: Database) -> dict[str, str]:
    """What the server keeps of the load account's password, for a pooler that logs in for its clients."""
    asked = "SELECT rolname, rolpassword FROM pg_authid WHERE rolname = %s AND rolpassword LIKE 'SCRAM%%'"
    return {str(user): str(kept) for user, kept in answers.rows(apart(admin), asked, LOAD_USER, columns=2)}


def forget_logins(admin: Database) -> None:
    """Nothing: PostgreSQL remembers nothing of earlier logins."""


def demands_certificate(admin: Database, user: str) -> bool | None:
    """Whether the server lets this account in over TCP only with a certificate; None where there is none.

    By the lines of pg_hba.conf that name it.
    """
    server = apart(admin)
    if not answers.rows(server, "SELECT 1 FROM pg_roles WHERE rolname = %s", user, columns=1):
        return None
    asked = (
        "SELECT type, auth_method, COALESCE(options::text, '') FROM pg_hba_file_rules"
        " WHERE error IS NULL AND type <> 'local' AND auth_method <> 'reject' AND %s = ANY(user_name)"
    )
    rules = answers.rows(server, asked, user, columns=3)
    return bool(rules) and all(
        kind == "hostssl" and (method == CERTIFICATE or "clientcert=" in options)
        for kind, method, options in rules
    )


def terms(database: Database) -> Terms:  # noqa: ARG001
    """None: a role has no hourly limits, and what pg_hba.conf demands of it only a superuser may read."""
    return Terms()


def plugin_of_load_account(admin: Database) -> str:
    """The method by which the load account is proved over TCP; empty where pg_hba.conf has no line for it."""
    asked = (
        "SELECT auth_method FROM pg_hba_file_rules WHERE error IS NULL AND type <> 'local'"
        " AND %s = ANY(user_name) ORDER BY line_number"
    )
    for (method,) in answers.rows(apart(admin), asked, LOAD_USER, columns=1):
        return str(method)
    return ""
