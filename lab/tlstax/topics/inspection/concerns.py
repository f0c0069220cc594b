"""What is unsafe about a server as it was seen, what its connects pay for, and how it is used. Pure.

A client follows issuers' names from the server's certificate on (RFC 5280, 6.1; RFC 8446, 4.4.2): what
else is sent costs bytes, and what is missing is an authority that it cannot reach.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from tlstax.results.inspection import (
    TRUST_BEHIND,
    Certificate,
    Concern,
    Danger,
    InspectedServer,
    Program,
    Step,
    Use,
    key_bits,
)
from tlstax.stats.remedies import Remedy, entry_for
from tlstax.study.product import FIRST_WITH_GROUPS, release_of
from tlstax.study.tls_levels import group_name
from tlstax.study.workloads.sized import FEW_STATEMENTS
from tlstax.support.text import counted, enumerated, shortened

SOON = timedelta(days=30)
"""Within which a certificate's end is reported."""

OLD_VERSIONS = ("TLS 1.0", "TLS 1.1")
"""Deprecated (RFC 8996)."""

LEAST_RSA_BITS = 2048
"""112 bits of security (NIST SP 800-57, part 1)."""

BROKEN_HASHES = ("MD5", "SHA1")
"""By which nothing may be signed any more (RFC 9155)."""

SELF_MADE = "_Auto_Generated_CA_Certificate"
"""In the issuer of what MySQL makes where it has none (manual, "Creating SSL and RSA Certificates")."""

X509_V3 = 3
"""The version that has extensions (RFC 5280, 4.1.2.1); old roots are of version 1, and are not verified."""

MOST_NAMES = 3
"""Of many, in a sentence."""

VERIFY = "clients that verify certificates refuse it, and those that do not could be talking to anybody"

ORDER = ("unsafe", "soon unsafe", "weak")

MEASURED = {"RSA 4096": "two to four times the server's CPU of a connection with RSA 2048"}
"""What a connection with a longer key costs MySQL 9.7 and 8.0.33 (docs/pool-or-reconnect.md)."""

SLOW_CURVES = ("P-384", "P-521", "X448")
SLOW_KEYS = {
    f"EC {curve}": "several times what a signature with EC P-256 costs, for which OpenSSL has code of its own"
    for curve in ("P-384", "P-521", "secp256k1", "brainpoolP256r1", "brainpoolP384r1", "brainpoolP512r1")
}
"""Only for P-256 does OpenSSL have code in assembly: `openssl speed ecdsap256 ecdsap384` shows it."""

GROUPS_FIRST = "P-256 first in the clients' groups: Groups = P-256:X25519:P-384:P-521 in their openssl.cnf"
"""What spares clients the second ClientHello, and slow key exchanges."""

MD5 = "md5"
"""How PostgreSQL calls the older way to prove a password."""

WEAK_HASH = (
    "whoever reads the stored hash can log in with it, and PostgreSQL gives the method up "
    "(deprecated from 18 on)"
)
"""What is weak about it."""

CONNECTIONS, HANDSHAKES = "connections", "handshakes"
STATEMENTS: Final = "statements"
TRANSACTIONS: Final = "transactions"
"""What a server counts of what clients ask: PostgreSQL counts transactions."""


@dataclass(frozen=True)
class Words:
    """A family's own words: for its certificate's setting, for verifying, for what keeps connections."""

    certificate: str
    verifying_all: str
    verifying_authority: str
    pool: str


WORDS = {
    "mysql": Words("ssl_cert", "VERIFY_IDENTITY", "VERIFY_CA", "a proxy that keeps them (ProxySQL)"),
    "postgresql": Words("ssl_cert_file", "verify-full", "verify-ca", "a pooler (PgBouncer)"),
}


def words_of(found: InspectedServer) -> Words:
    """Those of the server's family."""
    return WORDS[found.word.family]


