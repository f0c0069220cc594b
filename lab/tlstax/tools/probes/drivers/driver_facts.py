"""What comes with tlstax of drivers, measured: each tried at private servers that take one thing alone.

`tlstax drivers probe` shows what a driver verifies; here it is seen with which versions of TLS it succeeds,
whether it takes a short key, by which plugins it logs in and which way, and what its ClientHello has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import get_args

import tlstax
from tlstax.clients.choice import obtain_client
from tlstax.contract import Account, TlsRequired, TlsUnset, TlsVersion
from tlstax.observers.machine import describe_machine
from tlstax.records.capture import Conversation
from tlstax.run.pipeline import Watcher
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session, open_session
from tlstax.store import Store
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.level_names import CACHING_SHA2, NATIVE_PASSWORD
from tlstax.study.tls_levels import ANY_KEY
from tlstax.support.errors import Interrupted
from tlstax.tools.probes.drivers.logins import encrypting, private_logins, try_driver
from tlstax.tools.probes.drivers.probe import OLDER_SERVER, ProbeRequest, probe
from tlstax.tools.probes.drivers.probed import DriverRow, Login
from tlstax.tools.probes.exchanged_certificates import ADDRESSES
from tlstax.topics.inspection.known_drivers import (
    KnownDriver,
    KnownDrivers,
    KnownLogin,
    LoginPath,
    Verified,
)

PLACES = (
    ("mysql-9.7", CACHING_SHA2),
    (OLDER_SERVER, NATIVE_PASSWORD),
    ("mysql-5.6.24", NATIVE_PASSWORD),
    ("mariadb-11.8", NATIVE_PASSWORD),
    ("mariadb-10.1-yassl", NATIVE_PASSWORD),
)
"""Where drivers log in, and by which plugins. What they offer is seen where they first come
over TLS."""

OLD_TLS = frozenset({"mysql-5.6.24", "mariadb-10.1-yassl"})
"""Whose TLS few drivers take: there a login over TLS is taken to go as one in the clear does."""

ANY_VERSION = "mariadb-10.5"
"""The newest server here whose TLS library has every version from TLS 1.0 to 1.3."""

OLD_CONF = (
    "openssl_conf = modules\n[modules]\nssl_conf = ssl\n[ssl]\nsystem_default = all\n"
    f"[all]\nMinProtocol = TLSv1\nCipherString = {ANY_KEY}\n"
)
VERSIONS_AT: Mapping[str, tuple[TlsVersion, ...]] = {
    ANY_VERSION: ("1.0", "1.1", "1.2", "1.3"),
    OLDER_SERVER: ("1.2", "1.3"),
    "mariadb-11.8": ("1.2", "1.3"),
}
"""Where drivers are shown one version of TLS alone: some offer by the version that the server says it has."""


CERTIFICATE = CertificateRequest(addresses=ADDRESSES)


def measured_drivers(names: Sequence[str], store: Callable[[], Store], watcher: Watcher) -> KnownDrivers:
    """Everything that is kept of these drivers. MachineFault where a server or a driver is not to be had."""
    gathering = {name: _Gathering(tuple(obtain_client(name, watcher.step).command)) for name in names}
    rows = _probed(names, store, watcher)
    servers: dict[str, str] = {}
    with open_session() as session:
        for place, plugin in PLACES:
            with _started(session, place, ServerSettings(certificate=CERTIFICATE), watcher) as server:
                servers[place] = server.version
                account = server.account_by(plugin)
                for name, known in gathering.items():
                    watcher.step(f"{name} logs in to {place} by {plugin}")
                    known.log_in(server, account, place, plugin)
        for place, versions in VERSIONS_AT.items():
            servers.setdefault(place, _try_versions(session, gathering, place, versions, watcher))
        settings = ServerSettings(
            certificate=replace(CERTIFICATE, key="rsa-1024"),
            openssl_conf=OLD_CONF,
            options=("--tls-version=TLSv1.2",),
        )
        with _started(session, OLDER_SERVER, settings, watcher) as server:
            for name, known in gathering.items():
                watcher.step(f"{name} at a server with a key of RSA 1024")
                known.takes_rsa_1024 = encrypting(known.command, server).shook_hands
    return KnownDrivers(
        at=datetime.now(UTC).date().isoformat(),
        tlstax_version=tlstax.__version__,
        distribution=describe_machine().distribution,
        servers=servers,
        drivers=tuple(known.driver(name, rows[name]) for name, known in gathering.items()),
    )


def _try_versions(
    session: Session,
    gathering: Mapping[str, _Gathering],
    place: str,
    versions: Sequence[TlsVersion],
    watcher: Watcher,
) -> str:
    """Show each driver these versions, one alone at a time; what the server says of its own version."""
    for known in gathering.values():
        known.versions[place] = ()
    for version in versions:
        old = (OLD_CONF, (f"--ssl-cipher={ANY_KEY}",)) if place == ANY_VERSION else ("", ())
        settings = ServerSettings(
            certificate=CERTIFICATE,
            openssl_conf=old[0],
            options=(f"--tls-version=TLSv{version}", *old[1]),
        )
        with _started(session, place, settings, watcher) as server:
            for name, known in gathering.items():
                watcher.step(f"{name} at {place} with TLS {version} alone")
                if encrypting(known.command, server).shook_hands:
                    known.versions[place] += (f"TLS {version}",)
            answer = server.version
    return answer


@dataclass
class _Gathering:
    """One driver's program, and what is known of it so far."""

    command: tuple[str, ...]
    logins: list[KnownLogin] = field(default_factory=list)
    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    offer: Conversation | None = None
    takes_rsa_1024: bool = False

    def log_in(self, server: PrivateServer, account: Account, place: str, plugin: str) -> None:
        """All ways of logging in by this plugin, and the ClientHello of the first that was over TLS."""
        unset = try_driver(self.command, server, TlsUnset(trusted_ca_file=server.ca_file), account)
        trials = private_logins(self.command, server, account, plugin, over_tls=place not in OLD_TLS)
        unknown = try_driver(self.command, server, TlsRequired(), account)
        begun = [trial.seen for trial in trials.over_tls.values() if trial.seen and trial.seen.tls]
        self.offer = self.offer or next(iter(begun), None)
        self.logins.append(known_login(place, unset.encrypted, trials.logins(), takes=not unknown.words))

    def driver(self, name: str, row: DriverRow) -> KnownDriver:
        """The driver as it is kept; of one that never began TLS nothing is known of what it offers."""
        hello = self.offer.tls.hello if self.offer is not None and self.offer.tls is not None else None
        catalogued = DRIVERS[name]
        return KnownDriver(
            name=name,
            product=catalogued.product,
            version=catalogued.version,
            language=catalogued.language,
            client_version=row.client_version or "",
            can_require=row.required is not None,
            versions=self.versions,
            cipher_suites=hello.cipher_suites if hello else (),
            groups=hello.groups if hello else (),
            signatures=hello.signatures if hello else (),
            takes_rsa_1024=self.takes_rsa_1024,
            verifies=_verifies(row.verified("when_required")),
            verifies_by_default=_verifies(row.verified("by_default")),
            logins=tuple(self.logins),
        )


