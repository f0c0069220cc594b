"""Inspected servers, made up: what was seen of one, with one thing changed."""

from __future__ import annotations

from tlstax.contract import TlsView
from tlstax.results.inspection import (
    Asked,
    Certificate,
    ConnectPhase,
    Inside,
    InspectedServer,
    Program,
    ServerWord,
    Use,
)


def view(version: str = "1.3", *, hello_retry: bool = False) -> TlsView:
    return TlsView(version=f"TLSv{version}", cipher="x", resumed=False, hello_retry=hello_retry)


def certificate(key: str = "RSA 2048", *, is_self_signed: bool = False, size_bytes: int = 900) -> Certificate:
    return Certificate(
        subject="CN=db",
        issuer="CN=authority",
        is_self_signed=is_self_signed,
        key=key,
        signature="SHA256",
        names=("db",),
        not_before="2026-01-01T00:00:00+00:00",
        not_after="2028-01-01T00:00:00+00:00",
        size_bytes=size_bytes,
        sha256="ab",
    )


def use(
    connects_per_s: float,
    statements: float | None,
    *,
    sent_bytes_per_s: float | None = None,
    over_s: float = 5.0,
) -> Use:
    rate = None if statements is None else connects_per_s * statements
    return Use(
        over_s=over_s,
        connects_per_s=connects_per_s,
        statements_per_s=rate,
        statements_per_connect=statements,
        tls_share=1.0,
        resumed_share=0.0,
        received_bytes_per_s=None,
        sent_bytes_per_s=sent_bytes_per_s,
        aborted_connects_per_s=0.0,
    )


def program(connections: int, *, compression: bool = False) -> Program:
    return Program(
        client="libmysql",
        version="9.7",
        program="app",
        transport="SSL/TLS",
        tls="TLSv1.3",
        compression=compression,
        connections=connections,
    )


def asked(topic: str, name: str, *, taken: TlsView | None) -> Asked:
    return Asked.model_validate({"topic": topic, "name": name, "agreed": taken})


def inspected(  # noqa: PLR0913 (each is another thing that may be otherwise)
    *,
    default: TlsView | None = None,
    versions: tuple[str, ...] = ("1.2", "1.3"),
    resumes: tuple[str, ...] = ("1.2", "1.3"),
    chain: tuple[Certificate, ...] = (certificate(),),
    watched: Use | None = None,
    since_start: Use | None = None,
    programs: tuple[Program, ...] = (),
    version: str = "9.7.4",
) -> InspectedServer:
    """A clean server, unless something else is said."""
    agreed = default or view()
    whole = ConnectPhase(
        name="connect", connects=8, round_trips=4, sent_bytes=1, received_bytes=1, median_us=900
    )
    return InspectedServer(
        server="db:3306",
        at="2026-11-26T00:00:00+00:00",
        connections=34,
        word=ServerWord(
            version=version,
            tls_library="OpenSSL 3.5.5",
            account_plugin="caching_sha2_password",
            requires_tls=True,
            account_is_encrypted=True,
        ),
        offers_tls=True,
        asked=(
            asked("default", "a client left to itself", taken=agreed),
            *(
                asked("version", f"TLS {name}", taken=view(name) if name in versions else None)
                for name in ("1.2", "1.3")
            ),
            *(
                asked("resumption", f"TLS {name}", taken=view(name) if name in resumes else None)
                for name in ("1.2", "1.3")
            ),
        ),
        connect=(whole,),
        inside=Inside(since_start=since_start, watched=watched, programs=programs, unread=()),
        chain=chain,
        concerns=(),
        payments=(),
        status="complete",
        stopped_because="",
    )
