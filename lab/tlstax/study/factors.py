"""The factors that a study may vary, each declared once, and a case: a level of each.

A factor is a field of `CaseLevels`: its type, the level that stands for leaving a thing as it is, and a
`Factor`: what it is and of what, its levels, what these are called, and when they are named. Whatever lists
factors (options, completion, columns of tables, servers to start, labels) follows from these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from tlstax.contract import Compression
from tlstax.study import configuration as configured
from tlstax.study import exclusions, job_parts, level_names, workloads
from tlstax.study.client_kinds import KINDS, Wanted, client_words
from tlstax.study.cpu_features import HIDDEN, OWN_FEATURES
from tlstax.study.factor import Factor, Of
from tlstax.study.level_names import (
    AUTH_PLUGINS,
    CERTIFICATES,
    CIPHERS,
    COMPRESSIONS,
    CONTEXTS,
    COUNT_LOCKS,
    DEFAULT_AUTH,
    DEFAULT_CERTIFICATE,
    DIRECT,
    DIRECT_TLS,
    DURABILITY,
    ENGINE,
    FAULTS,
    GROUP_LISTS,
    GROUPS,
    LEFT_TO_THE_DRIVER,
    NO_BURN,
    NO_FAULT,
    OPTION,
    OWN,
    PATHS,
    POINT_SELECT,
    POSTGRESQL_AUTH,
    RECONNECTING,
    REQUIRED,
    SHARED,
    STORM,
    STREAM,
    UNSET,
    WORKLOADS,
    Level,
    Levels,
)
from tlstax.study.workloads.sized import Rows, Session
from tlstax.support.credentials import quoted
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest, counted

Choice = Level | tuple[Level, ...]
"""One level of a factor, or any of several."""


def _factor(default: Level | None, of: Of, meaning: str, **more: Any) -> Any:
    """The field of a factor; its name is the field's."""
    return field(
        default=default, metadata={"factor": {"default": default, "of": of, "meaning": meaning, **more}}
    )


def _but(plain: Level, what: str, why: str) -> Callable[[Level], tuple[str, str] | None]:
    """Only at this level a load can come from several machines: what cannot be at another, and why."""
    return lambda level: None if level == plain else (what.format(level), why)


_NO_DISTANCE = _but(0, "a distance cannot be made", "there is a real network between them")


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
            ""
            if self.certificate == DEFAULT_CERTIFICATE
            else f" with {level_names.certificate_words(self.certificate)}"
        )
        chain = "" if self.chain in {None, 1} else f", {level_names.chain_words(self.chain or 1)}"
        not_observed = "" if self.observed else ", not observed"
        planted = level_names.planted_words(self.fault)
        hidden = level_names.features_words(self.cpu_features)
        cpus = "" if self.server_cpus is None else f", on {counted(self.server_cpus, 'processor')}"
        twin = level_names.twin_words(self.instance)
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


