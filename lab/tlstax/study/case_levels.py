"""A case, read from its levels: each factor of its own type, and what stands for one that is not named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from tlstax.contract import Compression
from tlstax.study import configuration as configured
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.level_names import (
    COUNT_LOCKS,
    DEFAULT_AUTH,
    DEFAULT_CERTIFICATE,
    DIRECT,
    ENGINE,
    NO_BURN,
    NO_FAULT,
    OPTION,
    OWN,
    POINT_SELECT,
    RECONNECTING,
    SHARED,
    UNSET,
    Level,
    Levels,
)
from tlstax.study.server_words import (
    certificate_words,
    chain_words,
    features_words,
    planted_words,
    twin_words,
)
from tlstax.study.workloads.bulk import Rows
from tlstax.study.workloads.sessions import Session
from tlstax.support.text import counted

Choice = Level | tuple[Level, ...]
"""One level of a factor, or any of several."""

SERVER_FACTORS = (
    "server",
    "configuration",
    "tls_library",
    "certificate",
    "chain",
    "fault",
    "instance",
    "cpu_features",
    "server_cpus",
)
"""The factors that choose a server; cases that agree in them share one, unless only one is observed."""

STATE_FACTORS = ("tls_switch", "durability")
"""The factors that are set at a running server, for each trial anew (`run/server_variables.py`)."""

DISTANCE_FACTORS = ("rtt_ms", "jitter_ms", "rate_mbit")
"""The factors that say how far apart client and server are."""

WAY_FACTORS = ("path", *DISTANCE_FACTORS)
"""The factors that say how bytes travel between client and server."""

_LARGEST_STUDY = 1 << 14
"""As many cases are kept read; a study with more has them read again, which takes microseconds."""


@dataclass(frozen=True)
class ServerChoice:
    """A server to be started: a specimen (None: the default), what is put under it, which process of it.

    `configuration` are its own options, `fault` is what is planted in it, `server_cpus` how many processors
    it may use, None for all that are the server's. A server that is not `observed` has no counters: they are
    opened before it starts, and cost it something from then on, so one process cannot be both.
    """

    server: str | None = None
    tls_library: str = OWN
    instance: int = 1
    fault: str = NO_FAULT
    observed: bool = True
    certificate: str = DEFAULT_CERTIFICATE
    chain: int | None = None
    cpu_features: str = OWN_FEATURES
    server_cpus: int | None = None
    configuration: str = configured.AS_IT_COMES

    def words(self) -> str:
        """What it is called: "mysql-9.7 over openssl-3.4, a second one"."""
        server = self.server or "the default server"
        over = f" over {self.tls_library}" if self.tls_library != OWN else ""
        options = configured.words(self.configuration)
        certificate = (
            "" if self.certificate == DEFAULT_CERTIFICATE else f" with {certificate_words(self.certificate)}"
        )
        chain = "" if self.chain in {None, 1} else f", {chain_words(self.chain or 1)}"
        not_observed = "" if self.observed else ", not observed"
        planted = planted_words(self.fault)
        hidden = features_words(self.cpu_features)
        cpus = "" if self.server_cpus is None else f", on {counted(self.server_cpus, 'processor')}"
        twin = twin_words(self.instance)
        return f"{server}{over}{options}{certificate}{chain}{planted}{hidden}{cpus}{twin}{not_observed}"


@dataclass(frozen=True)
class Distance:
    """What lies between client and server: a round trip time, its variation, a rate (0: no limit)."""

    rtt_ms: float = 0.0
    jitter_ms: float = 0.0
    rate_mbit: int = 0

    @property
    def is_any(self) -> bool:
        """Whether there is one at all; without, both are on one loopback interface."""
        return self != Distance()


@dataclass(frozen=True)
class CaseLevels:
    """What is measured in a case: a field for each of `factors.FACTORS`, and the options of its driver.

    `named` are the factors that the case has a level of, in their order; the fields of the others have the
    level that stands for leaving a thing as it is, or None where nothing does. `options` are the driver's,
    those left unset among them not. Levels are as `factors.check_level` returns them.
    """

    named: tuple[str, ...] = ()
    tls: str = "off"
    resumption: str = "off"
    group: str = "default"
    cipher: str = "default"
    compression: Compression = "off"
    workload: str = POINT_SELECT
    protocol: str = "default"
    connections: int = 1
    client: str = ENGINE
    tls_switch: str = "client"
    certificate: str = DEFAULT_CERTIFICATE
    chain: int | None = None
    trust: int | None = None
    tls_context: str = SHARED
    client_certificate: str = "off"
    auth: str = DEFAULT_AUTH
    batch: int = 1
    durability: str | None = None
    queries: int | None = None
    rounds: int | None = None
    slice_ms: float | None = None
    path: str = DIRECT
    address: str = DIRECT
    rtt_ms: float = 0.0
    jitter_ms: float = 0.0
    rate_mbit: int = 0
    server: str | None = None
    configuration: str = configured.AS_IT_COMES
    tls_library: str = OWN
    client_tls_library: str = OWN
    instance: int = 1
    fault: str = NO_FAULT
    burn: str = NO_BURN
    cpu_features: str = OWN_FEATURES
    server_cpus: int | None = None
    observers: str = "all"
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(levels: Levels) -> CaseLevels:
        """The case with these levels, which may be some of a case's; what names no factor is passed over."""
        return _read(tuple(levels.items()))

    @property
    def is_encrypted(self) -> bool:
        """Whether the client is to encrypt, or may."""
        return self.tls != "off"

    @property
    def is_compressed(self) -> bool:
        """Whether client and server are to compress what they send."""
        return self.compression != "off"

    @property
    def resumes(self) -> bool:
        """Whether new connections are to resume an earlier TLS session."""
        return self.resumption == "on"

    @property
    def proves_client(self) -> bool:
        """Whether the client proves itself by a certificate; in the clear nobody is asked for one."""
        return self.client_certificate == "on" and self.is_encrypted

    @property
    def session(self) -> Session | None:
        """What its workload's name says of statements and bytes; None of another workload."""
        return Session.named(self.workload)

    @property
    def reconnects(self) -> bool:
        """Whether each operation of its built-in workload is on a connection of its own."""
        session, rows = self.session, Rows.named(self.workload)
        of_session = session is not None and session.statements is not None
        return self.workload in RECONNECTING or of_session or (rows is not None and rows.connects)

    @property
    def is_observed(self) -> bool:
        """Whether the case is watched by all observers, or by none but the CPU clocks."""
        return self.observers == "all"

    @property
    def is_switched_at_server(self) -> bool:
        """Whether it is the server that turns TLS off, where the case has none."""
        return self.tls_switch == "server"

    @property
    def server_choice(self) -> ServerChoice:
        """The server that the case is measured on."""
        return ServerChoice(
            server=self.server,
            tls_library=self.tls_library,
            instance=self.instance,
            fault=self.fault,
            observed=self.is_observed,
            certificate=self.certificate,
            chain=self.chain,
            cpu_features=self.cpu_features,
            server_cpus=self.server_cpus,
            configuration=self.configuration,
        )

    @property
    def counting(self) -> ServerChoice | None:
        """The same server with its locks counted; None for one that has something else of ours in it."""
        if self.fault not in {NO_FAULT, COUNT_LOCKS}:
            return None
        return replace(self.server_choice, fault=COUNT_LOCKS)

    @property
    def burn_ns(self) -> int:
        """How much CPU time the fault `burn` is to take in each call, in nanoseconds."""
        return 0 if self.burn == NO_BURN else int(self.burn.removesuffix("ns"))

    @property
    def distance(self) -> Distance:
        """The distance between client and server."""
        return Distance(rtt_ms=self.rtt_ms, jitter_ms=self.jitter_ms, rate_mbit=self.rate_mbit)

    @property
    def can_be_captured(self) -> bool:
        """Whether a tap can stand between client and server: there is nothing else between them."""
        return self.path == DIRECT and not self.distance.is_any


def within(levels: Levels, wanted: Mapping[str, Choice]) -> bool:
    """Whether the case with these levels has one of the wanted ones in every factor that is named."""
    return all(
        levels.get(name) in (choice if isinstance(choice, tuple) else (choice,))
        for name, choice in wanted.items()
    )


_KINDS: dict[str, Callable[[Level], Level]] = {
    each.name: {"str": str, "Compression": str, "int": int, "float": float}[each.type.removesuffix(" | None")]
    for each in fields(CaseLevels)
    if each.name not in {"named", "options"}
}
"""The type of each factor's level, as the fields above have it."""


@lru_cache(maxsize=_LARGEST_STUDY)
def _read(levels: tuple[tuple[str, Level], ...]) -> CaseLevels:
    known: dict[str, Any] = {name: _KINDS[name](level) for name, level in levels if name in _KINDS}
    options = {
        name.removeprefix(OPTION): str(level)
        for name, level in levels
        if name.startswith(OPTION) and level != UNSET
    }
    return CaseLevels(named=tuple(name for name, _ in levels), options=options, **known)
