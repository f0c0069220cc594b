"""Keys of tomorrow, chains, client certificates and hybrid groups: counted as they cross the interface."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from load_jobs import WITHIN_S, counted_and_seen, job
from packet_capture import why_not

from tlstax.contract import Job, TlsOn
from tlstax.specimens import resolve
from tlstax.specimens.certificates import requested
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild, TlsLibrary
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.stats.outcomes import phases_together

pytestmark = [
    pytest.mark.long,
    pytest.mark.builds("openssl-3.6"),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]

CONNECTS = 10

PROOF_RECORDS = 3
"""A client's Certificate, CertificateVerify and Finished, each a record (RFC 8446, 4.4)."""


class Identity(NamedTuple):
    """The server's key, how many certificates it sends, whether the client has one, and the group."""

    key: str
    chain: int = 1
    proves_client: bool = False
    group: str = "P-256"


IDENTITIES = (
    Identity("rsa-4096", chain=2),
    Identity("ec-p256"),
    Identity("ec-p256", chain=3),
    Identity("ec-p256", proves_client=True),
    Identity("ec-p256", group="X25519MLKEM768"),
    Identity("ed25519"),
    Identity("mldsa44"),
    Identity("mldsa65"),
    Identity("mldsa87"),
    Identity("mldsa65", chain=3),
    Identity("mldsa65", proves_client=True),
    Identity("mldsa65", chain=3, proves_client=True, group="X25519MLKEM768"),
)


@pytest.fixture(scope="module")
def library() -> TlsLibrary:
    """One that has ML-DSA and the hybrid groups."""
    return resolve.named_tls_library("openssl-3.6", lambda _: None)


def reconnects(server: PrivateServer, own: Identity, library: TlsLibrary) -> Job:
    """A window of single reconnects by who proves themselves so."""
    files = server.certificates.client if own.proves_client else None
    tls = TlsOn(
        min_version="1.3",
        max_version="1.3",
        verify="identity",
        ca_file=server.ca_file,
        groups=own.group,
        library=str(library.libssl),
        certificate_file=str(files.certificate_file) if files else None,
        key_file=str(files.key_file) if files else None,
    )
    account = server.account_by_certificate() if own.proves_client else server.load_account
    changes = {"tls": tls, "account": account, "connections": 1, "warmup_s": 0.0, "duration_s": WITHIN_S}
    return job(server, "reconnect", **changes, operations=CONNECTS)


@pytest.mark.parametrize("own", IDENTITIES, ids=lambda own: "-".join(map(str, own)))
def test_round_trips_and_bytes_are_those_on_the_interface(
    session: Session, mariadb_build: ServerBuild, library: TlsLibrary, own: Identity
) -> None:
    request = requested(own.key, own.chain, clients=own.proves_client)
    with PrivateServer.start(
        mariadb_build, session, ServerSettings(certificate=request, tls_library=library)
    ) as server:
        done, capture = counted_and_seen(server, reconnects(server, own, library))
    whole = phases_together(done, ("connect", "first_query"))
    assert whole is not None
    seen = capture.conversations.values()
    assert whole.times == 2 * len(seen) == 2 * CONNECTS
    records = PROOF_RECORDS if own.proves_client else 0
    assert {one.round_trips(tls13=True, proof_records=records) for one in seen} == {
        whole.round_trips / CONNECTS
    }
    assert whole.bytes_sent == sum(one.bytes_of(client=True) for one in seen)
    assert whole.bytes_received == sum(one.bytes_of(client=False) for one in seen)
