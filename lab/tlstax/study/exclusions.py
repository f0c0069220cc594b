"""The cases that a study leaves out because nobody can measure them: what each factor lacks, in sentences.

A factor's declaration names its function of these (`factors.py`). Each says why the case cannot be with the
level that it has of the factor, and nothing where it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tlstax.contract import OpenLoop
from tlstax.study.client_kinds import Wanted, kind_of
from tlstax.study.level_names import (
    AUTH_PLUGINS,
    BURN,
    CERT,
    CLEAR_PASSWORD,
    DEFAULT_AUTH,
    DIRECT,
    DIRECT_TLS,
    EACH,
    ENGINE,
    HYBRIDS,
    LEFT_TO_THE_DRIVER,
    MLDSA,
    NO_BURN,
    POSTGRESQL_AUTH,
    SCRAM_PLUS,
    UNIX_SOCKET,
)
from tlstax.study.product import ProductName
from tlstax.study.tls_levels import BEGINS_TLS, ENDS_TLS, KNOWS_NO_NAMES, POOLS
from tlstax.study.workloads import Rows, by_numbers

THE_SERVER = "the server"
"""An external server that is alone, which no case names."""

BEFORE_1_2 = frozenset({"1.0", "1.1"})
BEFORE_1_3 = BEFORE_1_2 | {"1.2"}
BY_RELEASE = BEFORE_1_2 | {DIRECT_TLS}
"""TLS that not every release of PostgreSQL has."""


_NAMES: Mapping[ProductName, str] = {"mysql": "MySQL", "mariadb": "MariaDB", "postgresql": "PostgreSQL"}


def of_auth(wanted: Wanted) -> str:
    """A server without such accounts, or a case in which none of them can prove itself."""
    case, server = wanted.case, wanted.server
    if case.auth == DEFAULT_AUTH:
        return ""
    if server is not None and case.auth not in server.account_plugins:
        return f"{case.server} has no accounts with {case.auth}"
    if case.auth not in (POSTGRESQL_AUTH if wanted.is_of_postgresql else AUTH_PLUGINS):
        return f"{_NAMES[wanted.product]} has no accounts with {case.auth}"
    limits = (
        (
            case.auth == SCRAM_PLUS and not case.is_encrypted,
            "binds the login to the TLS channel, and with tls = off there is none",
        ),
        (
            case.auth == CLEAR_PASSWORD and not case.is_encrypted,
            "sends the password as it is, and with tls = off anybody can read it",
        ),
        (
            case.auth == CERT and not case.proves_client,
            "is by the client's certificate: it needs TLS, and client_certificate = on",
        ),
    )
    return next((f"auth = {case.auth} {words}" for beyond, words in limits if beyond), "")


def of_compression(wanted: Wanted) -> str:
    """A server that does not compress so."""
    case, server = wanted.case, wanted.server
    if wanted.is_of_postgresql and case.is_compressed:
        copied = kind_of(case.client).copies
        if copied is None:
            return "PostgreSQL's protocol has no compression"
        if copied != "base backup":
            return (
                "PostgreSQL's protocol has no compression: of its copies only a base backup can come "
                "compressed (client = pg-basebackup)"
            )
    if server is not None and case.compression not in server.compressions:
        return f"{case.server} does not compress by {case.compression}"
    return ""


def of_tls(wanted: Wanted) -> str:
    """A client that must be told how to encrypt, or a server that cannot do it so."""
    kind, tls, server = kind_of(wanted.case.client), wanted.case.tls, wanted.server
    if tls == DIRECT_TLS and not wanted.is_of_postgresql:
        return f"{_NAMES[wanted.product]} begins in the clear, so TLS cannot begin at once (tls = {tls})"
    if tls == DIRECT_TLS and server is not None and not server.direct_tls:
        name = wanted.case.server or THE_SERVER
        return f"{name} cannot begin TLS at once (tls = {tls}): PostgreSQL does from 17 on"
    if wanted.is_of_postgresql and server is not None and tls in BEFORE_1_2 - set(server.tls_versions):
        name, oldest = wanted.case.server or THE_SERVER, server.tls_versions[0]
        return f"{name} accepts TLS from {oldest} on (ssl_min_protocol_version)"
    if tls in LEFT_TO_THE_DRIVER and not kind.is_driver:
        return f"{kind.name} is not a driver: it must be told how to encrypt, and tls = {tls} does not"
    return ""


def of_resumption(wanted: Wanted) -> str:
    """A server of which no session can be taken up again.

    PostgreSQL turns off tickets and the cache of sessions: `SSL_CTX_set_options(context, SSL_OP_NO_TICKET)`,
    `SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF)`, and in newer releases
    `SSL_CTX_set_num_tickets(context, 0)` (be_tls_init in src/backend/libpq/be-secure-openssl.c).
    """
    if wanted.is_of_postgresql and wanted.case.resumes:
        return "PostgreSQL resumes no TLS session: its server issues no tickets and keeps no sessions"
    return ""


def of_options(wanted: Wanted) -> str:
    """A client without options of its own."""
    kind = kind_of(wanted.case.client)
    options = () if kind.is_driver else wanted.case.options
    return next((f"{kind.name} is not a driver and has no option {option}" for option in options), "")


def of_batch(wanted: Wanted) -> str:
    """A client that is handed one operation at a time."""
    kind = kind_of(wanted.case.client)
    is_asked = wanted.case.batch > 1 and not kind.is_driver
    return f"{kind.name} is not a driver and sends no batches" if is_asked else ""


def of_slice_ms(wanted: Wanted) -> str:
    """A client that cannot take turns in slices of that length."""
    kind = kind_of(wanted.case.client)
    if not wanted.case.slice_ms or kind.takes_turns:
        return ""
    return f"{kind.name} cannot stop in the middle of a run, to take turns with others"


def of_workload(wanted: Wanted) -> str:
    """Data that would be compressed as no real ones are."""
    case, rows = wanted.case, by_numbers(wanted.case.workload)
    if not isinstance(rows, Rows) or not rows.connects or not case.is_compressed:
        return ""
    return f"{case.workload} repeats one value, of which compression would leave nothing"


def of_tls_context(wanted: Wanted) -> str:
    """A client whose TLS contexts are as it makes them, or a session that is bound to one."""
    case = wanted.case
    if case.tls_context != EACH:
        return ""
    if case.client != ENGINE:
        return f"{case.client} makes its TLS contexts as it is built to"
    return "a session is resumed in the context that it was made in" if case.resumes else ""


def of_client(wanted: Wanted) -> str:
    """What the load client cannot do of the case; what only shows when a job is read is its own to refuse."""
    kind = kind_of(wanted.case.client)
    return _of_storm(wanted) if wanted.case.is_storm else kind.why_not(wanted)


def _of_storm(wanted: Wanted) -> str:
    kind = kind_of(wanted.case.client)
    if not kind.makes_storms:
        return f"{kind.name} cannot make a storm: it opens its connections once, or one after another"
    if isinstance(wanted.schedule, OpenLoop):
        return "a storm cannot be given a rate: it opens its connections as fast as it can"
    if wanted.case.slice_ms:
        return "a storm takes turns round by round, and has no slices of a length (slice_ms)"
    if wanted.case.queries is not None:
        return "a storm runs no queries: it has a number of rounds and of connections"
    return ""


_NO_SUCH_GROUP = frozenset({"X25519", "X25519MLKEM768"})
"""MySQL Router accepts only P-256, P-384 and P-521, as the servers of its era do."""

ROUTER = "router-"
"""How the names of MySQL Router's paths begin."""

