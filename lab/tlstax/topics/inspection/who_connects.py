"""Which drivers could connect to a server as it was seen, by what was measured of them. Pure.

A handshake takes the newest version that both have (RFC 8446, 4.1.1), then one cipher suite, a group and a
signature of the server's key: where one of these is not common, it fails, and no older version is tried.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Self

from tlstax.contract import Frozen
from tlstax.results.inspection import (
    COMMON_RSA_BITS,
    Cause,
    InspectedServer,
    LockedOut,
    Obstacle,
    Step,
    Topic,
    Way,
    WhoConnects,
    key_bits,
)
from tlstax.stats.programs import all_programs
from tlstax.stats.remedies import Remedy, entry_for
from tlstax.study.product import product_of
from tlstax.study.tls_levels import group_name
from tlstax.support.text import enumerated
from tlstax.topics.inspection.concerns import certificate_has_ended, is_for
from tlstax.topics.inspection.known_drivers import KnownDriver, KnownDrivers

VERSIONS = ("TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3")
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

TRIED_BITS = 1024
"""The short RSA key that drivers were shown."""

AEAD = ("GCM", "CHACHA20", "CCM")

AT_THE_SERVER: dict[Cause, tuple[Remedy, str]] = {
    "no TLS": ("certificate", ""),
    "version": ("versions", "have it take TLS 1.2 and TLS 1.3"),
    "suite": ("ciphers", "have it take suites with ECDHE"),
    "signature": ("certificate", "a key of RSA 2048 or EC P-256"),
    "key": ("certificate", "a key of RSA 2048 or EC P-256"),
    "certificate": ("certificate", "a certificate for this host, of an authority that they know"),
}
"""What mends it there, and what its lines are for."""

REMEMBERED = "nothing but an earlier login that the server remembers"
"""How a reason begins that TLS mends."""


@dataclass(frozen=True)
class Verdict:
    """What becomes of a connection: what it fails at and why; with neither it succeeds.

    `is_known` is whether enough was seen to tell.
    """

    cause: Cause | None = None
    why: str = ""
    is_known: bool = True


SUCCEEDS, UNKNOWN = Verdict(), Verdict(is_known=False)
NO_TLS = Verdict("no TLS", "the server offers no TLS")


def who_connects(
    known: KnownDrivers, found: InspectedServer, *, host: str, is_known_authority: bool | None
) -> WhoConnects:
    """Every driver by default and with TLS required, and what the server's choices would change.

    `host` is by what name the server was asked. `is_known_authority` is whether the machine that asked trusts
    who signed the certificate, of its own accord; None where that cannot be told.
    """
    trial = _Trial.of(known, found, host, is_known_authority)
    return WhoConnects(
        measured_at=known.at,
        drivers=len(known.drivers),
        by_default=_way(trial, trial.by_default),
        over_tls=_way(trial, lambda driver: (True, trial.over_tls(driver))),
        changes=tuple(_changes(trial)) if found.offers_tls else (),
    )


def kind_of(suite: str) -> tuple[str, str]:
    """How a suite of before TLS 1.3 exchanges keys, and how it encrypts; with CBC the hash counts too."""
    exchange = next((name for name in (ECDHE, DHE) if suite.startswith(f"{name}-")), RSA)
    if suite.startswith(("ECDH-", "DHE-DSS-", "ADH-", "0x")):
        exchange = "another"
    return exchange, next((name for name in AEAD if name in suite), f"CBC {suite.rpartition('-')[2]}")


@dataclass(frozen=True)
class _Trial:
    """Drivers and a server as it was inspected, with what it took of what it was asked for.

    That are versions, suites of TLS 1.3 by name, older ones by kind, groups, and its key. What could not be
    asked for is in `unsure`, by its name.
    """

    known: KnownDrivers
    found: InspectedServer
    host: str
    is_known_authority: bool | None
    versions: frozenset[str]
    suites: frozenset[str]
    kinds: frozenset[tuple[str, str]]
    groups: frozenset[str]
    key: str
    unsure: frozenset[str]

    @classmethod
    def of(
        cls, known: KnownDrivers, found: InspectedServer, host: str, is_known_authority: bool | None
    ) -> Self:
        """The trial of a server that took so much of what it was asked for."""
        agreed = [own.agreed for own in found.asked if own.agreed is not None]
        named = {own: {one.name for one in found.of(own) if one.agreed} for own in TOPICS}
        old = {kind_of(view.cipher) for view in agreed if not view.cipher.startswith("TLS_")}
        return cls(
            known,
            found,
            host,
            is_known_authority,
            versions=frozenset(named["version"]),
            suites=frozenset(name for name in named["suite"] if name.startswith("TLS_")),
            kinds=frozenset(KINDS[name] for name in named["suite"] if name in KINDS) | old,
            groups=frozenset(named["group"]) | {group_name(view.group) for view in agreed if view.group},
            key=found.chain[0].key if found.chain else "",
            unsure=frozenset(own.name for own in found.asked if not own.could_ask),
        )

    @property
    def plugin(self) -> str | None:
        """By what the account is proved, None where that is not known.

        Of PostgreSQL's SCRAM the client chooses whether it is bound to the channel.
        """
        plugin = self.found.word.account_plugin
        return plugin.removesuffix("-plus") if plugin else None

    @property
    def may_refuse_plaintext(self) -> bool:
        """Whether the account could not see if plaintext is refused, and was not let in so itself.

        MySQL and MariaDB tell every account; where they have no word for it they refuse nobody.
        """
        word = self.found.word
        return word.is_postgresql and word.lets_in_clear is None and word.account_is_encrypted

    @property
    def refuses_plaintext(self) -> bool:
        """Whether the account is refused in the clear, as far as that is known."""
        word = self.found.word
        return not word.lets_in_clear if word.lets_in_clear is not None else bool(word.requires_tls)

    def spoken(self, driver: KnownDriver) -> tuple[str, ...]:
        """The versions of TLS that a driver speaks with this server."""
        return self.known.versions_at(driver, self.found.word.version)

    def by_default(self, driver: KnownDriver) -> tuple[bool | None, Verdict]:
        """Whether it encrypts with nothing said of TLS, and what becomes of it."""
        version = self.found.word.version
        encrypts = self.known.encrypts_at(driver, version) if self.found.offers_tls else False
        if encrypts is None:
            return None, UNKNOWN
        if encrypts:
            checked = self._certificate(driver.verifies_by_default)
            shaken = self.handshake(driver)
            if self.found.word.is_postgresql and not (self.refuses_plaintext or driver.demands_tls):
                # By `prefer` libpq then begins anew in the clear, by its documentation; not tried of each.
                shaken = shaken if shaken == SUCCEEDS else UNKNOWN
            return True, _first(shaken, checked, self._login(driver, is_encrypted=True))
        if driver.demands_tls:
            return False, NO_TLS
        if self.refuses_plaintext:
            why = "the server refuses connections in the clear, and they do not encrypt"
            return False, Verdict("plaintext", why)
        if self.may_refuse_plaintext:
            return False, UNKNOWN
        return False, self._login(driver, is_encrypted=False)

    def over_tls(self, driver: KnownDriver) -> Verdict:
        """What becomes of it with TLS required, and nothing else said."""
        word = self.found.word
        if not self.found.offers_tls:
            return NO_TLS
        if not driver.can_require and not self.is_known_authority:
            return Verdict("certificate", "they encrypt only when they are given an authority")
        if not driver.can_require:
            return _first(self.handshake(driver), UNKNOWN)
        checked = self._certificate(driver.verifies)
        login = self.known.login_at(driver, word.version, self.plugin or "")
        by_password = login is not None and login.takes_unknown and "authority" in driver.verifies
        if by_password and not self.is_known_authority:
            # Whether one that has ended is taken then was not tried.
            checked = UNKNOWN if certificate_has_ended(self.found) else SUCCEEDS
        return _first(self.handshake(driver), checked, self._login(driver, is_encrypted=True))

    def agrees(self, driver: KnownDriver) -> bool:
        """Whether it could connect over TLS, told whom to trust."""
        return _first(self.handshake(driver), self._login(driver, is_encrypted=True)) == SUCCEEDS

    def handshake(self, driver: KnownDriver) -> Verdict:
        """Whether both agree on all that it needs; unknown where the server agreed to nothing asked."""
        if not self.versions:
            return UNKNOWN
        possible = {*self.spoken(driver)} & (self.versions | self.unsure)
        newest = max(possible, key=VERSIONS.index, default="")
        version = self._common("version", {newest}, self.versions, "")
        if version != SUCCEEDS:
            return version
        suite = self._suite_13(driver) if newest == TLS13 else self._suite_12(driver)
        return _first(suite, self._signature(driver, newest), self._key_length(driver))

    def _common(
        self, cause: Cause, known: set[str], taken: frozenset[str], none: str, of: str = ""
    ) -> Verdict:
        """Whether the server takes something of what the driver knows; unknown where that was not asked."""
        names = enumerated(sorted(taken)) or none
        refused = UNKNOWN if known & self.unsure else Verdict(cause, f"{of}the server takes {names} alone")
        return SUCCEEDS if known & taken else refused

    def _suite_13(self, driver: KnownDriver) -> Verdict:
        suites = {suite for suite in driver.cipher_suites if suite.startswith("TLS_")}
        common = self._common("suite", suites, self.suites, "no suite", "of TLS 1.3 ")
        return _first(common, self._group(driver))

    def _group(self, driver: KnownDriver) -> Verdict:
        return self._common("group", {*map(group_name, driver.groups)}, self.groups, "no group")

    def _suite_12(self, driver: KnownDriver) -> Verdict:
        """A suite before TLS 1.3, of a kind that was seen; with ECDHE a group too."""
        signer = "ECDSA" if self.key.startswith(("EC ", "Ed")) else "RSA"
        usable = [
            suite
            for suite in driver.cipher_suites
            if not suite.startswith("TLS_") and (kind_of(suite)[0] != ECDHE or f"-{signer}-" in suite)
        ]
        exchanges = {kind_of(suite)[0] for suite in usable if kind_of(suite) in self.kinds}
        if exchanges:
            return self._group(driver) if exchanges == {ECDHE} else SUCCEEDS
        taken = sorted({exchange for exchange, _ in self.kinds})
        if {kind_of(suite)[0] for suite in usable} & set(taken):
            return UNKNOWN
        return Verdict("suite", f"before TLS 1.3 the server takes {enumerated(taken) or 'no suite'} alone")

    def _signature(self, driver: KnownDriver, version: str) -> Verdict:
        kind = self.key.split()[0] if self.key.startswith("RSA") else self.key
        is_mldsa = kind.startswith("MLDSA")
        if kind not in SIGNATURES:
            return UNKNOWN
        if version != TLS13 and not is_mldsa:
            if kind == "RSA" or VERSIONS.index(version) < VERSIONS.index(TLS12):
                return SUCCEEDS
            if kind.startswith("EC "):
                is_known = kind[3:] in map(group_name, driver.groups)
                return SUCCEEDS if is_known else Verdict("group", f"they know no curve of its key, {kind}")
        is_offered = any(signature.startswith(SIGNATURES[kind]) for signature in driver.signatures)
        if not is_offered or (is_mldsa and version != TLS13):
            return Verdict("signature", f"they know no signature by a key of {kind}")
        # Seen: MySQL 9.7.4 with such a key refuses drivers that offer ML-DSA, and that MariaDB 11.8 takes.
        # At PostgreSQL none was tried.
        return UNKNOWN if is_mldsa and product_of(self.found.word.version) != "mariadb" else SUCCEEDS

    def _key_length(self, driver: KnownDriver) -> Verdict:
        bits = key_bits(self.key) or COMMON_RSA_BITS
        if bits >= COMMON_RSA_BITS or (driver.takes_rsa_1024 and bits >= TRIED_BITS):
            return SUCCEEDS
        if driver.takes_rsa_1024 is not False or bits > TRIED_BITS:
            return UNKNOWN
        return Verdict("key", f"a key of {self.key} is too short for them")

    def _certificate(self, verifies: Sequence[str]) -> Verdict:
        """What a driver that verifies so says of the certificate."""
        if not self.found.chain or not verifies:
            return SUCCEEDS
        why = ""
        if "expiry" in verifies and certificate_has_ended(self.found):
            why = "and it has ended"
        elif "authority" in verifies and self.is_known_authority is False:
            why = "and do not know who signed it"
        elif "host" in verifies and not is_for(self.found.chain[0], self.host):
            why = f"and it is not for {self.host}"
        if why:
            return Verdict("certificate", f"they verify the certificate, {why}")
        return UNKNOWN if "authority" in verifies and self.is_known_authority is None else SUCCEEDS

    def _login(self, driver: KnownDriver, *, is_encrypted: bool) -> Verdict:
        plugin = self.plugin
        if plugin is None:
            # In the clear it is the plugin that decides; over TLS nearly every driver knows nearly every one.
            return SUCCEEDS if is_encrypted else UNKNOWN
        login = self.known.login_at(driver, self.found.word.version, plugin)
        why = ""
        if login is None:
            return UNKNOWN
        if is_encrypted:
            why = f"they do not log in by {plugin}" if login.over_tls else ""
        elif login.in_clear:
            why = f"they do not log in by {plugin} in the clear"
        elif login.cold_in_clear:
            why = f"{REMEMBERED} lets them in by {plugin} in the clear"
        return Verdict("login", why) if why else SUCCEEDS


TOPICS: tuple[Topic, ...] = ("version", "suite", "group")


def _first(*verdicts: Verdict) -> Verdict:
    """The first of these that is no success."""
    return next((verdict for verdict in verdicts if verdict != SUCCEEDS), SUCCEEDS)


def _way(trial: _Trial, judged: Callable[[KnownDriver], tuple[bool | None, Verdict]]) -> Way:
    fates: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    refused: dict[Verdict, list[KnownDriver]] = {}
    for driver in trial.known.drivers:
        encrypts, verdict = judged(driver)
        if verdict.cause is not None:
            refused.setdefault(verdict, []).append(driver)
        else:
            fates[encrypts if verdict.is_known else None].append(driver.name)
    return Way(
        encrypted=tuple(fates[True]),
        in_clear=tuple(fates[False]),
        obstacles=tuple(_obstacle(trial, verdict, drivers) for verdict, drivers in refused.items()),
        unknown=tuple(fates[None]),
    )


def _obstacle(trial: _Trial, verdict: Verdict, drivers: Sequence[KnownDriver]) -> Obstacle:
    by = cause = verdict.cause or "login"
    names = [driver.name for driver in drivers]
    if verdict.why.startswith(REMEMBERED):
        # Over TLS the account need not be remembered: the driver is to ask for it, where the server has it.
        by = "plaintext" if trial.found.offers_tls else "no TLS"
    client: list[Step] = []
    mended: set[str] = set()
    for steps, whom in _client_lines(by, names, trial):
        client += [Step(where=f"{enumerated(whom)}: {step.where}", lines=step.lines) for step in steps]
        mended.update(whom)
    at_server: tuple[Step, ...] = ()
    says = ""
    remedy, own_words = AT_THE_SERVER.get(by if by == "no TLS" else cause, (None, ""))
    if remedy is not None and (cause != "version" or any(map(trial.spoken, drivers))):
        entry = entry_for(remedy, trial.found.word.version)
        at_server, says = entry.steps, entry.says or own_words
    return Obstacle(
        at=cause,
        drivers=tuple(names),
        why=verdict.why,
        client=tuple(client),
        server=at_server,
        says=says,
        unmended=tuple(name for name in names if name not in mended),
    )


class _Mended(Frozen):
    """Which steps mend these causes at these drivers; `oldest` is the oldest version that they then speak."""

    causes: tuple[Cause, ...]
    drivers: tuple[str, ...]
    steps: tuple[str, ...]
    oldest: str = "TLS 1.0"


class _DriverLines(Frozen):
    """The lines of `driver_lines.toml`: every step by its name, and what is mended by which."""

    steps: dict[str, Step]
    mended: tuple[_Mended, ...]


@cache
def _driver_lines() -> _DriverLines:
    file = resources.files("tlstax.topics.inspection") / "driver_lines.toml"
    return _DriverLines.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))


def _client_lines(
    cause: Cause, drivers: Sequence[str], trial: _Trial
) -> Iterator[tuple[tuple[Step, ...], list[str]]]:
    """What mends it at each of these drivers that something mends: the lines, and for whom they are.

    What requires TLS and verifies the server is each driver's own word, as `advise` says it.
    """
    newest = max(trial.versions, key=VERSIONS.index, default="")
    has_rsa = any(exchange == RSA for exchange, _ in trial.kinds)
    if cause in {"plaintext", "certificate"}:
        for program in all_programs(trial.found.word.family):
            names = [name for name in drivers if name in program.drivers]
            if names and "cannot" not in program.verify and "can neither" not in program.verify:
                yield (Step(where="the client's program", lines=(program.verify,)),), names
    elif newest in VERSIONS[:-1] and (has_rsa or cause != "suite"):
        spelled = newest.replace("TLS ", "TLSv").removesuffix(".0")
        steps = {
            name: Step(where=own.where, lines=tuple(line.replace("{newest}", spelled) for line in own.lines))
            for name, own in _driver_lines().steps.items()
        }
        for own in _driver_lines().mended:
            names = [name for name in drivers if name in own.drivers]
            if cause in own.causes and names and VERSIONS.index(own.oldest) <= VERSIONS.index(newest):
                yield tuple(steps[name] for name in own.steps), names


def _changes(trial: _Trial) -> Iterator[LockedOut]:
    """Changes that the server could make: it has TLS 1.3, or RSA key exchange to drop. None for no driver."""
    changes: dict[str, _Trial] = {}
    has_13 = TLS13 in trial.versions
    if has_13 and trial.versions != {TLS13}:
        changes["TLS 1.3 alone"] = replace(trial, versions=frozenset({TLS13}))
    kept = frozenset(kind for kind in trial.kinds if kind[0] != RSA)
    if kept != trial.kinds:
        changes["no RSA key exchange"] = replace(
            trial,
            kinds=kept or frozenset({(ECDHE, "GCM")}),
            groups=trial.groups or frozenset({"P-256", "X25519"}),
        )
    if has_13 and not trial.key.startswith("MLDSA"):
        changes["an ML-DSA certificate"] = replace(trial, key="MLDSA65")
    can = [driver for driver in trial.known.drivers if trial.agrees(driver)]
    for change, changed in changes.items() if can else ():
        judged = {driver.name: changed.handshake(driver) for driver in can}
        yield LockedOut.model_validate(
            {
                "change": change,
                "drivers": [name for name, verdict in judged.items() if verdict.cause is not None],
                "kept": [name for name, verdict in judged.items() if verdict == SUCCEEDS],
                "unknown": [name for name, verdict in judged.items() if not verdict.is_known],
            }
        )
