"""How to get into an external server: its URL and the options that go with it, combined.

A URL is `mysql://user@host:port/schema`, or of a Unix socket `mysql://user@/schema?socket=/path`.
PostgreSQL's are as libpq has them (`libpq.py`): `postgres://user@host:port/database`, and
`postgres://user@/database?host=/folder`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from tlstax.contract import AuthMethod, Endpoint, TcpEndpoint, UnixEndpoint
from tlstax.external import libpq
from tlstax.external import tls as external_tls
from tlstax.external.given_password import LIBPQ_VARIABLE, PASSWORD_VARIABLE, REMEDY, GivenPassword
from tlstax.external.libpq import Said, Word
from tlstax.external.option_files import Groups, login_path, read_option_file, understood
from tlstax.external.tls import ExternalTls
from tlstax.observers import far_process
from tlstax.observers.far_process import SshHost
from tlstax.study.product import Family, is_postgresql_url
from tlstax.support.credentials import url_has_password
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

DEFAULT_PORT, LOCALHOST = 3306, "localhost"
LONGEST_SOCKET = 107
"""Bytes of a Unix socket's path (unix(7)): 108 with the one that ends it."""

URL_SHAPE = "write it as mysql://user@host:port/schema, with special characters percent-encoded"
SOCKET_SHAPE = "write a Unix socket as mysql://user@/schema?socket=/run/mysqld/mysqld.sock"


