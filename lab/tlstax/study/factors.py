"""What a study may vary: the known factors, their levels, and the sentence for one that is not known."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from tlstax.study.driver_catalogue import DRIVERS
from tlstax.support.errors import UserMistake

Level = str | int | float
Levels = Mapping[str, Level]
"""Levels of a case, or some of them, by the names of their factors."""

CIPHERS = (
    "AES256-SHA",
    "DHE-RSA-AES256-SHA",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
)
"""Levels of `cipher`, beside the library's default."""

OWN = "own"
"""The level of `tls_library` and `client_tls_library` that leaves a program the library it comes with."""

NO_FAULT = "none"
"""The level of `fault` that leaves a server as it is."""

GROUPS_LIFTED = "groups-lifted"
"""The level of `fault` that lets a server agree on any key exchange group that its TLS library has. It is no
fault but a variant, planted in the same way."""

VARIANTS = (GROUPS_LIFTED,)
"""Levels of `fault` that make another server of it, and not a worse one; nobody calls them faults."""

FAULTS = ("rand-per-byte", *VARIANTS)
"""What can be planted in a server; `specimens/faults` has what each of them is."""

GROUPS = {
    "P-256": "secp256r1",
    "P-384": "secp384r1",
    "P-521": "secp521r1",
    "X25519": "x25519",
    "X25519MLKEM768": "X25519MLKEM768",
}
"""Levels of `group` that are one group, as OpenSSL is told it, and its name in IANA's registry "TLS Supported
Groups"."""

P256_FIRST = "P-256-first"
"""The level of `group` that offers P-256 with a key share, and all others after it: the remedy for a server
that takes P-curves alone."""

GROUP_LISTS = {P256_FIRST: "P-256:X25519:P-384:P-521"}
"""Levels of `group` that are lists, as OpenSSL is told them: the client sends a key share for the first."""

ENGINE = "engine"
"""The level of `client` that is our own load engine."""

NO_DRIVERS = (ENGINE, "sysbench", "mysqlslap-8.0.33", "mysqlslap-9.7")
"""Load clients that are no drivers; mysqlslap is the one that came with the server of that version."""

CLIENTS = (*NO_DRIVERS, *DRIVERS)
"""All load clients."""

UNSET = "unset"
"""The level of `tls` that says nothing to a driver, and of its options that leaves one out."""

REQUIRED = "required"
"""The level of `tls` that requires it of a driver, and says nothing else."""

LEFT_TO_THE_DRIVER = (UNSET, REQUIRED)
"""Levels of `tls` that only a driver has: versions, checks and sessions are its own affair in them."""

OPTION = "option."
"""How the factors begin that are options of drivers; the option's own name follows."""

_OPTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_OPTION_LEVEL = re.compile(r"[^\s\x00-\x1f]+(?: [^\s\x00-\x1f]+)*")

_OURS = frozenset({"user", "username", "password", "passwd", "pwd", "host", "hostname", "port", "database"})
"""Options that the laboratory gives to every driver itself, in any spelling of case."""

CERTIFICATES = ("rsa-1024", "rsa-2048", "rsa-3072", "rsa-4096", "ec-p256", "ec-p384")
"""Keys of servers' certificates."""

DEFAULT_CERTIFICATE = "rsa-2048"

DURABILITY = {"full": 1, "write": 2, "none": 0}
"""Levels of `durability` and the value of innodb_flush_log_at_trx_commit that each stands for: at a commit,
the log is on the disk, is with the operating system, or is neither (MySQL reference manual)."""

CACHING_SHA2, NATIVE_PASSWORD = "caching_sha2_password", "mysql_native_password"
DEFAULT_AUTH = "default"
AUTH_PLUGINS = (CACHING_SHA2, NATIVE_PASSWORD)
"""Levels of `auth`, beside the server's own default."""

DIRECT, UNIX_SOCKET = "direct", "unix-socket"

PATHS = (
    DIRECT,
    UNIX_SOCKET,
    "ssh-aes256-cbc",
    "ssh-aes256-ctr",
    "ssh-aes128-gcm",
    "ssh-chacha20-poly1305",
    "stunnel",
    "haproxy",
    "haproxy-tls",
    "router-terminate",
    "router-passthrough",
    "router-reencrypt",
    "router-encrypt",
)
"""Levels of `path`; `tlstax.paths` has what each of them is."""

POINT_SELECT = "point-select"
"""The workload of a case that names none."""

STORM = "storm"

WORKLOADS = (
    POINT_SELECT,
    "reconnect",
    STORM,
    "select-range",
    "insert",
    "update",
    "delete",
    "oltp-read-only",
    "oltp-read-write",
    "people-insert",
    "people-select",
    "people-update",
    "people-delete",
    "words-insert",
    "words-execute",
)
"""The built-in workloads; `tlstax.workloads` has what each of them is."""

_SPECIMEN_NAME = re.compile(r"[a-z0-9][a-z0-9.+_-]*")


@dataclass(frozen=True)
class Factor:
    """A thing that a study may vary: its name, what it is, and its levels.

    `levels` is None where any whole number from `least` is one, and with `decimals` any other number
    too. With `specimens`, the levels are names of specimens; whether one is known shows only where specimens
    are looked up. With `words`, any text is a level.
    """

    name: str
    meaning: str
    levels: tuple[str, ...] | None = None
    specimens: bool = False
    least: int = 1
    decimals: bool = False
    words: bool = False

    def allowed(self) -> str:
        """The levels in words, for a message."""
        if self.words:
            return "words of one line"
        if self.specimens:
            return "names of specimens (`tlstax specimens list` shows them)"
        if self.levels is not None:
            return ", ".join(self.levels)
        return f"{'numbers' if self.decimals else 'whole numbers'} from {self.least}"


