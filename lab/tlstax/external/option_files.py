r"""MySQL's option files and login file: read as the mysql client reads them, and what they mean here.

Source of the rules of option files: MySQL's manual, "Using Option Files", its reader, mysys/my_default.cc,
and what mysql 9.7 and its my_print_defaults were seen to do. Groups stand in brackets, in letters of either
case; `name = value` takes hyphens and underscores alike; a value may be quoted; comments go from `#` or `;`
at the start of a line, or from `#` outside quotes; the escapes are \b \t \n \r \\ \s \" \'. Lines end at \n
alone. `!include` names another file, `!includedir` a directory of files in .cnf. In one thing this reader is
wiser: mysql takes the byte A0 for a blank, and so cuts a value that ends with "à".

The login file (~/.mylogin.cnf) is what mysql_config_editor writes, obfuscated. Source of its format: MySQL's
own reader, mysys/my_default.cc (mysql_file_getline, get_login_key). Four unused bytes and twenty bytes of key
material are followed by lines, each a four-byte little-endian length and as many bytes, enciphered with
AES-128 in ECB mode and padded as PKCS #7 says. The key is the key material folded to sixteen bytes by
exclusive or. This hides a password from a glance and from nobody else.

Each option is heeded, named as not heeded, or refused. A file may be MySQL's or MariaDB's. Whoever wrote it
relies on what it says of whom to trust: none of that may be passed over. Sources: MySQL's manual, "Command
Options for Connecting to the Server" and "Program Option Modifiers"; MariaDB's documentation, "Configuring
MariaDB Connector/C with Option Files" and "Securing Connections for Client and Server"; and what mysql 9.7,
mariadb 10.11 and 11.8 were seen to do.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

Options = dict[str, str | None]
"""Their values by their names; None is an option without `=`, which is not an empty one."""

Groups = dict[str, Options]
"""Options by their group, in small letters.

Bytes that are not UTF-8 stand as surrogates, as in Python's file names (PEP 383).
"""

MARIADB_GROUPS = ("client-server", "client-mariadb")
"""Groups that MariaDB's clients read beside [client] (its documentation, "Option Groups")."""

PROGRAM_GROUPS = ("mysql", "mariadb-client")
"""Groups of the programs `mysql` and `mariadb` alone."""

ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "\\": "\\", "s": " ", '"': '"', "'": "'"}

_BLANKS = " \t\n\v\f\r"
_DIRECTIVE = re.compile(r"!\s*(include|includedir)(?:[ \t\v\f\r]+(.*))?", re.DOTALL)
_DEEPEST = 10
"""How far files may include one another, as in mysql."""

_READ_AS = {"password1": "password"}


def read_option_file(path: Path) -> Groups:
    """The groups of a file and of those that it includes; UserMistake when one cannot be read or is none.

    What is in the groups for MariaDB's clients counts as of [client] too: of all these the last line wins.
    """
    groups: Groups = {}
    _read_into(groups, path, deep=0)
    return groups


def parse_options(text: str, where: str) -> Groups:
    """The groups of a text, in which nothing is included; a later line wins over an earlier one."""
    groups: Groups = {}
    _parse_into(groups, text, where, deep=None)
    return groups


def _read_into(groups: Groups, path: Path, deep: int) -> None:
    try:
        mode = path.stat().st_mode
        text = path.read_bytes().decode(errors="surrogateescape")
    except (OSError, ValueError) as error:
        raise UserMistake(f"the option file {path} cannot be read ({_why(error)})") from error
    if stat.S_ISREG(mode) and mode & stat.S_IWOTH:
        # The clients pass over it with a warning (my_default.cc).
        raise UserMistake(
            f"the option file {path} can be written by all users, so it is not used",
            remedy=f"run chmod o-w {shlex.quote(str(path))}",
        )
    _parse_into(groups, text, str(path), deep)


def _parse_into(groups: Groups, text: str, where: str, deep: int | None) -> None:
    """`deep` says how many files lead here; None includes none."""
    group: list[Options] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(_BLANKS)
        if not line or line[0] in "#;":
            continue
        place = f"line {number} of the option file {where}"
        if line[0] == "!":
            if deep is not None:
                _include(groups, line, place, deep)
        elif line[0] == "[":
            name, bracket, _ = line[1:].partition("]")
            if not bracket:
                raise UserMistake(f"{place} opens a [group] and does not close it")
            lower = name.rstrip(_BLANKS).lower()
            names = (lower, "client") if lower in MARIADB_GROUPS and deep is not None else (lower,)
            group = [groups.setdefault(name, {}) for name in names]
        elif not group:
            raise UserMistake(f"{place} stands before any [group]")
        else:
            for options in group:
                _set(options, _without_comment(line))


