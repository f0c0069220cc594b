"""Which server a case is measured on, over which library, with which fault: read from its levels."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.study.design import Level, Levels, Study
from tlstax.study.factors import (
    DEFAULT_AUTH,
    DEFAULT_CERTIFICATE,
    DIRECT,
    ENGINE,
    GROUPS_LIFTED,
    NO_FAULT,
    OPTION,
    OWN,
    UNIX_SOCKET,
    UNSET,
)

SERVER_FACTORS = ("server", "tls_library", "certificate", "fault", "instance")
"""The factors that choose a server; cases that agree in them share one, unless only one is observed."""

STATE_FACTORS = ("tls_switch", "durability")
"""The factors that are set at a running server, for each trial anew (`run/server_variables.py`)."""

VARIANT_WORDS = {GROUPS_LIFTED: "its TLS groups lifted (a variant of ours)"}
"""What is different in a server that is a variant of ours."""

DISTANCE_FACTORS = ("rtt_ms", "jitter_ms", "rate_mbit")
"""The factors that say how far apart client and server are."""

WAY_FACTORS = ("path", *DISTANCE_FACTORS)
"""The factors that say how bytes travel between client and server."""


@dataclass(frozen=True)
class ServerChoice:
    """A server to be started: a specimen (None: the default), what is put under it, which process of it.

    `fault` is what is planted in it. A server that is not `observed` has no counters: they are opened before
    it starts, and cost it something from then on, so one process cannot be both.
    """

    server: str | None = None
    tls_library: str = OWN
    instance: int = 1
    fault: str = NO_FAULT
    observed: bool = True
    certificate: str = DEFAULT_CERTIFICATE

    def words(self) -> str:
        """What it is called: "mysql-9.7 over openssl-3.4, a second one"."""
        server = self.server or "the default server"
        over = f" over {self.tls_library}" if self.tls_library != OWN else ""
        certificate = (
            "" if self.certificate == DEFAULT_CERTIFICATE else f" with {certificate_words(self.certificate)}"
        )
        not_observed = "" if self.observed else ", not observed"
        planted = planted_words(self.fault)
        return f"{server}{over}{certificate}{planted}{twin_words(self.instance)}{not_observed}"


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


def planted_words(fault: Level) -> str:
    """What is planted in a server, or makes a variant of it, to be put behind its name."""
    return "" if fault == NO_FAULT else f" with {changed_words(fault)}"


def changed_words(fault: Level) -> str:
    """What we have changed of a server: "rand-per-byte planted"."""
    return VARIANT_WORDS.get(str(fault), f"{fault} planted")


def certificate_words(certificate: Level) -> str:
    """A certificate by its key: "an RSA 4096 certificate"."""
    return f"an {key_of(certificate)} certificate"


def key_of(certificate: Level) -> str:
    """A certificate's key as clients tell it: "RSA 4096", "EC P-256"."""
    kind, _, size = str(certificate).partition("-")
    return f"{kind.upper()} {size.upper().replace('P', 'P-')}"


def twin_words(instance: Level) -> str:
    """What tells a twin from the first process of its kind, to be put behind a server's name."""
    number = int(instance)
    return {1: "", 2: ", a second one"}.get(number, f", number {number}")


def choice_of(levels: Levels) -> ServerChoice:
    """The server that the case with these levels is measured on."""
    server = levels.get("server")
    return ServerChoice(
        server=None if server is None else str(server),
        tls_library=str(levels.get("tls_library", OWN)),
        instance=int(levels.get("instance", 1)),
        fault=str(levels.get("fault", NO_FAULT)),
        observed=is_observed(levels),
        certificate=str(levels.get("certificate", DEFAULT_CERTIFICATE)),
    )


def is_observed(levels: Levels) -> bool:
    """Whether the case with these levels is watched by all observers, or by none but the CPU clocks."""
    return levels.get("observers", "all") == "all"


def is_switched_at_server(levels: Levels) -> bool:
    """Whether it is the server that turns TLS off, where the case with these levels has none."""
    return levels.get("tls_switch", "client") == "server"


def has_plaintext(study: Study) -> bool:
    """Whether any case of the study logs in without TLS."""
    return any(levels.get("tls", "off") == "off" for levels in study.included())


def client_library_of(levels: Levels) -> str:
    """The name of the TLS library under the load client, or `own`."""
    return str(levels.get("client_tls_library", OWN))


def client_of(levels: Levels) -> str:
    """The load client of the case with these levels."""
    return str(levels.get("client", ENGINE))


def auth_of(levels: Levels) -> str:
    """The plugin by which the account of the case with these levels is proved."""
    return str(levels.get("auth", DEFAULT_AUTH))


def options_of(levels: Levels) -> dict[str, str]:
    """The options that the driver of the case with these levels is given; those left unset are not in it."""
    options = {name: str(level) for name, level in levels.items() if name.startswith(OPTION)}
    return {name.removeprefix(OPTION): level for name, level in options.items() if level != UNSET}


def path_of(levels: Levels) -> str:
    """What carries the bytes of the case with these levels."""
    return str(levels.get("path", DIRECT))


def distance_of(levels: Levels) -> Distance:
    """The distance between client and server in the case with these levels."""
    return Distance(
        rtt_ms=float(levels.get("rtt_ms", 0)),
        jitter_ms=float(levels.get("jitter_ms", 0)),
        rate_mbit=int(levels.get("rate_mbit", 0)),
    )


def can_be_captured(levels: Levels) -> bool:
    """Whether a tap can stand between client and server: there is nothing else between them."""
    return path_of(levels) == DIRECT and not distance_of(levels).is_any


def paths_of(study: Study, choice: ServerChoice) -> tuple[tuple[str, bool], ...]:
    """The paths on which the study's cases reach this server, each with whether it is over a distance."""
    wanted = (levels for levels in study.included() if choice_of(levels) == choice)
    return tuple(dict.fromkeys((path_of(levels), distance_of(levels).is_any) for levels in wanted))


def paths(study: Study) -> tuple[str, ...]:
    """The paths of the study's cases that have a program between client and server."""
    named = dict.fromkeys(path_of(levels) for levels in study.included())
    return tuple(name for name in named if name not in (DIRECT, UNIX_SOCKET))


def needs_distance(study: Study) -> bool:
    """Whether any case of the study has a distance between client and server."""
    return any(distance_of(levels).is_any for levels in study.included())


def clients(study: Study) -> tuple[str, ...]:
    """The names of the load clients that the study's cases are measured with."""
    return tuple(dict.fromkeys(client_of(levels) for levels in study.included()))


def server_choices(study: Study) -> tuple[ServerChoice, ...]:
    """Every server that the study's cases need, each once, in the order of its cases."""
    return tuple(dict.fromkeys(choice_of(levels) for levels in study.included()))


def faults(study: Study) -> tuple[str, ...]:
    """The names of the faults that the study's cases plant in a server."""
    named = dict.fromkeys(choice.fault for choice in server_choices(study))
    return tuple(name for name in named if name != NO_FAULT)


def tls_libraries(study: Study) -> tuple[str, ...]:
    """The names of the TLS libraries that the study's cases put under a server or the client."""
    named = (
        name
        for levels in study.included()
        for name in (choice_of(levels).tls_library, client_library_of(levels))
    )
    return tuple(name for name in dict.fromkeys(named) if name != OWN)
