"""MySQL Router, which speaks MySQL's protocol: it can end TLS, begin it, do both, or only pass bytes on.

Where it ends a client's TLS it shows the server's own certificate, which the client verifies as it would the
server's. Where it begins TLS it verifies the server's authority (VERIFY_CA), at an external server
what the user asked for. It shares no connection between
clients. Where it stands near the server it ends TLS; else it stands near the client.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tlstax.network.paths.design import Design, Ends, Laid, Place, Plan, Ports, Program, own_command
from tlstax.network.paths.exchange import Exchange, exchange
from tlstax.specimens.manifest import Kept
from tlstax.specimens.processes import mortal, must_run
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK

USER = "tlstax"
LIBRARIES = "usr/lib/mysql-router"
PLUGINS = "usr/lib/mysqlrouter/plugin"
MOST_CONNECTIONS = 10_000
STATUS_WITHIN_S = 5.0


@dataclass(frozen=True)
class Modes:
    """What it does on either side: client_ssl_mode and server_ssl_mode (MySQL Router manual)."""

    client: str
    server: str
    near_the_server: bool = False


MODES = {
    "router-terminate": Modes("REQUIRED", "DISABLED", near_the_server=True),
    "router-passthrough": Modes("PASSTHROUGH", "AS_CLIENT"),
    "router-reencrypt": Modes("REQUIRED", "REQUIRED"),
    "router-encrypt": Modes("DISABLED", "REQUIRED"),
}

VERIFY = {"none": "DISABLED", "ca": "VERIFY_CA", "identity": "VERIFY_IDENTITY"}
"""Its words for what it checks of a server's certificate."""

CONFIGURATION = """\
[DEFAULT]
plugin_folder={plugins}
runtime_folder={directory}
data_folder={directory}
logging_folder=
connect_timeout=10
max_total_connections={most}
[logger]
level=INFO
sinks=consolelog
[routing:mysql]
bind_address={address}
bind_port={entry}
destinations={server}
routing_strategy=first-available
protocol=classic
max_connections={most}
max_connect_errors=4294967295
connection_sharing=0
client_ssl_mode={modes.client}
client_ssl_cert={certificates.certificate_file}
client_ssl_key={certificates.key_file}
server_ssl_mode={modes.server}
server_ssl_verify={verify}
server_ssl_ca={certificates.ca_file}
[http_server]
bind_address={loopback}
port={status}
[http_auth_backend:users]
backend=file
filename={users}
[http_auth_realm:status]
backend=users
method=basic
name=status
[rest_api]
[rest_routing]
require_realm=status
"""


class Router(Design):
    """It has one program, and so nothing between two ends; what is on either side of it both sides report."""

    said_by = "the status page of MySQL Router"

    def __init__(self, name: str) -> None:
        self._modes = MODES[name]
        self._place: Place | None = None
        self._port = 0
        self._password = secrets.token_urlsafe(24)
        self._seen = 0

    def lay(self, directory: Path, kept: Kept, ends: Ends, ports: Ports) -> Laid:
        """Its configuration, and an account for its status page."""
        beside = self._modes.near_the_server
        place, address = (ends.far, ends.far_address) if beside else (ends.near, LOOPBACK)
        self._place, self._port, self._seen = place, ports.status, 0
        libraries = (kept.tree / LIBRARIES,)
        self._add_user(directory / "users", kept, libraries)
        file = directory / "router.conf"
        words = CONFIGURATION.format(
            plugins=kept.tree / PLUGINS,
            directory=directory,
            most=MOST_CONNECTIONS,
            address=address,
            entry=ports.entry,
            server=ends.server_from_far if beside else ends.server_from_near,
            verify=VERIFY[ends.verify],
            modes=self._modes,
            certificates=ends.certificates,
            loopback=LOOPBACK,
            status=ports.status,
            users=directory / "users",
        )
        file.write_text(words, encoding="utf-8")
        plan = Plan(place, kept.program, ("-c", str(file)), libraries=libraries)
        return Laid((plan,), address)

    def began(self, programs: Sequence[Program]) -> None:
        """Its status page counts from here on."""
        total = self._total()
        if total is None:
            raise MachineFault(f"MySQL Router does not report its status: {programs[0].last_line()}")
        self._seen = total

    def connections(self, programs: Sequence[Program]) -> int | None:
        """What it has taken since."""
        for program in programs:
            program.new_lines()
        before, total = self._seen, self._total()
        self._seen = before if total is None else total
        return None if total is None else total - before

    def _total(self) -> int | None:
        """The connections that it has taken since its start (Router's REST API, /routes/NAME/status)."""
        place = self._place
        if place is None:
            return None
        login = base64.b64encode(f"{USER}:{self._password}".encode()).decode("ascii")
        request = (
            "GET /api/20190715/routes/mysql/status HTTP/1.1\r\n"
            f"Host: {LOOPBACK}\r\nAuthorization: Basic {login}\r\nConnection: close\r\n\r\n"
        )
        asked = Exchange(LOOPBACK, self._port, request.encode("ascii"), timeout_s=STATUS_WITHIN_S)
        said = exchange(place.entering, asked)
        try:
            found = json.loads(said.partition(b"\r\n\r\n")[2])["totalConnections"]
        except (ValueError, KeyError, TypeError):
            return None
        return int(found)

    def _add_user(self, file: Path, kept: Kept, libraries: Sequence[Path]) -> None:
        """The account of the status page; its password goes over standard input."""
        tool = kept.program.with_name("mysqlrouter_passwd")
        command = own_command(kept, tool, ["set", str(file), USER], libraries)
        done = must_run(tool, mortal(command), typed=f"{self._password}\n")
        if done.returncode != 0:
            raise MachineFault(f"MySQL Router's password file cannot be made ({done.stderr.strip()[-200:]})")
