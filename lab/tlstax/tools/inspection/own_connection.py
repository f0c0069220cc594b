"""The laboratory's own connection to an inspected server: what it shows, and what the server says of itself.

It is made as a client left to itself makes one. Where no TLS is agreed to, once more with what is no longer
thought safe, so that the servers that need it most can be inspected. Such a connection gives nobody the
password, only the answer to a challenge.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

from tlstax.contract import TlsOn
from tlstax.external import connection as external_connection
from tlstax.external import refusals
from tlstax.external.access import ExternalAccess
from tlstax.external.chain import Handshake, shown
from tlstax.mysql import answers, server_facts, tls_facts, use_counters
from tlstax.mysql.database import Database, SqlError
from tlstax.results.inspection import Certificate, Inside, Program, ServerWord
from tlstax.support.errors import TlstaxError
from tlstax.topics.inspection.concerns import use

PERMIT = "the account would need SELECT on performance_schema"

OWN_STATEMENTS = 2
"""That the server counts as asked while it is watched: who is connected, and the second reading."""

LEGACY_SERVER_CONNECT = 0x4
"""SSL_OP_LEGACY_SERVER_CONNECT (SSL_CTX_set_options(3)), which Python names from 3.12 on."""

Wait = Callable[[float], None]


@dataclass(frozen=True)
class OldTls:
    """Settings under which a server is reached that agrees to nothing else, in OpenSSL's spelling.

    Python's ssl cannot offer `groups`, so they are for the load client alone. A server signs with no key on a
    curve that its client does not offer (RFC 8422, 5.1), and TLS 1.3 knows none of the rare ones.
    """

    ciphers: str
    groups: str | None = None

    def context(self, access: ExternalAccess) -> ssl.SSLContext:
        """The settings for Python's ssl, which verifies as the user wants it."""
        context = access.tls.context() or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(self.ciphers)
        context.options |= LEGACY_SERVER_CONNECT
        return context

    def of(self, client: TlsOn) -> TlsOn:
        """The same settings for the load client."""
        return client.model_copy(update={"groups": self.groups, "cipher_list": self.ciphers})


OLD_TLS = (OldTls("DEFAULT:!DHE:@SECLEVEL=0"), OldTls("DEFAULT:@SECLEVEL=0"))
"""What is tried one after another where a client left to itself is refused: versions before TLS 1.2 and short
keys, without and with Diffie-Hellman, whose groups may be shorter than OpenSSL takes at any level."""

RARE_CURVES = OldTls(
    "DEFAULT:@SECLEVEL=0",
    "P-256:P-384:P-521:secp256k1:brainpoolP256r1:brainpoolP384r1:brainpoolP512r1:secp224r1",
)
"""What the load client alone asks with, where neither was agreed to."""


@dataclass(frozen=True)
class Own:
    """What the laboratory's own connection shows.

    `old_tls` is what it was made with where a client left to itself was refused, for the reason `refused`.
    `unverified` is the sentence by which the certificate was refused: then nobody logged in.
    """

    word: ServerWord
    offers_tls: bool
    chain: tuple[Certificate, ...]
    inside: Inside
    connections: int = 1
    old_tls: OldTls | None = None
    refused: str = ""
    unverified: str = ""
    most_connect_errors: int | None = None


def own_connection(access: ExternalAccess, watch_s: float, say: Callable[[str], None]) -> Own:
    """Log in and ask. UserMistake or MachineFault where that cannot be done.

    A certificate that does not stand the check is no fault: what was shown until then is what is known. `say`
    is told beforehand where more than one connection is needed.
    """
    seen = Handshake()
    try:
        return _asked(access, external_connection.connect(access, access.address.schema, seen=seen), watch_s)
    except TlstaxError as fault:
        if seen.is_unverified:
            return _unverified(seen, fault)
        if seen.failure is None:
            raise
        say(f"{fault.message}; older ways are tried, with {len(OLD_TLS)} more connections at most")
        return _over_old_tls(access, watch_s, fault)


