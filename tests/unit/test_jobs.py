"""A job tells the client exactly what its case says, and whose library it was told to load is on record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tlstax.contract import Account, TcpEndpoint, TlsOff, TlsOn
from tlstax.jobs import JobTerms, Verification, job_for
from tlstax.records import LibraryClaim, Trial
from tlstax.study import Case, Level
from tlstax.trial import _client_claim

TERMS = JobTerms(
    endpoint=TcpEndpoint(host="127.0.0.1", port=3306),
    account=Account(user="u", password="", database="d"),
    tables={"sbtest": "t", "people": "p"},
    rows=10,
    verification=Verification(),
    client_cpus=(),
    client_libraries={"openssl-3.0": "/shelf/openssl-3.0/libssl.so.3"},
    duration_s=0.1,
    seed=1,
)
LEVELS: dict[str, Level] = {"workload": "reconnect", "connections": 2, "tls": "1.3"}
CLAIM = LibraryClaim(name="openssl-3.0", version="3.0.8", libssl_sha256="ab" * 32, libcrypto_sha256="cd" * 32)


@pytest.mark.parametrize(
    ("levels", "path", "claim"),
    [
        ({"client_tls_library": "openssl-3.0"}, "/shelf/openssl-3.0/libssl.so.3", CLAIM),
        ({"client_tls_library": "own"}, None, None),
        ({}, None, None),
    ],
)
def test_the_client_loads_the_library_of_its_case(
    levels: dict[str, Level], path: str | None, claim: LibraryClaim | None
) -> None:
    job = job_for({**LEVELS, **levels}, TERMS, sequence=0)
    assert isinstance(job.tls, TlsOn)
    assert job.tls.library == path
    assert _claimed({**LEVELS, **levels}) == claim


@pytest.mark.parametrize(
    ("levels", "groups"),
    [
        ({"group": "P-256"}, "P-256"),
        ({"group": "default"}, None),
        ({}, None),
        ({"group": "P-256", "tls": "1.0"}, None),
    ],
)
def test_the_client_offers_the_group_of_its_case(levels: dict[str, Level], groups: str | None) -> None:
    job = job_for({**LEVELS, **levels}, TERMS, sequence=0)
    assert isinstance(job.tls, TlsOn)
    assert job.tls.groups == groups


def test_a_client_in_the_clear_loads_none() -> None:
    levels: dict[str, Level] = {**LEVELS, "tls": "off", "client_tls_library": "openssl-3.0"}
    assert job_for(levels, TERMS, sequence=0).tls == TlsOff()
    assert _claimed(levels) is None


def _claimed(levels: dict[str, Level]) -> LibraryClaim | None:
    trial = Trial(block=0, position=0, case=Case(levels=levels, role="treatment"))
    bench: Any = SimpleNamespace(client_claims={"openssl-3.0": CLAIM})
    return _client_claim(job_for(levels, TERMS, sequence=0), trial, bench)
