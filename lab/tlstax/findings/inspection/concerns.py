"""What is unsafe about a server as it was seen: each thing with why it matters and what mends it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tlstax.findings.core.remedies import Remedy, entry_for
from tlstax.findings.inspection.chain_path import (
    duplicates,
    is_out_of_order,
    missing_issuer,
    path,
    unrelated,
)
from tlstax.results.inspection import Asked, Certificate, Concern, Danger, Program, ServerWord
from tlstax.support.text import counted, enumerated, shortened

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

X509_V3 = 3
"""The version that has extensions (RFC 5280, 4.1.2.1); old roots are of version 1, and are not verified."""

MOST_NAMES = 3
"""Of many, in a sentence."""

VERIFY = "clients that verify certificates refuse it, and those that do not could be talking to anybody"

ORDER = ("unsafe", "soon unsafe", "weak")


@dataclass(frozen=True)
class Mender:
    """Makes concerns of one server, each with the lines that mend it there."""

    version: str

    def concern(self, danger: Danger, what: str, why: str, remedy: str, by: Remedy | None = None) -> Concern:
        """A concern; `by` names the entry of the table of remedies whose lines go with it."""
        entry = entry_for(by, self.version) if by is not None else None
        steps = entry.steps if entry is not None else ()
        words = f"{remedy} ({entry.says})" if entry is not None and entry.says else remedy
        return Concern(danger=danger, what=what, why=why, remedy=words, steps=steps)


def concerns(  # noqa: PLR0913 (each is another thing that was seen)
    word: ServerWord,
    asked: Sequence[Asked],
    chain: Sequence[Certificate],
    programs: Sequence[Program] = (),
    *,
    host: str,
    offers_tls: bool,
    now: datetime,
    refused: str = "",
    refused_certificate: str = "",
    is_verified: bool = False,
) -> tuple[Concern, ...]:
    """All of them, the gravest first. `host` is by what name the server was asked.

    `refused` is why a client left to itself agrees to no TLS there, `refused_certificate` why one that
    verifies as the user does refuses the certificate; both are empty where they do not. `is_verified` says
    that one was verified.
    """
    mend = Mender(word.version)
    found = [*_of_refusal(mend, refused, refused_certificate, asked)]
    found += [*_of_plaintext(mend, word, offers_tls=offers_tls), *_of_versions(mend, asked)]
    found += _of_suites(mend, asked)
    found += [concern for certificate in path(chain) for concern in _of_certificate(mend, certificate, now)]
    found += [concern for certificate in chain[:1] for concern in _of_identity(mend, certificate, host)]
    found += _of_chain(mend, chain, is_verified=is_verified or bool(refused_certificate))
    found += _of_programs(programs, chain, now)
    return tuple(sorted(found, key=lambda concern: ORDER.index(concern.danger)))


def _of_refusal(
    mend: Mender, refused: str, refused_certificate: str, asked: Sequence[Asked]
) -> Iterator[Concern]:
    taken = [own.name for own in asked if own.topic in {"version", "suite", "group"} and own.agreed]
    default = next((own for own in asked if own.topic == "default"), None)
    why = refused or (default.why_not if default is not None and not default.agreed else "")
    if why:
        takes = f"takes {enumerated(taken)}" if taken else "took nothing else that was asked for either"
        keys = {own.agreed.certificate_key for own in asked if own.agreed and own.agreed.certificate_key}
        takes += f", with a key of {enumerated(sorted(keys))}" if keys else ""
        old = all(name in OLD_VERSIONS for name in taken)
        yield mend.concern(
            "unsafe",
            "clients left to themselves agree to no TLS with it",
            f"{why}; it {takes}",
            "upgrade the server, or have it offer TLS 1.2 and TLS 1.3"
            if old
            else "give it a key that clients take: EC P-256, or RSA 2048",
            "versions" if old else "certificate",
        )
    if refused_certificate:
        yield mend.concern(
            "unsafe",
            "a client that verifies as you do refuses the certificate",
            refused_certificate,
            "a certificate and its chain that clients can verify, in the file that ssl_cert names",
            "certificate",
        )


def _of_plaintext(mend: Mender, word: ServerWord, *, offers_tls: bool) -> Iterator[Concern]:
    if not offers_tls:
        yield mend.concern(
            "unsafe",
            "the server offers no TLS",
            "statements, rows and logins can be read and changed on the way",
            "give the server a certificate",
            "certificate",
        )
    elif not word.requires_tls and word.requires_tls is not None:
        yield mend.concern(
            "weak",
            "connections in the clear are accepted",
            "a client that is not told to encrypt, or whose offer somebody takes away, does not",
            "have it require TLS",
            "require TLS",
        )


def _of_versions(mend: Mender, asked: Sequence[Asked]) -> Iterator[Concern]:
    old = [own.name for own in asked if own.topic == "version" and own.agreed and own.name in OLD_VERSIONS]
    if old:
        yield mend.concern(
            "unsafe",
            f"{' and '.join(old)} {'is' if len(old) == 1 else 'are'} accepted",
            "deprecated, with hashes that are broken (RFC 8996)",
            "have it take TLS 1.2 and TLS 1.3 alone",
            "versions",
        )


def _of_suites(mend: Mender, asked: Sequence[Asked]) -> Iterator[Concern]:
    if any(own.name == "RSA key exchange" and own.agreed for own in asked):
        yield mend.concern(
            "weak",
            "TLS 1.2 accepts key exchange by RSA",
            "whoever gets the server's key later can read what was recorded before: no forward secrecy",
            "name the suites of TLS 1.2 with ECDHE (TLS 1.3 has no others)",
            "ciphers",
        )


def has_weak_key(certificate: Certificate) -> bool:
    """Whether its key has less than 112 bits of security (NIST SP 800-57, part 1)."""
    bits = re.fullmatch(r"(?:RSA|RSA-PSS|DSA) (\d+)", certificate.key)
    return bits is not None and int(bits[1]) < LEAST_RSA_BITS


def _of_certificate(mend: Mender, certificate: Certificate, now: datetime) -> Iterator[Concern]:
    named = f"the certificate of {certificate.subject or 'the server'}"
    begins, ends = map(datetime.fromisoformat, (certificate.not_before, certificate.not_after))
    if ends <= now:
        yield mend.concern("unsafe", f"{named} ended on {ends:%-d %B %Y}", VERIFY, "renew it", "certificate")
    elif ends - now <= SOON:
        what = f"{named} ends in {counted((ends - now).days, 'day')}, on {ends:%-d %B %Y}"
        yield mend.concern("soon unsafe", what, VERIFY, "renew it", "certificate")
    if begins > now:
        what = f"{named} is not valid before {begins:%-d %B %Y}"
        yield mend.concern("unsafe", what, VERIFY, "set the clocks, or renew it", "certificate")
    if has_weak_key(certificate):
        yield mend.concern(
            "unsafe",
            f"{named} has a key of {certificate.key}",
            "it has less than 112 bits of security (NIST SP 800-57)",
            "make a key of EC P-256, which also costs less, or of RSA 2048",
            "certificate",
        )
    if certificate.signature in BROKEN_HASHES and not certificate.is_self_signed:
        yield mend.concern(
            "unsafe",
            f"{named} is signed with {certificate.signature}",
            "somebody may have made another one with the same signature (RFC 9155)",
            "have it signed with SHA-256",
            "certificate",
        )
    if certificate.version < X509_V3 and not certificate.is_self_signed:
        yield mend.concern(
            "weak",
            f"{named} is X.509 version {certificate.version}",
            "it has no names and no purpose (subjectAltName, extendedKeyUsage), by which clients verify",
            "have one of version 3 issued, with the host in subjectAltName",
            "certificate",
        )


def _of_chain(mend: Mender, chain: Sequence[Certificate], *, is_verified: bool) -> Iterator[Concern]:
    """Whether what is sent leads to a root, in order and without ballast (RFC 8446, 4.4.2).

    A root need not be sent, and looks from outside as an intermediate does that was forgotten: only what is
    sent without any issuer is doubted, and by no one who could verify it.
    """
    issuer = missing_issuer(chain)
    if issuer and len(path(chain)) == 1 and not is_verified and SELF_MADE not in issuer:
        yield mend.concern(
            "weak",
            f"the server sends its own certificate alone, without that of {issuer}, who issued it",
            f"unless {issuer} is a root that clients have, none that verifies can tell that the server is "
            "the right one",
            f"append the certificate of {issuer} to the file that ssl_cert names, if it is no root; "
            "--ssl-ca=root.pem tells whether clients with that root accept it",
            "certificate",
        )
    if is_out_of_order(chain):
        yield mend.concern(
            "weak",
            "the certificates are not sent in the order in which they issued each other",
            "clients with TLS 1.2 may refuse that (RFC 5246, 7.4.2)",
            "in the file that ssl_cert names: the server's own first, then its issuer's, and so on",
            "certificate",
        )
    ballast = [own.subject for own in unrelated(chain)]
    twice = [own.subject for own in dict.fromkeys(duplicates(chain))]
    for names, what in ((ballast, "that did not issue the server's"), (twice, "more than once")):
        if names:
            yield mend.concern(
                "weak",
                f"the server sends the certificate{'s' if len(names) > 1 else ''} of "
                f"{shortened(names, MOST_NAMES)} {what}",
                "each full handshake carries them, and clients with TLS 1.2 may refuse them",
                "take them out of the file that ssl_cert names",
                "certificate",
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


def _of_identity(mend: Mender, certificate: Certificate, host: str) -> Iterator[Concern]:
    """Whether clients that verify could: by the authority, by the name, and by the purpose."""
    if certificate.purposes and "serverAuth" not in certificate.purposes:
        yield mend.concern(
            "unsafe",
            f"the certificate is for {enumerated(certificate.purposes)}, and not for servers",
            VERIFY,
            "have one issued with the purpose serverAuth (extendedKeyUsage)",
            "certificate",
        )
    if SELF_MADE in certificate.issuer:
        yield mend.concern(
            "weak",
            "the server made its certificate and its authority by itself",
            "no client knows that authority, so none can tell the server from somebody in between",
            "give clients its ca.pem and --ssl-mode=VERIFY_CA, or use an authority that they know",
        )
    elif not is_for(certificate, host):
        names = shortened(certificate.names, MOST_NAMES) or certificate.subject or "nobody"
        yield mend.concern(
            "weak",
            f"the certificate is for {names}, and not for {host}",
            "clients that verify the host refuse it, so they are told not to (VERIFY_CA)",
            "name the host in it (subjectAltName)",
            "certificate",
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
