"""How a driver logs in: one connection at a time, seen by a tap and by a relay that reads the login.

By caching_sha2_password a server says in a packet of six bytes whether it knows the driver's proof, or wants
the whole password (MySQL's source documentation, "caching_sha2_password information"). In the clear that is
read; over TLS it is told by its length, and by who speaks next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import (
    Account,
    DriverTerms,
    ErrorKind,
    Job,
    Ready,
    Statement,
    TcpEndpoint,
    Tls,
    TlsOff,
    TlsOn,
    Workload,
)
from tlstax.mysql import accounts
from tlstax.mysql.database import log_in_over_socket
from tlstax.mysql.session import ASKS_NOTHING
from tlstax.network.tap.opening import open_tap
from tlstax.records.capture import Capture, Conversation, TlsSeen
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.study.level_names import CACHING_SHA2, NATIVE_PASSWORD
from tlstax.support.errors import UserMistake
from tlstax.tools.probes.drivers.probed import Cache, Login, LoginOutcome, TlsAsked
from tlstax.tools.probes.drivers.relays import EVERYTHING, Lets, LoginWire, WireLogin

WITHIN_S, TIMEOUT_S = 60.0, 15.0
"""A driver that starts slowly on a busy machine is not taken for one that is refused."""

LONGEST_WORDS = 120

CACHES: tuple[Cache, ...] = ("cold", "warm")

VERDICT_BYTES = 6
"""The packet with the verdict: four bytes of header, 0x01, and 0x03 or 0x04."""

RECORD_BYTES = {"TLSv1.3": 5 + 1 + 16, "GCM": 5 + 8 + 16, "CHACHA20": 5 + 16}
"""What a record has beside its data: its header, in TLS 1.3 the type (RFC 8446, 5.2), in TLS 1.2 with GCM a
part of the nonce (RFC 5288, 3), and the tag. Other suites pad, so that lengths do not tell."""

MOST_STEPS = 3
"""How often a client speaks in a login at the most: its first answer, one to a switch of methods, and the
password."""


@dataclass(frozen=True)
class Trial:
    """What became of one connection: the driver's words where it was refused, and what was seen of it."""

    words: str
    kinds: tuple[ErrorKind, ...]
    seen: Conversation | None
    wire: WireLogin | None = None
    ready: Ready | None = None
    capture: Capture | None = None

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

    @property
    def ended(self) -> str:
        """Why tlstax ended it; empty where it did not."""
        return self.wire.ended if self.wire is not None else ""

    @property
    def way(self) -> LoginOutcome | None:
        """The way that caching_sha2_password took; None where it was not seen."""
        if self.wire is not None and self.wire.path is not None:
            return self.wire.path
        return way_over_tls(self.seen) if self.seen is not None else None


