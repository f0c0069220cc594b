"""Which drivers could connect to a server as it was seen, by what was measured of them. Pure.

A handshake takes the newest version that both have (RFC 8446, 4.1.1), then one cipher suite, a group and a
signature of the server's key: where one of these is not common, it fails, and no older version is tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tlstax.findings.core.remedies import Remedy, entry_for
from tlstax.results.inspection import (
    Asked,
    Cause,
    Certificate,
    LockedOut,
    Obstacle,
    Step,
    Way,
    WhoConnects,
)
from tlstax.study.key_groups import group_name
from tlstax.study.product import product_of
from tlstax.support.text import enumerated
from tlstax.topics.inspection.concerns import is_for
from tlstax.topics.inspection.driver_lines import VERSIONS, lines_for
from tlstax.topics.inspection.known_drivers import KnownDriver, KnownDrivers

TLS12, TLS13 = VERSIONS[-2:]
ECDHE, DHE, RSA = "ECDHE", "DHE", "RSA key exchange"
KINDS = {"ECDHE with AES-GCM": (ECDHE, "GCM"), "ECDHE with ChaCha20-Poly1305": (ECDHE, "CHACHA20")}
"""Of the kinds of suites before TLS 1.3 that a server is asked for, those that say all."""

SIGNATURES = {
    "RSA": ("rsa_pss_rsae_",),
    "RSA-PSS": ("rsa_pss_pss_",),
    "EC P-256": ("ecdsa_secp256r1_sha256",),
    "EC P-384": ("ecdsa_secp384r1_sha384",),
    "EC P-521": ("ecdsa_secp521r1_sha512",),
    "Ed25519": ("ed25519",),
    "Ed448": ("ed448",),
    "MLDSA44": ("mldsa44",),
    "MLDSA65": ("mldsa65",),
    "MLDSA87": ("mldsa87",),
}
"""What TLS 1.3 signs with by a key (RFC 8446, 4.2.3); TLS 1.2 also signs by RSA and EC in older ways."""

_RSA_BITS = re.compile(r"RSA\S* ([0-9]+)")

COMMON_BITS, TRIED_BITS = 2048, 1024
"""An RSA key that everything takes, and the short one that drivers were shown."""

SERVER_REMEDIES: dict[Cause, Remedy] = {
    "no TLS": "certificate",
    "version": "versions",
    "suite": "ciphers",
    "signature": "certificate",
    "key": "certificate",
    "certificate": "certificate",
}
SERVER_SAYS: dict[Cause, str] = {
    "version": "have it take TLS 1.2 and TLS 1.3",
    "suite": "have it take suites with ECDHE",
    "signature": "a key of RSA 2048 or EC P-256",
    "key": "a key of RSA 2048 or EC P-256",
    "certificate": "a certificate for this host, of an authority that they know",
}

REMEMBERED = "nothing but an earlier login that the server remembers"
"""How a reason begins that TLS mends."""


@dataclass(frozen=True)
class Seen:
    """A server as it was inspected.

    `is_known_authority` is whether the machine that asked trusts who signed the certificate, of its own
    accord; None where that cannot be told. `plugin` is the account's, None where nobody logged in.
    """

    version: str
    host: str
    offers_tls: bool
    requires_tls: bool | None
    plugin: str | None
    asked: tuple[Asked, ...]
    chain: tuple[Certificate, ...]
    is_known_authority: bool | None
    now: datetime


@dataclass(frozen=True)
class Verdict:
    """What becomes of a connection: what it fails at and why; with neither it succeeds.

    `is_known` is whether enough was seen to tell.
    """

    cause: Cause | None = None
    why: str = ""
    is_known: bool = True


SUCCEEDS, UNKNOWN = Verdict(), Verdict(is_known=False)


@dataclass(frozen=True)
class Taken:
    """What a server takes: versions, suites by name, kinds of suites before TLS 1.3, groups, and its key.

    What could not be asked for is in `unsure`, by its name; `server` is what it says of its version.
    """

    versions: frozenset[str]
    suites: frozenset[str]
    kinds: frozenset[tuple[str, str]]
    groups: frozenset[str]
    key: str
    server: str
    unsure: frozenset[str] = frozenset()

    @property
    def newest(self) -> str:
        """The newest version; empty for none."""
        return max(self.versions, key=VERSIONS.index, default="")


def who_connects(known: KnownDrivers, seen: Seen) -> WhoConnects:
    """Every driver by default and with TLS required, and what the server's choices would change."""
    taken = taken_by(seen)
    return WhoConnects(
        measured_at=known.at,
        drivers=len(known.drivers),
        by_default=_way(known, seen, taken, lambda driver: by_default(known, driver, seen, taken)),
        over_tls=_way(known, seen, taken, lambda driver: (True, over_tls(known, driver, seen, taken))),
        changes=tuple(_changes(known, seen, taken)) if seen.offers_tls else (),
    )


