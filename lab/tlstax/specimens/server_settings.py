"""How a private server is set up for measuring, and why so."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tlstax.specimens.certificates import CertificateRequest, Certificates
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.server_build import Fault, TlsLibrary
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.support.here import LOOPBACK

FILES_BESIDE_CONNECTIONS = 810
"""Descriptors that a server keeps for tables and logs; every connection takes one more. MySQL allows as many
connections as are left beside 10 and twice its smallest table cache, 400 (MySQL reference manual,
open_files_limit)."""

LEAST_BUFFER_POOL_BYTES = 128 * 1024 * 1024
ROW_BYTES = 512
"""More than a row of the table takes with its index, so that all stays in memory."""

LONGEST_WAIT_S = 31_536_000
"""A year, the most that wait_timeout may be (MySQL reference manual, Server System Variables)."""


@dataclass(frozen=True)
class ServerSettings:
    """What a caller may choose about a private server.

    `cpus` are the processors it may use (empty: all). `openssl_conf` is the text of the only OpenSSL
    configuration it reads, so that the machine's own cannot change what is measured. `configuration` are
    options that are asked for, before those that keep the server in its place, and `options`
    come last and so override the others. `tls_library` is put under the server in
    place of the one that it comes with, `fault` is planted in it, and OpenSSL finds the
    instructions of `cpu_features` there. `before_exec` is called with the process id
    before the server's program is executed, for counters that are to be inherited by all its threads.
    `tree` has the processes of a server that starts some, once `before_exec` has taken it: all of them pause
    and end. It is None for a server of one process.
    `entering` goes before the server's command, to start it in another network namespace, where it listens on
    all addresses: nothing but this session reaches them. `address` is where it listens, loopback or one at
    which other machines reach it.
    """

    cpus: tuple[int, ...] = ()
    certificate: CertificateRequest = field(default_factory=CertificateRequest)
    openssl_conf: str = ""
    configuration: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    tls_library: TlsLibrary | None = None
    fault: Fault | None = None
    cpu_features: str = OWN_FEATURES
    buffer_pool_bytes: int = LEAST_BUFFER_POOL_BYTES
    max_connections: int = 4096
    start_timeout_s: float = 90.0
    before_exec: Callable[[int], None] | None = None
    tree: ProcessTree | None = None
    entering: tuple[str, ...] = ()
    address: str = LOOPBACK


def measurement_options(settings: ServerSettings) -> list[str]:
    """Options of every measured run.

    The data fit in the buffer pool, no name is looked up, no client is ever blocked for failed
    handshakes, a burst of connections finds room in the listen queue, and no log is written per
    statement or commit but InnoDB's own, which keeps its defaults (innodb_flush_log_at_trx_commit=1). The
    performance schema keeps its product's default, which is what people run: on in MySQL, off in MariaDB.
    A server may be paused for hours between its trials: that must cost neither the laboratory's connection
    nor, for a latch that seems to be held for long, the server itself.
    """
    return [
        f"--innodb-buffer-pool-size={settings.buffer_pool_bytes}",
        f"--max-connections={bounded_connections(settings.max_connections)}",
        "--max-connect-errors=4294967295",
        "--back-log=4096",
        "--skip-name-resolve",
        "--skip-log-bin",
        "--general-log=0",
        "--slow-query-log=0",
        "--local-infile=0",
        f"--wait-timeout={LONGEST_WAIT_S}",
        f"--interactive-timeout={LONGEST_WAIT_S}",
        "--loose-innodb-fatal-semaphore-wait-threshold=4294967295",
    ]


def buffer_pool_bytes(rows: int) -> int:
    """A buffer pool that holds a table of N rows."""
    return max(LEAST_BUFFER_POOL_BYTES, rows * ROW_BYTES)


def place_options(directory: Path) -> list[str]:
    """Options that keep every file of the server in its directory."""
    return [
        f"--datadir={directory / 'data'}",
        f"--tmpdir={directory / 'tmp'}",
        f"--pid-file={directory / 'mysqld.pid'}",
        f"--log-error={directory / 'error.log'}",
        *(["--user=root"] if os.geteuid() == 0 else []),
    ]


def listen_options(directory: Path, port: int, address: str, *, far: bool = False) -> list[str]:
    """Options by which it can be reached: on an address, and by a socket in its directory.

    A server that is `far`, in a network namespace of its own, listens on the distance too.
    """
    bound = "0.0.0.0" if far else address  # noqa: S104 - in a network namespace of its own
    return [f"--bind-address={bound}", f"--port={port}", f"--socket={directory / 'mysqld.sock'}"]


def tls_options(certificates: Certificates) -> list[str]:
    """Options that name the certificates, and the authority of clients where they are to show one."""
    clients = certificates.clients_ca_file
    return [
        *([f"--ssl-ca={clients}"] if clients else []),
        f"--ssl-cert={certificates.certificate_file}",
        f"--ssl-key={certificates.key_file}",
    ]


def bounded_connections(wanted: int) -> int:
    """As many connections as are wanted and the hard limit of open files allows (getrlimit(2))."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return wanted
    return max(10, min(wanted, hard - FILES_BESIDE_CONNECTIONS))


def allow_open_files(pid: int) -> None:
    """Raise a process's soft limit of open files to its hard limit, which needs no rights (prlimit(2))."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
