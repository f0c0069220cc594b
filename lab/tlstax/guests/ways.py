"""Other addresses by which an external server's data is reached: a proxy, a balancer, a tunnel of the user's.

Whatever stands there is proved to lead to the same server, before anything is measured through it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from tlstax.contract import Endpoint
from tlstax.guests import connection as guest_connection
from tlstax.guests import refusals as guest_refusals
from tlstax.guests.access import GuestAccess
from tlstax.guests.address import GuestAddress
from tlstax.mysql import server_facts, tls_facts
from tlstax.mysql.database import SqlError
from tlstax.study.level_names import DIRECT
from tlstax.support.credentials import quoted
from tlstax.support.errors import TlstaxError, UserMistake

SHAPE = "write a name of your own and where it listens, such as proxy=proxy.example:6033"

TRIED = 3
"""How many connections are made through each, one after another: who shares out connections shows it."""

_FORM = re.compile(r"([a-z][a-z0-9-]{0,31})=(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]/@\s]+)):([0-9]{1,5})")


@dataclass(frozen=True)
class Way:
    """What was seen of an address: where load clients connect, how soon it answers, whether it offers TLS."""

    endpoint: Endpoint
    round_trip_s: float
    offers_tls: bool


def parse(texts: Sequence[str]) -> dict[str, GuestAddress]:
    """From `direct` and `name=host:port`; the server's own address has no entry. Raises UserMistake."""
    found: dict[str, GuestAddress] = {}
    for text in texts:
        if text == DIRECT:
            continue
        match = _FORM.fullmatch(text)
        port = int(match[4]) if match else 0
        if match is None or not 0 < port < 1 << 16:
            raise UserMistake(f"--address: {quoted(text)} is not an address with a name", remedy=SHAPE)
        if match[1] == DIRECT or match[1] in found:
            raise UserMistake(f"--address: {match[1]} is named twice", remedy="give each a name of its own")
        found[match[1]] = GuestAddress(host=match[2] or match[3], port=port)
    return found


def look(access: GuestAccess, schema: str | None, addresses: Mapping[str, GuestAddress]) -> dict[str, Way]:
    """Log in through each of these addresses, and see that the server of `access` is behind it every time.

    UserMistake where another one is, or nobody is let in; MachineFault where nothing answers.
    """
    if not addresses:
        return {}
    own = _seen(access, schema)
    found = {}
    for name, address in addresses.items():
        there = replace(
            access, address=replace(address, user=access.address.user, schema=access.address.schema)
        )
        for _ in range(TRIED):
            try:
                node, way = _seen(there, schema)
            except TlstaxError as fault:
                raise type(fault)(f"--address {name}: {fault.message}", remedy=fault.remedy) from fault
            if node != own[0]:
                raise UserMistake(
                    f"--address {name}: {address} leads to another server than {access.address}",
                    remedy="name a way to the same server: what lies between them would be compared with it",
                )
        found[name] = way
    return found


def check_are_several(servers: Sequence[GuestAccess]) -> None:
    """Log in at each of these servers, one after another, and see that they are several.

    UserMistake where two are one server by two addresses, or nobody is let in; MachineFault where one does
    not answer.
    """
    known: dict[str, GuestAccess] = {}
    for access in servers:
        node, _ = _seen(access, access.address.schema)
        if node in known:
            raise UserMistake(
                f"{known[node].address} and {access.address} are one server, which would be compared with "
                "itself",
                remedy="name it once; --address compares several ways to one server",
            )
        known[node] = access


def _seen(access: GuestAccess, schema: str | None) -> tuple[str, Way]:
    """Which server answers at this address, and how."""
    with closing(guest_connection.connect(access, schema)) as database:
        try:
            node = server_facts.identity(database).node
            way = Way(
                access.address.endpoint,
                server_facts.round_trip_s(database),
                tls_facts.offers_tls(database),
            )
        except SqlError as error:
            raise guest_refusals.fault_of(access, error) from error
    return node, way