def least_job(
    endpoint: TcpEndpoint, account: Account, tls: Tls, options: Mapping[str, str] | None = None
) -> Job:
    """The least that a driver can be asked to do: one connection, and a statement that reads nothing."""
    return Job(
        endpoint=endpoint,
        account=account,
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


def carried_out(command: Sequence[str], job: Job) -> Trial:
    """The job as a driver's program did it, or in whose words it was refused; nobody looks on."""
    ready: Ready | None = None
    try:
        with LoadClient(command, job) as client:
            ready = client.wait_ready(WITHIN_S)
            client.go()
            client.wait_done(WITHIN_S)
    except ClientFailure as failure:
        kinds = tuple(error.kind for error in failure.errors)
        return Trial(str(failure) or "it did not say why", kinds, None, ready=ready)
    return Trial("", (), None, ready=ready)


def try_login(  # noqa: PLR0913, PLR0917 (who logs in where, and two with a default)
    command: Sequence[str],
    server: TcpEndpoint,
    account: Account,
    tls: Tls,
    options: Mapping[str, str] | None = None,
    lets: Lets = EVERYTHING,
) -> Trial:
    """One connection of a driver's program, seen by a tap and a relay, which lets no more happen than that.

    A refusal is in the answer.
    """
    wire = LoginWire(server, lets)
    with wire.listening() as entry, open_tap(entry, at=NO_LOCALHOST) as tap:
        done = carried_out(command, least_job(tap.entry, account, tls, options))
        capture = tap.capture()
    begun = [talk for talk in capture.conversations if talk.tls is not None]
    return Trial(
        done.words,
        done.kinds,
        next(iter(begun or capture.conversations), None),
        next((own for own in wire.logins if own.over_tls or not begun), None),
        done.ready,
        capture,
    )


def try_driver(
    command: Sequence[str],
    server: PrivateServer,
    tls: Tls,
    account: Account | None = None,
    options: Mapping[str, str] | None = None,
) -> Trial:
    """One connection of a driver's program to a private server, with `options` of its own."""
    return try_login(command, server.endpoint(), account or server.load_account, tls, options)


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


@dataclass(frozen=True)
class LoginTrials:
    """The logins by one plugin, in the clear and over TLS, each by what the server remembered beforehand.

    Plugins without a cache have one of each, at None.
    """

    plugin: str
    in_clear: dict[Cache | None, Trial] = field(default_factory=dict)
    over_tls: dict[Cache | None, Trial] = field(default_factory=dict)

    def logins(self) -> tuple[Login, ...]:
        """How each went."""
        ways: tuple[tuple[TlsAsked, dict[Cache | None, Trial]], ...] = (
            ("off", self.in_clear),
            ("verified", self.over_tls),
        )
        return tuple(
            login_of(self.plugin, tls, cache, trial) for tls, found in ways for cache, trial in found.items()
        )


def login_of(plugin: str, tls: TlsAsked, cache: Cache | None, trial: Trial) -> Login:
    """How a login went that the driver was given this for TLS for."""
    outcome: LoginOutcome = "yes"
    if trial.ended:
        outcome = "ended"
    elif trial.words:
        outcome = "refused"
    elif cache is not None:
        outcome = trial.way or "yes"
    return Login(
        plugin=plugin,
        tls=tls,
        cache=cache,
        outcome=outcome,
        words=trial.ended or plain_words(trial.words),
    )


def way_over_tls(seen: Conversation) -> LoginOutcome | None:
    """Whether the verdict was the last that the server said before the client spoke; None where not seen."""
    overhead = _overhead(seen.tls)
    steps = 0
    for frame, after in pairwise(seen.frames):
        steps += frame.sender == "client"
        if overhead is None or steps > MOST_STEPS:
            return None
        if frame.sender == "server" and frame.length == overhead + VERDICT_BYTES:
            return "full" if after.sender == "client" else "fast"
    return None


def _overhead(tls: TlsSeen | None) -> int | None:
    if tls is None or tls.version is None:
        return None
    if tls.version in RECORD_BYTES:
        return RECORD_BYTES[tls.version]
    return next((length for name, length in RECORD_BYTES.items() if name in (tls.cipher or "")), None)


def private_logins(  # noqa: PLR0913 (who logs in where, and two with a default)
    command: Sequence[str],
    server: PrivateServer,
    account: Account,
    plugin: str,
    options: Mapping[str, str] | None = None,
    *,
    over_tls: bool = True,
) -> LoginTrials:
    """All ways of logging in by this plugin; by caching_sha2_password with its cache emptied, and filled."""
    trials = LoginTrials(plugin)

    def log_in(found: dict[Cache | None, Trial], way: Callable[[], Trial]) -> None:
        for cache in CACHES if plugin == CACHING_SHA2 else (None,):
            if cache is not None:
                _set_cache(server, account, cache)
            found[cache] = way()

    log_in(trials.in_clear, lambda: try_driver(command, server, TlsOff(), account, options))
    if over_tls:
        log_in(trials.over_tls, lambda: encrypting(command, server, account, options))
    return trials


def accounts_by_plugin(server: PrivateServer) -> Iterator[tuple[str, Account]]:
    """The plugins by which the server's accounts are proved here, its own default first."""
    with closing(server.admin()) as admin:
        usual = accounts.plugin_of_load_account(admin) or NATIVE_PASSWORD
    yield usual, server.load_account
    if usual != NATIVE_PASSWORD:
        try:
            yield NATIVE_PASSWORD, server.account_by(NATIVE_PASSWORD)
        except UserMistake:
            return


def _set_cache(server: PrivateServer, account: Account, cache: Cache) -> None:
    """Have the server forget who logged in, and then, for a warm one, log in once over its socket."""
    with closing(server.admin()) as admin:
        accounts.forget_logins(admin)
    if cache == "warm":
        log_in_over_socket(Path(server.unix_endpoint().path), account).close()


def plain_words(words: str) -> str:
    """A driver's words without what differs from one connection to the next: who speaks, ports, numbers."""
    said = re.sub(r"^[^:]{1,60} says: ", "", words)
    said = re.sub(r"\(conn=\d+\) |'?127\.0\.0\.\d'?(?::\d+)?", "", said)
    said = " ".join(said.split())
    return said if len(said) <= LONGEST_WORDS else f"{said[:LONGEST_WORDS].rsplit(' ', 1)[0]}…"
