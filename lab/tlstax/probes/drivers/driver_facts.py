"""What comes with tlstax of drivers, measured: each tried at private servers that take one thing alone.

`tlstax drivers probe` shows what a driver verifies; here it is seen with which versions of TLS it succeeds,
whether it takes a short key, by which plugins it logs in and which way, and what its ClientHello has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import tlstax
from tlstax.clients.choice import obtain_client
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import (
    Account,
    DriverTerms,
    Job,
    Statement,
    Tls,
    TlsOff,
    TlsOn,
    TlsRequired,
    TlsUnset,
    TlsVersion,
    Workload,
)
from tlstax.findings.inspection.known_drivers import (
    KnownDriver,
    KnownDrivers,
    KnownLogin,
    LoginPath,
    Verified,
)
from tlstax.mysql import accounts, login
from tlstax.mysql.session import ASKS_NOTHING
from tlstax.observers.machine import describe_machine
from tlstax.probes.drivers.probe import OLDER_SERVER, ProbeRequest, probe
from tlstax.probes.drivers.probe_document import DriverRow
from tlstax.probes.drivers.served_certificates import ADDRESSES
from tlstax.records.capture import Conversation
from tlstax.run.pipeline import Watcher
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.ports import NO_LOCALHOST
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session, open_session
from tlstax.store import Store
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.legacy_tls import ANY_KEY
from tlstax.support.errors import Interrupted
from tlstax.tap.opening import open_tap

WITHIN_S, TIMEOUT_S = 60.0, 5.0
LONGEST_WORDS = 120

CACHING, NATIVE = "caching_sha2_password", "mysql_native_password"

PLACES = (
    ("mysql-9.7", CACHING),
    (OLDER_SERVER, NATIVE),
    ("mysql-5.6.24", NATIVE),
    ("mariadb-11.8", NATIVE),
    ("mariadb-10.1-yassl", NATIVE),
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

KEY_TURNS, FULL_TURNS = 2, 1
"""How much more a login by caching_sha2_password takes than one that the server remembers: the key and the
password under it, or over TLS the password alone."""


@dataclass(frozen=True)
class Trial:
    """What became of one connection: the driver's words where it was refused, and what a tap saw."""

    words: str
    kinds: tuple[str, ...]
    seen: Conversation | None

    @property
    def encrypted(self) -> bool | None:
        """Whether it went on to TLS, or tried to; None where it failed before that could be seen."""
        if self.seen is not None and self.seen.tls is not None:
            return True
        return None if self.words else False

    @property
    def shook_hands(self) -> bool:
        """Whether its handshake succeeded, whatever became of the login."""
        seen = self.seen.tls if self.seen is not None else None
        return not self.words or (seen is not None and seen.finished)


def try_driver(
    command: Sequence[str],
    server: PrivateServer,
    tls: Tls,
    account: Account | None = None,
    options: Mapping[str, str] | None = None,
) -> Trial:
    """One connection of a driver's program to a private server, seen by a tap, with `options` of its own.

    A refusal is in the answer.
    """
    with open_tap(server.endpoint(), at=NO_LOCALHOST) as tap:
        job = Job(
            endpoint=tap.entry,
            account=account or server.load_account,
            tls=tls,
            workload=Workload(reconnect=False, statements=(Statement(sql=ASKS_NOTHING),)),
            connections=1,
            warmup_s=0.0,
            duration_s=WITHIN_S,
            timeout_s=TIMEOUT_S,
            operations=1,
            seed=1,
            row_samples=0,
            driver=DriverTerms(options=dict(options or {})),
        )
        words = ""
        kinds: tuple[str, ...] = ()
        try:
            with LoadClient(command, job) as client:
                client.wait_ready(WITHIN_S)
                client.go()
                client.wait_done(WITHIN_S)
        except ClientFailure as failure:
            words, kinds = str(failure), tuple(error.kind for error in failure.errors)
        talks = tap.capture().conversations
    begun = [talk for talk in talks if talk.tls is not None]
    return Trial(words, kinds, next(iter(begun or talks), None))


def encrypting(
    command: Sequence[str],
    server: PrivateServer,
    account: Account | None = None,
    options: Mapping[str, str] | None = None,
) -> Trial:
    """A connection over TLS that verifies as little as the driver can be told to."""
    for verify in ("none", "ca", "identity"):
        ca_file = None if verify == "none" else server.ca_file
        tls = TlsOn.model_validate({"verify": verify, "ca_file": ca_file})
        trial = try_driver(command, server, tls, account, options)
        if "bad_job" not in trial.kinds:
            break
    return trial


