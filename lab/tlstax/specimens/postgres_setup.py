"""How private servers of PostgreSQL (10 on) are set up.

Its data are made by initdb, and its accounts by a server without clients (`postgres --single`), both before
anything listens. Nobody is let in but the accounts that the file of hosts names; the role that initdb makes
is none of them, has no password, and may not log in.

PostgreSQL refuses to run as root. Where the laboratory is root, its programs run as another user
(`unprivileged`), who owns the server's directory and nothing else.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from tlstax.postgres import accounts, login_log
from tlstax.specimens import processes
from tlstax.specimens.server_settings import Errand, ServerSettings, Site
from tlstax.sql.credentials import Credentials
from tlstax.study.client_kinds import MOST_SLOTS
from tlstax.study.level_names import PRIVATE_CLIENT
from tlstax.support.errors import MachineFault

PAGE_BYTES = 8192
"""The unit of shared_buffers without one (PostgreSQL documentation, 20.4.1)."""

FIRST_WITH_JIT = 11

FIRST_WITH_KEPT_SIZE = 13
KEPT_LOG, KEPT_SEGMENTS = "wal_keep_size = '8GB'", "wal_keep_segments = 512"
"""What keeps the log until it has been read, through the checkpoints of base backups (16 MiB a segment)."""

RESERVED = 3
"""Connections of max_connections that only a superuser gets (superuser_reserved_connections)."""


def measurement_settings(settings: ServerSettings) -> list[tuple[str, str]]:
    """What a measured server is given beside its defaults, as its configuration file says it.

    The data fit in shared_buffers, and as many connections are taken as are asked for. What makes a commit
    durable keeps its defaults (`fsync`, `full_page_writes` and `synchronous_commit` are on), as people run
    it. A checkpoint falls into no trial: the next comes after a day, or 8 GB of log. `autovacuum` is on, as
    by default, but looks for work once a day: its visits count as transactions, by which trials are proved.
    `jit` is off: it would compile long results anew in each connection, and not every build has it.
    Shared memory of parallel work lies in its data's directory and goes with it. Passwords are kept
    for SCRAM, the default since 14; the log repeats no statement, which might hold one.
    """
    return [
        ("max_connections", str(settings.max_connections + RESERVED)),
        ("superuser_reserved_connections", str(RESERVED)),
        ("shared_buffers", str(settings.buffer_pool_bytes // PAGE_BYTES)),
        ("checkpoint_timeout", "1d"),
        ("max_wal_size", "8GB"),
        ("autovacuum_naptime", "1d"),
        ("dynamic_shared_memory_type", "mmap"),
        ("password_encryption", "scram-sha-256"),
        ("log_min_error_statement", "panic"),
    ]


def _replication_lines(major: int) -> list[str]:
    """What has a server keep its log and let it be decoded, for each copy from a slot of its own."""
    return [
        KEPT_LOG if major >= FIRST_WITH_KEPT_SIZE else KEPT_SEGMENTS,
        "wal_level = logical",
        f"max_replication_slots = {MOST_SLOTS + 1}",
    ]


class PostgreSql:
    """A `ServerSetup` of PostgreSQL."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._user = processes.unprivileged_user("PostgreSQL")

    def prepare(self) -> None:
        """Its data's directory, and what its user must own."""
        self._site.data_directory.mkdir(mode=0o700)
        if self._site.build.root is not None:
            self._write_programs()
        processes.give_away(self._site.directory, self._user)

    def account_statements(self, credentials: Credentials) -> list[str]:
        """The administrator comes over the socket only, as the file of hosts says."""
        more = accounts.replication_statements() if self._site.settings.replicates else []
        return [*accounts.statements(credentials), *more]

    def errands(self) -> Iterator[Errand]:
        """initdb, and then the accounts.

        Its data are lost with the server, so that initdb need not wait until they are on the disk.
        """
        data = str(self._site.data_directory)
        options = [
            "--no-locale",
            "--encoding=UTF8",
            "--auth=reject",
            "--no-sync",
            f"--username={accounts.BOOTSTRAP}",
        ]
        shared = self._shared_files()
        if shared is not None:
            options.append(f"-L{shared}")
        yield Errand([*options, f"--pgdata={data}"], program=self._initdb())
        self._write_configuration()
        alone = ["--single", "-D", data, "--exit_on_error=on", accounts.BOOTSTRAP]
        yield Errand(alone, self._site.accounts_file)

    def kept_data(self) -> None:
        """None: initdb writes into them which cluster this is, and a secret for its answers to unknown users.

        Source: PostgreSQL, src/include/catalog/pg_control.h, system_identifier and mock_authentication_nonce.
        """

    def first_options(self) -> list[str]:
        """None: the accounts are there."""
        return []

    def options(self, port: int) -> list[str]:
        """By which it can be reached: on an address, and by a socket in its directory that is its own.

        Options that are asked for come before, and those that override all others last.
        """
        site = self._site
        return [
            "-D",
            str(site.data_directory),
            *site.settings.configuration,
            f"--listen_addresses={site.bound_address}",
            f"--port={port}",
            f"--unix_socket_directories={site.directory}",
            "--unix_socket_permissions=0700",
            "--logging_collector=off",
            "--log_destination=stderr",
            *site.settings.options,
        ]

    def command(self, command: Sequence[str]) -> list[str]:
        """As another user where the laboratory is root."""
        return [*processes.entering(self._user), *command]

    def socket_path(self, port: int) -> Path:
        """In its directory, named for its port."""
        return self._site.directory / f".s.PGSQL.{port}"

    def _write_configuration(self) -> None:
        """What it reads at its start; ALTER SYSTEM may say otherwise of what stands there later."""
        data, files = self._site.data_directory, self._site.certificates
        tls = [
            ("ssl", "on"),
            ("ssl_cert_file", str(files.certificate_file)),
            ("ssl_key_file", str(files.key_file)),
            *([("ssl_ca_file", str(files.clients_ca_file))] if files.clients_ca_file else []),
        ]
        major, _ = self._site.build.era
        replicates = self._site.settings.replicates
        hosts = accounts.hba_lines(certificates=files.clients_ca_file is not None, major=major)
        jit = [("jit", "off")] if major >= FIRST_WITH_JIT else []
        settings = [*measurement_settings(self._site.settings), *jit, *tls]
        for name, lines in (
            (
                "postgresql.conf",
                [
                    *(f"{setting} = '{value}'" for setting, value in settings),
                    *(_replication_lines(major) if replicates else []),
                    f"include_if_exists '{login_log.INCLUDED}'",
                ],
            ),
            ("pg_hba.conf", [*hosts, *([accounts.REPLICATION_LINE] if replicates else [])]),
            ("pg_ident.conf", accounts.ident_lines(PRIVATE_CLIENT)),
        ):
            (data / name).write_text("\n".join([*lines, ""]), encoding="utf-8")

    def _initdb(self) -> Path:
        build = self._site.build
        beside = build.executable.with_name("initdb")
        if not beside.is_file():
            raise MachineFault(
                f"{build.executable} cannot be initialised: there is no initdb beside it",
                remedy="reinstall the server's packages, or choose another server",
            )
        return beside if build.root is None else self._programs / "initdb"

    @property
    def _programs(self) -> Path:
        return self._site.directory / "programs"

    def _write_programs(self) -> None:
        """Have a `postgres` beside a copy of initdb, which starts it: a root's loader has to be named."""
        build, settings = self._site.build, self._site.settings
        self._programs.mkdir(mode=0o700)
        beside = build.executable.with_name("initdb")
        if beside.is_file():
            shutil.copy(beside, self._programs / "initdb")
        preload = settings.fault.library if settings.fault else None
        command = build.command(tls_library=settings.tls_library, preload=preload)
        script = self._programs / "postgres"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        script.chmod(0o700)

    def _shared_files(self) -> Path | None:
        """The directory of what initdb reads; None where it knows."""
        build = self._site.build
        if build.root is None:
            return None
        # Debian has the programs in usr/lib/postgresql/18/bin, and this in usr/share/postgresql/18.
        return build.root / "usr" / "share" / "postgresql" / build.executable.parent.parent.name
