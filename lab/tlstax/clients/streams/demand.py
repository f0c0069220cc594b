"""From a job to the options, environment and secrets of a program that copies a server; what none can do.

Source: PostgreSQL documentation, "pg_dump", "pg_basebackup", "pg_receivewal", "pg_recvlogical"; MySQL
reference manual, "mysqldump", "mysqlbinlog"; MariaDB documentation, "mariadb-dump", "mariadb-binlog".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tlstax.clients.adapter import Refusal, refuse
from tlstax.clients.mysqlslap import demand as of_mysql
from tlstax.clients.pgbench import demand as of_libpq
from tlstax.contract import Job, TcpEndpoint, TlsOn

SEGMENT_BYTES = 1 << 24
"""How long a segment of PostgreSQL's log is."""


def check(job: Job) -> None:
    """Refusal, in one sentence, where the job asks for what none of these programs does."""
    limits = (
        (job.stream is None, "the job does not say what is to be copied (stream)"),
        (not isinstance(job.endpoint, TcpEndpoint), "such a program is sent to its server over TCP alone"),
        (job.connections > 1, "such a program has one connection at a time, and the job wants more"),
        (job.schedule.mode != "closed", "such a program is given no rate here, and the job wants one"),
        (
            isinstance(job.tls, TlsOn) and (job.tls.groups or job.tls.resumption or job.tls.library),
            "such a program has no option for groups, resumption or another library",
        ),
    )
    refuse(limits)


@dataclass(frozen=True)
class Secrets:
    """What stands in a file in memory: a password file of libpq's, or MySQL's options."""

    text: str = field(repr=False)
    variable: str = ""
    option: str = ""

    def words(self, path: str) -> tuple[dict[str, str], list[str]]:
        """The environment and the options that name this file."""
        return (
            {self.variable: path} if self.variable else {},
            [f"{self.option}={path}"] if self.option else [],
        )


@dataclass(frozen=True)
class Tool:
    """A program: its options for a job and a folder of its own, and what they do not hold.

    With `writes_files` it writes into that folder, else to its standard output. `speaks_libpq` is
    whether its account and its server come by the environment. What is compressed as it is written is looked
    through by a run that has it `unpacked` into the folder. One that `connects_for_each` name that it is
    given does so since its connection is no more once a file of the log is at its end. One that
    `uses_up_names` takes one of these for each run.
    """

    arguments: Callable[[Job, str], list[str]]
    speaks_libpq: bool = False
    writes_files: bool = False
    connects_for_each: bool = False
    uses_up_names: bool = False
    unpacked: Callable[[Job, str], list[str]] | None = None

    def job_of_run(self, job: Job, number: int) -> Job:
        """The job of a run; the one before the window has the number 0. Refusal without a name for it."""
        if not self.uses_up_names:
            return job
        if number >= len(_names(job)) or job.stream is None:
            raise Refusal("such a program uses up a slot in each run, and the job names fewer of them")
        stream = job.stream.model_copy(update={"names": (job.stream.names[number],)})
        return job.model_copy(update={"stream": stream})

    def connections(self, job: Job) -> int:
        """How many it makes in one run."""
        return len(_names(job)) if self.connects_for_each else 1

    def environment(self, job: Job) -> Mapping[str, str]:
        """All that its environment holds, but for where its secrets are."""
        if self.speaks_libpq:
            return of_libpq.environment(job)
        return {"PATH": os.defpath, "LC_ALL": "C", "HOME": "/dev/null", "OPENSSL_CONF": os.devnull}

    def secrets(self, job: Job) -> Secrets:
        """Its account's; Refusal where the password cannot be written down so."""
        if self.speaks_libpq:
            return Secrets(of_libpq.password_file(job), variable="PGPASSFILE")
        return Secrets(of_mysql.option_file(job), option="--defaults-file")


def _pg_dump(job: Job, _: str) -> list[str]:
    return ["--no-password", "--no-sync", *(f"--table={name}" for name in _names(job))]


_OF_A_BACKUP = ("--no-password", "--wal-method=none", "--checkpoint=fast", "--no-sync")
"""Without the log that is written meanwhile, which would take a connection of its own."""

_METHODS = {"zlib": "server-gzip", "zstd": "server-zstd"}
"""Levels of `compression`, in pg_basebackup's words; gzip is zlib's format with another head."""


def _pg_basebackup(job: Job, _: str) -> list[str]:
    """A compressed archive that goes to the standard output can hold no list of its files."""
    no_list = ["--no-manifest"] if job.compression != "off" else []
    return ["--pgdata=-", "--format=tar", *_OF_A_BACKUP, *_backup_compression(job), *no_list]


def _unpacked_basebackup(job: Job, folder: str) -> list[str]:
    return [f"--pgdata={folder}", "--format=plain", *_OF_A_BACKUP, *_backup_compression(job)]


