"""How a private server is set up for measuring, and why so."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tlstax.specimens.certificates import CertificateRequest, Certificates
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.server_build import Fault, ServerBuild, TlsLibrary
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.support.here import LOOPBACK

FILES_BESIDE_CONNECTIONS = 810
"""Descriptors that a server keeps for tables and logs; every connection takes one more. MySQL allows as many
connections as are left beside 10 and twice its smallest table cache, 400 (MySQL reference manual,
open_files_limit)."""

LEAST_BUFFER_POOL_BYTES = 128 * 1024 * 1024
ROW_BYTES = 512
"""More than a row of the table takes with its index, so that all stays in memory."""


@dataclass(frozen=True)
class ServerSettings:
    """What a caller may choose about a private server.

    `cpus` are the processors it may use (empty: all). `openssl_conf` is the text of the only OpenSSL
    configuration it reads, so that the machine's own cannot change what is measured. `configuration` are
    options that are asked for, before those that keep the server in its place, and `options`
    come last and so override the others. One that `replicates` keeps the log of its changes, and lets the
    load account read that and all of its data. `tls_library` is put under the server in
    place of the one that it comes with, `fault` is planted in it, and OpenSSL finds the
    instructions of `cpu_features` there. `before_exec` is called with the process id
    before the server's program is executed, for counters that are to be inherited by all its threads.
    `tree` has the processes of a server that starts some, once `before_exec` has taken it: all of them pause
    and end. Where it is None, a server that starts some gets one of its own.
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
    replicates: bool = False
    max_connections: int = 4096
    start_timeout_s: float = 90.0
    before_exec: Callable[[int], None] | None = None
    tree: ProcessTree | None = None
    entering: tuple[str, ...] = ()
    address: str = LOOPBACK


@dataclass(frozen=True)
class Site:
    """What a private server is set up from: its program, what was chosen, its directory, its certificates."""

    build: ServerBuild
    settings: ServerSettings
    directory: Path
    certificates: Certificates

    @property
    def data_directory(self) -> Path:
        """Where its tables are."""
        return self.directory / "data"

    @property
    def log_file(self) -> Path:
        """Its error log, with whatever else it writes."""
        return self.directory / "error.log"

    @property
    def initial_log(self) -> Path:
        """The log of what runs before its first start, which is removed when that succeeds."""
        return self.directory / "initialise.log"

    @property
    def accounts_file(self) -> Path:
        """The statements that make its accounts, with passwords: mode 0600, gone once it has started."""
        return self.directory / "init.sql"

    @property
    def bound_address(self) -> str:
        """Where it listens: everywhere in a network namespace of its own, where the distance reaches it."""
        far = "0.0.0.0"  # noqa: S104 - nothing but this session reaches that namespace
        return far if self.settings.entering else self.settings.address


class Errand(NamedTuple):
    """One run of the server's program, or of `program` that came with it, which is to end with status 0.

    `statements` is a file for its standard input. Its output is appended to the site's `initial_log`.
    """

    arguments: list[str]
    statements: Path = Path("/dev/null")
    program: Path | None = None


def buffer_pool_bytes(rows: int) -> int:
    """A buffer pool that holds a table of N rows."""
    return max(LEAST_BUFFER_POOL_BYTES, rows * ROW_BYTES)


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