@dataclass(frozen=True)
class ExternalAddress:
    """Where an external server is, who goes there and in which schema, as far as the URL says.

    With a `socket`, the path of a Unix socket, it is on this machine: `host` is what certificates are checked
    for then. `product` is the family whose protocol is spoken there. `database` is PostgreSQL's, which a
    login names, and `schema` a namespace within it; what MySQL calls a schema, a login names.
    """

    host: str
    port: int = DEFAULT_PORT
    user: str | None = None
    schema: str | None = None
    socket: str | None = None
    product: Family = "mysql"
    database: str | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where load clients connect to."""
        if self.socket is not None:
            return UnixEndpoint(path=self.socket)
        return TcpEndpoint(host=self.host, port=self.port)

    def __str__(self) -> str:
        if self.socket is not None:
            return self.socket
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_url(url: str) -> ExternalAddress:
    """The parts of a URL of MySQL's family; UserMistake when it is not one, or holds a password.

    No message repeats the URL, since a password may stand in it.
    """
    _check_no_password(url)
    if "," in url:
        raise UserMistake(
            "the server's URL has a comma, which stands between servers",
            remedy="leave it out, or name one server; the comma of a name is written %2C",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UserMistake("the server's URL has a bad host or port", remedy=URL_SHAPE) from error
    if parts.scheme not in {"mysql", "mariadb"}:
        raise UserMistake("the server's URL does not begin with mysql://", remedy=URL_SHAPE)
    socket = _socket(parts)
    if not parts.hostname and socket is None:
        raise UserMistake("the server's URL names no host", remedy=URL_SHAPE)
    return ExternalAddress(
        host=unquote(parts.hostname or LOCALHOST),
        port=DEFAULT_PORT if port is None else _checked_port(port),
        user=_decoded(parts.username, "user"),
        schema=_schema(parts),
        socket=socket,
    )


def _check_no_password(url: str) -> None:
    if url_has_password(url):
        raise UserMistake(
            "a password may not stand in the server's URL, where other users and logs can see it",
            remedy=REMEDY,
        )


def _socket(parts: SplitResult) -> str | None:
    """The Unix socket that the URL names; None for an address without one."""
    if not parts.query and not parts.fragment:
        return None
    key, _, path = parts.query.partition("=")
    if parts.fragment or key != "socket" or "&" in path:
        raise UserMistake(
            "the server's URL has something after the schema", remedy=f"{URL_SHAPE}; {SOCKET_SHAPE}"
        )
    decoded = _decoded(path, "socket") or ""
    if not decoded.startswith("/") or "\0" in decoded:
        raise UserMistake("the socket in the server's URL is not a path from /", remedy=SOCKET_SHAPE)
    _check_length(decoded)
    if parts.hostname not in {None, LOCALHOST} or parts.port is not None:
        raise UserMistake(
            "the server's URL names a host or a port, and a socket of this machine", remedy=SOCKET_SHAPE
        )
    return decoded


def _check_length(path: str) -> None:
    if len(path.encode()) > LONGEST_SOCKET:
        raise UserMistake(
            f"the socket in the server's URL has a path of more than {LONGEST_SOCKET} bytes",
            remedy="connect to a link of a shorter name, or over TCP",
        )


def _checked_port(port: int) -> int:
    if port == 0:
        raise UserMistake("the server's URL has port 0, which nothing can listen on", remedy=URL_SHAPE)
    return port


def _schema(parts: SplitResult) -> str | None:
    name = parts.path.removeprefix("/").removesuffix("/")
    if "/" in name:
        raise UserMistake("the server's URL names more than one schema", remedy=URL_SHAPE)
    if "@" in name:
        raise UserMistake(
            "the server's URL has an @ behind its host, and what stands before it may be a password",
            remedy=f"write the @ of a schema's name as %40; of a password, {REMEDY}",
        )
    return _decoded(name, "schema")


def _decoded(text: str | None, what: str) -> str | None:
    try:
        return unquote(text, errors="strict") if text else None
    except UnicodeDecodeError as error:
        raise UserMistake(f"the {what} in the server's URL is not UTF-8", remedy=URL_SHAPE) from error


@dataclass(frozen=True)
class AccessOptions:
    """What the user said about the server, as the mysql client names it.

    The URL wins over the login path, and that over the groups for clients of the defaults file; at PostgreSQL
    over what libpq takes beside it. `given_password` is what the environment held. `server_host` is where it
    runs, `ssh://…`, None where nobody is to look at its process.
    """

    url: str
    ssl_mode: str | None = None
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    defaults_file: Path | None = None
    login_path: str | None = None
    given_password: GivenPassword = field(default_factory=GivenPassword)
    server_host: str | None = None

    def given(self) -> list[str]:
        """The options that were given beside the server, by their names."""
        options = {
            "--ssl-mode": self.ssl_mode,
            "--ssl-ca": self.ssl_ca,
            "--ssl-cert": self.ssl_cert,
            "--ssl-key": self.ssl_key,
            "--defaults-file": self.defaults_file,
            "--login-path": self.login_path,
            "--server-host": self.server_host,
        }
        return [name for name, value in options.items() if value is not None]


@dataclass(frozen=True)
class ExternalAccess:
    """An external server's address, who logs in there, and how TLS is used on the way.

    `host` is the machine that it runs on, where its process is to be watched; None where it is not.
    `require_auth` has the ways of logging in to PostgreSQL that are good enough, as the contract has them;
    empty means whichever the server asks for. `auth_by` is what the user said that by.
    """

    address: ExternalAddress
    user: str
    password: str = field(repr=False)
    tls: ExternalTls = field(default_factory=ExternalTls)
    host: SshHost | None = None
    require_auth: tuple[AuthMethod, ...] = ()
    auth_by: str = ""

    @property
    def product(self) -> Family:
        """The family whose protocol is spoken there. MariaDB is told from MySQL by the server's own word."""
        return self.address.product

    @property
    def database(self) -> str:
        """PostgreSQL's database that logins name: the user's own where none was said, as with libpq."""
        return self.address.database or self.user


