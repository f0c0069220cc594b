"""Options of a server's own that a study varies, and which of them it may not. Pure.

A server reads options in their order, and the last one counts; those by which it is kept in its place (where
it listens, its files, its certificates, who may log in) come after these, and are refused here all the same:
what is asked for is to be in force. A server takes any beginning of an option's name that is enough to tell
it apart, so beginnings of refused names are refused too.

Source: MySQL reference manual, "Using Options on the Command Line", "Program Option Modifiers".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tlstax.support.text import natural

AS_IT_COMES = "default"
"""The level that gives a server no option."""

THREAD_POOL = "thread_handling=pool-of-threads"
"""The level by which connections share the threads of a pool. MariaDB has one, MySQL's community server none
(MariaDB Server documentation, "Thread Pool in MariaDB")."""

_ONE = re.compile(r"(?P<name>[a-z][a-z0-9_-]*)=(?P<value>[^\s\x00-\x1f]+)")
_MODIFIERS = ("loose-", "skip-", "enable-", "disable-", "maximum-")

KEPT = (
    "admin-",
    "authentication",
    "auto-generate-certs",
    "basedir",
    "bind-address",
    "bootstrap",
    "character-sets-dir",
    "chroot",
    "daemonize",
    "datadir",
    "default-authentication",
    "defaults",
    "early-plugin-load",
    "extra-port",
    "grant-tables",
    "init-file",
    "initialize",
    "local-infile",
    "log-error",
    "mysqlx",
    "networking",
    "no-defaults",
    "pid-file",
    "plugin-",
    "port",
    "secure-file-priv",
    "socket",
    "ssl",
    "tls-",
    "tmpdir",
    "user",
    "wsrep",
)

"""What begins the names of options by which a private server is kept in its place."""

VARIED = ("ssl-groups", "ssl-ecdh-curve")
"""Names that begin so and keep no server in its place: the groups on which a PostgreSQL agrees."""

FORM = "NAME=VALUE as the server has it, such as performance_schema=OFF; several with a blank between them"

_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_WORDS = {"on": "1", "off": "0", "true": "1", "false": "0", "yes": "1", "no": "0"}


def options_of(level: str) -> dict[str, str]:
    """The options of a level by their names; none of a server as it comes. The level is one (`why_not`)."""
    return {} if level == AS_IT_COMES else dict(one.split("=", 1) for one in level.split(" "))


def has_thread_pool(level: str) -> bool:
    """Whether connections share the threads of a pool at a server with these options."""
    return THREAD_POOL.replace("-", "_") in {
        f"{variable_of(name)}={value}".replace("-", "_") for name, value in options_of(level).items()
    }


def why_not(level: str) -> str | None:
    """Why this is not a level, in a clause; None where it is one."""
    if level == AS_IT_COMES:
        return None
    names = []
    for one in level.split(" "):
        found = _ONE.fullmatch(one)
        if found is None:
            return f"{one!r} is no option with its value"
        if _is_kept(found["name"]):
            return f"{found['name']} keeps a private server in its place"
        names.append(variable_of(found["name"]))
    twice = next((name for name in names if names.count(name) > 1), None)
    return f"{twice} is there twice" if twice else None


def arguments(level: str) -> tuple[str, ...]:
    """The level as arguments of a server's command."""
    return tuple(f"--{name.replace('_', '-')}={value}" for name, value in options_of(level).items())


def listed(level: str) -> str:
    """The options as people list them: "performance_schema=OFF and table_open_cache=300"."""
    return " and ".join(f"{name}={value}" for name, value in options_of(level).items())


def words(level: str) -> str:
    """The options, to be put behind a server's name."""
    options = listed(level)
    return f" with {options}" if options else ""


def variable_of(option: str) -> str:
    """The server's variable that says whether the option is in force."""
    return option.replace("-", "_")


def differing(level: str, variables: dict[str, str]) -> Iterator[tuple[str, str, str | None]]:
    """Each option that is not in force by the server's own variables: its name, what was asked, what is.

    The last is None where the server has no variable of that name.
    """
    for name, wanted in options_of(level).items():
        seen = variables.get(variable_of(name))
        if seen is None or _plain(seen) != _plain(wanted):
            yield name, wanted, seen


def _is_kept(name: str) -> bool:
    plain = name.replace("_", "-")
    for modifier in _MODIFIERS:
        plain = plain.removeprefix(modifier)
    return plain not in VARIED and any(plain.startswith(kept) or kept.startswith(plain) for kept in KEPT)


def _plain(value: str) -> str:
    """One spelling of a value: sizes in bytes, switches as numbers."""
    text = value.strip().lower()
    number, unit = natural(text[:-1]), text[-1:]
    if unit in _UNITS and number is not None:
        return str(number * _UNITS[unit])
    if re.fullmatch(r"[0-9]+\.0+", text):
        return text.partition(".")[0]
    return _WORDS.get(text, text)
