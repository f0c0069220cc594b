"""The servers that options name: private ones by names, external ones by addresses; and machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tlstax.cli import quantities
from tlstax.cli.options import ClusterOptions, ExternalOptions
from tlstax.study.product import is_postgresql_url
from tlstax.study.server_abilities import EXTERNAL_POSTGRESQL, UNNAMED, ServerAbilities, product_named
from tlstax.support.errors import UserMistake
from tlstax.support.installation import is_clone

if TYPE_CHECKING:
    from tlstax.external.access import AccessOptions


def external_url(server: str | None) -> str:
    """The external server's address, where --server names one; empty for a private server's name."""
    return server if server is not None and "://" in server else ""


def is_of_postgresql(server: str | None) -> bool:
    """Whether a server of --server is a PostgreSQL, by its address or by its name."""
    return is_postgresql_url(server or "") or product_named(server) == "postgresql"


def needs_external(option: str, where: str = "") -> UserMistake:
    """That this option is about an external server, and none was named; `where` is the option that names one.

    Empty for a command whose argument names it.
    """
    there = f" with {where}" if where else ""
    return UserMistake(
        f"{option} needs the address of an external server",
        remedy=f"give its mysql:// or postgres:// address{there}, or leave the option out",
    )


SERVER = "server"
"""The factor whose levels servers are."""


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

    @property
    def abilities(self) -> dict[str, ServerAbilities]:
        """What they can do, as far as their addresses say that."""
        urls = {level or UNNAMED: own.url for level, own in self.by_level.items()}
        return {level: EXTERNAL_POSTGRESQL for level, url in urls.items() if is_postgresql_url(url)}

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
    texts = tuple(typed)
    urls = [text for text in dict.fromkeys(texts) if "://" in text]
    if not urls:
        for name in options.given():
            raise needs_external(name, where)
        return ExternalServers(options)
    # Who measures private servers needs nothing of what gets into others.
    from tlstax.external import access as external_access
    from tlstax.external import libpq

    libpq.check_one_host(texts)
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
class AskedCluster:
    """The address of a Ray cluster's head, and the names of the machines that are wanted; empty for all.

    With `clients_on` the load comes from these machines, and private servers run on `server_on`. With
    `is_trusted` the user says that nobody else is on the network between them.
    """

    address: str
    names: tuple[str, ...] = ()
    server_on: str | None = None
    clients_on: tuple[str, ...] = ()
    is_trusted: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names of all machines that are wanted; empty for all that there are."""
        server = (self.server_on,) if self.server_on is not None else ()
        return (*self.names, *server, *self.clients_on)


def asked_cluster(options: ClusterOptions) -> AskedCluster | None:
    """What --ray and the options that go with it ask for; None for this machine. UserMistake for no name."""
    given = {"--on": options.on, "--server-on": options.server_on, "--clients-on": options.clients_on}
    names = {option: quantities.names(value, option) for option, value in given.items() if value is not None}
    if options.clients_on is not None and options.on is not None:
        raise UserMistake(
            "--on spreads blocks over machines, and with --clients-on one block runs on all of them",
            remedy="leave one of the two out",
        )
    if options.ray is None:
        return None
    check_can_supply()
    (server,) = names.get("--server-on", (None,))[:1]
    if len(names.get("--server-on", ())) > 1:
        raise UserMistake("--server-on names one machine", remedy="give the others to --clients-on")
    clients = names.get("--clients-on", ())
    if server in clients:
        raise UserMistake(
            f"{server} is in both --server-on and --clients-on",
            remedy="give each machine one of the two parts",
        )
    return AskedCluster(options.ray, names.get("--on", ()), server, clients, options.trust_network)


def check_can_supply() -> None:
    """UserMistake where there is nothing to send to other machines: a wheel has no sources."""
    if not is_clone():
        raise UserMistake(
            "other machines are sent the sources of a clone, and this tlstax was installed from a wheel",
            remedy="clone the repository, and start ./tlstax there",
        )


def check_has_server(cluster: AskedCluster) -> None:
    """UserMistake where it is said where the load comes from, but not where the private servers run."""
    if cluster.clients_on and cluster.server_on is None:
        raise UserMistake(
            "--clients-on needs to know where the server runs",
            remedy="name its machine with --server-on, or an external server with --server mysql://…",
        )