def taken_by(seen: Seen) -> Taken:
    """What the server took of what it was asked for."""
    agreed = [own.agreed for own in seen.asked if own.agreed is not None]
    named = {topic: {own.name for own in seen.asked if own.topic == topic and own.agreed} for topic in TOPICS}
    old = frozenset(view.cipher for view in agreed if not view.cipher.startswith("TLS_"))
    kinds = {KINDS[name] for name in named["suite"] if name in KINDS} | {kind_of(suite) for suite in old}
    groups = named["group"] | {group_name(view.group) for view in agreed if view.group}
    return Taken(
        versions=frozenset(named["version"]),
        suites=old | {name for name in named["suite"] if name.startswith("TLS_")},
        kinds=frozenset(kinds),
        groups=frozenset(groups),
        key=seen.chain[0].key if seen.chain else "",
        server=seen.version,
        unsure=frozenset(own.name for own in seen.asked if not own.could_ask),
    )


AEAD = ("GCM", "CHACHA20", "CCM")
TOPICS = ("version", "suite", "group")


def kind_of(suite: str) -> tuple[str, str]:
    """How a suite of before TLS 1.3 exchanges keys, and how it encrypts; with CBC the hash counts too."""
    exchange = next((name for name in (ECDHE, DHE) if suite.startswith(f"{name}-")), RSA)
    if suite.startswith(("ECDH-", "DHE-DSS-", "ADH-", "0x")):
        exchange = "another"
    return exchange, next((name for name in AEAD if name in suite), f"CBC {suite.rpartition('-')[2]}")


def by_default(
    known: KnownDrivers, driver: KnownDriver, seen: Seen, taken: Taken
) -> tuple[bool | None, Verdict]:
    """Whether it encrypts with nothing said of TLS, and what becomes of it."""
    encrypts = known.encrypts_at(driver, seen.version) if seen.offers_tls else False
    if encrypts is None:
        return None, UNKNOWN
    if encrypts:
        verdict = handshake(known, driver, taken)
        if verdict == SUCCEEDS:
            verdict = _certificate(driver.verifies_by_default, seen)
        return True, verdict if verdict != SUCCEEDS else _login(known, driver, seen, is_encrypted=True)
    if seen.requires_tls:
        return False, Verdict(
            "plaintext", "the server refuses connections in the clear, and they do not encrypt"
        )
    return False, _login(known, driver, seen, is_encrypted=False)


def over_tls(known: KnownDrivers, driver: KnownDriver, seen: Seen, taken: Taken) -> Verdict:
    """What becomes of it with TLS required, and nothing else said."""
    if not seen.offers_tls:
        return Verdict("no TLS", "the server offers no TLS")
    if not driver.can_require and not seen.is_known_authority:
        return Verdict("certificate", "they encrypt only when they are given an authority")
    verdict = handshake(known, driver, taken)
    if verdict != SUCCEEDS or not driver.can_require:
        return verdict if verdict != SUCCEEDS else UNKNOWN
    login = known.login_at(driver, seen.version, seen.plugin or "")
    by_password = login is not None and login.takes_unknown and "authority" in driver.verifies
    if by_password and not seen.is_known_authority:
        # Whether one that has ended is taken then was not tried.
        verdict = UNKNOWN if has_ended(seen) else SUCCEEDS
    else:
        verdict = _certificate(driver.verifies, seen)
    return verdict if verdict != SUCCEEDS else _login(known, driver, seen, is_encrypted=True)


def handshake(known: KnownDrivers, driver: KnownDriver, taken: Taken) -> Verdict:
    """Whether both agree on all that a handshake needs; unknown where the server agreed to nothing asked."""
    spoken = known.versions_at(driver, taken.server)
    common = [version for version in spoken if version in taken.versions]
    possible = [version for version in spoken if version in taken.versions | taken.unsure]
    if not taken.versions:
        return UNKNOWN
    if not possible:
        return Verdict("version", f"the server takes {enumerated(sorted(taken.versions))} alone")
    if not common or max(possible, key=VERSIONS.index) != max(common, key=VERSIONS.index):
        return UNKNOWN
    newest = max(common, key=VERSIONS.index)
    verdict = _suite_13(driver, taken) if newest == TLS13 else _suite_12(driver, taken)
    if verdict != SUCCEEDS:
        return verdict
    verdict = _signature(driver, taken, newest)
    return verdict if verdict != SUCCEEDS else _key_length(driver, taken)


def _suite_13(driver: KnownDriver, taken: Taken) -> Verdict:
    suites = {suite for suite in driver.cipher_suites if suite.startswith("TLS_")}
    if not suites & taken.suites:
        unsure = bool(suites & taken.unsure)
        names = enumerated(sorted(suite for suite in taken.suites if suite.startswith("TLS_")))
        return (
            UNKNOWN
            if unsure
            else Verdict("suite", f"of TLS 1.3 the server takes {names or 'no suite'} alone")
        )
    return _group(driver, taken)