def path(chain: Sequence[Certificate]) -> tuple[Certificate, ...]:
    """From the server's own certificate to issuer after issuer, as far as they were sent."""
    if not chain:
        return ()
    way = [chain[0]]
    while not way[-1].is_self_signed:
        issuer = next((own for own in chain if own.subject == way[-1].issuer and own not in way), None)
        if issuer is None:
            break
        way.append(issuer)
    return tuple(way)


Said = tuple[Danger, str, str, str, Remedy | None]
"""A concern: how grave, what, why, what mends it, and the entry of the table of remedies with its lines."""


def concerns(  # noqa: PLR0913 (what is known of the server beside the document)
    found: InspectedServer,
    *,
    host: str,
    refused: str = "",
    refused_certificate: str = "",
    is_verified: bool = False,
    unverified_by: str = "",
) -> tuple[Concern, ...]:
    """All of them, the gravest first. `host` is by what name the server was asked.

    `refused` is why a client left to itself agrees to no TLS there, `refused_certificate` why one that
    verifies as the user does refuses the certificate; both are empty where they do not. `is_verified` says
    that one was verified, `unverified_by` by which word of the user's own none is.
    """
    now = datetime.fromisoformat(found.at)
    said = [*_of_refusal(found, words_of(found), refused, refused_certificate)]
    said += [*_of_logins(found), *_of_clear_programs(found), *_of_handshakes(found)]
    said += [own for certificate in path(found.chain) for own in _of_certificate(certificate, now)]
    words = words_of(found)
    said += [own for certificate in found.chain[:1] for own in _of_identity(certificate, host, words)]
    said += _of_chain(found.chain, words, is_verified=is_verified or bool(refused_certificate))
    said += _of_programs(found)
    if unverified_by and found.offers_tls:
        said.append(
            (
                "weak",
                f"{unverified_by} does not verify the server",
                "whoever is in between can answer in its place, and read and change what is sent",
                "say sslmode=verify-full with sslrootcert (each driver's way: docs/advising-postgresql.md)",
                None,
            )
        )
    said.sort(key=lambda own: ORDER.index(own[0]))
    return tuple(_concern(found.word.version, own) for own in said)


def _concern(version: str, said: Said) -> Concern:
    """The concern, with the lines that mend it at a server of this version."""
    danger, what, why, remedy, by = said
    if by is None:
        return Concern(danger=danger, what=what, why=why, remedy=remedy)
    entry = entry_for(by, version)
    words = f"{remedy} ({entry.says})" if entry.says else remedy
    return Concern(danger=danger, what=what, why=why, remedy=words, steps=entry.steps)


def _of_refusal(
    found: InspectedServer, words: Words, refused: str, refused_certificate: str
) -> Iterator[Said]:
    why = refused or next((own.why_not for own in found.of("default") if not own.agreed), "")
    if why:
        asked = (own for own in found.asked if own.topic in {"version", "suite", "group"})
        taken = [own.name for own in asked if own.agreed]
        takes = f"takes {enumerated(taken)}" if taken else "took nothing else that was asked for either"
        keys = {own.agreed.certificate_key for own in found.asked if own.agreed}
        takes += f", with a key of {enumerated(sorted(filter(None, keys)))}" if any(keys) else ""
        old = all(name in OLD_VERSIONS for name in taken)
        yield (
            "unsafe",
            "clients left to themselves agree to no TLS with it",
            f"{why}; it {takes}",
            "upgrade the server, or have it offer TLS 1.2 and TLS 1.3"
            if old
            else "give it a key that clients take: EC P-256, or RSA 2048",
            "versions" if old else "certificate",
        )
    if refused_certificate:
        yield (
            "unsafe",
            "a client that verifies as you do refuses the certificate",
            refused_certificate,
            "a certificate and its chain that clients can verify, in the file that "
            f"{words.certificate} names",
            "certificate",
        )


