r"""What libpq is told of a server: by its URL, its environment variables, a service file and a password file.

Source: PostgreSQL documentation, "Connection Strings" (Connection URIs), "Parameter Key Words", "Environment
Variables", "The Password File", "The Connection Service File" and "SSL Support"; src/interfaces/libpq
(fe-connect.c: conninfo_uri_parse, parseServiceFile, passwordFromFile) for what that leaves open.

A keyword has a value and who said it, for sentences about it. The URL wins over the service, and that over
the environment. What decides whom to trust or where to go and is not heeded here is refused, wherever it
stands: none of that may be passed over.
"""

from __future__ import annotations

import pwd
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import geteuid
from pathlib import Path
from typing import Final, NamedTuple, get_args
from urllib.parse import unquote

from tlstax.contract import AuthMethod
from tlstax.study.product import is_postgresql_url
from tlstax.support.credentials import quoted
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

DEFAULT_PORT: Final = "5432"
LOCALHOST: Final = "localhost"

SOCKET_DIRECTORIES: Final = ("/run/postgresql", "/var/run/postgresql", "/tmp")  # noqa: S108 (PostgreSQL's own)
"""Where servers have their sockets: Debian's way, others' way, and as the sources have it."""

SHAPE: Final = "write it as postgres://user@host:port/database, with special characters percent-encoded"
SOCKET_SHAPE: Final = "write a Unix socket as postgres://user@/database?host=/run/postgresql"

VARIABLES: Final = {
    "host": "PGHOST",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
    "service": "PGSERVICE",
    "passfile": "PGPASSFILE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "sslnegotiation": "PGSSLNEGOTIATION",
    "channel_binding": "PGCHANNELBINDING",
    "require_auth": "PGREQUIREAUTH",
}
"""The keywords that are heeded, and the variables of the same meaning."""

SCHEMA: Final = "schema"
"""A keyword of ours, which only a URL has: the namespace in which tlstax works."""

UNCHECKED: Final = {
    "hostaddr": ("PGHOSTADDR", ()),
    "sslcrl": ("PGSSLCRL", ()),
    "sslcrldir": ("PGSSLCRLDIR", ()),
    "sslcertmode": ("PGSSLCERTMODE", ("allow",)),
    "requirepeer": ("PGREQUIREPEER", ()),
    "gssencmode": ("PGGSSENCMODE", ("disable", "prefer")),
    "ssl_min_protocol_version": ("PGSSLMINPROTOCOLVERSION", ("TLSv1", "TLSv1.1", "TLSv1.2")),
    "ssl_max_protocol_version": ("PGSSLMAXPROTOCOLVERSION", ("TLSv1.3",)),
    "target_session_attrs": ("PGTARGETSESSIONATTRS", ("any",)),
}
"""Keywords by which libpq decides whom to trust or where to go, and tlstax cannot: their variables, and the
values by which they decide nothing."""

