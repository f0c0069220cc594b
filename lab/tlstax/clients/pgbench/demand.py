"""From a job to pgbench's script, options and environment; and what pgbench cannot do.

Source: PostgreSQL's documentation, "pgbench" (custom scripts), and libpq's "Environment Variables" and "The
Password File".
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from tlstax.clients.adapter import Refusal, refuse, tls_lacking
from tlstax.contract import (
    Job,
    Offset,
    Parameter,
    Statement,
    TcpEndpoint,
    TlsOff,
    TlsOn,
    UniformInt,
)
from tlstax.contract.job import PostgreSqlServer

MODES = {"text": "simple", "prepared": "prepared"}
"""A statement's protocol, and pgbench's word for it (--protocol)."""

SSL_MODES = {"none": "require", "ca": "verify-ca", "identity": "verify-full"}
"""How much of a certificate is verified, and libpq's word for it."""

NOWHERE = "/dev/null/nowhere"
"""A file that cannot be there: without one, libpq takes what lies in the user's home."""

_PLACE = re.compile(r"\{\{|\{(\w+)\}")


def check(job: Job) -> None:
    """Refusal, in one sentence, where the job asks for what pgbench cannot do."""
    refuse([*_limits(job), *(_tls_limits(job.tls) if isinstance(job.tls, TlsOn) else ())])


def _limits(job: Job) -> list[tuple[bool, str]]:
    workload = job.workload
    known = (UniformInt, Offset)
    return [
        (not isinstance(job.server, PostgreSqlServer), "pgbench speaks to PostgreSQL alone"),
        (
            not isinstance(job.tls, TlsOff | TlsOn),
            "pgbench is told whether to encrypt, and the job leaves it",
        ),
        (job.schedule.mode != "closed", "pgbench is given no rate here, and the job wants one"),
        (workload.storm, "pgbench opens no storm of connections, and the job wants one"),
        (job.rounds > 1, "pgbench does all of its work in one round, and the job wants several"),
        (bool(workload.on_connect), "pgbench says nothing on a connection before its first operation"),
        (
            len(workload.transactions) > 1,
            "pgbench is given one operation, and the job wants a mix of several",
        ),
        (len(workload.protocols) > 1, "pgbench sends all statements as text or prepares all of them"),
        (
            not all(isinstance(parameter, known) for parameter in workload.all_parameters),
            "pgbench draws numbers alone: no text, and no value that is used once over all connections",
        ),
        (job.account.database is None, "pgbench needs a database to work in, and the job names none"),
    ]


def _tls_limits(tls: TlsOn) -> list[tuple[bool, str]]:
    return [
        *tls_lacking("libpq", tls, "cipher_list", "ciphersuites"),
        (
            tls.verify != "none" and tls.ca_file is None,
            "pgbench needs an authority to verify with, and the job names none (tls.ca_file)",
        ),
    ]


def script(job: Job) -> str:
    """The script of one operation, as pgbench reads it."""
    (transaction,) = job.workload.transactions
    body = [line for one in transaction.statements for line in _statement(one)]
    bracketed = ["BEGIN;", *body, "COMMIT;"] if transaction.bracketed else body
    return "\n".join([*_drawn(transaction.parameters), *bracketed, ""])


def first_of_threads(connections: int, threads: int) -> list[int]:
    """The first client of each thread: pgbench deals them out evenly, in their order."""
    firsts, dealt = [], 0
    for left in range(used_threads(connections, threads), 0, -1):
        firsts.append(dealt)
        dealt += (connections - dealt + left - 1) // left
    return firsts


def used_threads(connections: int, threads: int) -> int:
    """No more than there are connections (pgbench, --jobs)."""
    return min(connections, threads)


def _statement(statement: Statement) -> list[str]:
    sql = _PLACE.sub(lambda place: f":{place[1]}" if place[1] else "{", statement.sql)
    return [*_drawn(statement.parameters), f"{sql};"] * statement.repeat


def _drawn(parameters: Mapping[str, Parameter]) -> list[str]:
    """What sets the variables; an offset comes after what it is of."""
    drawn = [
        rf"\set {name} random({one.low}, {one.high})"
        for name, one in parameters.items()
        if isinstance(one, UniformInt)
    ]
    return drawn + [
        rf"\set {name} :{one.of} + {one.by}" for name, one in parameters.items() if isinstance(one, Offset)
    ]


def arguments(job: Job, operations: int) -> list[str]:
    """The options that follow from the job; `operations` is how many each connection does.

    Neither the account nor the server is among them: libpq takes both from the environment.
    """
    (protocol,) = job.workload.protocols
    return [
        "--no-vacuum",
        f"--client={job.connections}",
        f"--jobs={used_threads(job.connections, job.threads)}",
        f"--transactions={operations}",
        f"--protocol={MODES[protocol]}",
        f"--random-seed={job.seed % 2**32}",
        *(["--connect"] if job.workload.reconnect else []),
    ]


def environment(job: Job) -> dict[str, str]:
    """All that pgbench's environment holds, but for where its password file is."""
    endpoint, account = job.endpoint, job.account
    if isinstance(endpoint, TcpEndpoint):
        where = {"PGHOST": endpoint.host, "PGPORT": str(endpoint.port)}
    else:
        folder, _, port = endpoint.path.rpartition("/.s.PGSQL.")
        where = {"PGHOST": folder, "PGPORT": port}
    tls = job.tls if isinstance(job.tls, TlsOn) else None
    server = job.server if isinstance(job.server, PostgreSqlServer) else PostgreSqlServer()
    methods = [method for method in server.require_auth if method != "scram-sha-256-plus"]
    bound = "scram-sha-256-plus" in server.require_auth
    return {
        "PATH": os.defpath,
        "LC_ALL": "C",
        "HOME": "/dev/null",
        "OPENSSL_CONF": os.devnull,
        **where,
        "PGUSER": account.user,
        "PGDATABASE": account.database or "",
        "PGAPPNAME": job.attributes.get("application_name", "pgbench"),
        "PGGSSENCMODE": "disable",
        "PGSSLMODE": SSL_MODES[tls.verify] if tls else "disable",
        "PGSSLROOTCERT": (tls and tls.ca_file) or NOWHERE,
        "PGSSLCRL": NOWHERE,
        "PGSSLCERT": (tls and tls.certificate_file) or NOWHERE,
        "PGSSLKEY": (tls and tls.key_file) or NOWHERE,
        "PGCONNECT_TIMEOUT": str(max(2, round(job.timeout_s))),
        **({"PGREQUIREAUTH": ",".join(methods)} if methods else {}),
        **({"PGCHANNELBINDING": "require"} if bound and not methods else {}),
        **({"PGSSLNEGOTIATION": "direct"} if tls and server.ssl_negotiation == "direct" else {}),
        **_versions(tls),
    }


def _versions(tls: TlsOn | None) -> dict[str, str]:
    wanted = {
        "PGSSLMINPROTOCOLVERSION": tls and tls.min_version,
        "PGSSLMAXPROTOCOLVERSION": tls and tls.max_version,
    }
    return {name: f"TLSv{version}".replace("v1.0", "v1") for name, version in wanted.items() if version}


def password_file(job: Job) -> str:
    """A password file of libpq's with one line; Refusal where the password has more than one."""
    password = job.account.password
    if re.search(r"[\0\r\n]", password + job.account.user):
        raise Refusal("pgbench accepts no password of several lines")
    return "*:*:*:*:" + re.sub(r"([\\:])", r"\\\1", password) + "\n"