def _of_handshakes(found: InspectedServer) -> Iterator[Said]:
    """Whether it encrypts, and with versions and suites that are thought safe."""
    if not found.offers_tls:
        yield (
            "unsafe",
            "the server offers no TLS",
            "statements, rows and logins can be read and changed on the way",
            "have the pooler offer it (client_tls_sslmode)"
            if found.word.pooler_leg
            else "give the server a certificate",
            None if found.word.pooler_leg else "certificate",
        )
    elif found.word.requires_tls is False:
        yield (
            "weak",
            "connections in the clear are accepted",
            "a client that is not told to encrypt, or whose offer somebody takes away, does not",
            "have it require TLS",
            "require TLS",
        )
    old = [own.name for own in found.of("version") if own.agreed and own.name in OLD_VERSIONS]
    if old:
        yield (
            "unsafe",
            f"{' and '.join(old)} {'is' if len(old) == 1 else 'are'} accepted",
            "deprecated, with hashes that are broken (RFC 8996)",
            "have it take TLS 1.2 and TLS 1.3 alone",
            "versions",
        )
    if any(own.name == "RSA key exchange" and own.agreed for own in found.asked):
        yield (
            "weak",
            "TLS 1.2 accepts key exchange by RSA",
            "whoever gets the server's key later can read what was recorded before: no forward secrecy",
            "name the suites of TLS 1.2 with ECDHE (TLS 1.3 has no others)",
            "ciphers",
        )


def has_weak_key(certificate: Certificate) -> bool:
    """Whether its key has less than 112 bits of security (NIST SP 800-57, part 1)."""
    bits = key_bits(certificate.key)
    return bits is not None and bits < LEAST_RSA_BITS


def _of_certificate(certificate: Certificate, now: datetime) -> Iterator[Said]:
    named = f"the certificate of {certificate.subject or 'the server'}"
    begins, ends = map(datetime.fromisoformat, (certificate.not_before, certificate.not_after))
    if ends <= now:
        yield "unsafe", f"{named} ended on {ends:%-d %B %Y}", VERIFY, "renew it", "certificate"
    elif ends - now <= SOON:
        what = f"{named} ends in {counted((ends - now).days, 'day')}, on {ends:%-d %B %Y}"
        yield "soon unsafe", what, VERIFY, "renew it", "certificate"
    if begins > now:
        what = f"{named} is not valid before {begins:%-d %B %Y}"
        yield "unsafe", what, VERIFY, "set the clocks, or renew it", "certificate"
    if has_weak_key(certificate):
        yield (
            "unsafe",
            f"{named} has a key of {certificate.key}",
            "it has less than 112 bits of security (NIST SP 800-57)",
            "make a key of EC P-256, which also costs less, or of RSA 2048",
            "certificate",
        )
    if certificate.signature in BROKEN_HASHES and not certificate.is_self_signed:
        yield (
            "unsafe",
            f"{named} is signed with {certificate.signature}",
            "somebody may have made another one with the same signature (RFC 9155)",
            "have it signed with SHA-256",
            "certificate",
        )
    if certificate.version < X509_V3 and not certificate.is_self_signed:
        yield (
            "weak",
            f"{named} is X.509 version {certificate.version}",
            "it has no names and no purpose (subjectAltName, extendedKeyUsage), by which clients verify",
            "have one of version 3 issued, with the host in subjectAltName",
            "certificate",
        )


def _of_chain(chain: Sequence[Certificate], words: Words, *, is_verified: bool) -> Iterator[Said]:
    """Whether what is sent leads to a root, in order and without ballast (RFC 8446, 4.4.2).

    A root need not be sent, and looks from outside as an intermediate does that was forgotten: only what is
    sent without any issuer is doubted, and by no one who could verify it.
    """
    way = path(chain)
    issuer = way[-1].issuer if way and not way[-1].is_self_signed else ""
    if issuer and len(way) == 1 and not is_verified and SELF_MADE not in issuer:
        yield (
            "weak",
            f"the server sends its own certificate alone, without that of {issuer}, who issued it",
            f"unless {issuer} is a root that clients have, none that verifies can tell that the server is "
            "the right one",
            f"append the certificate of {issuer} to the file that {words.certificate} names, if it is no "
            "root; "
            "--ssl-ca=root.pem tells whether clients with that root accept it",
            "certificate",
        )
    named = {own.sha256: own.subject for own in chain}
    on_the_way = [own.sha256 for own in way]
    if [sha256 for sha256 in named if sha256 in on_the_way] != on_the_way:
        yield (
            "weak",
            "the certificates are not sent in the order in which they issued each other",
            "clients with TLS 1.2 may refuse that (RFC 5246, 7.4.2)",
            f"in the file that {words.certificate} names: the server's own first, then its issuer's, and on",
            "certificate",
        )
    ballast = [named[own] for own in named if own not in on_the_way]
    times = Counter(own.sha256 for own in chain)
    twice = [named[own] for own in times if times[own] > 1]
    for subjects, what in ((ballast, "that did not issue the server's"), (twice, "more than once")):
        if subjects:
            yield (
                "weak",
                f"the server sends the certificate{'s' if len(subjects) > 1 else ''} of "
                f"{shortened(subjects, MOST_NAMES)} {what}",
                "each full handshake carries them, and clients with TLS 1.2 may refuse them",
                f"take them out of the file that {words.certificate} names",
                "certificate",
            )


