"""What a study may vary: the known factors, their levels, and the sentence for one that is not known."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tlstax.study import configuration
from tlstax.study.client_kinds.known import KINDS
from tlstax.study.cpu_features import HIDDEN
from tlstax.study.level_names import (
    AUTH_PLUGINS,
    CERTIFICATES,
    CIPHERS,
    COMPRESSIONS,
    CONTEXTS,
    DEFAULT_AUTH,
    DURABILITY,
    FAULTS,
    GROUP_LISTS,
    GROUPS,
    LEFT_TO_THE_DRIVER,
    NO_BURN,
    NO_FAULT,
    OPTION,
    OWN,
    PATHS,
    REQUIRED,
    UNSET,
    WORKLOADS,
)
from tlstax.study.workloads import by_numbers
from tlstax.study.workloads.bulk import FORM as BULK_FORM
from tlstax.study.workloads.sessions import FORM
from tlstax.support.credentials import quoted
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest, integer

_OPTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_OPTION_LEVEL = re.compile(r"[^\s\x00-\x1f]+(?: [^\s\x00-\x1f]+)*")

_OURS = frozenset({"user", "username", "password", "passwd", "pwd", "host", "hostname", "port", "database"})
"""Options that the laboratory gives to every driver itself, in any spelling of case."""

_SPECIMEN_NAME = re.compile(r"[a-z0-9][a-z0-9.+_-]*")

_NANOSECONDS = re.compile(r"(0|[1-9][0-9]{0,6})ns")
"""Less than 10 ms: an operation with a longer cost needs no laboratory."""


@dataclass(frozen=True)
class Factor:
    """A thing that a study may vary: its name, what it is, and its levels.

    `levels` is None where any whole number from `least` is one, and with `decimals` any other number
    too. With `specimens`, the levels are names of specimens; whether one is known shows only where specimens
    are looked up. With `words`, any text is a level; with `nanoseconds`, times of that unit beside `levels`;
    with `sessions`, the names of `workloads.sessions`; with `configures`, options as of `configuration`.
    """

    name: str
    meaning: str
    levels: tuple[str, ...] | None = None
    specimens: bool = False
    least: int = 1
    decimals: bool = False
    words: bool = False
    nanoseconds: bool = False
    sessions: bool = False
    configures: bool = False

    def allowed(self) -> str:
        """The levels in words, for a message."""
        if self.words:
            return "words of one line"
        if self.specimens:
            return "names of specimens (`tlstax specimens list` shows them)"
        if self.nanoseconds:
            return f"{', '.join(self.levels or ())}, and from 0ns to 9999999ns, as in 400ns"
        if self.configures:
            return f"{configuration.AS_IT_COMES}, and {configuration.FORM}"
        if self.levels is not None:
            return ", ".join((*self.levels, *((FORM, BULK_FORM) if self.sessions else ())))
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
        Factor(
            "compression",
            "how MySQL's packets are compressed after the login, within TLS where there is TLS",
            COMPRESSIONS,
        ),
        Factor("workload", "what one operation is", WORKLOADS, sessions=True),
        Factor("protocol", "how statements travel", ("default", "text", "prepared")),
        Factor("connections", "how many connections work at once"),
        Factor("client", "the load client", tuple(KINDS)),
        Factor(
            "tls_switch", "who turns TLS off: the client by its option, or the server", ("client", "server")
        ),
        Factor("certificate", "the key of the server's certificate", CERTIFICATES),
        Factor(
            "chain", "how many certificates the server sends: its own, and those up to the root, without it"
        ),
        Factor("trust", "how many authorities are in the client's file, the server's among them"),
        Factor(
            "tls_context",
            "have all connections of the engine one TLS context, or does each make its own?",
            CONTEXTS,
        ),
        Factor("client_certificate", "does the client prove itself by a certificate?", ("off", "on")),
        Factor("auth", "the plugin by which the client's account is proved", (DEFAULT_AUTH, *AUTH_PLUGINS)),
        Factor("batch", "how many operations a driver is handed at once, to be sent as one batch"),
        Factor("durability", "when a commit is on the disk", tuple(DURABILITY)),
        Factor("queries", "how many operations a trial's round has, in place of a time"),
        Factor("rounds", "how many rounds of N operations a trial has"),
        Factor(
            "slice_ms",
            "how long the slices are in which cases take turns; 0 is one window for each trial by itself",
            least=0,
            decimals=True,
        ),
        Factor("path", "what carries the bytes between client and server", PATHS),
        Factor("address", "by which of its addresses an external server is reached", words=True),
        Factor("rtt_ms", "the round trip time between client and server, put there", least=0, decimals=True),
        Factor("jitter_ms", "by how much each packet's delay varies at most", least=0, decimals=True),
        Factor(
            "rate_mbit", "how many megabits a second the distance carries each way; 0 is no limit", least=0
        ),
        Factor("server", "which server", specimens=True),
        Factor(
            "configuration",
            "options of the server's own, such as performance_schema=OFF",
            (configuration.AS_IT_COMES,),
            configures=True,
        ),
        Factor("tls_library", f"the TLS library under the server, or {OWN}", specimens=True),
        Factor("client_tls_library", f"the TLS library under the load client, or {OWN}", specimens=True),
        Factor("instance", "which process of the same server: 2 is a second one, a twin"),
        Factor("fault", "a fault or variant of our own, planted in the server", (NO_FAULT, *FAULTS)),
        Factor(
            "burn",
            "the CPU time that the fault burn takes in each answer of the server",
            (NO_BURN,),
            nanoseconds=True,
        ),
        Factor(
            "cpu_features",
            "which instructions OpenSSL finds, at the server and at the client: those of older processors",
            tuple(HIDDEN),
        ),
        Factor("server_cpus", "how many processors the server may use"),
        Factor("observers", "what is watched beside the CPU clocks: everything, or nothing", ("all", "none")),
    )
}


EXTERNAL = "an external server is named by its address, mysql://user@host:port/schema"
"""What follows where the name of a server is none that is known."""


def is_specimen_name(text: str) -> bool:
    """Whether it is the name of a specimen by its form; there need not be one."""
    return _SPECIMEN_NAME.fullmatch(text) is not None


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
    return Factor(name, f"the driver's option {option}; {UNSET} leaves it out", words=True)


def check_level(
    factor: Factor, level: object, *, where: str, also: Collection[str] = ()
) -> str | int | float:
    """The level as the factor's own type (a number given as text becomes one). Raises UserMistake.

    `also` are levels beside the factor's: workloads of the user's own, labels of external servers.
    """
    known = (*(factor.levels or ()), *sorted(also))
    if factor.configures and isinstance(level, str):
        return _configuration(level, where)
    if factor.specimens:
        if isinstance(level, str) and (is_specimen_name(level) or level in also):
            return level
    elif factor.words:
        if isinstance(level, str | int | float) and _OPTION_LEVEL.fullmatch(_as_option(level)):
            return _as_option(level)
    elif factor.levels is None:
        number = _number(level, decimals=factor.decimals)
        if number is not None and number >= factor.least:
            return number
        level = level if number is None else number
    elif isinstance(level, str) and (
        level in known
        or (factor.nanoseconds and _NANOSECONDS.fullmatch(level))
        or (factor.sessions and by_numbers(level))
    ):
        return level
    raise _no_level(factor, level, where, known, allowed=", ".join(known) if also else factor.allowed())


def _no_level(
    factor: Factor, level: object, where: str, known: Sequence[str], *, allowed: str
) -> UserMistake:
    hint = closest(str(level), known)
    if not isinstance(level, str) and str(level) in known:
        hint = f" (write it in quotes: {str(level)!r})"
    remedy = f"allowed are {allowed}"
    if factor.name == "server":
        remedy = f"{remedy}; {EXTERNAL}"
        if is_specimen_name(str(level).lower()):
            hint = f" (did you mean {str(level).lower()!r}?)"
        return UserMistake(f"{where}: {quoted(level)} is the name of no server{hint}", remedy=remedy)
    return UserMistake(f"{where}: {quoted(level)} is not a level of {factor.name}{hint}", remedy=remedy)


def _configuration(level: str, where: str) -> str:
    """The options as they are; UserMistake where they are none, or not to be chosen."""
    why = configuration.why_not(level)
    if why is not None:
        raise UserMistake(f"{where}: {why}", remedy=f"write {configuration.FORM}")
    return level


def _as_option(level: str | float) -> str:
    """A level of an option as the driver is given it: TOML's true is the word true."""
    return str(level).lower() if isinstance(level, bool) else str(level)


_LARGEST = 2.0**53
"""Up to here a floating-point number distinguishes whole numbers (IEEE 754), and no factor has more."""


def _number(level: object, *, decimals: bool) -> int | float | None:
    """A level as a number: a whole one is always an int, so that 45 and 45.0 are one level."""
    if isinstance(level, str) and level.isascii():
        with contextlib.suppress(ValueError):
            level = float(level) if (whole := integer(level)) is None else whole
    if isinstance(level, bool) or not isinstance(level, int | float) or not abs(level) <= _LARGEST:
        return None
    if float(level).is_integer():
        return int(level)
    return level if decimals else None
