"""Which clients verify the server's certificate where their job asks for it, and which may merely encrypt."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import TlsOn
from tlstax.study.client_kinds import WORKERS_IGNORE_SSL_MODE, kind_of


def unverified(trial: Complete) -> Iterator[Doubt]:
    """A note where a certificate was to be verified, and this client cannot be relied on to do so."""
    if not trial.case.is_encrypted or not asks_to_verify(trial):
        return
    client = f"{trial.ready.client} {trial.ready.client_version}"
    if ignores_ssl_mode(trial):
        yield Doubt(
            "note",
            f"the connections of {client} that do the work encrypt, and do not verify the server's "
            "certificate: they ignore --ssl-mode",
        )
    elif _verifies(trial) is False:
        yield Doubt("note", f"{client} encrypts, and need not verify the server's certificate")


def verified(trial: Complete) -> bool:
    """Whether the client was asked to verify, and is one that does so on every connection."""
    return _verifies(trial) is True and asks_to_verify(trial)


def asks_to_verify(trial: Complete) -> bool:
    """Whether the job asks for a certificate that is verified."""
    job = trial.evidence.job
    return job is not None and isinstance(job.tls, TlsOn) and job.tls.verify != "none"


def ignores_ssl_mode(trial: Complete) -> bool:
    """Whether the client is a mysqlslap whose working connections ignore --ssl-mode."""
    return trial.ready.client == "mysqlslap" and trial.ready.client_version in WORKERS_IGNORE_SSL_MODE


def _verifies(trial: Complete) -> bool | None:
    return kind_of(trial.case.client).verifies(trial.ready.client_version)
