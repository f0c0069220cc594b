"""Somebody else's PostgreSQL for tests: a database of it is lent to an ordinary role, which owns it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pg8000 import native

from tlstax.external import access as external_access
from tlstax.external.access import AccessOptions, ExternalAccess
from tlstax.postgres import accounts
from tlstax.postgres.database import PostgresDatabase
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

PASSWORD = "Sesame, open!"
WITHIN_S = 60.0
OURS = {"tlstax_made", "tlstax_sbtest1"}

HOSTS = "host all all 127.0.0.1/32 scram-sha-256"
"""Who has a password is let in, encrypted or not."""

CATALOGS = (
    *("pg_namespace", "pg_class", "pg_attribute", "pg_attrdef", "pg_constraint", "pg_index", "pg_proc"),
    *("pg_type", "pg_trigger", "pg_rewrite", "pg_description", "pg_shdescription", "pg_depend", "pg_policy"),
    *("pg_shdepend", "pg_db_role_setting", "pg_roles", "pg_auth_members", "pg_database", "pg_sequence"),
    *("pg_default_acl", "pg_operator", "pg_cast", "pg_collation", "pg_extension", "pg_event_trigger"),
    *("pg_foreign_server", "pg_publication", "pg_statistic_ext", "pg_largeobject_metadata", "pg_inherits"),
)
"""All that a database consists of, but its rows, and what is the whole server's."""

PASSING = ("relpages", "reltuples", "relallvisible", "relallfrozen", "relfrozenxid", "relminmxid")
"""What autovacuum writes down; of a database `datfrozenxid` and `datminmxid`."""


@dataclass(frozen=True)
class Lent:
    """A server, and a database of this name in it that the role `app` owns."""

    server: PrivateServer
    name: str

    def url(self, user: str = "app", rest: str = "") -> str:
        return f"postgres://{user}@127.0.0.1:{self.server.endpoint().port}/{self.name}{rest}"

    def access(self, user: str = "app", rest: str = "") -> ExternalAccess:
        return external_access.settle(
            AccessOptions(self.url(user, rest)), ask=lambda _: PASSWORD, warn=lambda _: None
        )

    def owner(self, *statements: str) -> list[tuple[Any, ...]]:
        """Carry them out as the server's administrator, beside the database; the last one's rows."""
        return as_owner(self.server, *statements)

    def app(self, *statements: str, user: str = "app") -> list[list[Any]]:
        """Carry them out in the database as this role, as others do, in the clear; the last one's rows."""
        connection = native.Connection(
            user,
            host="127.0.0.1",
            port=self.server.endpoint().port,
            password=PASSWORD,
            database=self.name,
            ssl_context=False,
        )
        try:
            return [connection.run(statement) or [] for statement in statements][-1]
        finally:
            connection.close()

    def tables(self, schema: str = "tlstax") -> set[str]:
        """What has its name among the tables of the schema, less indexes and sequences."""
        asked = (
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"  # noqa: S608
            f" WHERE n.nspname = '{schema}' AND c.relkind NOT IN ('i', 'S')"
        )
        return {str(name) for (name,) in self.app(asked)}

    def has_schema(self, schema: str = "tlstax") -> bool:
        return bool(self.app(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'"))  # noqa: S608

    def everything(self) -> set[str]:
        """All rows of the catalogues, as text."""
        self.wait_until_gone()
        passing = ", ".join(f"'{name}'" for name in (*PASSING, "datfrozenxid", "datminmxid"))
        asked = " UNION ALL ".join(
            f"SELECT '{catalog} ' || (to_jsonb(t) - ARRAY[{passing}])::text FROM pg_catalog.{catalog} t"  # noqa: S608
            for catalog in CATALOGS
        )
        return {row for (row,) in self.app(asked)}

    def cut_connections(self, user: str = "app") -> None:
        """End all of the role's sessions at the server."""
        self.owner(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{user}'")  # noqa: S608
        self.wait_until_gone(user)

    def wait_until_gone(self, user: str = "app") -> None:
        deadline = time.monotonic() + WITHIN_S
        while self.owner(f"SELECT COUNT(*) FROM pg_stat_activity WHERE usename = '{user}'") != [(0,)]:  # noqa: S608
            assert time.monotonic() < deadline, "somebody stays"
            time.sleep(0.02)


def as_owner(server: PrivateServer, *statements: str) -> list[tuple[Any, ...]]:
    with server.admin() as admin:
        assert isinstance(admin, PostgresDatabase)
        return [admin.apart.rows(statement) for statement in statements][-1]


def hosts_are(server: PrivateServer, *lines: str) -> None:
    """Let in whom these lines of pg_hba.conf let in, beside the laboratory's own accounts."""
    ((path,),) = as_owner(server, "SHOW hba_file")
    file = Path(str(path))
    own = [line for line in file.read_text().splitlines() if "tlstax" in line]
    file.write_text("\n".join([*own, *lines, ""]))
    as_owner(server, "SELECT pg_reload_conf()")


def make_role(server: PrivateServer, name: str, options: str = "") -> None:
    """A role of this name, with the password that all of them have."""
    as_owner(server, f"CREATE ROLE {name} LOGIN PASSWORD '{accounts.scram_secret(PASSWORD)}' {options}")


@contextmanager
def lent(
    build: ServerBuild, session: Session, settings: ServerSettings | None = None
) -> Iterator[PrivateServer]:
    """A server with a role `app`, which is no superuser."""
    with PrivateServer.start(build, session, settings or ServerSettings()) as server:
        hosts_are(server, HOSTS)
        make_role(server, "app")
        yield server
