"""The servers that options name: external ones by their addresses, private ones by their names."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tlstax.cli.options import ExternalOptions
from tlstax.cli.streams import tell
from tlstax.external import access as external_access
from tlstax.external import address
from tlstax.external.access import AccessOptions, ExternalAccess, settle
from tlstax.external.address import ExternalAddress
from tlstax.external.server import EXTERNAL_TABLES, OWN_SCHEMA
from tlstax.external.tls import DEMANDING, ExternalTls
from tlstax.external.workload_guard import check_workloads
from tlstax.mysql import accounts
from tlstax.plan.admission import Leeway
from tlstax.run.external import ExternalRequest, check_clients
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import check_server_name, default_server, named_server
from tlstax.specimens.sessions import open_session
from tlstax.study import Study
from tlstax.study.changes import without_plaintext
from tlstax.study.factor import is_specimen_name
from tlstax.study.needs import has_plaintext
from tlstax.study.questions import asking_what_is_there
from tlstax.support.errors import UserMistake


def warn(sentence: str) -> None:
    """Tell what is not heeded of an option file."""
    tell(f"tlstax: {sentence}")


def external_url(server: str | None) -> str:
    """The external server's address, where --server names one; empty for a private server's name."""
    return server if server is not None and "://" in server else ""


def let_into(options: AccessOptions) -> ExternalAccess:
    """How to get into the external server; a password is asked for where there is a terminal. UserMistake."""
    return settle(options, getpass.getpass if sys.stdin.isatty() else None, warn=warn)


def external_of(options: AccessOptions, max_connections: int | None) -> ExternalAccess | None:
    """How to get into the external server of --server; None where it names none. UserMistake."""
    if options.url:
        if "," in options.url:
            raise UserMistake(
                "--server: an external server is measured by itself",
                remedy="name one address, or specimens alone (a comma of the schema's name is written %2C)",
            )
        return let_into(options)
    if max_connections is not None:
        raise needs_external("--max-connections", "--server")
    _check_private(options, "--server")
    return None


@contextmanager
def accessed(options: AccessOptions, say: Callable[[str], None]) -> Iterator[ExternalAccess]:
    """How to get into it; a private one runs until the block is left. Raises UserMistake for bad options."""
    if "://" in options.url:
        yield let_into(options)
        return
    _check_private(options)
    if options.url and not is_specimen_name(options.url):
        raise UserMistake(
            "what was given is neither the URL of a server nor the name of a private one",
            remedy=f"{address.SHAPE}; `tlstax specimens list` names the private ones",
        )
    with private_access(options.url or None, say) as access:
        yield access


def _check_private(options: AccessOptions, where: str = "") -> None:
    """UserMistake for what a private server is not given."""
    for name in options.given():
        raise needs_external(name, where)


def needs_external(option: str, where: str = "") -> UserMistake:
    """That this option is about an external server, and none was named; `where` is the option that names one.

    Empty for a command whose argument names it.
    """
    there = f" with {where}" if where else ""
    return UserMistake(
        f"{option} needs the address of an external server",
        remedy=f"give its mysql:// address{there}, or leave the option out",
    )


@contextmanager
def private_access(name: str | None, say: Callable[[str], None]) -> Iterator[ExternalAccess]:
    """How to get into a server of this name, None for the default one; it runs until the block is left.

    Raises UserMistake for an unknown name, MachineFault where it cannot be fetched or started.
    """
    build = default_server(say) if name is None else named_server(name, say)
    with open_session() as session:
        say(f"starting {build.specimen.name}")
        with PrivateServer.start(build, session) as server:
            with server.admin() as database:
                accounts.let_it_see_connections(database)
            account, endpoint = server.load_account, server.endpoint()
            yield ExternalAccess(
                address=ExternalAddress(
                    host=endpoint.host, port=endpoint.port, user=account.user, schema=account.database
                ),
                user=account.user,
                password=account.password,
            )


SERVER = "server"


@dataclass(frozen=True)
class ExternalServers:
    """The external servers that were named, by their level of the factor `server`.

    A level is the server's address, `db.example:3306` or the path of a socket; None of one that is alone, in
    a study that names no server.
    """

    options: ExternalOptions = field(default_factory=ExternalOptions)
    by_level: Mapping[str | None, AccessOptions] = field(default_factory=dict)
    level_of: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_level)

    @property
    def levels(self) -> tuple[str, ...]:
        """Their levels of the factor `server`."""
        return tuple(level for level in self.by_level if level is not None)

    def alone(self) -> ExternalServers:
        """The same of a study that names no server."""
        (options,) = self.by_level.values()
        return replace(self, by_level={None: options}, level_of={})

    def named(self, texts: Sequence[str]) -> tuple[str, ...]:
        """The levels of servers that were typed, addresses as they are called."""
        return tuple(self.level_of.get(text, text) for text in texts)

    def side(self, text: str) -> str:
        """A `factor=level` as it was typed, with an address as it is called; a level may have a comma."""
        factor, equals, level = text.partition("=")
        return (
            f"{factor}{equals}{self.level_of.get(level.strip(), level)}" if factor.strip() == SERVER else text
        )

    def setting(self, text: str) -> str:
        """A `factor=level,…` as it was typed, with addresses as they are called."""
        factor, equals, levels = text.partition("=")
        if factor.strip() != SERVER:
            return text
        return f"{factor}{equals}{','.join(self.named([level.strip() for level in levels.split(',')]))}"


def external_among(
    typed: Iterable[str], options: ExternalOptions, where: str = "--server"
) -> ExternalServers:
    """The external servers among servers that were typed, in their order; `where` is how they are.

    Options of which there is one for each are told apart. UserMistake for a bad address, for two that are
    called the same, and for options without an external server.
    """
    urls = [text for text in dict.fromkeys(typed) if "://" in text]
    if not urls:
        for name in options.given():
            raise needs_external(name, where)
        return ExternalServers(options)
    each = external_access.of_each(options.access, urls)
    by_level: dict[str | None, AccessOptions] = {}
    level_of: dict[str, str] = {}
    for url, own in zip(urls, each, strict=True):
        level = str(external_access.address_of(own))
        if level in by_level:
            raise UserMistake(
                f"{level} is named twice, and would be compared with itself",
                remedy="name each server once, by one address",
            )
        by_level[level], level_of[url] = own, level
    return ExternalServers(options, by_level, level_of)


def typed_servers(settings: Iterable[str]) -> tuple[str, ...]:
    """What `server=…` names among settings as they were typed."""
    found: list[str] = []
    for setting in settings:
        factor, _, levels = setting.partition("=")
        if factor.strip() == SERVER:
            found += [level.strip() for level in levels.split(",")]
    return tuple(found)


@dataclass(frozen=True)
class Allowed:
    """What a command lets external servers change of its study: see `Leeway`; `asks_plaintext` if named."""

    fewer_connections: bool = False
    no_tables: bool = False
    asks_plaintext: bool = False
    looks: bool = False
    raises_load: bool = False


def let_in(study: Study, servers: ExternalServers, allowed: Allowed) -> tuple[Study, ExternalRequest]:
    """How to get into each of the servers, and the study without plaintext where TLS is demanded.

    Passwords may be asked for. UserMistake for the name of no private server, where what is there is not
    enough to get in, where TLS is demanded and the study logs in without, and for a workload of the user's
    own that a server is not to be given.
    """
    for name in study.levels_of().get(SERVER, ()):
        if name not in servers.by_level:
            check_server_name(str(name))
    ask = getpass.getpass if sys.stdin.isatty() else None
    check = _checking_tls(study, servers.options, allowed)
    if len(servers.by_level) > 1:
        # Nobody types one server's password only to be told of a mistake in what was said of the next.
        for own in servers.by_level.values():
            settle(own, ask and (lambda _: ""), check)
    accesses = {level: settle(own, ask, check, warn) for level, own in servers.by_level.items()}
    demanded_by = {
        level: f"{access.tls.mode_by} demands TLS (--allow-plaintext measures plaintext too)"
        for level, access in accesses.items()
        if _demands(access.tls, study, servers.options)
    }
    if demanded_by:
        study = _over_tls_alone(study)
    for level, access in accesses.items():
        check_clients(study, level, access, allow_plaintext=servers.options.allow_plaintext)
        check_workloads(study.workloads.values(), access.address.schema or OWN_SCHEMA, EXTERNAL_TABLES)
    leeway = Leeway(
        at_most=servers.options.max_connections,
        fewer_connections=allowed.fewer_connections,
        no_plaintext=not allowed.asks_plaintext,
        tls_demanded_by=demanded_by,
        no_tables=allowed.no_tables,
        looks=allowed.looks,
        raises_load=allowed.raises_load,
    )
    return study, ExternalRequest(accesses, leeway)


def _demands(tls: ExternalTls, study: Study, options: ExternalOptions) -> bool:
    """Whether how TLS is to be used rules out the cases in the clear that the study has."""
    return tls.mode in DEMANDING and has_plaintext(study) and not options.allow_plaintext


def _checking_tls(study: Study, options: ExternalOptions, allowed: Allowed) -> Callable[[ExternalTls], None]:
    def check(tls: ExternalTls) -> None:
        if tls.mode == "DISABLED":
            raise UserMistake(
                f"{tls.mode_by} leaves nothing to compare",
                remedy="plaintext is measured beside TLS anyway",
            )
        if _demands(tls, study, options) and allowed.asks_plaintext:
            raise UserMistake(
                f"{tls.mode_by} demands TLS, and --tls off logs in without it",
                remedy="permit it with --allow-plaintext; even then the password itself goes over TLS alone",
            )

    return check


def _over_tls_alone(study: Study) -> Study:
    """The study without plaintext, with a question of its own. UserMistake where nothing is left."""
    changed = without_plaintext(study)
    if changed is None:
        raise UserMistake(
            "without plaintext nothing is left to be compared", remedy="name TLS versions with --tls"
        )
    return asking_what_is_there(changed, study)