FACTORS: dict[str, Factor] = {
    factor.name: factor
    for factor in (
        Factor(
            "tls",
            f"the TLS version, or no TLS at all; {UNSET} says nothing to a driver, {REQUIRED} nothing else",
            ("off", "1.0", "1.1", "1.2", "1.3", "default", *LEFT_TO_THE_DRIVER),
        ),
        Factor("resumption", "does a new connection resume an earlier TLS session?", ("off", "on")),
        Factor("group", "the key exchange groups that the client offers", ("default", *GROUPS, *GROUP_LISTS)),
        Factor(
            "cipher", "the only cipher suite that the client offers, by OpenSSL's name", ("default", *CIPHERS)
        ),
        Factor("workload", "what one operation is", WORKLOADS),
        Factor("protocol", "how statements travel", ("default", "text", "prepared")),
        Factor("connections", "how many connections work at once"),
        Factor("client", "the load client", CLIENTS),
        Factor(
            "tls_switch", "who turns TLS off: the client by its option, or the server", ("client", "server")
        ),
        Factor("certificate", "the key of the server's certificate", CERTIFICATES),
        Factor("auth", "the plugin by which the client's account is proved", (DEFAULT_AUTH, *AUTH_PLUGINS)),
        Factor("batch", "how many operations a driver is handed at once, to be sent as one batch"),
        Factor("durability", "when a commit is on the disk", tuple(DURABILITY)),
        Factor("queries", "how many operations a trial's round has, in place of a time"),
        Factor("rounds", "how many rounds of N operations a trial has"),
        Factor("path", "what carries the bytes between client and server", PATHS),
        Factor("rtt_ms", "the round trip time between client and server, put there", least=0, decimals=True),
        Factor("jitter_ms", "by how much each packet's delay varies at most", least=0, decimals=True),
        Factor(
            "rate_mbit", "how many megabits a second the distance carries each way; 0 is no limit", least=0
        ),
        Factor("server", "which server", specimens=True),
        Factor("tls_library", f"the TLS library under the server, or {OWN}", specimens=True),
        Factor("client_tls_library", f"the TLS library under the load client, or {OWN}", specimens=True),
        Factor("instance", "which process of the same server: 2 is a second one, a twin"),
        Factor("fault", "a fault or variant of our own, planted in the server", (NO_FAULT, *FAULTS)),
        Factor("observers", "what is watched beside the CPU clocks: everything, or nothing", ("all", "none")),
    )
}


def is_driver(client: str) -> bool:
    """Whether the load client of that name is a driver, be it one that this machine has never heard of.

    A run can be of a driver from elsewhere, or of one that has left the list since.
    """
    return client not in NO_DRIVERS


def check_factor(name: str, *, where: str) -> Factor:
    """The known factor of that name, or the one of a driver's option; `where` begins the message.

    Raises UserMistake.
    """
    if name in FACTORS:
        return FACTORS[name]
    if name.startswith(OPTION):
        return _option(name, where)
    raise UserMistake(
        f"{where}: there is no factor {name!r}{closest(name, FACTORS)}",
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
    return Factor(name, f"the driver's option {option}; {UNSET} leaves it out", words=True)


def check_level(
    factor: Factor, level: object, *, where: str, also: Collection[str] = ()
) -> str | int | float:
    """The level as the factor's own type (a number given as text becomes one). Raises UserMistake.

    `also` are levels beside the factor's: workloads of the user's own.
    """
    known = (*(factor.levels or ()), *sorted(also))
    if factor.specimens:
        if isinstance(level, str) and _SPECIMEN_NAME.fullmatch(level):
            return level
    elif factor.words:
        if isinstance(level, str | int | float) and _OPTION_LEVEL.fullmatch(_as_option(level)):
            return _as_option(level)
    elif factor.levels is None:
        number = _number(level, decimals=factor.decimals)
        if number is not None and number >= factor.least:
            return number
        level = level if number is None else number
    elif isinstance(level, str) and level in known:
        return level
    hint = closest(str(level), known)
    if not isinstance(level, str) and str(level) in known:
        hint = f" (write it in quotes: {str(level)!r})"
    raise UserMistake(
        f"{where}: {level!r} is not a level of {factor.name}{hint}",
        remedy=f"allowed are {', '.join(known) if also else factor.allowed()}",
    )


def _as_option(level: str | float) -> str:
    """A level of an option as the driver is told it: TOML's true is the word true."""
    return str(level).lower() if isinstance(level, bool) else str(level)


_LARGEST = 2.0**53
"""Up to here a number with decimals tells whole numbers apart (IEEE 754), and no factor has more."""


def _number(level: object, *, decimals: bool) -> int | float | None:
    """A level as a number: a whole one is always an int, so that 45 and 45.0 are one level."""
    if isinstance(level, str) and level.isascii():
        with contextlib.suppress(ValueError):
            level = int(level) if level.isdecimal() else float(level)
    if isinstance(level, bool) or not isinstance(level, int | float) or not abs(level) <= _LARGEST:
        return None
    if float(level).is_integer():
        return int(level)
    return level if decimals else None


def closest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word most like this one, or nothing."""
    near = get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
