"""Whom pg_hba.conf lets in: its lines in order, of which the first that fits a connection decides.

`pg_hba_file_rules` shows the file as it is now, with what it includes, and not who put a word in quotes: a
database that is called all is taken for all of them. Where a line has an error the server keeps what it had
read before, so that nothing is known.

Source: PostgreSQL documentation, "The pg_hba.conf File" and "pg_hba_file_rules".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Literal

from tlstax.postgres import settings
from tlstax.postgres.database import apart, named_database
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

REJECT: Final = "reject"
EVERYWHERE: Final[tuple[Network, ...]] = (ip_network("0.0.0.0/0"), ip_network("::/0"))

_IN_CLEAR: Final = frozenset({"host", "hostnossl", "hostnogssenc"})
_OVER_TLS: Final = frozenset({"host", "hostssl", "hostnogssenc"})
_FIRST_WITH_FILES: Final = 160000
_REGEX: Final = "/"
_ITS_ROLES: Final = frozenset({"samerole", "samegroup"})


@dataclass(frozen=True)
class Line:
    """A line: what kind of connection, to which databases, as which roles, from where, and how it is proved.

    `address` is as it is written, `netmask` empty where it has none.
    """

    kind: str
    databases: tuple[str, ...]
    users: tuple[str, ...]
    address: str
    netmask: str
    method: str

    def is_for(self, *, encrypted: bool) -> bool:
        """Whether it is for connections over TCP of this kind."""
        return self.kind in (_OVER_TLS if encrypted else _IN_CLEAR)

    @property
    def networks(self) -> tuple[Network | str, ...]:
        """The networks that it is for, a name or "samehost" and "samenet" as they are written."""
        if self.address == "all":
            return EVERYWHERE
        try:
            return (ip_network(f"{self.address}/{_bits(self.netmask)}", strict=False),)
        except ValueError:
            return (self.address,)

    @property
    def is_for_loopback(self) -> bool:
        """Whether it is for connections from the server's own machine alone, by their address."""
        return all(not isinstance(own, str) and own.is_loopback for own in self.networks)


@dataclass(frozen=True)
class Client:
    """Who connects over TCP: as which role, a member of which others, to which database, from where.

    `is_of_server` says that its address is one of the server's own. `fitting` has the regular expressions
    that fit a name, each with it, by the server's word.
    """

    user: str
    database: str
    address: Address
    encrypted: bool
    roles: frozenset[str] = frozenset()
    is_of_server: bool = False
    fitting: frozenset[tuple[str, str]] = frozenset()

    def is_named_by(self, line: Line) -> bool:
        """Whether the line is for its role and its database; that of replication is for no database."""
        return any(map(self._is_user, line.users)) and any(map(self._is_database, line.databases))

    def _is_user(self, word: str) -> bool:
        if word.startswith("+"):
            return word[1:] in self.roles
        return word in {"all", self.user} or (word, self.user) in self.fitting

    def _is_database(self, word: str) -> bool:
        if word == "sameuser":
            return self.database == self.user
        if word in _ITS_ROLES:
            return self.database in self.roles
        if word == "replication":
            return False
        return word in {"all", self.database} or (word, self.database) in self.fitting


def method_for(lines: Sequence[Line], client: Client) -> str | None:
    """By what the client is proved, "reject" where it is refused; None where a line with a name may decide.

    A host's name is looked up by the server, and which networks are its own it alone knows.
    """
    for line in lines:
        if line.is_for(encrypted=client.encrypted) and client.is_named_by(line):
            fits = [_comes_from(own, client) for own in line.networks]
            if True in fits:
                return line.method
            if None in fits:
                return None
    return REJECT


def _comes_from(network: Network | str, client: Client) -> bool | None:
    """Whether the client's address is in it; None where the server alone knows."""
    if not isinstance(network, str):
        return client.address in network
    is_loopback = client.address.is_loopback
    if network == "samehost" and (client.is_of_server or is_loopback):
        return client.is_of_server
    if network == "samenet" and (client.is_of_server or is_loopback):
        return True
    return None


Kind = Literal["host", "hostssl", "hostnossl"]


def reached(lines: Sequence[Line]) -> Iterator[tuple[Kind, Line]]:
    """The lines over TCP that let somebody in, each with the kind of connections that come as far as it.

    One that earlier ones are before for all that it is for lets nobody in.
    """
    for line, comes in _with_who_comes(lines):
        if comes:
            kind: Kind = "host" if len(comes) > 1 else "hostssl" if comes[0] else "hostnossl"
            yield kind, line


def behind(lines: Sequence[Line]) -> Iterator[Line]:
    """The other lines over TCP that would let somebody in: no connection comes as far."""
    return (line for line, comes in _with_who_comes(lines) if not comes)


