"""A server that blocks a host after a refused handshake or two, inspected and probed: not blocked afterwards.

Addresses of the loopback network are never blocked, so client and server have a network namespace of their
own with another address, and a name for it: servers count by what they have resolved.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ADDRESS = "198.51.100.7"
"""Of those that are for examples (RFC 5737)."""

SETTLE = """
set -e
ip link set lo up
ip addr add $1/32 dev lo
printf '127.0.0.1 localhost\\n%s db.example\\n' $1 > $2
mount --bind $2 /etc/hosts
shift 2
exec "$@"
"""

PROGRAM = """
import contextlib, os, subprocess, sys
import pymysql
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings

address, limit, *typed = sys.argv[1:]
settings = ServerSettings(
    buffer_pool_bytes=64 * 1024 * 1024,
    options=(f"--bind-address={address}", f"--max-connect-errors={limit}", "--skip-name-resolve=OFF"),
)
build = resolve.named_server("mariadb-11.8", lambda _: None)
with sessions.open_session() as session, PrivateServer.start(build, session, settings) as server:
    with contextlib.closing(server.admin()) as owner:
        owner.rows("CREATE DATABASE lent")
        owner.rows("CREATE USER ann@'%' IDENTIFIED BY 'Sesame, open!'")
        owner.rows("GRANT ALL ON lent.* TO ann@'%'")
    port = server.endpoint().port
    url = f"mysql://ann@{address}:{port}/lent"
    places = {"URL": url, "CA": server.ca_file}
    command = [sys.executable, "-P", "-m", "tlstax", *(places.get(word, word) for word in typed)]
    status = subprocess.run(command, check=False).returncode
    try:
        pymysql.connect(host=address, port=port, user="ann", password=os.environ["TLSTAX_PASSWORD"]).close()
    except pymysql.MySQLError as error:
        print(f"afterwards: {error}", flush=True)
    else:
        print(f"afterwards: a login succeeds; it ended with {status}", flush=True)
"""


def in_a_network_of_its_own(
    limit: int, directory: Path, typed: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    """What is typed, carried out at a server with this limit; URL and CA stand for the server's."""
    hosts = directory / "hosts"
    hosts.touch()
    return subprocess.run(
        [
            *("unshare", "--net", "--mount", "sh", "-c", SETTLE, "sh", ADDRESS, str(hosts)),
            *(sys.executable, "-P", "-c", PROGRAM, ADDRESS, str(limit), *typed),
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TLSTAX_DATA": str(directory / "data"),
            "TLSTAX_PASSWORD": "Sesame, open!",
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have a network namespace of its own here")
@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (1, "the server blocks a host after a single refusal (max_connect_errors)"),
        pytest.param(
            2, "blocks a host after 2 refusals in a row (max_connect_errors)", marks=pytest.mark.long
        ),
    ],
)
def test_an_inspection_gets_no_host_blocked(limit: int, said: str, tmp_path: Path) -> None:
    ended = in_a_network_of_its_own(limit, tmp_path, ("inspect", "URL"))
    assert "afterwards: a login succeeds; it ended with 0" in ended.stdout, ended.stdout + ended.stderr
    assert said in " ".join((ended.stdout + ended.stderr).split())
