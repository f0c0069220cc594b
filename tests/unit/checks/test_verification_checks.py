"""A client that encrypts and does not verify the certificate, though it was asked to, is found out."""

from __future__ import annotations

from typing import Literal

import pytest

from fake_trials import fake_record, tax_truth
from tlstax.checks import verification
from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import TlsOff, TlsOn
from tlstax.plan.order import cases
from tlstax.records.trial import Trial
from tlstax.study import load_study

TLS = next(case for case in cases(load_study("tax")) if case.levels["tls"] == "1.3")


def asked(
    client: str, version: str, *, verify: Literal["none", "ca", "identity"] | None = "identity"
) -> Complete:
    """A trial over TLS by this client, which was asked to verify (None: its job is in the clear)."""
    record = fake_record(Trial(block=0, position=0, case=TLS), tax_truth(TLS), duration_s=0.1)
    assert record.job is not None
    assert record.ready is not None
    assert record.done is not None
    assert record.server is not None
    tls = TlsOff() if verify is None else TlsOn(verify=verify, ca_file="/ca.pem")
    return Complete(
        TLS.levels | {"client": client},
        record.ready.model_copy(update={"client": client.partition("-")[0], "client_version": version}),
        record.done,
        record.server,
        record.model_copy(update={"job": record.job.model_copy(update={"tls": tls})}),
    )


SYSBENCH_3_3, SYSBENCH_3_4, SYSBENCH_4_0 = (
    f"1.0.20 with MariaDB Connector/C {version}" for version in ("3.3.17", "3.4.9", "4.0")
)
MERELY = "encrypts, and need not verify the server's certificate"


@pytest.mark.parametrize(
    ("client", "version", "note"),
    [
        ("engine", "0.1.0", ""),
        ("sysbench", SYSBENCH_3_3, ""),
        ("sysbench", SYSBENCH_3_4, f"sysbench {SYSBENCH_3_4} {MERELY}"),
        ("sysbench", SYSBENCH_4_0, f"sysbench {SYSBENCH_4_0} {MERELY}"),
        ("mysqlslap-9.7", "9.7.4", ""),
        (
            "mysqlslap-8.0.33",
            "8.0.33",
            "the connections of mysqlslap 8.0.33 that do the work encrypt, and do not verify the server's "
            "certificate: they ignore --ssl-mode",
        ),
    ],
)
def test_an_unverified_certificate_is_noted(client: str, version: str, note: str) -> None:
    expected = [Doubt("note", note)] if note else []
    assert list(verification.unverified(asked(client, version))) == expected
    assert list(verification.unverified(asked(client, version, verify="ca"))) == expected
    assert list(verification.unverified(asked(client, version, verify="none"))) == []
    assert list(verification.unverified(asked(client, version, verify=None))) == []


def test_nothing_is_noted_of_a_case_in_the_clear() -> None:
    trial = asked("sysbench", SYSBENCH_3_4)
    assert list(verification.unverified(trial._replace(case=trial.case | {"tls": "off"}))) == []
    without = trial.case.without("tls")
    assert list(verification.unverified(trial._replace(case=without))) == []


def test_a_trial_without_its_job_shows_nothing() -> None:
    trial = asked("sysbench", SYSBENCH_3_4)
    nothing = trial._replace(evidence=trial.evidence.model_copy(update={"job": None}))
    assert list(verification.unverified(nothing)) == []
    assert not verification.verified(nothing)


@pytest.mark.parametrize(
    ("client", "version", "verifies"),
    [
        ("engine", "0.1.0", True),
        ("sysbench", SYSBENCH_3_3, True),
        ("sysbench", "1.0.20 with MariaDB Connector/C 2.9.9", True),
        ("sysbench", SYSBENCH_3_4, False),
        ("sysbench", "1.0.20", False),
        ("mysqlslap-9.7", "9.7.4", False),
    ],
)
def test_who_has_verified(client: str, version: str, verifies: bool) -> None:
    assert verification.verified(asked(client, version)) is verifies
    assert not verification.verified(asked(client, version, verify="none"))