def measured_drivers(names: Sequence[str], store: Callable[[], Store], watcher: Watcher) -> KnownDrivers:
    """Everything that is kept of these drivers. MachineFault where a server or a driver is not to be had."""
    gathering = {name: _Gathering(tuple(obtain_client(name, watcher.step).command)) for name in names}
    rows = _probed(names, store, watcher)
    servers: dict[str, str] = {}
    with open_session() as session:
        for place, plugin in PLACES:
            with _started(session, place, ServerSettings(certificate=_certificate()), watcher) as server:
                servers[place] = server.version
                account = server.account_by(plugin)
                for name, known in gathering.items():
                    watcher.step(f"{name} logs in to {place} by {plugin}")
                    known.log_in(server, account, place, plugin)
        for place, versions in VERSIONS_AT.items():
            servers.setdefault(place, _try_versions(session, gathering, place, versions, watcher))
        settings = ServerSettings(
            certificate=replace(_certificate(), key="rsa-1024"),
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
            certificate=_certificate(),
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
        """All ways of logging in by this plugin."""
        unset = try_driver(self.command, server, TlsUnset(trusted_ca_file=server.ca_file), account)
        known = KnownLogin(server=place, plugin=plugin, encrypts=unset.encrypted)
        if plugin == CACHING:
            self.logins.append(self._by_cache(server, account, known))
            return
        in_clear = try_driver(self.command, server, TlsOff(), account)
        over_tls = in_clear if place in OLD_TLS else self._encrypting(server, account)
        unknown = try_driver(self.command, server, TlsRequired(), account)
        seen = {
            "in_clear": plain_words(in_clear.words),
            "over_tls": plain_words(over_tls.words),
            "takes_unknown": not unknown.words,
        }
        self.logins.append(known.model_copy(update=seen))

    def _encrypting(self, server: PrivateServer, account: Account) -> Trial:
        """A connection over TLS, whose ClientHello is kept."""
        trial = encrypting(self.command, server, account)
        if self.offer is None and trial.seen is not None and trial.seen.tls is not None:
            self.offer = trial.seen
        return trial

    def _by_cache(self, server: PrivateServer, account: Account, known: KnownLogin) -> KnownLogin:
        """With the server's cache empty, and with the account in it."""
        clear = [self._with_cache(server, account, TlsOff(), warm=warm) for warm in (False, True)]
        secret = [self._with_cache(server, account, None, warm=warm) for warm in (False, True)]
        more = {"in clear": _more_turns(*clear), "over TLS": _more_turns(*secret)}
        paths: dict[str, LoginPath] = {}
        if more["in clear"] == KEY_TURNS:
            paths |= {"in clear, cold": "key asked for", "in clear, warm": "fast"}
        if more["over TLS"] == FULL_TURNS:
            paths |= {"over TLS, cold": "full", "over TLS, warm": "fast"}
        return known.model_copy(
            update={
                "in_clear": plain_words(clear[1].words),
                "cold_in_clear": plain_words(clear[0].words),
                "over_tls": plain_words(secret[0].words or secret[1].words),
                "takes_unknown": not try_driver(self.command, server, TlsRequired(), account).words,
                "paths": paths,
            }
        )

    def _with_cache(self, server: PrivateServer, account: Account, tls: Tls | None, *, warm: bool) -> Trial:
        with closing(server.admin()) as admin:
            accounts.forget_logins(admin)
        if warm:
            login.over_socket(Path(server.unix_endpoint().path), account).close()
        if tls is None:
            return self._encrypting(server, account)
        return try_driver(self.command, server, tls, account)

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
            verifies=_verifies(
                row.verifies_ca_when_required,
                row.verifies_host_when_required,
                row.verifies_expiry_when_required,
            ),
            verifies_by_default=_verifies(
                row.verifies_ca_by_default, row.verifies_host_by_default, row.verifies_expiry_by_default
            ),
            logins=tuple(self.logins),
        )


def _more_turns(cold: Trial, warm: Trial) -> int | None:
    """How many turns a login takes more with an empty cache; None where one of them failed."""
    if cold.words or warm.words or cold.seen is None or warm.seen is None:
        return None
    return cold.seen.traffic.turns - warm.seen.traffic.turns


def _verifies(*answers: bool | None) -> tuple[Verified, ...]:
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


@contextmanager
def _started(
    session: Session, name: str, settings: ServerSettings, watcher: Watcher
) -> Iterator[PrivateServer]:
    with PrivateServer.start(named_server(name, watcher.step), session, settings) as server:
        yield server


def _certificate() -> CertificateRequest:
    return CertificateRequest(addresses=ADDRESSES)


def plain_words(words: str) -> str:
    """A driver's words without what differs from one connection to the next: who speaks, ports, numbers."""
    said = re.sub(r"^[^:]{1,60} says: ", "", words)
    said = re.sub(r"\(conn=\d+\) |'?127\.0\.0\.\d'?(?::\d+)?", "", said)
    said = " ".join(said.split())
    return said if len(said) <= LONGEST_WORDS else f"{said[:LONGEST_WORDS].rsplit(' ', 1)[0]}…"
