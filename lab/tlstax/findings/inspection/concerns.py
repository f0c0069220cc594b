"""What is unsafe about a server as it was seen: each thing with why it matters and what mends it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from tlstax.results.inspection import Asked, Certificate, Concern, Program, ServerWord
from tlstax.support.text import counted, enumerated

SOON = timedelta(days=30)
"""Within which a certificate's end is reported."""

OLD_VERSIONS = ("TLS 1.0", "TLS 1.1")
"""Deprecated (RFC 8996)."""

LEAST_RSA_BITS = 2048
"""112 bits of security (NIST SP 800-57, part 1)."""

BROKEN_HASHES = ("MD5", "SHA1")
"""By which nobody may sign any more (RFC 9155)."""

SELF_MADE = "_Auto_Generated_CA_Certificate"
"""In the issuer of what MySQL makes where it has none (manual, "Creating SSL and RSA Certificates")."""

VERIFY = "clients that verify certificates refuse it, and those that do not could be talking to anybody"

ORDER = ("unsafe", "soon unsafe", "weak")


def concerns(  # noqa: PLR0913 (each is another thing that was seen)
    word: ServerWord,
    asked: Sequence[Asked],
    chain: Sequence[Certificate],
    programs: Sequence[Program] = (),
    *,
    host: str,
    offers_tls: bool,
    now: datetime,
) -> tuple[Concern, ...]:
    """All of them, the gravest first. `host` is by what name the server was asked."""
    found = [*_of_plaintext(word, offers_tls=offers_tls), *_of_versions(asked), *_of_suites(asked)]
    found += [concern for certificate in chain for concern in _of_certificate(certificate, now)]
    found += [concern for certificate in chain[:1] for concern in _of_identity(certificate, host)]
    found += _of_programs(programs, chain, now)
    return tuple(sorted(found, key=lambda concern: ORDER.index(concern.danger)))


def _of_plaintext(word: ServerWord, *, offers_tls: bool) -> Iterator[Concern]:
    if not offers_tls:
        yield Concern(
            danger="unsafe",
            what="the server offers no TLS",
            why="statements, rows and logins can be read and changed on the way",
            remedy="give the server a certificate (ssl_cert, ssl_key); MySQL makes one where it may write",
        )
    elif word.requires_tls is False:
        yield Concern(
            danger="weak",
            what="connections in the clear are accepted",
            why="a client that is not told to encrypt, or whose offer somebody takes away, does not",
            remedy="SET PERSIST require_secure_transport = ON, or ALTER USER … REQUIRE SSL for each account",
        )


def _of_versions(asked: Sequence[Asked]) -> Iterator[Concern]:
    old = [own.name for own in asked if own.topic == "version" and own.agreed and own.name in OLD_VERSIONS]
    if old:
        yield Concern(
            danger="unsafe",
            what=f"{' and '.join(old)} {'is' if len(old) == 1 else 'are'} accepted",
            why="both are deprecated, with hashes that are broken (RFC 8996)",
            remedy="tls_version = TLSv1.2,TLSv1.3",
        )


def _of_suites(asked: Sequence[Asked]) -> Iterator[Concern]:
    if any(own.name == "RSA key exchange" and own.agreed for own in asked):
        yield Concern(
            danger="weak",
            what="TLS 1.2 accepts key exchange by RSA",
            why="whoever gets the server's key later can read what was recorded before: no forward secrecy",
            remedy="ssl_cipher = ECDHE+AESGCM:ECDHE+CHACHA20 (for TLS 1.2; TLS 1.3 has no such suites)",
        )


def _of_certificate(certificate: Certificate, now: datetime) -> Iterator[Concern]:
    named = f"the certificate of {certificate.subject or 'the server'}"
    begins, ends = map(datetime.fromisoformat, (certificate.not_before, certificate.not_after))
    renew = "renew it, and ALTER INSTANCE RELOAD TLS (MariaDB: FLUSH SSL)"
    if ends <= now:
        yield Concern(danger="unsafe", what=f"{named} ended on {ends:%-d %B %Y}", why=VERIFY, remedy=renew)
    elif ends - now <= SOON:
        what = f"{named} ends in {counted((ends - now).days, 'day')}, on {ends:%-d %B %Y}"
        yield Concern(danger="soon unsafe", what=what, why=VERIFY, remedy=renew)
    if begins > now:
        what = f"{named} is not valid before {begins:%-d %B %Y}"
        yield Concern(danger="unsafe", what=what, why=VERIFY, remedy="set the clocks, or renew it")
    bits = re.fullmatch(r"(?:RSA|DSA) (\d+)", certificate.key)
    if bits and int(bits[1]) < LEAST_RSA_BITS:
        yield Concern(
            danger="unsafe",
            what=f"{named} has a key of {certificate.key}",
            why="it has less than 112 bits of security (NIST SP 800-57)",
            remedy="make a key of EC P-256, which also costs less, or of RSA 2048",
        )
    if certificate.signature in BROKEN_HASHES and not certificate.is_self_signed:
        yield Concern(
            danger="unsafe",
            what=f"{named} is signed with {certificate.signature}",
            why="somebody may have made another one with the same signature (RFC 9155)",
            remedy="have it signed with SHA-256",
        )


def _of_programs(
    programs: Sequence[Program], chain: Sequence[Certificate], now: datetime
) -> Iterator[Concern]:
    """Who is connected over TLS although nobody may be taken for the server by this certificate."""
    ended = any(datetime.fromisoformat(certificate.not_after) <= now for certificate in chain[:1])
    blind = [program for program in programs if program.tls and program.transport != "Socket"]
    if not ended or not blind:
        return
    number = sum(program.connections for program in blind)
    names = enumerated(dict.fromkeys(program.program or program.client or "unnamed" for program in blind))
    yield Concern(
        danger="unsafe",
        what=f"{counted(number, 'connection')} of {names} verify nobody",
        why="they came over TLS although the certificate has ended, so anybody in between could answer them",
        remedy="have them verify (VERIFY_IDENTITY, by each driver's own word), with a renewed certificate",
    )


def _of_identity(certificate: Certificate, host: str) -> Iterator[Concern]:
    """Whether clients that verify could: by the authority, and by the name."""
    if SELF_MADE in certificate.issuer:
        yield Concern(
            danger="weak",
            what="the server made its certificate and its authority by itself",
            why="no client knows that authority, so none can tell the server from somebody in between",
            remedy="give clients its ca.pem and --ssl-mode=VERIFY_CA, or use an authority that they know",
        )
    elif not is_for(certificate, host):
        names = enumerated(certificate.names) or certificate.subject or "nobody"
        yield Concern(
            danger="weak",
            what=f"the certificate is for {names}, and not for {host}",
            why="clients that verify the host refuse it, so they are told not to (VERIFY_CA)",
            remedy="name the host in it (subjectAltName)",
        )


def is_for(certificate: Certificate, host: str) -> bool:
    """Whether a certificate is for this host: one of its names, where * is one label (RFC 6125, 6.4.3).

    Without any, its subject's common name counts, as OpenSSL has it (X509_check_host(3)).
    """
    common = re.search(r"(?:^|,)CN=([^,]+)", certificate.subject)
    names = certificate.names or ((common[1],) if common else ())
    _, dot, rest = host.lower().partition(".")
    accepted = {host.lower(), f"*.{rest}"} if dot else {host.lower()}
    return any(name.lower() in accepted for name in names)
