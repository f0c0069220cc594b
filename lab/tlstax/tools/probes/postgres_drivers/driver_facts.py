"""What is kept of drivers of PostgreSQL and comes with tlstax, read off a probe of them.

`setup/renew-drivers` probes them and writes it; `inspect` tells from it who could connect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import tlstax
from tlstax.observers.machine import describe_machine
from tlstax.records.capture import Hello
from tlstax.run.pipeline import Watcher
from tlstax.store import Store
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.tools.probes.drivers.probe import ProbeRequest
from tlstax.tools.probes.postgres_drivers.document import (
    Over,
    PostgresDriverRow,
    PostgresProbe,
    ServerState,
    Trick,
    WordRow,
)
from tlstax.tools.probes.postgres_drivers.probe import probe_postgres
from tlstax.tools.probes.postgres_drivers.words import Meaning, words_of
from tlstax.topics.inspection.known_drivers import KnownDriver, KnownDrivers, KnownLogin, Verified

SCRAM = "scram-sha-256"
ASKED_BY: Mapping[str, Trick] = {"md5": "md5", "password": "clear password"}
"""Other methods, and which trick of a probe asks for an account's proof by them."""

WRONG: Mapping[Verified, ServerState] = {
    "authority": "unknown authority",
    "host": "other host",
    "expiry": "expired",
}
"""What is wrong with the certificate that a driver refuses if it verifies this."""


def measured_drivers(names: Sequence[str], store: Callable[[], Store], watcher: Watcher) -> KnownDrivers:
    """Everything that is kept of these drivers. MachineFault where a server or a driver is not to be had."""
    found = probe_postgres(ProbeRequest(tuple(names), attacks=True), store, watcher)
    if found.status == "interrupted":
        raise Interrupted
    return known_from(found, datetime.now(UTC).date().isoformat(), describe_machine().distribution)


def known_from(found: PostgresProbe, at: str, distribution: str) -> KnownDrivers:
    """What is kept of a probe with attacks, of that day. MachineFault for a driver that broke off."""
    for row in found.drivers:
        if row.failed is not None:
            raise MachineFault(f"{row.name}: {row.failed}")
    return KnownDrivers(
        at=at,
        tlstax_version=tlstax.__version__,
        distribution=distribution,
        servers={found.server: found.server_version},
        drivers=tuple(_known(row, found.server) for row in found.drivers),
    )


def _known(row: PostgresDriverRow, server: str) -> KnownDriver:
    """One driver; what is offered over TLS is by the first word that brings it there."""
    said = {word.meaning: word for word in row.words}
    unsaid, required = said["nothing"], said[_plainest(row.name)]
    hello = next(_hellos(row))
    return KnownDriver(
        name=row.name,
        product=row.product,
        version=row.version,
        language=row.language,
        client_version="",
        can_require=required.outcome("right") == "encrypted",
        versions={server: tuple(sorted(own.replace("TLSv", "TLS ") for own in hello.versions))},
        cipher_suites=hello.cipher_suites,
        groups=hello.groups,
        signatures=hello.signatures,
        takes_rsa_1024=None,
        verifies=_verified(required),
        verifies_by_default=_verified(unsaid),
        demands_tls=unsaid.outcome("no TLS") == "refused",
        logins=tuple(_logins(row, server, encrypts=unsaid.outcome("right") == "encrypted")),
    )


def _plainest(name: str) -> Meaning:
    """How its users say that TLS is required, and nothing more."""
    own = (word.meaning for word in words_of(name) if word.mode == "required")
    return next(own, "require")


def _hellos(row: PostgresDriverRow) -> Iterator[Hello]:
    """Its ClientHellos to the real server."""
    for word in row.words:
        for met in word.met:
            yield from (talk.tls.hello for talk in met.conversations if talk.tls is not None)


def _verified(word: WordRow) -> tuple[Verified, ...]:
    """What it refuses of a certificate when it is told that."""
    return tuple(own for own, state in WRONG.items() if word.outcome(state) == "refused")


def _logins(row: PostgresDriverRow, server: str, *, encrypts: bool) -> Iterator[KnownLogin]:
    """By each method, as far as the driver came to it both in the clear and over TLS."""
    for plugin in (SCRAM, *ASKED_BY):
        clear, encrypted = _said(row, plugin, "clear"), _said(row, plugin, "TLS")
        if clear is not None and encrypted is not None:
            yield KnownLogin(
                server=server, plugin=plugin, encrypts=encrypts, in_clear=clear, over_tls=encrypted
            )


def _said(row: PostgresDriverRow, plugin: str, over: Over) -> str | None:
    """What it said where it could not log in so, empty where it could; None where it did not come to it.

    It is asked for more than SCRAM by a server that shows a certificate of nobody.
    """
    for word in row.words:
        if plugin == SCRAM:
            login = next((own for own in word.logins if own.over == over), None)
            if login is not None:
                return login.words
        elif (over == "clear" or word.takes_any_certificate) and (
            attack := word.attack(ASKED_BY[plugin], over)
        ):
            return "" if attack.ran else attack.words or "it ended the login"
    return None