_OF_EACH = ("ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "defaults_file", "login_path", "server_host")


def of_each(options: AccessOptions, urls: Sequence[str]) -> list[AccessOptions]:
    """The options of each of these servers: what was given once is for all of them.

    Of several servers an option may have as many values as there are servers, in their order and with commas
    between them; an empty one is none. UserMistake for another number.
    """
    if len(urls) == 1:
        return [replace(options, url=urls[0])]
    values: dict[str, list[Any]] = {
        name: _divided(name, getattr(options, name), len(urls)) for name in _OF_EACH
    }
    return [
        replace(options, url=url, **{name: each[place] for name, each in values.items()})
        for place, url in enumerate(urls)
    ]


def _divided(name: str, value: str | Path | None, count: int) -> list[Any]:
    if value is None or "," not in str(value):
        return [value] * count
    parts = [part.strip() for part in str(value).split(",")]
    if len(parts) != count:
        raise UserMistake(
            f"--{name.replace('_', '-')} has {len(parts)} values for {count} external servers",
            remedy="give one for all, or one for each in their order, with commas between them",
        )
    kind = type(value) if isinstance(value, str) else Path
    return [kind(part) if part else None for part in parts]


def address_of(options: AccessOptions) -> ExternalAddress:
    """Where the server is: by the URL, and by what clients read beside it. Raises UserMistake."""
    if is_postgresql_url(options.url):
        return _address(_said_to_libpq(options))
    address = parse_url(_in_utf8(options.url, "the server's URL"))
    said = understood(_stored(options), typed_mode=options.ssl_mode is not None)
    return _with_port(address, options.url, _value_of(dict(said.options), "port"))


def settle(
    options: AccessOptions,
    ask: Callable[[str], str] | None = None,
    check: Callable[[ExternalTls], None] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> ExternalAccess:
    """Everything that a connection needs; UserMistake when a part is missing or does not fit.

    `check` raises where what is to be done does not go with how TLS is to be used. `warn` is given a sentence
    that names what is not heeded of a file.
    The password is taken from the login path, the defaults file, the environment variable TLSTAX_PASSWORD
    (which may be empty for an account without one), or from `ask`, which is given the text of a prompt.
    A file that names it without saying what it is leaves it to the others. PostgreSQL's is taken from
    TLSTAX_PASSWORD, the service, PGPASSWORD, the password file, or from `ask`; where there is none the server
    may want none.
    """
    if is_postgresql_url(options.url):
        return _settled_by_libpq(options, ask, check, warn)
    address = parse_url(_in_utf8(options.url, "the server's URL"))
    host = None if options.server_host is None else far_process.parsed(options.server_host)
    said = understood(_stored(options), typed_mode=options.ssl_mode is not None)
    stored = dict(said.options)
    if said.unheeded:
        warn(
            f"not heeded of {_files(options)}: {enumerated(said.unheeded)}; the URL and tlstax's own options "
            "say what matters of it"
        )
    password = stored.pop("password", None)
    address = _with_port(address, options.url, _value_of(stored, "port"))
    user = address.user or _value_of(stored, "user")
    if not user:
        raise UserMistake(
            f"no user was named for {address}", remedy="write the URL as mysql://user@host:port/schema"
        )
    # Before the password, so that nobody types one only to be told of another mistake.
    typed = {
        "ssl-mode": options.ssl_mode or said.mode,
        "ssl-ca": options.ssl_ca,
        "ssl-cert": options.ssl_cert,
        "ssl-key": options.ssl_key,
    }
    tls = external_tls.choose(
        *(_in_utf8(own, f"--{name}") if own else _value_of(stored, name) for name, own in typed.items()),
        said_by=said.said_by,
        of_file=[name for name, own in typed.items() if not own],
    )
    if check is not None:
        check(tls)
    if password is not None:
        password = _in_utf8(password, f"the password of {user} in the file")
    elif options.given_password.own is not None:
        password = _from_environment(options.given_password.own, PASSWORD_VARIABLE)
    else:
        password = _asked(user, address, ask)
    for what, text in (("user", user), ("schema", address.schema or ""), ("password", password)):
        _check_text(text, f"the {what} for {address}")
    return ExternalAccess(address=address, user=user, password=password, tls=tls, host=host)


def _settled_by_libpq(
    options: AccessOptions,
    ask: Callable[[str], str] | None,
    check: Callable[[ExternalTls], None] | None,
    warn: Callable[[str], None],
) -> ExternalAccess:
    host = None if options.server_host is None else far_process.parsed(options.server_host)
    for name, value in (("--defaults-file", options.defaults_file), ("--login-path", options.login_path)):
        if value is not None:
            raise UserMistake(
                f"{name} names a file of MySQL's, which says nothing of a PostgreSQL server",
                remedy="leave it out; ~/.pgpass and a service (?service=…) are what libpq reads",
            )
    said = _said_to_libpq(options)
    if sentence := libpq.unheeded_words(said):
        warn(sentence)
    address, user = _address(said), libpq.user_of(said)
    require_auth, auth_by = libpq.methods_of(said)
    tls = external_tls.of_libpq(said, os.environ)
    if check is not None:
        check(tls)
    password = _password_of_libpq(options.given_password, said, address, user)
    if password is None:
        password = "" if ask is None else _asked(user, address, ask)
    access = ExternalAccess(address, user, password, tls, host, require_auth, auth_by)
    for what, text in (("user", user), ("database", access.database), ("password", password)):
        _check_text(text, f"the {what} for {address}")
    return access


def _said_to_libpq(options: AccessOptions) -> Said:
    """What libpq would be told, with our own options for the same."""
    url = _in_utf8(options.url, "the server's URL")
    _check_no_password(url)
    typed = {
        "sslmode": ("--ssl-mode", options.ssl_mode),
        "sslrootcert": ("--ssl-ca", options.ssl_ca),
        "sslcert": ("--ssl-cert", options.ssl_cert),
        "sslkey": ("--ssl-key", options.ssl_key),
    }
    words = {
        keyword: Word(_in_utf8(value, name), f"{name}={value}" if keyword == "sslmode" else name)
        for keyword, (name, value) in typed.items()
        if value
    }
    said = libpq.said_of(url, words, os.environ)
    for word in said.words.values():
        _in_utf8(word.value, word.by)
    return said


def _address(said: Said) -> ExternalAddress:
    """Where libpq would go."""
    (host, directory), port = libpq.host_of(said), libpq.port_of(said)
    path = None if directory is None else libpq.socket_in(directory, port)
    if path is not None:
        _check_length(path)
    return ExternalAddress(
        host=host,
        port=port,
        user=said.value("user") or None,
        schema=said.value(libpq.SCHEMA) or None,
        socket=path,
        product="postgresql",
        database=said.value("dbname") or None,
    )


def _password_of_libpq(given: GivenPassword, said: Said, address: ExternalAddress, user: str) -> str | None:
    """The first that there is, as libpq takes them after our own variable; None where there is none."""
    if given.own is not None:
        return _from_environment(given.own, PASSWORD_VARIABLE)
    if said.service_password is not None:
        return _in_utf8(said.service_password, "the password of the service")
    if given.libpq:
        return _from_environment(given.libpq, LIBPQ_VARIABLE)
    host = address.host if address.socket is None else str(Path(address.socket).parent)
    database = address.database or user
    stored = libpq.stored_password(said, (host, str(address.port), database, user), os.environ)
    return None if stored is None else _in_utf8(stored, "the password in the password file")


def _from_environment(value: bytes, variable: str) -> str:
    return _in_utf8(value.decode(errors="surrogateescape"), variable)


def _check_text(text: str, what: str) -> None:
    """Both protocols have these as text that ends with a NUL. The text itself is not shown."""
    if "\0" in _in_utf8(text, what):
        raise UserMistake(f"{what} has a NUL in it", remedy="give it without")


def _stored(options: AccessOptions) -> Groups:
    """Options from the files that were named, by group, a login path's as of [client]."""
    stored = {} if options.defaults_file is None else read_option_file(options.defaults_file)
    if options.login_path is not None:
        stored.setdefault("client", {}).update(login_path(options.login_path))
    return stored


def _files(options: AccessOptions) -> str:
    named = [] if options.defaults_file is None else [str(options.defaults_file)]
    return enumerated(
        named if options.login_path is None else [*named, f"the login path {options.login_path}"]
    )


def _with_port(address: ExternalAddress, url: str, port: str | None) -> ExternalAddress:
    """With the file's port where the URL has none."""
    if port is None or urlsplit(url).port is not None:
        return address
    if not re.fullmatch(r"\d{1,5}", port) or not 0 < int(port) < 1 << 16:
        raise UserMistake(
            "the option port in the file is not a port", remedy="write a number from 1 to 65535"
        )
    return replace(address, port=int(port))


def _value_of(stored: dict[str, str | None], option: str) -> str | None:
    """The option's value, None where it is not there. UserMistake for one that should have a value."""
    if option not in stored:
        return None
    value = stored[option]
    if value is None:
        raise UserMistake(f"the option {option} in the file has no value", remedy="give it one, or remove it")
    return _in_utf8(value, f"the option {option} in the file") or None


def _asked(user: str, address: ExternalAddress, ask: Callable[[str], str] | None) -> str:
    remedy = f"set {PASSWORD_VARIABLE}, or name a file with --defaults-file or --login-path"
    if address.product == "postgresql":
        remedy = f"set {PASSWORD_VARIABLE} or {LIBPQ_VARIABLE}, or have a line for it in ~/.pgpass"
    if ask is None:
        raise UserMistake(f"no password was given for {user} at {address}", remedy=remedy)
    try:
        return ask(f"Password of {user} at {address}: ")
    except EOFError:
        raise UserMistake(f"no password was typed for {user} at {address}", remedy=remedy) from None
    except UnicodeDecodeError:
        raise UserMistake("what was typed is not in the encoding of this terminal") from None


def _in_utf8(value: str, what: str) -> str:
    """The value. UserMistake where it is not: load clients get it in a document that holds nothing else."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UserMistake(f"{what} is not UTF-8", remedy="write it in UTF-8") from None
    return value