def _group(driver: KnownDriver, taken: Taken) -> Verdict:
    groups = {group_name(group) for group in driver.groups}
    if groups & taken.groups:
        return SUCCEEDS
    if groups & taken.unsure:
        return UNKNOWN
    return Verdict("group", f"the server takes {enumerated(sorted(taken.groups)) or 'no group'} alone")


def _suite_12(driver: KnownDriver, taken: Taken) -> Verdict:
    """A suite before TLS 1.3: one that was seen, or one of a kind that was; with ECDHE a group too."""
    signer = "ECDSA" if taken.key.startswith(("EC ", "Ed")) else "RSA"
    usable = [
        suite
        for suite in driver.cipher_suites
        if not suite.startswith("TLS_") and (kind_of(suite)[0] != ECDHE or f"-{signer}-" in suite)
    ]
    common = [suite for suite in usable if suite in taken.suites or kind_of(suite) in taken.kinds]
    exchanges = {kind_of(suite)[0] for suite in common}
    if exchanges and exchanges != {ECDHE}:
        return SUCCEEDS
    if exchanges:
        return _group(driver, taken)
    if {kind_of(suite)[0] for suite in usable} & {kind[0] for kind in taken.kinds}:
        return UNKNOWN
    names = sorted({f"{exchange}" for exchange, _ in taken.kinds})
    return Verdict("suite", f"before TLS 1.3 the server takes {enumerated(names) or 'no suite'} alone")


def _signature(driver: KnownDriver, taken: Taken, version: str) -> Verdict:
    kind = taken.key.split()[0] if taken.key.startswith("RSA") else taken.key
    ways = SIGNATURES.get(kind)
    if not kind or ways is None:
        return UNKNOWN
    if version != TLS13:
        if kind.startswith("MLDSA"):
            return Verdict("signature", f"they know no signature by a key of {kind}")
        if kind == "RSA" or VERSIONS.index(version) < VERSIONS.index(TLS12):
            return SUCCEEDS
        if kind.startswith("EC "):
            known = {group_name(group) for group in driver.groups}
            return (
                SUCCEEDS if kind[3:] in known else Verdict("group", f"they know no curve of its key, {kind}")
            )
    if any(signature.startswith(ways) for signature in driver.signatures):
        # Seen: MySQL 9.7.4 with such a key refuses drivers that offer ML-DSA, and that MariaDB 11.8 takes.
        is_doubtful = kind.startswith("MLDSA") and product_of(taken.server) == "mysql"
        return UNKNOWN if is_doubtful else SUCCEEDS
    return Verdict("signature", f"they know no signature by a key of {kind}")


def _key_length(driver: KnownDriver, taken: Taken) -> Verdict:
    rsa = _RSA_BITS.fullmatch(taken.key)
    bits = int(rsa[1]) if rsa is not None else COMMON_BITS
    if bits >= COMMON_BITS:
        return SUCCEEDS
    if driver.takes_rsa_1024:
        return SUCCEEDS if bits >= TRIED_BITS else UNKNOWN
    too_short = Verdict("key", f"a key of {taken.key} is too short for them")
    return too_short if bits <= TRIED_BITS else UNKNOWN


def has_ended(seen: Seen) -> bool:
    """Whether the server's certificate is past its time."""
    return any(datetime.fromisoformat(own.not_after) <= seen.now for own in seen.chain[:1])


def _certificate(verifies: Sequence[str], seen: Seen) -> Verdict:
    """What a driver that verifies so says of the certificate."""
    if not seen.chain or not verifies:
        return SUCCEEDS
    own = seen.chain[0]
    if "expiry" in verifies and has_ended(seen):
        return Verdict("certificate", "they verify the certificate, and it has ended")
    if "authority" in verifies and seen.is_known_authority is False:
        return Verdict("certificate", "they verify the certificate, and do not know who signed it")
    if "host" in verifies and not is_for(own, seen.host):
        return Verdict("certificate", f"they verify the certificate, and it is not for {seen.host}")
    return UNKNOWN if "authority" in verifies and seen.is_known_authority is None else SUCCEEDS


def _login(known: KnownDrivers, driver: KnownDriver, seen: Seen, *, is_encrypted: bool) -> Verdict:
    if seen.plugin is None:
        # In the clear it is the plugin that decides; over TLS nearly every driver knows nearly every one.
        return SUCCEEDS if is_encrypted else UNKNOWN
    login = known.login_at(driver, seen.version, seen.plugin)
    if login is None:
        return UNKNOWN
    if is_encrypted:
        return Verdict("login", f"they do not log in by {seen.plugin}") if login.over_tls else SUCCEEDS
    if login.in_clear:
        return Verdict("login", f"they do not log in by {seen.plugin} in the clear")
    if login.cold_in_clear:
        return Verdict("login", f"{REMEMBERED} lets them in by {seen.plugin} in the clear")
    return SUCCEEDS