def _of_logins(found: InspectedServer) -> Iterator[Said]:
    """How PostgreSQL proves accounts: this one's, and others' as far as the account may see pg_hba.conf.

    PostgreSQL documentation, "Password Authentication" and "Trust Authentication"; release notes of 18.
    """
    methods = {own.partition(" ")[2] for own in found.word.admission}
    if "trust" in methods:
        yield (
            "unsafe",
            "pg_hba.conf trusts clients over TCP (trust)",
            "whoever reaches the server is let in as whom they say",
            "have these lines say scram-sha-256",
            "require TLS",
        )
    elif TRUST_BEHIND in methods:
        yield (
            "weak",
            "pg_hba.conf has a line that trusts clients over TCP behind others (trust)",
            "who comes as far is let in as whom they say; nobody does while the lines before it stand",
            "have it say scram-sha-256",
            "require TLS",
        )
    if not {"host password", "hostnossl password"}.isdisjoint(found.word.admission):
        yield (
            "unsafe",
            "pg_hba.conf asks for passwords in the clear on connections without TLS (password)",
            "they can be read on the way",
            "have these lines say scram-sha-256, or hostssl",
            "require TLS",
        )
    if MD5 in {found.word.account_plugin, *methods}:
        is_own = found.word.account_plugin == MD5
        yield (
            "weak",
            "this account logs in by md5" if is_own else "accounts log in by md5",
            WEAK_HASH,
            "set password_encryption = 'scram-sha-256', set the passwords again, and have pg_hba.conf say "
            "scram-sha-256",
            "scram",
        )
    if found.word.password_encryption == MD5:
        yield (
            "weak",
            "passwords that are set from now on are kept by md5 (password_encryption)",
            WEAK_HASH,
            "set password_encryption = 'scram-sha-256', and set the passwords again",
            "scram",
        )
    if found.word.pooler_leg == "in the clear":
        yield (
            "unsafe",
            "the pooler in front comes to the server in the clear",
            "what clients send and get can be read and changed between the two, unless they are one machine",
            "have PgBouncer verify the server: server_tls_sslmode = verify-full and server_tls_ca_file",
            None,
        )


def certificate_has_ended(found: InspectedServer) -> bool:
    """Whether the server's certificate was past its time when it was inspected."""
    now = datetime.fromisoformat(found.at)
    return any(datetime.fromisoformat(own.not_after) <= now for own in found.chain[:1])


def _of_programs(found: InspectedServer) -> Iterator[Said]:
    """Who is connected over TLS although this certificate proves no server."""
    blind = [own for own in found.inside.programs if own.tls and own.transport != "Socket"]
    if not certificate_has_ended(found) or not blind:
        return
    number, names = _whose(blind)
    yield (
        "unsafe",
        f"{number} of {names} do not verify the server",
        "they came over TLS although the certificate has ended, so anybody in between could answer them",
        f"have them verify ({words_of(found).verifying_all}, by each driver's own word), with a renewed "
        "certificate",
        None,
    )


