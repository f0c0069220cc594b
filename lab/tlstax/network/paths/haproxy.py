"""HAProxy before the server, passing TCP through; or a pair of them, with TLS 1.3 from one to the other.

HAProxy does not speak MySQL's or PostgreSQL's protocol, within which a client asks for TLS. So it can neither
end such a client's TLS nor begin TLS with such a server (but for the direct TLS of PostgreSQL 17 and later):
TLS is between two HAProxys. Each runs as many threads as it is given processors, which is its default.
"""

from __future__ import annotations

import csv
import re
import resource
import socket
from collections.abc import Sequence
from pathlib import Path

from tlstax.network.paths.design import Design, Ends, Laid, Plan, Ports, Program
from tlstax.specimens.certificates import Certificates, issue
from tlstax.specimens.manifest import Kept
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK
from tlstax.support.text import natural

ENTRY, SERVER = "entry", "server"
HOST_NAME = "localhost"
"""What the far end's certificate is checked for: HAProxy compares names, not addresses (verifyhost)."""

ANSWERS_WITHIN_S = 5.0
_AGREED = re.compile(r"agreed on (?P<version>TLSv[\d.]+) (?P<suite>\S+)")

COMMON = """\
global
    stats socket {socket} mode 600 level operator
    log stdout format raw local0 info
    maxconn {most}
defaults
    mode tcp
    timeout connect 10s
    timeout client 1d
    timeout server 1d
frontend entry
    bind {bind}
{logging}    default_backend server
backend server
    fullconn {most}
    server database {server}
"""
LOG_TLS = """\
    log global
    option logasap
    log-format "agreed on %sslv %sslc"
"""
MOST_CONNECTIONS = 10_000
OTHER_FILES = 200
"""Files that it keeps open beside two for each connection; it refuses to start without room for all."""


class Haproxy(Design):
    """One near the client, or with `tls` one at each end.

    `protection` is the TLS version and cipher suite that the far end logs of its connections; None of a
    single one. The statistics count.
    """

    def __init__(self, *, tls: bool) -> None:
        self._tls = tls
        self.said_by = "the log and the statistics of HAProxy" if tls else "the statistics of HAProxy"
        self._sockets: tuple[Path, ...] = ()
        self._seen = [0]

    def lay(self, directory: Path, kept: Kept, ends: Ends, ports: Ports) -> Laid:
        """Configurations, and where there is TLS a certificate."""
        entry = f"{LOOPBACK}:{ports.entry}"
        if not self._tls:
            file = self._write(directory, "near", entry, ends.server_from_near)
            return Laid((Plan(ends.near, kept.program, _arguments(file)),), LOOPBACK)
        issued = issue(directory)
        both, between = _in_one_file(issued), f"{ends.far_address}:{ports.between}"
        far_bind = f"{between} ssl crt {both} ssl-min-ver TLSv1.3"
        near_server = (
            f"{between} ssl ca-file {issued.ca_file} verify required verifyhost {HOST_NAME} "
            "ssl-min-ver TLSv1.3"
        )
        far = self._write(directory, "far", far_bind, ends.server_from_far)
        near = self._write(directory, "near", entry, near_server)
        return Laid(
            (
                Plan(ends.far, kept.program, _arguments(far)),
                Plan(ends.near, kept.program, _arguments(near)),
            ),
            LOOPBACK,
        )

    def began(self, programs: Sequence[Program]) -> None:
        """What TLS was agreed on is read from the log of the far end."""
        self._seen = [self._total(file) or 0 for file in self._sockets]
        if not self._tls:
            return
        self._read(programs)
        if self.protection is None:
            raise MachineFault("HAProxy did not log which cipher it agreed on")

    def connections(self, programs: Sequence[Program]) -> int | None:
        """What the entries have taken since; both ends must have counted alike."""
        self._read(programs)
        before, now = self._seen, [self._total(file) for file in self._sockets]
        known = [total for total in now if total is not None]
        if len(known) < len(now):
            return None
        self._seen = known
        counted = {total - then for total, then in zip(known, before, strict=True)}
        return counted.pop() if len(counted) == 1 else None

    def _read(self, programs: Sequence[Program]) -> None:
        lines = [line for program in programs for line in program.new_lines()]
        agreed = {match.groups() for line in lines if (match := _AGREED.search(line))}
        if agreed:
            self.protection = " and ".join(", ".join(groups) for groups in sorted(agreed))

    def _write(self, directory: Path, name: str, bind: str, server: str) -> Path:
        socket_file, file = directory / f"{name}.sock", directory / f"{name}.cfg"
        words = COMMON.format(
            socket=socket_file,
            bind=bind,
            server=server,
            most=_most_connections(),
            logging=LOG_TLS if name == "far" else "",
        )
        file.write_text(words, encoding="utf-8")
        self._sockets = (*self._sockets, socket_file)
        return file

    @staticmethod
    def _total(file: Path) -> int | None:
        """How many connections the entry has taken since its start (management guide, `show stat`, stot)."""
        said = _answer_of(file, "show stat")
        rows = csv.DictReader(said.removeprefix("# ").splitlines())
        counts = (row["stot"] for row in rows if (row["pxname"], row["svname"]) == (ENTRY, "FRONTEND"))
        return next((natural(count) for count in counts if count), None)


def _arguments(file: Path) -> tuple[str, ...]:
    """In the foreground, one process."""
    return ("-db", "-f", str(file))


def _most_connections() -> int:
    """As many as the limit of open files lets it have, up to MOST_CONNECTIONS."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if hard < 0 else max(1, min(MOST_CONNECTIONS, (hard - OTHER_FILES) // 2))


def _in_one_file(issued: Certificates) -> Path:
    """Certificate and key together, as HAProxy reads them, for this user alone."""
    file = issued.certificate_file.with_name("far.pem")
    file.touch(0o600)
    file.write_bytes(issued.certificate_file.read_bytes() + issued.key_file.read_bytes())
    return file


def _answer_of(file: Path, command: str) -> str:
    """The answer to a command on a statistics socket; empty where there is none."""
    received = b""
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(ANSWERS_WITHIN_S)
            end.connect(str(file))
            end.sendall(f"{command}\n".encode("ascii"))
            while more := end.recv(65536):
                received += more
    except OSError:
        return ""
    return received.decode("utf-8", errors="replace")