def _way(
    known: KnownDrivers,
    seen: Seen,
    taken: Taken,
    judged: Callable[[KnownDriver], tuple[bool | None, Verdict]],
) -> Way:
    encrypted: list[str] = []
    in_clear: list[str] = []
    unknown: list[str] = []
    refused: dict[Verdict, list[KnownDriver]] = {}
    for driver in known.drivers:
        encrypts, verdict = judged(driver)
        if not verdict.is_known:
            unknown.append(driver.name)
        elif verdict.cause is not None:
            refused.setdefault(verdict, []).append(driver)
        else:
            (encrypted if encrypts else in_clear).append(driver.name)
    return Way(
        encrypted=tuple(encrypted),
        in_clear=tuple(in_clear),
        obstacles=tuple(
            _obstacle(known, verdict, drivers, seen, taken) for verdict, drivers in refused.items()
        ),
        unknown=tuple(unknown),
    )


def _obstacle(
    known: KnownDrivers, verdict: Verdict, drivers: Sequence[KnownDriver], seen: Seen, taken: Taken
) -> Obstacle:
    cause = verdict.cause or "login"
    names = [driver.name for driver in drivers]
    by: Cause = cause
    if verdict.why.startswith(REMEMBERED):
        # Over TLS the account need not be remembered: the driver is to ask for it, where the server has it.
        by = "plaintext" if seen.offers_tls else "no TLS"
    remedied = by if by == "no TLS" else cause
    has_rsa = any(exchange == RSA for exchange, _ in taken.kinds)
    client: list[Step] = []
    mended: set[str] = set()
    for steps, whom in lines_for(by, names, taken.newest, has_rsa=has_rsa):
        client += [Step(where=f"{enumerated(whom)}: {step.where}", lines=step.lines) for step in steps]
        mended.update(whom)
    spoken = {version for driver in drivers for version in known.versions_at(driver, seen.version)}
    remedy = SERVER_REMEDIES.get(remedied)
    entry = entry_for(remedy, seen.version) if remedy is not None else None
    if cause == "version" and spoken <= taken.versions:
        entry = None
    return Obstacle(
        at=cause,
        drivers=tuple(names),
        why=verdict.why,
        client=tuple(client),
        server=entry.steps if entry is not None else (),
        says=entry.says or SERVER_SAYS.get(cause, "") if entry is not None else "",
        unmended=tuple(name for name in names if name not in mended),
    )


def _changes(known: KnownDrivers, seen: Seen, taken: Taken) -> Iterator[LockedOut]:
    """Changes that the server could make: it has TLS 1.3, or RSA key exchange to drop. None for no driver."""
    can = [driver for driver in known.drivers if _agrees(known, driver, seen, taken)]
    if not can:
        return
    has_13 = TLS13 in taken.versions
    if has_13 and taken.versions != {TLS13}:
        yield _locked_out(known, "TLS 1.3 alone", can, replace(taken, versions=frozenset({TLS13})))
    kept = frozenset(kind for kind in taken.kinds if kind[0] != RSA)
    if kept != taken.kinds:
        suites = frozenset(
            suite for suite in taken.suites if suite.startswith("TLS_") or kind_of(suite)[0] != RSA
        )
        without = replace(
            taken,
            kinds=kept or frozenset({(ECDHE, "GCM")}),
            suites=suites,
            groups=taken.groups or frozenset({"P-256", "X25519"}),
        )
        yield _locked_out(known, "no RSA key exchange", can, without)
    if has_13 and not taken.key.startswith("MLDSA"):
        yield _locked_out(known, "an ML-DSA certificate", can, replace(taken, key="MLDSA65"))


def _agrees(known: KnownDrivers, driver: KnownDriver, seen: Seen, taken: Taken) -> bool:
    """Whether it could connect over TLS, told whom to trust."""
    return (
        handshake(known, driver, taken) == SUCCEEDS
        and _login(known, driver, seen, is_encrypted=True) == SUCCEEDS
    )


def _locked_out(known: KnownDrivers, change: str, can: Sequence[KnownDriver], taken: Taken) -> LockedOut:
    judged = {driver.name: handshake(known, driver, taken) for driver in can}
    return LockedOut.model_validate(
        {
            "change": change,
            "drivers": [name for name, verdict in judged.items() if verdict.cause is not None],
            "kept": [name for name, verdict in judged.items() if verdict == SUCCEEDS],
            "unknown": [name for name, verdict in judged.items() if not verdict.is_known],
        }
    )