def _include(groups: Groups, line: str, place: str, deep: int) -> None:
    """What `!include FILE` or `!includedir DIRECTORY` names; anything else with a `!` means nothing."""
    directive = _DIRECTIVE.fullmatch(line)
    if directive is None:
        return
    if not directive[2]:
        raise UserMistake(f"{place} does not say what to include")
    if deep >= _DEEPEST:
        raise UserMistake(f"{place} includes a file that includes another, more than {_DEEPEST} times")
    path = Path(directive[2])
    if directive[1] == "include":
        _read_into(groups, path, deep + 1)
        return
    try:
        files = sorted(file for file in path.iterdir() if file.suffix == ".cnf")
    except (OSError, ValueError) as error:
        raise UserMistake(f"{place} includes {path}, which cannot be read ({_why(error)})") from error
    for file in files:
        _read_into(groups, file, deep + 1)


def _why(error: OSError | ValueError) -> str:
    """A name with a null byte is not even asked for."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _set(group: Options, line: str) -> None:
    name, equals, value = line.partition("=")
    option = name.rstrip(_BLANKS).replace("_", "-").removeprefix("loose-")
    if option == "skip-password":
        group["password"] = ""
    else:
        group[_READ_AS.get(option, option)] = _value(value.strip(_BLANKS)) if equals else None


def _without_comment(line: str) -> str:
    """The line up to a `#` that stands outside quotes; in quotes a backslash protects a quote."""
    quote, escaped = "", False
    for position, character in enumerate(line):
        if character in "\"'" and not escaped:
            quote = character if not quote else ("" if quote == character else quote)
        if character == "#" and not quote:
            return line[:position]
        escaped = bool(quote) and character == "\\" and not escaped
    return line


def _value(text: str) -> str:
    """Without the quotes, if it begins and ends with the same one, and with its escapes resolved."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), text)


UNUSED_BYTES = 4
KEY_MATERIAL_BYTES = 20
KEY_BYTES = 16
LENGTH_BYTES = 4

PATH_VARIABLE = "MYSQL_TEST_LOGIN_FILE"
"""The environment variable by which MySQL's own programs are given another login file."""


def login_path(name: str) -> Options:
    """The options of one login path of the user's login file; UserMistake when there is none."""
    path = Path(os.environ.get(PATH_VARIABLE) or Path.home() / ".mylogin.cnf")
    groups = read_login_file(path)
    if name.lower() not in groups:
        raise UserMistake(
            f"the login file {path} has no login path named {name!r}",
            remedy="create it with mysql_config_editor set --login-path=NAME --user=USER --password",
        )
    return groups[name.lower()]


def read_login_file(path: Path) -> Groups:
    """The groups of a login file; UserMistake when it is missing, open to others or not of this format."""
    try:
        content = path.read_bytes()
        mode = path.stat().st_mode
    except OSError as error:
        raise UserMistake(f"the login file {path} cannot be read ({error.strerror})") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UserMistake(
            f"the login file {path} can be read by other users, so it is not used",
            remedy=f"run chmod 600 {path}",
        )
    try:
        text = _decipher(content)
    except (ValueError, struct.error) as error:
        raise UserMistake(
            f"the login file {path} is damaged, or was not written by mysql_config_editor"
        ) from error
    return parse_options(text, str(path))


def _decipher(content: bytes) -> str:
    start = UNUSED_BYTES + KEY_MATERIAL_BYTES
    cipher = Cipher(algorithms.AES(_key(content[UNUSED_BYTES:start])), modes.ECB())  # noqa: S305
    lines = []
    while start < len(content):
        (length,) = struct.unpack_from("<i", content, start)
        start += LENGTH_BYTES
        block = content[start : start + length]
        if length <= 0 or len(block) != length:
            raise ValueError("a line is cut short")
        decryptor, unpadder = cipher.decryptor(), padding.PKCS7(algorithms.AES.block_size).unpadder()
        padded = decryptor.update(block) + decryptor.finalize()
        lines.append(unpadder.update(padded) + unpadder.finalize())
        start += length
    return b"".join(lines).decode(errors="surrogateescape")


def _key(material: bytes) -> bytes:
    if len(material) != KEY_MATERIAL_BYTES:
        raise ValueError("the key is cut short")
    key = bytearray(KEY_BYTES)
    for index, byte in enumerate(material):
        key[index % KEY_BYTES] ^= byte
    return bytes(key)


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

_SAME_AS = {"tls-ca": "ssl-ca"}


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
    if name in _SAME_AS:
        return _SAME_AS[name]
    longer = [known for known in KNOWN if known.startswith(name)]
    return longer[0] if len(longer) == 1 else name
