"""Other addresses by which an external server's data is reached: a proxy, a balancer, a tunnel of the user's.

Whatever stands there is proved to lead to the same server, before anything is measured through it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from tlstax.contract import Endpoint
from tlstax.external import connection as external_connection
from tlstax.external import failures as external_failures
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.tls import ExternalTls
from tlstax.products.external import external_product
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.study.level_names import DIRECT
from tlstax.support.credentials import quoted
from tlstax.support.errors import TlstaxError, UserMistake

SHAPE = "write a name of your own and where it listens, such as proxy=proxy.example:6033"

TRIED = 3
"""How many connections are made through each, one after another: who shares out connections shows it."""

_FORM = re.compile(r"([a-z][a-z0-9-]{0,31})=(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]/@\s]+)):([0-9]{1,5})")


@dataclass(frozen=True)
class Way:
    """What was seen of an address: where load clients connect, how soon it answers, whether it offers TLS.

    `takes_plaintext` is whether a login without TLS succeeds there, None where that was not tried.
    """

    endpoint: Endpoint
    round_trip_s: float
    offers_tls: bool
    takes_plaintext: bool | None = None


def parse(texts: Sequence[str]) -> dict[str, ExternalAddress]:
    """From `direct` and `name=host:port`; the server's own address has no entry. Raises UserMistake."""
    found: dict[str, ExternalAddress] = {}
    for text in texts:
        if text == DIRECT:
            continue
        match = _FORM.fullmatch(text)
        port = int(match[4]) if match else 0
        if match is None or not 0 < port < 1 << 16:
            raise UserMistake(f"--address: {quoted(text)} is not an address with a name", remedy=SHAPE)
        if match[1] == DIRECT or match[1] in found:
            raise UserMistake(f"--address: {match[1]} is named twice", remedy="give each a name of its own")
        found[match[1]] = ExternalAddress(host=match[2] or match[3], port=port)
    return found


def look(  # noqa: PLR0913 (who logs in where, and three with a default)
    access: ExternalAccess,
    schema: str | None,
    addresses: Mapping[str, ExternalAddress],
    *,
    option: str = "--address",
    tls: ExternalTls | None = None,
    in_the_clear: bool = False,
) -> dict[str, Way]:
    """Log in through each of these addresses, and see that the server of `access` is behind it every time.

    `option` is what they were named by, `tls` how TLS is used there, None for as at the server itself. One
    that has let somebody in over TLS is tried `in_the_clear` as well. UserMistake where another server is
    there, or nobody is let in; MachineFault where nothing answers.
    """
    if not addresses:
        return {}
    with _logged_in(access, schema) as database:
        own = _node(access, database)
    found, asked = {}, external_product(access.product)
    for name, address in addresses.items():
        own_address = replace(access.address, host=address.host, port=address.port, socket=None)
        there = replace(access, address=own_address, tls=tls or access.tls)
        try:
            for _ in range(TRIED - 1):
                with _logged_in(there, schema) as database:
                    _check_same(there, database, own)
            with _logged_in(there, schema) as database:
                _check_same(there, database, own)
                offers_tls = asked.server_tls.offers_tls(database)
                round_trip_s = answers.round_trip_s(database)
            takes = _takes_plaintext(there, schema) if in_the_clear and offers_tls else None
            found[name] = Way(address.endpoint, round_trip_s, offers_tls, takes)
        except _AnotherServer as another:
            raise UserMistake(
                f"{option} {name}: {address} leads to another server than {access.address}",
                remedy="name a way to the same server: what lies between them would be compared with it",
            ) from another
        except TlstaxError as fault:
            raise type(fault)(f"{option} {name}: {fault.message}", remedy=fault.remedy) from fault
    return found


def check_are_several(servers: Sequence[ExternalAccess]) -> None:
    """Log in at each of these servers, one after another, and see that they are several.

    UserMistake where two are one server by two addresses, or nobody is let in; MachineFault where one does
    not answer.
    """
    known: dict[str, ExternalAccess] = {}
    for access in servers:
        with _logged_in(access, access.address.schema) as database:
            node = _node(access, database)
        if node in known:
            raise UserMistake(
                f"{known[node].address} and {access.address} are one server, which would be compared with "
                "itself",
                remedy="name it once; --address compares several ways to one server",
            )
        known[node] = access


def _takes_plaintext(access: ExternalAccess, schema: str | None) -> bool:
    """Whether this account, which is let in there over TLS, is let in without."""
    try:
        with _logged_in(replace(access, tls=ExternalTls(mode="DISABLED")), schema):
            return True
    except TlstaxError:
        return False


class _AnotherServer(Exception):
    """A login came to another server."""


def _node(access: ExternalAccess, database: Database) -> str:
    """What tells the server at the other end from all others."""
    return external_product(access.product).server_facts.identity(database).node


def _check_same(access: ExternalAccess, database: Database, node: str) -> None:
    if _node(access, database) != node:
        raise _AnotherServer


@contextmanager
def _logged_in(access: ExternalAccess, schema: str | None) -> Iterator[Database]:
    """A connection of the user's account there; what the server refuses meanwhile is told in a sentence."""
    with closing(external_connection.connect(access, schema)) as database:
        try:
            yield database
        except SqlError as error:
            raise external_failures.of_refusal(access, error) from error