def login(access: ExternalAccess, own: Own) -> None:
    """Log in as before, and hang up: the server forgets the refusals before it. Raises TlstaxError."""
    old = own.old_tls.context(access) if own.old_tls else None
    external_connection.connect(access, access.address.schema, old_tls=old).close()


def _over_old_tls(access: ExternalAccess, watch_s: float, fault: TlstaxError) -> Own:
    """As `own_connection`, where a client left to itself was refused by this fault.

    Where nothing is agreed to here, nobody logs in, and what the server takes is left to the questions.
    """
    for tried, old_tls in enumerate(OLD_TLS, start=2):
        seen = Handshake()
        try:
            context = old_tls.context(access)
            database = external_connection.connect(access, access.address.schema, old_tls=context, seen=seen)
        except TlstaxError as error:
            if seen.is_unverified:
                return _unverified(seen, error)
            if seen.failure is None:
                raise
            continue
        return _asked(access, database, watch_s, connections=tried, old_tls=old_tls, refused=fault.message)
    return replace(_unseen(seen), connections=1 + len(OLD_TLS), old_tls=RARE_CURVES, refused=fault.message)


def _unverified(seen: Handshake, fault: TlstaxError) -> Own:
    return replace(_unseen(seen), unverified=fault.sentence())


def _unseen(seen: Handshake) -> Own:
    """What is known of a server without a login: its greeting, and what it sent of a handshake."""
    word = ServerWord(
        version=seen.server_version,
        tls_library=None,
        account_plugin=None,
        requires_tls=None,
        account_is_encrypted=False,
    )
    nothing = Inside(since_start=None, watched=None, programs=(), unread=())
    return Own(word, offers_tls=True, chain=seen.chain(), inside=nothing)


def _asked(  # noqa: PLR0913 (what is known already)
    access: ExternalAccess,
    connected: Database,
    watch_s: float,
    *,
    connections: int = 1,
    old_tls: OldTls | None = None,
    refused: str = "",
) -> Own:
    with closing(connected) as database:
        channel = getattr(database, "_sock", None)
        try:
            return Own(
                word=word(database),
                offers_tls=tls_facts.offers_tls(database),
                chain=shown(channel) if isinstance(channel, ssl.SSLSocket) else (),
                inside=inside(database, watch_s),
                most_connect_errors=server_facts.most_connect_errors(database),
                connections=connections,
                old_tls=old_tls,
                refused=refused,
            )
        except SqlError as error:
            raise refusals.fault_of(access, error) from error


def word(database: Database) -> ServerWord:
    """What the server says of itself to an ordinary account. Raises SqlError."""
    return ServerWord(
        version=server_facts.version(database),
        tls_library=tls_facts.read(database).library_version,
        account_plugin=getattr(database, "account_plugin", "") or None,
        requires_tls=server_facts.requires_tls(database),
        account_is_encrypted=isinstance(getattr(database, "_sock", None), ssl.SSLSocket),
    )


def inside(database: Database, watch_s: float, wait: Wait = time.sleep) -> Inside:
    """How the server is used, as far as the account may see. Raises SqlError.

    Reads the counters, waits, and reads them again; in between, who is connected: three statements, all of
    the server's own counters.
    """
    before, began = use_counters.read(database), time.monotonic()
    programs, unread = _programs(database)
    wait(max(0.0, watch_s - (time.monotonic() - began)))
    after, over_s = use_counters.read(database), time.monotonic() - began
    return Inside(
        since_start=use({}, before, float(before.get(use_counters.UPTIME, 0))),
        watched=use(before, after, over_s, OWN_STATEMENTS) if watch_s > 0 else None,
        programs=programs,
        unread=unread,
    )


def _programs(database: Database) -> tuple[tuple[Program, ...], tuple[str, ...]]:
    """Who is connected, or why that cannot be read."""
    try:
        found = use_counters.connected(database)
    except SqlError as error:
        return (), (f"who is connected, and how: {answers.message_of(error)}; {PERMIT}",)
    return tuple(Program(**row._asdict()) for row in found), ()
