"""What the engine counts of ten kinds of connect to PostgreSQL is what crosses the interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import pytest
from load_jobs import ROWS, counted_and_seen, job
from packet_capture import why_not

from tlstax.contract import Account, Job, PostgreSqlServer, TlsOff, TlsOn
from tlstax.contract.job import AuthMethod
from tlstax.specimens.certificates import requested
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.stats.outcomes import phases_together
from tlstax.study import workloads

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

CONNECTS = 20


class Connect(NamedTuple):
    """A way to connect: the method of the account, the version of TLS and what is offered in it.

    `trips` are the round trips of it and a query: TCP's handshake and the query's answer in all of them.
    """

    trips: int
    account: str = "default"
    asked: AuthMethod = "scram-sha-256"
    version: str | None = None
    groups: str = "P-256"
    direct: bool = False


SCRAM = 3
"""Round trips of SCRAM-SHA-256: what is offered, and the two of RFC 5802, section 3."""

KINDS: Mapping[str, Connect] = {
    "plaintext, trust": Connect(1 + 1 + 1, "trust", "none"),
    "plaintext, SCRAM": Connect(1 + SCRAM + 1),
    "plaintext, md5": Connect(1 + 2 + 1, "md5", "md5"),
    "TLS 1.2, SCRAM": Connect(1 + 1 + 2 + SCRAM + 1, version="1.2"),
    "TLS 1.3, SCRAM": Connect(1 + 1 + 1 + SCRAM + 1, version="1.3"),
    "TLS 1.3, SCRAM bound": Connect(1 + 1 + 1 + SCRAM + 1, asked="scram-sha-256-plus", version="1.3"),
    "TLS 1.3, password": Connect(1 + 1 + 1 + 2 + 1, "password", "password", version="1.3"),
    "TLS 1.3, asked for another group": Connect(
        1 + 1 + 2 + SCRAM + 1, version="1.3", groups="X448:P-256", asked="scram-sha-256-plus"
    ),
    "direct TLS 1.3, SCRAM bound": Connect(
        1 + 1 + SCRAM + 1, asked="scram-sha-256-plus", version="1.3", direct=True
    ),
    "direct TLS 1.3, certificate": Connect(1 + 1 + 1 + 1, "cert", "none", version="1.3", direct=True),
}


@pytest.fixture(scope="module")
def server(session: Session, postgresql_build: ServerBuild) -> Iterator[PrivateServer]:
    """A PostgreSQL whose certificate has a chain, and which lets clients in by certificates."""
    settings = ServerSettings(certificate=requested("ec-p256", 2, clients=True))
    with PrivateServer.start(postgresql_build, session, settings) as started:
        yield started


def reconnects(server: PrivateServer, kind: Connect) -> Job:
    """A window of single connections of this kind, with a point select on each."""
    tls: TlsOff | TlsOn = TlsOff()
    if kind.version is not None:
        shown = server.certificates.client if kind.account == "cert" else None
        tls = TlsOn.model_validate(
            {
                "min_version": kind.version,
                "max_version": kind.version,
                "verify": "identity",
                "ca_file": server.ca_file,
                "groups": kind.groups,
                "certificate_file": shown and str(shown.certificate_file),
                "key_file": shown and str(shown.key_file),
            }
        )
    begins: Literal["direct", "request"] = "direct" if kind.direct else "request"
    told = PostgreSqlServer(ssl_negotiation=begins, require_auth=(kind.asked,))
    asked = job(
        server,
        workload=workloads.built_in("reconnect", server.table_name, ROWS, "postgresql"),
        tls=tls,
        account=_account(server, kind.account),
        connections=1,
        warmup_s=0.0,
        operations=CONNECTS,
    )
    return asked.model_copy(update={"server": told})


def _account(server: PrivateServer, method: str) -> Account:
    return server.load_account if method == "default" else server.account_by(method)


@pytest.mark.parametrize("name", KINDS)
def test_round_trips_and_bytes_are_those_on_the_interface(server: PrivateServer, name: str) -> None:
    kind = KINDS[name]
    done, capture = counted_and_seen(server, reconnects(server, kind))
    assert done.errors == ()
    seen = capture.conversations.values()
    whole = phases_together(done, ("connect", "first_query"))
    assert whole is not None
    assert whole.times == 2 * len(seen) == 2 * CONNECTS
    assert whole.round_trips == kind.trips * CONNECTS
    assert {one.turns() for one in seen} == {kind.trips}
    assert whole.bytes_sent == sum(one.bytes_of(client=True) for one in seen)
    assert whole.bytes_received == sum(one.bytes_of(client=False) for one in seen)