_OLD_CIPHERS = frozenset({"AES256-SHA", "DHE-RSA-AES256-SHA"})
"""Cipher suites that MySQL Router does not take: by SHA-1, without forward secrecy."""


def of_path(wanted: Wanted) -> str:
    """What the path cannot carry."""
    path = wanted.case.path
    limits = () if path == DIRECT else _of_path(wanted)
    return next((f"{path} {words}" for beyond, words in limits if beyond), "")


def _of_path(wanted: Wanted) -> Iterable[tuple[bool, str]]:
    case, server = wanted.case, wanted.server
    ends, begins = case.path in ENDS_TLS, case.path in BEGINS_TLS
    is_router, pools = case.path.startswith(ROUTER), case.path in POOLS
    yield case.path == UNIX_SOCKET and case.distance.is_any, "does not reach over a distance"
    yield (
        case.path == UNIX_SOCKET and wanted.is_of_postgresql and case.is_encrypted,
        "has no TLS at PostgreSQL, which offers it over TCP alone",
    )
    yield is_router and wanted.is_of_postgresql, "is MySQL's, and leads to no PostgreSQL"
    yield pools and not wanted.is_of_postgresql, f"is PostgreSQL's, and leads to no {_NAMES[wanted.product]}"
    yield ends and not case.is_encrypted, "ends the TLS of the client, and with tls = off there is none"
    yield (
        (case.path == "router-encrypt" or (pools and not ends)) and case.is_encrypted,
        "accepts only clients without TLS (tls = off)",
    )
    yield ends and case.tls in {"1.0", "1.1"}, "speaks only TLS 1.2 and 1.3"
    yield (
        begins and server is not None and not server.has_modern_tls,
        f"speaks only TLS 1.2 and 1.3, and {case.server} has neither",
    )
    yield pools and case.tls == DIRECT_TLS, "waits for a client to ask for TLS (tls = 1.3)"
    yield (
        pools and case.auth != DEFAULT_AUTH,
        "logs in at the server with what SCRAM tells it of its clients (auth = default)",
    )
    yield (
        case.path in KNOWS_NO_NAMES and wanted.workload.is_prepared,
        "carries no prepared statements: PgBouncer does by transaction from 1.21 on (protocol = text)",
    )
    yield (
        is_router and ends and case.group in _NO_SUCH_GROUP,
        "accepts only the groups P-256, P-384 and P-521",
    )
    yield (ends or begins) and case.is_compressed, "compresses towards the server as it sees fit"
    yield ends and case.cipher in _OLD_CIPHERS, f"does not accept {case.cipher}"
    yield (ends or begins) and case.certificate == "rsa-1024", "does not accept RSA keys of 1024 bits"
    yield (
        (ends or begins or pools)
        and case.client != ENGINE
        and not (pools and wanted.product in kind_of(case.client).logged_at),
        "would hide what the client negotiates, and only tlstax's own client is asked for it",
    )