def _whose(programs: Sequence[Program]) -> tuple[str, str]:
    """How many connections these are, and of whom: "3 connections", "orders and unnamed"."""
    names = dict.fromkeys(own.program or own.client or "unnamed" for own in programs)
    return counted(sum(own.connections for own in programs), "connection"), enumerated(names)


CLEAR_TRANSPORTS: Final[Mapping[str, Danger]] = {"TCP/IP": "unsafe", "TCP/IP (loopback)": "weak"}
"""What PostgreSQL says of connections without TLS over TCP, and how grave that is: on loopback they cannot be
read on the way, unless a tunnel or a proxy ends there."""


def _of_clear_programs(found: InspectedServer) -> Iterator[Said]:
    """Who is connected to a PostgreSQL over TCP without TLS (`pg_stat_ssl`), where there is TLS."""
    if not found.word.is_postgresql or not found.offers_tls:
        return
    for transport, danger in CLEAR_TRANSPORTS.items():
        clear = [own for own in found.inside.programs if own.transport == transport and not own.tls]
        if clear:
            number, names = _whose(clear)
            near = " over loopback" if danger == "weak" else ""
            yield (
                danger,
                f"{number} of {names} came without TLS{near}",
                "statements, rows and logins can be read and changed on the way"
                + (", if a tunnel or a proxy ends there" if near else ""),
                "have the server require TLS, and clients verify it (sslmode=verify-full)",
                "require TLS",
            )


