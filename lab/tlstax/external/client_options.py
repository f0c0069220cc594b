"""What a client's options in a file mean here: each is heeded, named as not heeded, or refused.

A file may be MySQL's or MariaDB's. Whoever wrote it relies on what it says of whom to trust: none of that may
be passed over. Sources: MySQL's manual, "Command Options for Connecting to the Server" and "Program Option
Modifiers"; MariaDB's documentation, "Configuring MariaDB Connector/C with Option Files" and "Securing
Connections for Client and Server"; and what mysql 9.7, mariadb 10.11 and 11.8 were seen to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tlstax.external.option_file import MARIADB_GROUPS, PROGRAM_GROUPS, Groups
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

Options = dict[str, str | None]

SWITCHES = ("ssl", "ssl-verify-server-cert")
"""Options that are on or off, and decide how TLS is used."""

HEEDED = ("user", "password", "port", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", *SWITCHES)

UNCHECKED = ("ssl-capath", "ssl-crl", "ssl-crlpath", "ssl-fp", "ssl-fplist")
"""By which a client decides whom to trust, and tlstax cannot."""

OF_NO_MATTER = frozenset(
    {
        "host",
        "socket",
        "character-sets-dir",
        "default-character-set",
        "max-allowed-packet",
        "net-buffer-length",
    }
)
"""The URL names the host, and a client that is given one leaves the socket; the others change no login."""

OTHERS = (
    *("bind-address", "compress", "compression-algorithms", "connect-timeout", "database", "default-auth"),
    *("enable-cleartext-plugin", "get-server-public-key", "init-command", "plugin-dir", "protocol"),
    *("server-public-key-path", "ssl-cipher", "ssl-fips-mode", "ssl-passphrase", "tls-ciphersuites"),
    *("tls-sni-servername", "tls-version"),
)
"""Options of clients that may be shortened like the ones above."""

KNOWN = (*HEEDED, *UNCHECKED, *OTHERS, *sorted(OF_NO_MATTER))

_ALIASES = {"tls-ca": "ssl-ca"}


@dataclass(frozen=True)
class Understood:
    """What is heeded, by the names of the options, and the names of what is not.

    `mode` is the mode of TLS that they come to, None where they say nothing, and `said_by` the option.
    """

    options: Options
    mode: str | None = None
    said_by: str = ""
    unheeded: tuple[str, ...] = ()


def understood(groups: Groups, *, typed_mode: bool) -> Understood:
    """The options of a file's groups for clients. UserMistake for what contradicts, or cannot be heeded.

    With a mode on the command line the file's word for it does not count.
    """
    options = _in_full(groups.get("client", {}))
    mode, said_by = (None, "") if typed_mode else _mode(options, of_mariadb=_names_ca_for_mariadb(groups))
    unchecked = [name for name in UNCHECKED if name in options]
    if unchecked and not typed_mode and not (unchecked == ["ssl-capath"] and options.get("ssl-ca")):
        raise UserMistake(
            f"the file says by {enumerated(unchecked)} whom to trust, and tlstax cannot check that",
            remedy="say with --ssl-mode how much is to be verified, and name the authority's PEM file with "
            "--ssl-ca",
        )
    unheeded = [name for name in options if name not in HEEDED and name not in OF_NO_MATTER]
    for group in PROGRAM_GROUPS:
        beside = [name for name in _in_full(groups.get(group, {})) if name in (*HEEDED, *UNCHECKED)]
        unheeded += [f"{name} of [{group}]" for name in beside]
    heeded = {name: value for name, value in options.items() if name in HEEDED}
    return Understood(heeded, mode, said_by, tuple(unheeded))


def _names_ca_for_mariadb(groups: Groups) -> bool:
    return any("ssl-ca" in _in_full(groups.get(group, {})) for group in MARIADB_GROUPS)


def _mode(options: Mapping[str, str | None], *, of_mariadb: bool) -> tuple[str | None, str]:
    """The mode of TLS by the names of MySQL's client, and which option says so."""
    given = options.get("ssl-mode")
    said = [(given.upper(), f"ssl-mode={given}")] if given else []
    if "ssl-mode" in options and not given:
        raise UserMistake("the option ssl-mode in the file has no value", remedy="give it one, or remove it")
    is_on = _switch(options, "ssl")
    verifies = _switch(options, "ssl-verify-server-cert")
    if is_on is False:
        said.append(("DISABLED", "ssl=OFF"))
    if verifies:
        # MariaDB's clients check the name in the certificate together with who signed it.
        said.append(("VERIFY_IDENTITY", "ssl-verify-server-cert"))
    for mode, words in said[1:]:
        if mode != said[0][0]:
            raise UserMistake(
                f"the file contradicts itself: {said[0][1]} and {words}",
                remedy="remove one of them, or say with --ssl-mode what is meant",
            )
    if verifies is False and said and said[0][0] == "VERIFY_IDENTITY":
        raise UserMistake(
            f"the file contradicts itself: {said[0][1]} and ssl-verify-server-cert=0",
            remedy="remove one of them, or say with --ssl-mode what is meant",
        )
    if said:
        return said[0]
    # With it off, MariaDB's clients check who signed the certificate all the same where there is ssl-ca.
    if of_mariadb and verifies is None:
        # From 11.4 on they verify unless they are told not to.
        return "VERIFY_IDENTITY", "ssl-ca in a group for MariaDB's clients"
    return ("REQUIRED", "ssl=ON") if is_on and not options.get("ssl-ca") else (None, "")


def _switch(options: Mapping[str, str | None], name: str) -> bool | None:
    """Whether it is on, None where nobody says; an option without a value is on (my_getopt.cc)."""
    if name not in options:
        return None
    value = (options[name] or "1").lower()
    if value in {"1", "on", "true"}:
        return True
    if value in {"0", "off", "false"}:
        return False
    raise UserMistake(f"the option {name} in the file is neither on nor off", remedy=f"write {name}=1, or 0")


def _in_full(options: Mapping[str, str | None]) -> Options:
    """The options by their whole names: a beginning that fits one alone stands for it, skip-ssl for ssl=0."""
    whole: Options = {}
    for name, value in options.items():
        full = _full_name(name)
        for prefix, switched in (("skip-", "0"), ("disable-", "0"), ("enable-", "1")):
            rest = _full_name(name.removeprefix(prefix))
            if full not in KNOWN and name.startswith(prefix) and rest in KNOWN:
                full, value = rest, switched  # noqa: PLW2901
        # The later line wins, also where it writes the name otherwise.
        whole.pop(full, None)
        whole[full] = value
    return whole


def _full_name(name: str) -> str:
    if name in KNOWN:
        return name
    if name in _ALIASES:
        return _ALIASES[name]
    longer = [known for known in KNOWN if known.startswith(name)]
    return longer[0] if len(longer) == 1 else name
