"""Drivers, each with our program around it: what a line of `drivers/drivers.toml` says that one can do."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.study.client_kinds.kind import ClientKind, Limit, Wanted
from tlstax.study.client_kinds.limits import of_other_makers
from tlstax.study.driver_catalogue import DRIVERS, Driver
from tlstax.study.level_names import UNIX_SOCKET
from tlstax.study.workloads.user_defined import is_one_sequence
from tlstax.support.text import counted

_TRANSACTIONS = frozenset({"oltp-read-only", "oltp-read-write"})
"""Built-in workloads whose operations are transactions."""


def kind_of_driver(name: str) -> ClientKind:
    """The driver of that name; one that is on no list is asked nothing beyond what all drivers are."""
    driver = DRIVERS.get(name)
    if driver is None:
        return ClientKind(name, name, of_other_makers, is_driver=True, takes_turns=True)

    def limits(wanted: Wanted) -> Iterable[Limit]:
        yield from of_other_makers(wanted)
        yield from _of_its_line(driver, wanted)

    words = f"{driver.product.removeprefix('MySQL ')} {driver.version}"
    return ClientKind(name, words, limits, is_driver=True, takes_turns=True)


def _of_its_line(driver: Driver, wanted: Wanted) -> Iterable[Limit]:
    case, own = wanted.case, wanted.workload.own
    yield case.cipher != "default", "takes no cipher suite from tlstax"
    yield (
        case.workload in _TRANSACTIONS or (own is not None and not is_one_sequence(own)),
        "does the same statements in every operation, and no transactions",
    )
    yield case.path == UNIX_SOCKET and not driver.unix_socket, "connects only over TCP"
    prepares = "prepared" in driver.protocols
    yield wanted.workload.is_prepared and not prepares, "prepares nothing (protocol = text)"
    yield not wanted.workload.is_prepared and "text" not in driver.protocols, "sends only prepared statements"
    yield (
        driver.connections is not None and case.connections > driver.connections,
        f"keeps only {counted(driver.connections or 0, 'connection')}",
    )