def known_login(place: str, encrypts: bool | None, logins: Sequence[Login], *, takes: bool) -> KnownLogin:
    """The logins by one plugin at this server as they are kept; `takes` is of an unknown authority.

    Where none over TLS was tried, it is taken to go as one in the clear does.
    """
    said = {(own.tls, own.cache): own.words for own in logins}
    clear, cold = said.get(("off", "warm"), said.get(("off", None), "")), said.get(("off", "cold"), "")
    secret = [own.words for own in logins if own.tls == "verified"]
    return KnownLogin(
        server=place,
        plugin=logins[0].plugin,
        encrypts=encrypts,
        in_clear=clear,
        cold_in_clear=cold,
        over_tls=next((words for words in secret if words), "") if secret else clear,
        takes_unknown=takes,
        paths={
            f"{'in clear' if own.tls == 'off' else 'over TLS'}, {own.cache}": own.outcome
            for own in logins
            if own.cache is not None and own.outcome in get_args(LoginPath)
        },
    )


def _verifies(answers: Sequence[bool | None]) -> tuple[Verified, ...]:
    names: tuple[Verified, ...] = ("authority", "host", "expiry")
    return tuple(name for name, answer in zip(names, answers, strict=True) if answer)


def _probed(names: Sequence[str], store: Callable[[], Store], watcher: Watcher) -> dict[str, DriverRow]:
    """What `drivers probe` says of each, on an older server where it cannot log in to the usual one."""
    probed = probe(ProbeRequest(tuple(names)), store, watcher)
    if probed.status == "interrupted":
        raise Interrupted
    rows = {row.name: row for row in probed.drivers}
    failed = tuple(name for name, row in rows.items() if row.failed)
    if failed:
        older = probe(ProbeRequest(failed, server=OLDER_SERVER), store, watcher).drivers
        rows |= {row.name: row for row in older}
    return rows


def _started(session: Session, name: str, settings: ServerSettings, watcher: Watcher) -> PrivateServer:
    return PrivateServer.start(named_server(name, watcher.step), session, settings)
