"""Somebody else's PostgreSQL for tests: a database of it is lent to an ordinary role, which owns it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pg8000 import native

from tlstax.postgres import accounts
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

PASSWORD = "Sesame, open!"
DATABASE = "scratch"

HOSTS = "host all all 127.0.0.1/32 scram-sha-256"


def as_owner(server: PrivateServer, *statements: str) -> list[tuple[Any, ...]]:
    """Carry them out as the server's administrator, beside the load's database; the last one's rows."""
    with server.admin() as database:
        return [database.apart.rows(statement) for statement in statements][-1]  # type: ignore[attr-defined]


def hosts_are(server: PrivateServer, *lines: str) -> None:
    """Let in whom these lines of pg_hba.conf let in, beside the laboratory's own accounts."""
    ((path,),) = as_owner(server, "SHOW hba_file")
    file = Path(str(path))
    own = [line for line in file.read_text().splitlines() if "tlstax" in line]
    file.write_text("\n".join([*own, *lines, ""]))
    as_owner(server, "SELECT pg_reload_conf()")


@contextmanager
def lent(
    build: ServerBuild, session: Session, settings: ServerSettings | None = None
) -> Iterator[PrivateServer]:
    """A server with a role `app`, which is no superuser, and its database."""
    with PrivateServer.start(build, session, settings or ServerSettings()) as server:
        hosts_are(server, HOSTS)
        make_role(server, "app")
        as_owner(server, f"CREATE DATABASE {DATABASE} OWNER app")
        yield server


def make_role(server: PrivateServer, name: str, *options: str) -> None:
    """A role of this name, with the password that all of them have."""
    secret = accounts.scram_secret(PASSWORD)
    as_owner(server, f"CREATE ROLE {name} LOGIN PASSWORD '{secret}' {' '.join(options)}")


def url_of(server: PrivateServer, user: str = "app", database: str = DATABASE, rest: str = "") -> str:
    return f"postgres://{user}@127.0.0.1:{server.endpoint().port}/{database}{rest}"


@contextmanager
def connected(
    server: PrivateServer, user: str = "app", database: str = DATABASE
) -> Iterator[native.Connection]:
    """A session of this role's, as others have them."""
    connection = native.Connection(
        user, host="127.0.0.1", port=server.endpoint().port, password=PASSWORD, database=database
    )
    try:
        yield connection
    finally:
        connection.close()