def of_burn(wanted: Wanted) -> str:
    """A server in which nothing burns. Over TLS it answers by other functions than the fault stands for."""
    case = wanted.case
    if case.burn == NO_BURN:
        return ""
    if case.fault != BURN:
        return f"burn = {case.burn} needs a server with fault = {BURN}, not with fault = {case.fault}"
    if case.is_encrypted:
        return f"burn = {case.burn} needs tls = off: the fault {BURN} reaches answers in plaintext alone"
    return ""


def of_certificate(wanted: Wanted) -> str:
    """A key by which handshakes of the version cannot be signed."""
    case = wanted.case
    if case.tls in BEFORE_1_3 and case.certificate in MLDSA:
        return f"{case.certificate} signs handshakes of TLS 1.3 alone"
    return ""


def of_group(wanted: Wanted) -> str:
    """A group that the version does not have."""
    case = wanted.case
    is_later = case.tls in BEFORE_1_3 and case.group in HYBRIDS
    return f"{case.group} is a group of TLS 1.3 alone" if is_later else ""


def of_client_certificate(wanted: Wanted) -> str:
    """An account, or a way to the server, by which no client can prove itself."""
    case = wanted.case
    if not case.proves_client:
        return ""
    if case.auth not in {DEFAULT_AUTH, CERT}:
        return "the account that asks for a client certificate has the server's default plugin"
    if case.path in ENDS_TLS:
        return f"{case.path} ends the TLS of the client, so the server never sees its certificate"
    return ""
