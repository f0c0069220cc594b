"""Which clients verify the server's certificate where their job asks for it, and which merely encrypt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import TlsOn
from tlstax.study.client_exclusions import SYSBENCH
from tlstax.study.factors import ENGINE

WORKERS_IGNORE_SSL_MODE: Mapping[str, frozenset[str]] = {"mysqlslap": frozenset({"8.0.33"})}
"""Versions of clients whose working connections were seen to ignore --ssl-mode: over TCP they encrypt where
the server can, over a Unix socket they do not. It only explains; the verdict is the server's word alone."""

VERIFIES_UNASKED_BEFORE = (3, 4)
"""MariaDB Connector/C up to 3.3 checks the chain of each certificate once it has an authority's file. 3.4
does not where sysbench 1.0.20 uses it: seen with another server's authority, on loopback."""


def unverified(trial: Complete) -> Iterator[Doubt]:
    """A note where a certificate was to be verified, and this client is known not to do so."""
    if not trial.case.is_encrypted or not asks_to_verify(trial):
        return
    client = f"{trial.ready.client} {trial.ready.client_version}"
    if ignores_ssl_mode(trial):
        yield Doubt(
            "note",
            f"the connections of {client} that do the work encrypt, and do not verify the server's "
            "certificate: they ignore --ssl-mode",
        )
    elif trial.case.client == SYSBENCH and not _sysbench_verifies(trial):
        yield Doubt("note", f"{client} encrypts, and does not verify the server's certificate")


def verified(trial: Complete) -> bool:
    """Whether the client was asked to verify, and is one that does so on every connection."""
    client = trial.case.client
    does = client == ENGINE or (client == SYSBENCH and _sysbench_verifies(trial))
    return does and asks_to_verify(trial)


def asks_to_verify(trial: Complete) -> bool:
    """Whether the job asks for a certificate that is verified."""
    job = trial.evidence.job
    return job is not None and isinstance(job.tls, TlsOn) and job.tls.verify != "none"


def ignores_ssl_mode(trial: Complete) -> bool:
    """Whether the client is one whose working connections ignore --ssl-mode."""
    return trial.ready.client_version in WORKERS_IGNORE_SSL_MODE.get(trial.ready.client, frozenset())


def _sysbench_verifies(trial: Complete) -> bool:
    library = re.search(r"Connector/C (\d+)\.(\d+)", trial.ready.client_version)
    return library is not None and (int(library[1]), int(library[2])) < VERIFIES_UNASKED_BEFORE