def _backup_compression(job: Job) -> list[str]:
    return [f"--compress={_METHODS[job.compression]}"] if job.compression in _METHODS else []


def _pg_receivewal(job: Job, folder: str) -> list[str]:
    """Until the end of the last segment; where to begin, the segment before the first says (`before`)."""
    end = (segment_of(_names(job)[-1]) + 1) * SEGMENT_BYTES
    return [
        "--no-password",
        f"--directory={folder}",
        "--no-sync",
        "--no-loop",
        f"--endpos={end >> 32:X}/{end & 0xFFFFFFFF:X}",
    ]


def _pg_recvlogical(job: Job, _: str) -> list[str]:
    """From the slot that is named first; the numbers of transactions would differ each time."""
    return [
        "--no-password",
        "--start",
        f"--dbname={job.account.database or ''}",
        f"--slot={_names(job)[0]}",
        f"--endpos={job.stream.until if job.stream else ''}",
        "--no-loop",
        "--option=include-xids=0",
        "--option=skip-empty-xacts=1",
        "--fsync-interval=0",
        "--file=-",
    ]


def segment_of(name: str) -> int:
    """The place of a segment in the log, by its name."""
    return int(name[8:16], 16) * ((1 << 32) // SEGMENT_BYTES) + int(name[16:], 16)


def before(name: str) -> str:
    """The name of the segment before this one."""
    place = segment_of(name) - 1
    each = (1 << 32) // SEGMENT_BYTES
    return f"{name[:8]}{place // each:08X}{place % each:08X}"


_OF_A_DUMP = ("--single-transaction", "--quick", "--no-tablespaces", "--skip-dump-date")
"""One consistent read, row by row as they come, without what needs more rights or differs each time."""


def _mysqldump(job: Job, _: str) -> list[str]:
    return [
        *_of_mysql(job),
        *_OF_A_DUMP,
        "--set-gtid-purged=OFF",
        "--column-statistics=0",
        # They are the whole server's, and reading them takes more rights.
        "--loose-skip-masking-policies",
        # By this its connection records itself at the server.
        *(f"--init-command={statement}" for statement in job.workload.on_connect[:1]),
        job.account.database or "",
        *_names(job),
    ]


def _mariadb_dump(job: Job, _: str) -> list[str]:
    compress = ["--compress"] if job.compression != "off" else []
    return [*_of_mariadb(job), *compress, *_OF_A_DUMP, job.account.database or "", *_names(job)]


def _mysqlbinlog(job: Job, folder: str) -> list[str]:
    return [*_of_mysql(job), *_of_a_log(job, folder)]


def _mariadb_binlog(job: Job, folder: str) -> list[str]:
    return [*_of_mariadb(job), *_of_a_log(job, folder)]


def _of_a_log(job: Job, folder: str) -> list[str]:
    return ["--read-from-remote-server", "--raw", f"--result-file={folder}/", *_names(job)]


def _of_mysql(job: Job) -> list[str]:
    tls = of_mysql.tls_options(job.tls) if isinstance(job.tls, TlsOn) else ["--ssl-mode=DISABLED"]
    # With one algorithm alone it does without none: a server that has another lets it not in.
    algorithm = "uncompressed" if job.compression == "off" else job.compression
    return [*of_mysql.where(job), *tls, f"--compression-algorithms={algorithm}"]


def _of_mariadb(job: Job) -> list[str]:
    """MariaDB's clients verify the name as well as the chain, or neither."""
    if not isinstance(job.tls, TlsOn):
        tls = ["--skip-ssl"]
    else:
        checks = job.tls.verify != "none"
        tls = [
            "--ssl",
            "--ssl-verify-server-cert" if checks else "--skip-ssl-verify-server-cert",
            *([f"--ssl-ca={job.tls.ca_file}"] if job.tls.ca_file else []),
            *(f"--tls-version=TLSv{job.tls.min_version}" for _ in range(job.tls.min_version is not None)),
        ]
    return [*of_mysql.where(job), *tls]


def _names(job: Job) -> Sequence[str]:
    return job.stream.names if job.stream else ()


TOOLS: Mapping[str, Tool] = {
    "pg-dump": Tool(_pg_dump, speaks_libpq=True),
    "pg-basebackup": Tool(_pg_basebackup, speaks_libpq=True, unpacked=_unpacked_basebackup),
    "pg-receivewal": Tool(_pg_receivewal, speaks_libpq=True, writes_files=True),
    "pg-recvlogical": Tool(_pg_recvlogical, speaks_libpq=True, uses_up_names=True),
    "mysqldump": Tool(_mysqldump),
    "mysqlbinlog": Tool(_mysqlbinlog, writes_files=True, connects_for_each=True),
    "mariadb-dump": Tool(_mariadb_dump),
    "mariadb-binlog": Tool(_mariadb_binlog, writes_files=True, connects_for_each=True),
}
"""By their levels of `client`."""
