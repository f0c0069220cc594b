"""From a job to mysqlslap's options, and what mysqlslap cannot do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tlstax.clients.adapter import Refusal, tls_lacking
from tlstax.clients.mysqlslap.statements import has_sequence, only_adds
from tlstax.contract import Job, TlsOn, UnixEndpoint

VERSIONS = {"1.2": "TLSv1.2", "1.3": "TLSv1.3"}
"""Levels of the contract that --tls-version takes, in its words."""

_MODES = {"none": "REQUIRED", "ca": "VERIFY_CA", "identity": "VERIFY_IDENTITY"}


def check(job: Job) -> None:
    """Refusal, in one sentence, where the job asks for what mysqlslap cannot do."""
    for impossible, sentence in (
        *_limits(job),
        *(_tls_limits(job.tls) if isinstance(job.tls, TlsOn) else ()),
    ):
        if impossible:
            raise Refusal(sentence)


def _limits(job: Job) -> list[tuple[bool, str]]:
    workload = job.workload
    once = has_sequence(workload)
    prepared = any(
        (statement.protocol or workload.protocol) == "prepared"
        for transaction in workload.transactions
        for statement in transaction.statements
    )
    return [
        (job.schedule.mode != "closed", "mysqlslap cannot be given a rate, and the job wants one"),
        (workload.storm, "mysqlslap opens no storm of connections, and the job wants one"),
        (prepared, "mysqlslap sends statements only as text, and the job wants them prepared"),
        (
            workload.reconnect,
            "mysqlslap cannot prove each of the connections that it would make for one operation each",
        ),
        (
            once and job.connections > 1,
            "mysqlslap gives all its connections the same statements, and the job wants each value used once",
        ),
        (
            once and job.rounds > 1 and not job.reset and not only_adds(workload),
            "mysqlslap sends the same statements in every round, and nothing puts the data back before each",
        ),
        (job.account.database is None, "mysqlslap needs a schema to work in, and the job names none"),
    ]


def _tls_limits(tls: TlsOn) -> list[tuple[bool, str]]:
    return [
        *tls_lacking("mysqlslap", tls),
        (not _versions(tls), "mysqlslap speaks only TLS 1.2 and 1.3, and the job wants another version"),
        (
            tls.verify != "none" and tls.ca_file is None,
            "mysqlslap needs an authority to verify with, and the job names none (tls.ca_file)",
        ),
    ]


def _versions(tls: TlsOn) -> list[str]:
    lowest, highest = tls.min_version or "1.0", tls.max_version or "1.3"
    return [name for version, name in VERSIONS.items() if lowest <= version <= highest]


def arguments(job: Job, *, queries: int, rounds: int) -> list[str]:
    """The options that follow from the job, as people type them; the password is elsewhere.

    `queries` is how many each of the job's connections says in a round.
    """
    return [
        *where(job),
        f"--create-schema={job.account.database}",
        "--no-drop",
        f"--concurrency={job.connections}",
        f"--iterations={rounds}",
        f"--number-of-queries={queries * job.connections}",
        *(tls_options(job.tls) if isinstance(job.tls, TlsOn) else ["--ssl-mode=DISABLED"]),
    ]


def where(job: Job) -> list[str]:
    """Where its server is. Without --protocol, `localhost` would mean a socket."""
    endpoint = job.endpoint
    if isinstance(endpoint, UnixEndpoint):
        return ["--protocol=socket", f"--socket={endpoint.path}"]
    return ["--protocol=tcp", f"--host={endpoint.host}", f"--port={endpoint.port}"]


def tls_options(tls: TlsOn) -> list[str]:
    """How it encrypts, in the words of MySQL's clients."""
    versions = _versions(tls) if tls.min_version or tls.max_version else []
    settings = {
        "ssl-ca": tls.ca_file,
        "ssl-cert": tls.certificate_file,
        "ssl-key": tls.key_file,
        "ssl-cipher": tls.cipher_list,
        "tls-ciphersuites": tls.ciphersuites,
        "tls-version": ",".join(versions) or None,
    }
    options = [f"--{name}={value}" for name, value in settings.items() if value is not None]
    return [f"--ssl-mode={_MODES[tls.verify]}", *options]


def option_file(job: Job) -> str:
    """The account as an option file; Refusal where its syntax cannot express the password.

    In quotes, a backslash before a quote or a backslash leaves it as it is (reference manual, "Using Option
    Files").
    """
    account = job.account
    if re.search(r"[\0\r\n]", account.password + account.user):
        raise Refusal("mysqlslap accepts no password of several lines")
    quoted = (re.sub(r"([\\\"'])", r"\\\1", text) for text in (account.user, account.password))
    return '[client]\nuser="{}"\npassword="{}"\n'.format(*quoted)


def reset_statements(job: Job) -> Sequence[str]:
    """What the main connection runs before each round; it has chosen no schema until then."""
    if job.rounds == 1 or not job.reset:
        return ()
    if any("\n" in text for text in job.reset):
        raise Refusal("mysqlslap takes the end of a line for the end of a statement")
    return (f"USE `{job.account.database}`", *job.reset)
