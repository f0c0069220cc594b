"""The load clients that studies may name."""

from __future__ import annotations

from tlstax.study.client_kinds import engine, floor, mysqlslap, sysbench
from tlstax.study.client_kinds.driver import kind_of_driver
from tlstax.study.client_kinds.kind import ClientKind
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.level_names import Level

PROGRAMS: tuple[ClientKind, ...] = (engine.KIND, sysbench.KIND, floor.KIND, *mysqlslap.KINDS)
"""Load clients that are no drivers."""

KINDS: dict[str, ClientKind] = {kind.name: kind for kind in PROGRAMS} | {
    name: kind_of_driver(name) for name in DRIVERS
}
"""By their names, which are the levels of the factor `client`."""


def kind_of(name: str) -> ClientKind:
    """The load client of that name.

    A study can name a listed one alone (`factors.check_level`). One of another name is a driver: it was
    measured elsewhere, from a folder of drivers that this machine has not, or has left the list since.
    """
    return KINDS.get(name) or kind_of_driver(name)


def client_words(client: Level) -> str:
    """What a load client is called: "the engine", "mysqlslap 8.0.33", "Connector/J 8.0.16"."""
    return kind_of(str(client)).words