_URL = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^/?]*)@)?(?P<hosts>[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?",
    re.IGNORECASE | re.DOTALL,
)
_HOST = re.compile(r"(?:\[(?P<address>[0-9A-Za-z:.%]+)\]|(?P<host>[^:\[\]]*))(?::(?P<port>[^:]*))?")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

_BLANKS: Final = " \t\n\v\f\r"
"""What isspace(3) takes for a blank."""


class Word(NamedTuple):
    """The value of a keyword, and what the user said it by."""

    value: str
    by: str


Words = Mapping[str, Word]


@dataclass(frozen=True)
class Said:
    """What libpq would be told: keywords that are heeded, and the names of those of a service that are not.

    `service_password` is what the service has for a password, None where it has none.
    """

    words: Words
    unheeded: tuple[str, ...] = ()
    service_password: str | None = field(default=None, repr=False)

    def value(self, keyword: str, default: str = "") -> str:
        """What was said; the default where nothing was, or nothing in particular."""
        word = self.words.get(keyword)
        return default if word is None else word.value


def said_of(url: str, typed: Words, environment: Mapping[str, str]) -> Said:
    """What is said of the server at this address, `typed` by options, and in the environment. UserMistake."""
    words = {keyword: _word(keyword, value, "in the URL") for keyword, value in parsed(url).items()}
    for keyword, word in typed.items():
        if keyword in words:
            raise UserMistake(
                f"{keyword} stands in the server's URL, and {word.by.partition('=')[0]} is given as well",
                remedy="leave one of the two out",
            )
        words[keyword] = word
    in_environment = {
        keyword: _word(keyword, environment[name], name=name)
        for keyword, name in VARIABLES.items()
        if environment.get(name)
    }
    service = words.get("service") or in_environment.get("service")
    of_service: dict[str, Word] = {}
    password = None
    if service is not None:
        stored = _service(service, environment)
        password = stored.pop("password", None)
        of_service = {keyword: _word(keyword, value, "in the service") for keyword, value in stored.items()}
    _check_unchecked(of_service, environment)
    known = {*VARIABLES, *UNCHECKED}
    unheeded = tuple(keyword for keyword in of_service if keyword not in known)
    heeded = {keyword: word for keyword, word in of_service.items() if keyword in VARIABLES}
    return Said({**in_environment, **heeded, **words}, unheeded, password)


_SHOWN = ("sslmode", "sslnegotiation", "channel_binding", "require_auth")
"""Keywords whose value is a word, which sentences may repeat."""


def _word(keyword: str, value: str, where: str = "", name: str = "") -> Word:
    """The word with how it was said: such as "sslmode=require in the URL", or "PGSSLMODE=require"."""
    shown = keyword in _SHOWN and re.fullmatch(r"[\w!,.-]{1,80}", value)
    said = f"{name or keyword}={value}" if shown else name or keyword
    return Word(value, f"{said} {where}".rstrip())


def parsed(url: str) -> dict[str, str]:
    """The keywords of a URL; UserMistake, which does not repeat it, since a password may stand in it."""
    match = _URL.fullmatch(url)
    if match is None:
        raise UserMistake("the server's URL does not begin with postgres://", remedy=SHAPE)
    words = _host(match["hosts"])
    database = match["database"] or ""
    if "@" in database:
        raise UserMistake(
            "the server's URL has an @ behind its host, and what stands before it may be a password",
            remedy="write the @ of a database's name as %40, and leave a password out",
        )
    if "/" in database.removesuffix("/"):
        raise UserMistake("the server's URL names more than one database", remedy=SHAPE)
    for keyword, text in (("user", match["user"]), ("dbname", database.removesuffix("/"))):
        if text:
            words[keyword] = _decoded(text, keyword)
    for keyword, value in _query(match["query"] or ""):
        if keyword in words:
            raise UserMistake(f"the server's URL says twice what its {keyword} is", remedy="say it once")
        words[keyword] = value
    return {keyword: value for keyword, value in words.items() if value}


def _host(text: str) -> dict[str, str]:
    """`host` and `port` of the part of a URL that names them."""
    if "," in text:
        raise several_hosts()
    match = _HOST.fullmatch(text)
    if match is None:
        raise UserMistake("the server's URL has a bad host or port", remedy=SHAPE)
    host = match["address"] or match["host"] or ""
    named = {"host": host, "port": match["port"] or ""}
    return {keyword: _decoded(value, keyword) for keyword, value in named.items() if value}


def several_hosts() -> UserMistake:
    """That there is more than one: which is measured must be known."""
    return UserMistake(
        "the server's URL names several hosts, of which libpq takes the first that answers",
        remedy="name the one that is to be measured; of several servers, each has a URL of its own, and a "
        "comma within one is written %2C",
    )


def check_one_host(texts: Sequence[str]) -> None:
    """UserMistake where commas between servers have cut a URL in two, as that of several hosts has them."""
    for before, after in pairwise(texts):
        cut = not re.fullmatch(r"[\w.+=-]+", after) or after.removeprefix("!") in _METHODS
        if is_postgresql_url(before) and "://" not in after and cut:
            raise several_hosts()


def _query(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split("&") if text else ():
        raw, equals, value = part.partition("=")
        keyword = _decoded(raw, "keyword")
        if keyword == "ssl" and value == "true":
            # JDBC's, which libpq takes as well.
            keyword, value = "sslmode", "require"
        if keyword in UNCHECKED:
            raise _cannot_check(f"{keyword} in the URL")
        if not equals or keyword not in {*VARIABLES, SCHEMA}:
            raise UserMistake(
                f"tlstax does not know {quoted(keyword)} in the server's URL",
                remedy=f"known are {', '.join((*VARIABLES, SCHEMA))}",
            )
        if "#" in value:
            raise UserMistake("the server's URL has a # behind its ?", remedy="write it %23")
        yield keyword, _decoded(value, keyword)


def _decoded(text: str, what: str) -> str:
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise UserMistake(f"the {what} in the server's URL is not UTF-8", remedy=SHAPE) from error
    if _BAD_ESCAPE.search(text) or "\0" in decoded:
        raise UserMistake(f"the {what} in the server's URL has a % that begins no character", remedy=SHAPE)
    return decoded


def _check_unchecked(of_service: Words, environment: Mapping[str, str]) -> None:
    for keyword, (variable, harmless) in UNCHECKED.items():
        word = of_service.get(keyword)
        if word is None and environment.get(variable):
            word = Word(environment[variable], variable)
        if word is not None and word.value and word.value not in harmless:
            raise _cannot_check(word.by)


def _cannot_check(by: str) -> UserMistake:
    return UserMistake(
        f"{by} says whom to trust or where to go, and tlstax cannot heed that",
        remedy="leave it out for tlstax",
    )


def host_of(said: Said) -> tuple[str, str | None]:
    """The host, and the directory of its Unix socket where that is how it is reached. UserMistake."""
    host = said.value("host")
    if "," in host or "," in said.value("port"):
        raise several_hosts()
    if host.startswith("@"):
        raise UserMistake("tlstax does not know sockets of the abstract namespace (@)", remedy=SOCKET_SHAPE)
    if host.startswith("/"):
        return LOCALHOST, host
    if host:
        return host, None
    here = (name for name in SOCKET_DIRECTORIES if Path(socket_in(name, port_of(said))).exists())
    return LOCALHOST, next(here, None)


def socket_in(directory: str, port: int) -> str:
    """The path of a server's socket in its directory."""
    return f"{directory.rstrip('/')}/.s.PGSQL.{port}"


def port_of(said: Said) -> int:
    """The port. UserMistake."""
    text = said.value("port", DEFAULT_PORT)
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 0 < int(text) < 1 << 16:
        raise UserMistake(f"the {said.words['port'].by} is no port", remedy="write a number from 1 to 65535")
    return int(text)


def user_of(said: Said) -> str:
    """Who logs in: whoever runs this where nobody is named. UserMistake where that has no name."""
    if said.value("user"):
        return said.value("user")
    try:
        return pwd.getpwuid(geteuid()).pw_name
    except KeyError:
        raise UserMistake("no user was named, and the one who runs this has no name", remedy=SHAPE) from None


_METHODS: Final[Mapping[str, tuple[AuthMethod, ...]]] = {
    "none": ("none",),
    "password": ("password",),
    "md5": ("md5",),
    "scram-sha-256": ("scram-sha-256", "scram-sha-256-plus"),
    "gss": (),
    "sspi": (),
    "oauth": (),
}
"""The words of `require_auth`, and what of them tlstax knows."""


def methods_of(said: Said) -> tuple[tuple[AuthMethod, ...], str]:
    """The ways of logging in that are good enough, and what that was said by. UserMistake.

    Empty for whichever the server asks for.
    """
    allowed: tuple[AuthMethod, ...] = get_args(AuthMethod)
    by = []
    required, binding = said.words.get("require_auth"), said.words.get("channel_binding")
    if required is not None:
        by.append(required.by)
        allowed = _required(required)
    if binding is not None and binding.value != "prefer":
        by.append(binding.by)
        if binding.value not in {"disable", "require"}:
            raise UserMistake(f"{binding.by} is unknown", remedy="choose disable, prefer or require")
        wants = binding.value == "require"
        allowed = tuple(method for method in allowed if (method == "scram-sha-256-plus") == wants)
    if not allowed:
        raise UserMistake(
            f"no way of logging in that tlstax knows is left by {' and '.join(by)}",
            remedy="allow scram-sha-256, md5, password or none",
        )
    return (() if len(allowed) == len(get_args(AuthMethod)) else allowed), " and ".join(by)


def _required(word: Word) -> tuple[AuthMethod, ...]:
    names = [name.strip() for name in word.value.split(",")]
    bare = [name.removeprefix("!") for name in names]
    if any(name not in _METHODS for name in bare):
        raise UserMistake(
            f"{word.by} has a method that libpq does not know", remedy=f"known are {', '.join(_METHODS)}"
        )
    negated = {name.startswith("!") for name in names}
    if len(negated) > 1:
        raise UserMistake(
            f"{word.by} names methods to take and methods to refuse", remedy="name either, as libpq has it"
        )
    named = {method for name in bare for method in _METHODS[name]}
    wants = negated == {False}
    return tuple(method for method in get_args(AuthMethod) if (method in named) == wants)


def _service(service: Word, environment: Mapping[str, str]) -> dict[str, str]:
    """What a service stands for, by the user's file, else the machine's. UserMistake where neither has it."""
    name = service.value
    own = environment.get("PGSERVICEFILE")
    files = [Path(own)] if own else [home(environment) / ".pg_service.conf"]
    folders = [environment["PGSYSCONFDIR"]] if environment.get("PGSYSCONFDIR") else _SYSTEM_DIRECTORIES
    files += [Path(folder) / "pg_service.conf" for folder in folders]
    for file in files:
        try:
            text = file.read_text("utf-8")
        except FileNotFoundError:
            if str(file) == own:
                raise UserMistake(
                    f"the service file {file} of PGSERVICEFILE does not exist", remedy="correct the variable"
                ) from None
            continue
        except (OSError, ValueError) as error:
            raise UserMistake(f"the service file {file} cannot be read ({_why(error)})") from error
        found = services(text, str(file)).get(name)
        if found is not None:
            return dict(found)
    raise UserMistake(
        f"no service {quoted(name)} is defined",
        remedy=f"put a section of that name into {files[0]}",
    )


_SYSTEM_DIRECTORIES: Final = ["/etc/postgresql-common", "/etc/pgsql", "/usr/local/pgsql/etc"]
"""Where libpq's makers have put their files: Debian, Fedora, the sources (`pg_config --sysconfdir`)."""


def services(text: str, where: str) -> dict[str, dict[str, str]]:
    """The services of a file, the first of a name and of a keyword winning. UserMistake."""
    found: dict[str, dict[str, str]] = {}
    own: dict[str, str] | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(_BLANKS)
        place = f"line {number} of the service file {where}"
        if not line or line[0] == "#":
            continue
        if line[0] == "[":
            name, bracket, _ = line[1:].partition("]")
            if not bracket:
                raise UserMistake(f"{place} opens a [service] and does not close it")
            own = {} if name in found else found.setdefault(name, {})
            continue
        if own is None:
            continue
        keyword, equals, value = line.partition("=")
        if not equals:
            raise UserMistake(f"{place} has no value", remedy="write it as keyword=value, without blanks")
        if keyword in {"service", "servicefile"} or line.startswith("ldap"):
            raise UserMistake(f"{place} names another service, which libpq does not follow, or asks LDAP")
        own.setdefault(keyword, value)
    return found


def home(environment: Mapping[str, str]) -> Path:
    """The user's own directory."""
    if environment.get("HOME"):
        return Path(environment["HOME"])
    try:
        return Path(pwd.getpwuid(geteuid()).pw_dir)
    except KeyError:
        return Path("/nonexistent")


def own_file(name: str, environment: Mapping[str, str]) -> str | None:
    """A file of ~/.postgresql, which libpq takes where none is named; None where it is not there."""
    path = home(environment) / ".postgresql" / name
    return str(path) if path.is_file() else None


Login = tuple[str, str, str, str]
"""Host, port, database and user, as a password file has them; of a Unix socket its directory."""


def stored_password(said: Said, login: Login, environment: Mapping[str, str]) -> str | None:
    """The password file's, None where it has none for this login. UserMistake where others can read it."""
    named = said.value("passfile")
    path = Path(named) if named else home(environment) / ".pgpass"
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UserMistake(
                f"the password file {path} can be read by other users, so it is not used",
                remedy=f"run chmod 600 {path}",
            )
        text = path.read_text("utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserMistake(f"the password file {path} cannot be read ({_why(error)})") from error
    host, *others = login
    return password_in(text, (LOCALHOST if host in SOCKET_DIRECTORIES else host, *others))


def password_in(text: str, login: Sequence[str]) -> str | None:
    """That of the first line for this login; `*` stands for any."""
    for raw in text.split("\n"):
        line = raw.removesuffix("\r")
        if line.startswith("#"):
            continue
        fields = _fields(line)
        if len(fields) > len(login) and all(
            is_any or own == wanted for (own, is_any), wanted in zip(fields, login, strict=False)
        ):
            return fields[len(login)][0]
    return None


def _fields(line: str) -> list[tuple[str, bool]]:
    """What stands between the colons, and whether it is a bare `*`; a backslash protects what follows it."""
    parts = re.sub(r"\\.|:", lambda found: "\0" if found[0] == ":" else found[0], line).split("\0")
    return [(re.sub(r"\\(.)", r"\1", part), part == "*") for part in parts]


def _why(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8"


def unheeded_words(said: Said) -> str:
    """A sentence on what of a service is not heeded; empty where all of it is."""
    if not said.unheeded:
        return ""
    return f"not heeded of the service: {enumerated(said.unheeded)}"