def _of_identity(certificate: Certificate, host: str, words: Words) -> Iterator[Said]:
    """Whether clients that verify could: by the authority, by the name, and by the purpose."""
    if certificate.purposes and "serverAuth" not in certificate.purposes:
        yield (
            "unsafe",
            f"the certificate is for {enumerated(certificate.purposes)}, and not for servers",
            VERIFY,
            "have one issued with the purpose serverAuth (extendedKeyUsage)",
            "certificate",
        )
    if SELF_MADE in certificate.issuer:
        yield (
            "weak",
            "the server made its certificate and its authority by itself",
            "no client knows that authority, so none can tell the server from somebody in between",
            "give clients its ca.pem and --ssl-mode=VERIFY_CA, or use an authority that they know",
            None,
        )
    elif not is_for(certificate, host):
        names = shortened(certificate.names, MOST_NAMES) or certificate.subject or "no name"
        yield (
            "weak",
            f"the certificate is for {names}, and not for {host}",
            f"clients that verify the host refuse it, so they are told not to ({words.verifying_authority})",
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


def payments(found: InspectedServer) -> tuple[Concern, ...]:
    """What connects pay for and need not, what concerns most clients first."""
    return (
        *_of_use(found.inside.watched, words_of(found)),
        *_of_second_hello(found),
        *_of_resumption(found),
        *_of_key_exchange(found),
        *_of_key(found),
    )


def _of_use(watched: Use | None, words: Words) -> Iterator[Concern]:
    a_connection = watched.statements_per_connect if watched is not None else None
    if watched is not None and a_connection is not None and a_connection < FEW_STATEMENTS:
        costs = "making a TLS connection costs the server as much as a transaction of some 14 statements"
        if watched.tls_share == 0:
            costs = "none of them uses TLS, which would make each connection several times as costly"
        yield _costly(
            f"clients make {watched.connects_per_s:.3g} connections a second, for "
            f"{counted(a_connection, watched.asked.removesuffix('s'), '.3g')} each",
            costs,
            f"keep connections: a pool in the application, or {words.pool}",
        )


def _costly(what: str, why: str, remedy: str, steps: tuple[Step, ...] = ()) -> Concern:
    return Concern(danger="costly", what=what, why=why, remedy=remedy, steps=steps)


def _of_second_hello(found: InspectedServer) -> Iterator[Concern]:
    if found.default is not None and found.default.hello_retry:
        remedy, steps = GROUPS_FIRST, tuple[Step, ...]()
        if found.word.is_postgresql and release_of(found.word.version) >= FIRST_WITH_GROUPS:
            # The server can take what clients offer first; elsewhere it is they who must change.
            remedy = "X25519 and P-256 among the server's groups"
            steps = entry_for("groups", found.word.version).steps
        whole = f" of {found.connect[0].round_trips:.3g}" if found.connect else ""
        yield _costly(
            "clients left to themselves are asked for a second ClientHello",
            f"one round trip{whole} of each connect, resumed or not",
            remedy,
            steps,
        )


def _of_resumption(found: InspectedServer) -> Iterator[Concern]:
    spoken = {own.name for own in found.of("version") if own.agreed}
    entry = entry_for("resumption", found.word.version)
    for own in found.of("resumption"):
        if not own.agreed and own.name in spoken:
            yield _costly(
                f"sessions of {own.name} are not resumed",
                "each connect pays for a signature and a key exchange",
                f"{entry.says or 'have the server resume them'}; and clients that keep sessions",
                entry.steps,
            )


def _of_key_exchange(found: InspectedServer) -> Iterator[Concern]:
    """What clients left to themselves get, where it costs several times what P-256 does, for both sides."""
    if found.default is None:
        return
    slow = group = group_name(found.default.group)
    is_dhe = found.default.cipher.startswith("DHE-") or group.startswith(("ffdhe", "dh_"))
    if is_dhe:
        slow = f"DHE ({group})" if group else "DHE"
    elif group not in SLOW_CURVES:
        return
    measured = "".join(
        f"{tls.median_us / 1000:.3g} of {found.connect[0].median_us / 1000:.3g} ms of a connect from here "
        "are TLS; "
        for tls in found.connect
        if tls.name == "tls_handshake"
    )
    yield _costly(
        f"clients left to themselves exchange keys by {slow}",
        f"{measured}P-256 and X25519 take a fraction of the time, on both sides",
        "have the server take suites with ECDHE, or TLS 1.3" if is_dhe else GROUPS_FIRST,
        entry_for("ciphers", found.word.version).steps if is_dhe else (),
    )


def _of_key(found: InspectedServer) -> Iterator[Concern]:
    for certificate in found.chain[:1]:
        if certificate.is_costly_rsa or certificate.key in SLOW_KEYS:
            measured = {} if found.word.is_postgresql else MEASURED
            more = "more of the server's CPU than a connection with RSA 2048"
            yield _costly(
                f"the server signs each full handshake with {certificate.key}",
                (SLOW_KEYS | measured).get(certificate.key, more),
                "a key of EC P-256, as secure as RSA 3072 (NIST SP 800-57), which costs least",
                entry_for("certificate", found.word.version).steps,
            )


def use(
    before: Mapping[str, int], after: Mapping[str, int], over_s: float, own_statements: int = 0
) -> Use | None:
    """The rates over this many seconds; None where the server counts no connections.

    With nothing `before` they are those since the server's start. None, too, where the counters went back:
    the server was started meanwhile, or somebody reset them. `own_statements` were asked to find out, and do
    not count.
    """
    if over_s <= 0 or CONNECTIONS not in after:
        return None
    asked: Literal["statements", "transactions"] = TRANSACTIONS if TRANSACTIONS in after else STATEMENTS
    done = {name: value - before.get(name, 0) for name, value in after.items()}
    if any(value < 0 for value in done.values()):
        return None
    if asked in done:
        done[asked] = max(0, done[asked] - own_statements)

    def rate(counter: str) -> float | None:
        return done[counter] / over_s if counter in done else None

    def share(counter: str, whole: str) -> float | None:
        return done[counter] / done[whole] if counter in done and done.get(whole) else None

    return Use(
        over_s=over_s,
        connects_per_s=done[CONNECTIONS] / over_s,
        statements_per_s=rate(asked),
        statements_per_connect=share(asked, CONNECTIONS),
        tls_share=share(HANDSHAKES, CONNECTIONS),
        resumed_share=share("session_lookups", HANDSHAKES),
        received_bytes_per_s=rate("received_bytes"),
        sent_bytes_per_s=rate("sent_bytes"),
        aborted_connects_per_s=rate("aborted_connects"),
        asked=asked,
    )
