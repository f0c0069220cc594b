"""An option file opens no door to tlstax that it keeps shut to its own client, `mysql` or `mariadb`."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tlstax.external import access as external_access
from tlstax.external import connection as external_connection
from tlstax.external.access import AccessOptions
from tlstax.specimens import certificates
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.support.errors import TlstaxError
from tlstax.support.relaying import door, pass_on
from tlstax.tools.probes.drivers.relays import PATIENCE_S

OTHER_ADDRESS = "127.0.0.2"
"""The server answers there too, and its certificate is not for it."""

ASKED = "SHOW SESSION STATUS LIKE 'Ssl_version'"

Own = Literal["mysql", "mariadb"]

LONG: tuple[tuple[Own, str], ...] = (
    ("mysql", "ssl-ca={ca}"),
    ("mysql", "ssl-ca={ca}\nssl-mode=VERIFY_IDENTITY"),
    ("mariadb", "ssl_ca={ca}\nssl_verify=ON"),
    ("mariadb", "ssl-ca={ca}\nssl-crl={other}"),
    ("mariadb", "[client-server]\nssl-ca={ca}"),
    ("mariadb", "[client-mariadb]\nssl-ca={ca}"),
    ("mariadb", "ssl=OFF"),
)
FILES = (
    ("mysql", "ssl-mode=REQUIRED"),
    ("mysql", "ssl-ca={other}"),
    ("mariadb", "ssl-ca={ca}\nssl-verify-server-cert"),
    ("mariadb", "ssl-ca={other}\nssl-verify-server-cert=0"),
    ("mariadb", "skip-ssl"),
    *(pytest.param(file, marks=pytest.mark.long) for file in LONG),
)


@pytest.fixture(scope="module")
def clients(mysql_build: ServerBuild, mariadb_build: ServerBuild) -> dict[Own, list[str]]:
    return {"mysql": mysql_build.companion("mysql")[1], "mariadb": mariadb_build.companion("mariadb")[1]}


@pytest.fixture(scope="module")
def other_port(mysql: PrivateServer) -> Iterator[int]:
    def between(client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", mysql.endpoint().port)) as server:
            pass_on(client, server)

    with door(OTHER_ADDRESS, between, PATIENCE_S) as port:
        yield port


def of_client(command: list[str], file: Path, host: str, port: int) -> str | None:
    """The version of TLS by which the file's own client gets in, empty without TLS; None where it fails."""
    done = subprocess.run(
        [*command, f"--defaults-file={file}", f"--host={host}", f"--port={port}", "-N", "-B", "-e", ASKED],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.rstrip("\n").partition("\t")[2] if done.returncode == 0 else None


def of_tlstax(file: Path, host: str, port: int) -> str | None:
    """The same of tlstax."""
    try:
        access = external_access.settle(AccessOptions(url=f"mysql://{host}:{port}", defaults_file=file))
        database = external_connection.connect(access, None)
    except TlstaxError:
        return None
    with database:
        return str(database.rows(ASKED)[0][1])


@pytest.mark.parametrize("option_file", FILES, ids="-".join)
def test_a_file_lets_tlstax_in_where_it_lets_its_own_client_in(
    mysql: PrivateServer,
    clients: dict[Own, list[str]],
    other_port: int,
    tmp_path: Path,
    option_file: tuple[Own, str],
) -> None:
    """As safely, and no further: at the right address, and at one that the certificate is not for."""
    own, text = option_file
    other = certificates.issue(tmp_path).ca_file
    account, file = mysql.load_account, tmp_path / "my.cnf"
    begin = f'[client]\nuser={account.user}\npassword="{account.password}"\n'
    file.write_text(begin)
    file.chmod(0o600)
    assert of_tlstax(file, "127.0.0.1", mysql.endpoint().port), "the server knows the account from now on"
    file.write_text(begin + text.format(ca=mysql.ca_file, other=other))
    for host, port in (("127.0.0.1", mysql.endpoint().port), (OTHER_ADDRESS, other_port)):
        assert of_tlstax(file, host, port) == of_client(clients[own], file, host, port), host