def _with_who_comes(lines: Sequence[Line]) -> Iterator[tuple[Line, list[bool]]]:
    """The lines that let in over TCP, each with whether who comes as far is encrypted: one, both, or none."""
    for place, line in enumerate(lines):
        kinds = [encrypted for encrypted in (True, False) if line.is_for(encrypted=encrypted)]
        if kinds and line.method != REJECT:
            yield line, [own for own in kinds if not _is_behind(line, lines[:place], encrypted=own)]


def _is_behind(line: Line, earlier: Sequence[Line], *, encrypted: bool) -> bool:
    """Whether for connections of this kind all that the line is for is decided by the earlier ones."""
    before = [
        network
        for own in earlier
        if own.is_for(encrypted=encrypted)
        and _covers(own.databases, line.databases, not_in_all="replication")
        and _covers(own.users, line.users)
        for network in own.networks
    ]
    return all(any(_has(own, network) for own in before) for network in line.networks)


def _covers(words: Sequence[str], others: Sequence[str], not_in_all: str = "") -> bool:
    return all(other in words or ("all" in words and other != not_in_all) for other in others)


def _has(own: Network | str, other: Network | str) -> bool:
    if isinstance(own, IPv4Network) and isinstance(other, IPv4Network):
        return other.subnet_of(own)
    if isinstance(own, IPv6Network) and isinstance(other, IPv6Network):
        return other.subnet_of(own)
    return own == other


def _bits(netmask: str) -> int:
    """How many bits a mask such as "255.255.0.0" or "ffff::" has. Raises ValueError."""
    return int(ip_address(netmask)).bit_count()


_READ: Final = (
    "SELECT type, to_json(database)::text, to_json(user_name)::text, COALESCE(address, ''),"
    " COALESCE(netmask, ''), auth_method, COALESCE(error, '') FROM pg_hba_file_rules ORDER BY {}"
)


def read(database: Database) -> tuple[Line, ...] | None:
    """The lines in their order; None where the account may not read them, or the file has an error.

    Raises SqlError where the connection failed.
    """
    try:
        number = "rule_number" if settings.version_number(database) >= _FIRST_WITH_FILES else "line_number"
        found = answers.rows(apart(database), _READ.format(number), columns=7)
    except SqlError as error:
        if error.is_of_connection:
            raise
        return None
    if any(error for *_, error in found):
        return None
    return tuple(
        Line(str(kind), _words(databases), _words(users), str(address), str(netmask), str(method))
        for kind, databases, users, address, netmask, method, _ in found
    )


def _words(text: object) -> tuple[str, ...]:
    """The words of a list in JSON. Raises Malformed."""
    try:
        words = json.loads(str(text))
    except ValueError:
        words = None
    if not isinstance(words, list):
        raise answers.Malformed(f"{str(text)[:40]!r} was answered where a list was expected")
    return tuple(map(str, words))


_WHO: Final = """
SELECT session_user, {}, COALESCE(host(inet_client_addr()), ''),
       COALESCE(inet_client_addr() = inet_server_addr(), false)::int,
       (WITH RECURSIVE mine(oid) AS (
            SELECT oid FROM pg_roles WHERE rolname = session_user
            UNION SELECT roleid FROM pg_auth_members JOIN mine ON member = mine.oid)
        SELECT json_agg(rolname)::text FROM pg_roles JOIN mine USING (oid))
"""
"""A superuser is a member of those roles alone that it was given (documentation, "+" before a role)."""


def own_client(database: Database, lines: Sequence[Line], *, encrypted: bool) -> Client | None:
    """The account of this connection, from its address; None where it came over a socket.

    Raises SqlError.
    """
    found = answers.row(apart(database), _WHO.format(named_database(database)), columns=5)
    user, into, came_from, is_of_server, roles = found
    if not came_from:
        return None
    try:
        address = ip_address(str(came_from))
    except ValueError as error:
        raise answers.Malformed(
            f"{str(came_from)[:40]!r} was answered where an address was expected"
        ) from error
    client = Client(
        str(user), str(into), address, encrypted, frozenset(_words(roles)), bool(answers.number(is_of_server))
    )
    return fitted(database, lines, client)


def fitted(database: Database, lines: Sequence[Line], client: Client) -> Client:
    """The client with the regular expressions that fit its names, by the server's word. Raises SqlError."""
    if settings.version_number(database) < _FIRST_WITH_FILES:
        return client
    return replace(client, fitting=frozenset(_fitting(database, lines, client)))


def _fitting(database: Database, lines: Sequence[Line], client: Client) -> Iterator[tuple[str, str]]:
    asked = {(word, client.user) for line in lines for word in line.users}
    asked |= {(word, client.database) for line in lines for word in line.databases}
    for word, name in sorted(asked):
        if word.startswith(_REGEX):
            (fits,) = answers.row(apart(database), "SELECT (%s ~ %s)::int", name, word[1:], columns=1)
            if answers.number(fits):
                yield word, name