@dataclass(frozen=True, eq=False, repr=False)
class CaseLevels(Mapping[str, Level]):
    """What is measured in a case: a field for each factor, and the options of its driver.

    A mapping of the levels as they were written (`written`), which is all that is stored of it and all by
    which two cases are equal. Factors without a level there have a field that says what leaves a thing as it
    is, or None where nothing does. `options` are the driver's, those left unset among them not. Levels are as
    `check_level` returns them. Studies, records and documents have cases of this type (pydantic reads any
    mapping of levels as one), so that nobody behind their doors reads a level again.
    """

    written: Mapping[str, Level] = field(default_factory=dict)
    tls: str = _factor(
        "off",
        "connection",
        f"the TLS version, or no TLS at all; {UNSET} says nothing to a driver, {REQUIRED} nothing else",
        levels=("off", "1.0", "1.1", "1.2", "1.3", DIRECT_TLS, "default", *LEFT_TO_THE_DRIVER),
        has_option=True,
        lacks=exclusions.of_tls,
        tls=job_parts.of_tls,
        check="treatment.encryption",
    )
    resumption: str = _factor(
        "off",
        "connection",
        "does a new connection resume an earlier TLS session?",
        levels=("off", "on"),
        lacks=exclusions.of_resumption,
        tls=job_parts.of_resumption,
        check="treatment.resumption",
    )
    group: str = _factor(
        "default",
        "connection",
        "the key exchange groups that the client offers",
        levels=("default", *GROUPS, *GROUP_LISTS),
        words=level_names.offered_words,
        named="where varied",
        unsaid="default",
        lacks=exclusions.of_group,
        tls=job_parts.of_group,
        check="treatment.key_exchange",
    )
    cipher: str = _factor(
        "default",
        "connection",
        "the only cipher suite that the client offers, by OpenSSL's name",
        levels=("default", *CIPHERS),
        words=level_names.cipher_words,
        named="unless plain",
        unsaid="default",
        encrypted=True,
        tls=job_parts.of_cipher,
        check="treatment.cipher",
    )
    compression: Compression = _factor(  # noqa: RUF009 (it is a field)
        "off",
        "connection",
        "how MySQL's packets are compressed after the login, or a base backup, within TLS where there is TLS",
        levels=COMPRESSIONS,
        words=level_names.compression_words,
        named="unless plain",
        lacks=exclusions.of_compression,
        job="compression",
        check="compressed.compressed",
    )
    workload: str = _factor(
        POINT_SELECT,
        "load",
        "what one operation is",
        levels=WORKLOADS,
        form="workload",
        words=lambda level: workloads.in_words(str(level)),
        has_option=True,
        lacks=exclusions.of_workload,
        check="treatment.work",
        beside=lambda level: (
            ("a storm cannot be measured", "it opens all its connections at one moment, from one client")
            if level == STORM
            else None
        ),
    )
    protocol: str = _factor(
        "default",
        "load",
        "how statements travel",
        levels=("default", "text", "prepared"),
        words=level_names.protocol_words,
        check="statements.statements_counted",
    )
    connections: int = _factor(
        1,
        "load",
        "how many connections work at once",
        form="whole",
        words=lambda level: counted(level, "connection"),
        has_option=True,
        job=job_parts.of_connections,
        check="treatment.connected",
    )
    client: str = _factor(
        ENGINE,
        "client",
        "the load client",
        levels=tuple(KINDS),
        words=lambda level: f"by {client_words(level)}",
        named="where varied",
        has_option=True,
        lacks=exclusions.of_client,
        check="drivers.connections",
        beside=_but(ENGINE, "client {} cannot be measured", "only tlstax's own engine can share a load"),
    )
    tls_switch: str = _factor(
        "client",
        "state",
        "who turns TLS off: the client by its option, or the server",
        levels=("client", "server"),
        words=level_names.tls_switch_words,
        named="where varied",
        check="settings.tls_switch",
    )
    certificate: str = _factor(
        DEFAULT_CERTIFICATE,
        "server",
        "the key of the server's certificate",
        levels=CERTIFICATES,
        words=lambda level: f"{level_names.key_of(level)} certificate",
        named="where varied",
        encrypted=True,
        lacks=exclusions.of_certificate,
        check="settings.certificate",
    )
    chain: int | None = _factor(
        None,
        "server",
        "how many certificates the server sends: its own, and those up to the root, without it",
        form="whole",
        words=level_names.chain_words,
        named="where varied",
        unsaid=1,
        encrypted=True,
        check="settings.chain",
    )
    trust: int | None = _factor(
        None,
        "connection",
        "how many authorities are in the client's file, the server's among them",
        form="whole",
        words=lambda level: f"trusting {level_names.trust_words(level)}",
        named="where varied",
        encrypted=True,
        tls=job_parts.of_trust,
        check="settings.trust",
    )
    tls_context: str = _factor(
        SHARED,
        "connection",
        "have all connections of the engine one TLS context, or does each make its own?",
        levels=CONTEXTS,
        words=level_names.tls_context_words,
        lacks=exclusions.of_tls_context,
        tls=job_parts.of_tls_context,
        check="settings.context",
    )
    client_certificate: str = _factor(
        "off",
        "connection",
        "does the client prove itself by a certificate?",
        levels=("off", "on"),
        words=level_names.client_certificate_words,
        named="where varied",
        unsaid="off",
        encrypted=True,
        lacks=exclusions.of_client_certificate,
        tls=job_parts.of_client_certificate,
        check="settings.client_certificate",
    )
    auth: str = _factor(
        DEFAULT_AUTH,
        "connection",
        "the plugin or method by which the client's account is proved",
        levels=(DEFAULT_AUTH, *AUTH_PLUGINS, *POSTGRESQL_AUTH),
        words=lambda level: "" if level == DEFAULT_AUTH else f"by {level}",
        lacks=exclusions.of_auth,
        job=job_parts.of_auth,
        check="treatment.logins",
    )
    batch: int = _factor(
        1,
        "load",
        "how many operations a driver is handed at once, to be sent as one batch",
        form="whole",
        words=lambda level: "" if level == 1 else f"in batches of {level}",
        lacks=exclusions.of_batch,
    )
    durability: str | None = _factor(
        None,
        "state",
        "when a commit is on the disk",
        levels=tuple(DURABILITY),
        words=level_names.durability_words,
        check="settings.durability",
    )
    queries: int | None = _factor(
        None,
        "load",
        "how many operations a trial's round has, in place of a time",
        form="whole",
        words=lambda level: f"{counted(level, 'operation')} a round",
        named="where varied",
        check="rows_changed.came_to_its_number",
    )
    rounds: int | None = _factor(
        None,
        "load",
        "how many rounds of N operations a trial has",
        form="whole",
        words=lambda level: counted(level, "round"),
        named="where varied",
        check="rows_changed.came_to_its_number",
    )
    slice_ms: float | None = _factor(
        None,
        "load",
        "how long the slices are in which cases take turns; 0 is one window for each trial by itself",
        form="decimal",
        least=0,
        words=lambda level: f"slices of {float(level):.10g} ms" if level else "one window",
        named="where varied",
        lacks=exclusions.of_slice_ms,
        check="settings.slices",
    )
    path: str = _factor(
        DIRECT,
        "way",
        "what carries the bytes between client and server",
        levels=PATHS,
        words=level_names.path_words,
        named="unless plain",
        unsaid=DIRECT,
        has_option=True,
        lacks=exclusions.of_path,
        check="network.way",
        beside=_but(DIRECT, "path {} cannot be measured", "its programs stand on the server's own machine"),
    )
    address: str = _factor(
        DIRECT,
        "way",
        "by which of its addresses an external server is reached",
        form="word",
        words=lambda level: "by its own address" if level == DIRECT else f"by way of {level}",
        named="unless plain",
        unsaid=DIRECT,
        job=job_parts.of_address,
    )
    rtt_ms: float = _factor(
        0.0,
        "distance",
        "the round trip time between client and server, put there",
        form="decimal",
        least=0,
        named="unless plain",
        has_option=True,
        check="network.distance",
        beside=_NO_DISTANCE,
    )
    jitter_ms: float = _factor(
        0.0,
        "distance",
        "by how much each packet's delay varies at most",
        form="decimal",
        least=0,
        named="unless plain",
        check="network.distance",
        beside=_NO_DISTANCE,
    )
    rate_mbit: int = _factor(
        0,
        "distance",
        "how many megabits a second the distance carries each way; 0 is no limit",
        form="whole",
        least=0,
        named="unless plain",
        check="network.distance",
        beside=_NO_DISTANCE,
    )
    server: str | None = _factor(
        None,
        "server",
        "which server",
        form="specimen",
        named="where varied",
        has_option=True,
        job=job_parts.of_server,
        check="identity.answering",
    )
    configuration: str = _factor(
        configured.AS_IT_COMES,
        "server",
        "options of the server's own, such as performance_schema=OFF",
        levels=(configured.AS_IT_COMES,),
        form="configuration",
        named="where varied",
        check="settings.configuration",
    )
    tls_library: str = _factor(
        OWN,
        "server",
        f"the TLS library under the server, or {OWN}",
        form="specimen",
        named="where varied",
        has_option=True,
        check="identity.server_library",
    )
    client_tls_library: str = _factor(
        OWN,
        "client",
        f"the TLS library under the load client, or {OWN}",
        form="specimen",
        named="where varied",
        has_option=True,
        tls=job_parts.of_client_tls_library,
        check="identity.client_library",
        beside=_but(
            OWN,
            "the client's TLS library cannot be {}",
            "each machine's client runs over that machine's own",
        ),
    )
    instance: int = _factor(
        1,
        "server",
        "which process of the same server: 2 is a second one, a twin",
        form="whole",
        named="where varied",
        check="identity.answering",
    )
    fault: str = _factor(
        NO_FAULT,
        "server",
        "a fault or variant of our own, planted in the server",
        levels=(NO_FAULT, *FAULTS),
        named="unless plain",
        check="identity.planted",
    )
    burn: str = _factor(
        NO_BURN,
        "state",
        "the CPU time that the fault burn takes in each answer of the server",
        levels=(NO_BURN,),
        form="nanoseconds",
        words=level_names.burn_words,
        lacks=exclusions.of_burn,
        check="identity.burned",
    )
    cpu_features: str = _factor(
        OWN_FEATURES,
        "server",
        "which instructions OpenSSL finds, at the server and at the client: those of older processors",
        levels=tuple(HIDDEN),
        named="where varied",
        check="settings.cpu_features",
        beside=_but(
            OWN_FEATURES,
            "cpu_features cannot be {}",
            "each machine's client finds the instructions of its own processor",
        ),
    )
    server_cpus: int | None = _factor(
        None,
        "server",
        "how many processors the server may use",
        form="whole",
        named="where varied",
        check="settings.server_cpus",
    )
    observers: str = _factor(
        "all",
        "observation",
        "what is watched beside the CPU clocks: everything, or nothing",
        levels=("all", "none"),
        words=level_names.observers_words,
    )
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, levels: Levels) -> CaseLevels:
        """The case with these levels, which may be some of a case's; what names no factor has no field."""
        if isinstance(levels, cls):
            return levels
        known: dict[str, Any] = {}
        options: dict[str, str] = {}
        for name, level in levels.items():
            if kind := _KINDS.get(name):
                known[name] = kind(level)
            elif name.startswith(OPTION) and level != UNSET:
                options[name.removeprefix(OPTION)] = str(level)
        # What a frozen class has for its fields sets them one by one, which takes as long as all else here.
        case = object.__new__(cls)
        vars(case).update(_PLAIN, written=dict(levels), options=options, **known)
        return case

    @classmethod
    def __get_pydantic_core_schema__(cls, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Levels by the names of their factors, in JSON as well: what a case is stored and printed as."""
        levels = handler.generate_schema(dict[str, Level])
        written = core_schema.plain_serializer_function_ser_schema(dict, return_schema=levels)
        return core_schema.no_info_after_validator_function(cls.of, levels, serialization=written)

    def __getitem__(self, name: str) -> Level:
        return self.written[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.written)

    def __len__(self) -> int:
        return len(self.written)

    def items(self) -> ItemsView[str, Level]:
        """The levels as they were written, by the names of their factors."""
        return self.written.items()

    def __repr__(self) -> str:
        return repr(self.written)

    def __eq__(self, other: object) -> bool:
        return self.written == (other.written if isinstance(other, CaseLevels) else other)

    def __hash__(self) -> int:
        return hash(frozenset(self.written.items()))

    def __or__(self, changed: Levels) -> CaseLevels:
        """The case with these levels in place of its own, or beside them."""
        return CaseLevels.of({**self.written, **changed})

    def without(self, *names: str) -> CaseLevels:
        """The case as if it had no level of these factors."""
        return CaseLevels.of({name: level for name, level in self.written.items() if name not in names})

    def only(self, *names: str) -> CaseLevels:
        """What the case has of these factors' levels."""
        return CaseLevels.of({name: level for name, level in self.written.items() if name in names})

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
        sized = workloads.by_numbers(self.workload)
        return sized if isinstance(sized, Session) else None

    @property
    def is_storm(self) -> bool:
        """Whether all its connections are opened at once, round after round."""
        return self.workload == STORM

    @property
    def reconnects(self) -> bool:
        """Whether each operation of its built-in workload is on a connection of its own."""
        sized = workloads.by_numbers(self.workload)
        of_session = isinstance(sized, Session) and sized.statements is not None
        return self.workload in RECONNECTING or of_session or (isinstance(sized, Rows) and sized.connects)

    @property
    def is_observed(self) -> bool:
        """Whether the case is watched by all observers, or by none but the CPU clocks."""
        return self.observers == "all"

    @property
    def is_switched_at_server(self) -> bool:
        """Whether it is the server that turns TLS off, where the case has none."""
        return self.tls_switch == "server"

    @cached_property
    def server_choice(self) -> ServerChoice:
        """The server that the case is measured on."""
        chosen = {name: getattr(self, name) for name in SERVER_FACTORS}
        return ServerChoice(observed=self.is_observed, **chosen)

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

    @cached_property
    def distance(self) -> Distance:
        """The distance between client and server."""
        return Distance(rtt_ms=self.rtt_ms, jitter_ms=self.jitter_ms, rate_mbit=self.rate_mbit)

    @property
    def can_be_captured(self) -> bool:
        """Whether a tap can stand between client and server: there is nothing else between them."""
        return self.workload != STREAM and self.path == DIRECT and not self.distance.is_any


def within(levels: Levels, wanted: Mapping[str, Choice]) -> bool:
    """Whether the case with these levels has one of the wanted ones in every factor that is named."""
    for name, choice in wanted.items():
        level = levels.get(name)
        if level not in choice if isinstance(choice, tuple) else level != choice:
            return False
    return True


FACTORS: dict[str, Factor] = {
    each.name: Factor(each.name, **each.metadata["factor"]) for each in fields(CaseLevels) if each.metadata
}
"""By their names, in the order in which options, tables and documents have them."""


_LACKS: dict[str, Callable[[Wanted], str]] = {"options": exclusions.of_options} | {
    factor.name: factor.lacks for factor in FACTORS.values() if factor.lacks is not None
}

_TOLD_FIRST = (
    *("auth", "compression", "tls", "resumption", "options", "batch", "slice_ms", "workload", "tls_context"),
    "client",
    *("path", "burn", "certificate", "group", "client_certificate"),
)
"""In which order it is said what a case lacks. What is not here comes after these, as factors do."""

_REASONS = tuple(_LACKS[name] for name in dict.fromkeys((*_TOLD_FIRST, *_LACKS)))


def whys_not(wanted: Wanted) -> Iterator[str]:
    """Every reason why nobody can measure the case, the one that is told first; none where somebody can."""
    return filter(None, (lacks(wanted) for lacks in _REASONS))


def factors_of(*of: Of) -> tuple[str, ...]:
    """The names of the factors of these things."""
    return tuple(factor.name for factor in FACTORS.values() if factor.of in of)


_PLAIN = {each.name: each.default for each in fields(CaseLevels) if each.metadata}
"""What the fields of a case have that has no level of their factor."""

SERVER_FACTORS, DISTANCE_FACTORS = factors_of("server"), factors_of("distance")

_KINDS: dict[str, Callable[[Level], Level]] = {
    each.name: {"str": str, "Compression": str, "int": int, "float": float}[each.type.removesuffix(" | None")]
    for each in fields(CaseLevels)
    if each.metadata
}
"""The type of each factor's level, as the fields above have it."""

_OPTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")

_OURS = frozenset({"user", "username", "password", "passwd", "pwd", "host", "hostname", "port", "database"})
"""Options that the laboratory gives to every driver itself, in any spelling of case."""


def check_factor(name: str, *, where: str) -> Factor:
    """The known factor of that name, or the one of a driver's option; `where` begins the message.

    Raises UserMistake.
    """
    if name in FACTORS:
        return FACTORS[name]
    if name.startswith(OPTION):
        return _option(name, where)
    raise UserMistake(
        f"{where}: there is no factor {quoted(name)}{closest(name, FACTORS)}",
        remedy=f"the factors are {', '.join(FACTORS)}",
    )


def _option(name: str, where: str) -> Factor:
    """The factor of a driver's option: any word is a level of it, since only the driver knows them."""
    option = name.removeprefix(OPTION)
    if not _OPTION_NAME.fullmatch(option):
        raise UserMistake(f"{where}: {name!r} names no option", remedy=f"write {OPTION}useSSL, for example")
    if option.lower() in _OURS:
        raise UserMistake(
            f"{where}: {option} is given to every driver by tlstax itself",
            remedy="leave it out; --server chooses where to connect to",
        )
    meaning = f"the driver's option {option}; {UNSET} leaves it out"
    return Factor(name, meaning, "client", UNSET, form="word")
