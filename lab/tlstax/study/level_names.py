"""The levels of factors: their names, what some stand for at servers and libraries, and their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tlstax.study import cpu_features
from tlstax.study.cpu_features import OWN_FEATURES

Level = str | int | float
Levels = Mapping[str, Level]
"""Levels of a case, or some of them, by the names of their factors."""

CIPHERS = (
    "AES256-SHA",
    "DHE-RSA-AES256-SHA",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
)
"""Levels of `cipher`, beside the library's default."""

COMPRESSIONS = ("off", "zlib", "zstd")
"""Levels of `compression`, by the names that MySQL's own options have for them."""

SHARED, EACH = CONTEXTS = ("shared", "each")
"""Levels of `tls_context`: the engine's connections have one TLS context, or each makes one of its own."""

OWN = "own"
"""The level of `tls_library` and `client_tls_library` that leaves a program the library it comes with."""

NO_FAULT = "none"
"""The level of `fault` that leaves a server as it is."""

GROUPS_LIFTED = "groups-lifted"
"""The level of `fault` that lets a server agree on any key exchange group that its TLS library has. It is no
fault but a variant, planted in the same way."""

BURN = "burn"
"""The level of `fault` that burns as much CPU time in each answer to a client as the factor `burn` says."""

NO_BURN = "off"
"""The level of `burn` that burns nothing. So does "0ns", which is another case all the same: a cost that is
planted and is none."""

COUNT_LOCKS = "count-locks"
"""The level of `fault` that counts the locks which a server takes. It is a variant too: a slower server."""

VARIANTS = (GROUPS_LIFTED, COUNT_LOCKS)
"""Levels of `fault` that make another server of it, and not a worse one; nobody calls them faults."""

FAULTS = ("rand-per-byte", BURN, *VARIANTS)
"""What can be planted in a server; `specimens/faults` has what each of them is."""

GROUPS = {
    "P-256": "secp256r1",
    "P-384": "secp384r1",
    "P-521": "secp521r1",
    "X25519": "x25519",
    "X25519MLKEM768": "X25519MLKEM768",
    "SecP256r1MLKEM768": "SecP256r1MLKEM768",
}
"""Levels of `group` that are one group, as OpenSSL takes it, and its name in IANA's registry "TLS Supported
Groups"."""

P256_FIRST = "P-256-first"
"""The level of `group` that offers P-256 with a key share, and all others after it: the remedy for a server
that accepts only P-curves."""

HYBRIDS = ("X25519MLKEM768", "SecP256r1MLKEM768")
"""Groups that add ML-KEM to a curve, in TLS 1.3 alone (draft-ietf-tls-ecdhe-mlkem)."""

GROUP_LISTS = {P256_FIRST: "P-256:X25519:P-384:P-521"}
"""Levels of `group` that are lists, as OpenSSL takes them: the client sends a key share for the first."""

DIRECT_TLS = "1.3-direct"
"""The level of `tls` that begins TLS 1.3 at once, without asking PostgreSQL for it (SSLRequest)."""

ENGINE = "engine"
"""The level of `client` that is our own load engine."""

UNSET = "unset"
"""The level of `tls` that gives a driver no TLS options, and the level of an option that leaves it out."""

REQUIRED = "required"
"""The level of `tls` that requires it of a driver, and says nothing else."""

LEFT_TO_THE_DRIVER = (UNSET, REQUIRED)
"""Levels of `tls` that only a driver has: versions, checks and sessions are its own affair in them."""

OPTION = "option."
"""How the factors begin that are options of drivers; the option's own name follows."""

MLDSA = ("mldsa44", "mldsa65", "mldsa87")
"""Keys of ML-DSA (FIPS 204), by which handshakes of TLS 1.3 alone are signed (draft-ietf-tls-mldsa)."""

CERTIFICATES = ("rsa-1024", "rsa-2048", "rsa-3072", "rsa-4096", "ec-p256", "ec-p384", "ed25519", *MLDSA)
"""Keys of servers' certificates."""

DEFAULT_CERTIFICATE = "rsa-2048"


def authority_key(certificate: str) -> str:
    """The key of the authorities above a certificate with this key, and so of what a chain is made of."""
    if certificate in MLDSA:
        return certificate
    return "rsa-2048" if certificate.startswith("rsa") else "ec-p256"


DURABILITY = {"full": 1, "write": 2, "none": 0}
"""Levels of `durability` and the value of innodb_flush_log_at_trx_commit that each stands for: at a commit,
the log is on the disk, is with the operating system, or is neither (MySQL reference manual)."""

CACHING_SHA2, NATIVE_PASSWORD = "caching_sha2_password", "mysql_native_password"
DEFAULT_AUTH = "default"
AUTH_PLUGINS = (CACHING_SHA2, NATIVE_PASSWORD)
"""Levels of `auth` at MySQL and MariaDB, beside the server's own default."""

SCRAM, SCRAM_PLUS = "scram-sha-256", "scram-sha-256-plus"
CERT, CLEAR_PASSWORD = "cert", "password"
POSTGRESQL_AUTH = (SCRAM, SCRAM_PLUS, "md5", CLEAR_PASSWORD, "trust", CERT)
"""Levels of `auth` at PostgreSQL, by the names of the methods in pg_hba.conf; the one that ends in "plus" is
SCRAM bound to the TLS channel (RFC 5802, section 6; `tls-server-end-point` of RFC 5929), the one before it
SCRAM that is not. What is not named is SCRAM, bound wherever there is TLS, as libpq does by default
(`channel_binding=prefer`)."""

SCRAM_ITERATIONS = 4096
"""How often SCRAM hashes a password by default (`scram_iterations`; RFC 7677, 4)."""

PRIVATE_CLIENT = "tlstax private client"
"""The name in the certificate that clients of private servers prove themselves by."""

DIRECT, UNIX_SOCKET = "direct", "unix-socket"

PGBOUNCER, PGBOUNCER_1_18 = "pgbouncer", "pgbouncer-1.18"
BY_PASSWORD, BY_TRANSACTION = "-password", "-transaction"
_TLS_OF_PGBOUNCER = {
    "": "",
    "-terminate": "ends TLS",
    "-reencrypt": "ends TLS and begins it anew",
    "-encrypt": "begins TLS",
}

PGBOUNCERS = tuple(
    f"{release}{tls}{given}{mode}"
    for release in (PGBOUNCER, PGBOUNCER_1_18)
    for given in ("", BY_PASSWORD)
    for mode in ("", BY_TRANSACTION)
    for tls in _TLS_OF_PGBOUNCER
)
"""The levels of `path` that are PgBouncer's: which release it is (of Debian sid where none is named), what it
does with TLS, whether it is given the passwords themselves (else what the server keeps of them), and how long
it lends a connection."""

PATHS = (
    DIRECT,
    UNIX_SOCKET,
    "ssh-aes256-cbc",
    "ssh-aes256-ctr",
    "ssh-aes128-gcm",
    "ssh-chacha20-poly1305",
    "stunnel",
    "haproxy",
    "haproxy-tls",
    "router-terminate",
    "router-passthrough",
    "router-reencrypt",
    "router-encrypt",
    *PGBOUNCERS,
)
"""Levels of `path`; `tlstax.network.paths` has what each of them is."""

POINT_SELECT = "point-select"
"""The workload of a case that names none."""

STORM = "storm"

RECONNECT, PING, RECONNECT_PING = "reconnect", "ping", "reconnect-ping"
RECONNECTING = frozenset({RECONNECT, RECONNECT_PING})
"""The workloads whose every operation has a connection of its own; sized ones have it in their names."""

TABLE_SELECT, TABLE_RECONNECT = "table-select", "table-reconnect"
"""Workloads that read keys of a table that is at an external server."""

KEPT_BESIDE_MADE = ((POINT_SELECT, RECONNECT), (PING, RECONNECT_PING), (TABLE_SELECT, TABLE_RECONNECT))
"""The same statement on connections that are kept, and on one of its own."""

STREAM = "stream"
"""A whole copy of a server's data or of its log, by a program that is made for it."""

WORKLOADS = (
    POINT_SELECT,
    RECONNECT,
    STORM,
    PING,
    RECONNECT_PING,
    "select-range",
    "insert",
    "update",
    "delete",
    "oltp-read-only",
    "oltp-read-write",
    "people-insert",
    "people-select",
    "people-update",
    "people-delete",
    "words-insert",
    "words-execute",
    STREAM,
)
"""The built-in workloads; `tlstax.workloads` has what each of them is."""


VARIANT_WORDS = {
    GROUPS_LIFTED: "its TLS groups lifted (a variant of ours)",
    COUNT_LOCKS: "its locks counted (a variant of ours)",
}
"""What is different in a server that is a variant of ours."""


def planted_words(fault: Level) -> str:
    """What is planted in a server, or makes a variant of it, to be put behind its name."""
    return "" if fault == NO_FAULT else f" with {changed_words(fault)}"


def changed_words(fault: Level) -> str:
    """What we have changed of a server: "rand-per-byte planted"."""
    return VARIANT_WORDS.get(str(fault), f"{fault} planted")


def burn_words(burn: Level) -> str:
    """What the fault `burn` is asked for: "nothing burned", "400 ns burned"."""
    return "nothing burned" if burn == NO_BURN else f"{int(str(burn).removesuffix('ns')):,} ns burned"


def features_words(features: Level) -> str:
    """Which instructions are hidden from a server and its client, to be put behind the server's name."""
    return "" if features == OWN_FEATURES else f", {cpu_features.words(str(features))}"


def certificate_words(certificate: Level) -> str:
    """A certificate by its key: "an RSA 4096 certificate"."""
    return f"an {key_of(certificate)} certificate"


def chain_words(chain: Level) -> str:
    """How many certificates a server sends: "its certificate alone", "a chain of 3"."""
    return "its certificate alone" if int(chain) == 1 else f"a chain of {chain}"


def trust_words(trust: Level) -> str:
    """What a client is given to trust: "one authority", "a file of 128 authorities"."""
    return "one authority" if int(trust) == 1 else f"a file of {int(trust):,} authorities"


def key_of(certificate: Level) -> str:
    """A certificate's key as clients report it: "RSA 4096", "EC P-256", "ED25519", "ML-DSA-65"."""
    kind, _, size = str(certificate).partition("-")
    if kind in MLDSA:
        return f"ML-DSA-{kind.removeprefix('mldsa')}"
    return f"{kind.upper()} {size.upper().replace('P', 'P-')}".rstrip()


def twin_words(instance: Level) -> str:
    """What distinguishes a twin from the first process of its kind, to be put behind a server's name."""
    number = int(instance)
    return {1: "", 2: ", a second one"}.get(number, f", number {number}")


def cipher_words(level: Level) -> str:
    """The only cipher suite that a client offers, or any."""
    return "any cipher" if level == "default" else str(level)


def offered_words(level: Level) -> str:
    """The groups that a client offers: "P-256 alone", "P-256 first"."""
    if level == "default":
        return "groups as the client chooses"
    return f"{str(level).removesuffix('-first')} {'first' if level in GROUP_LISTS else 'alone'}"


def client_certificate_words(level: Level) -> str:
    """Whether a client proves itself by a certificate."""
    return "with a client certificate" if level == "on" else "no client certificate"


_PATH_WORDS = {
    DIRECT: "directly",
    UNIX_SOCKET: "over a Unix socket",
    "stunnel": "through stunnel",
    "haproxy": "through HAProxy",
    "haproxy-tls": "through a pair of HAProxy with TLS between them",
    "router-terminate": "through MySQL Router, which ends TLS",
    "router-passthrough": "through MySQL Router, which passes TLS on",
    "router-reencrypt": "through MySQL Router, which ends TLS and begins it anew",
    "router-encrypt": "through MySQL Router, which begins TLS",
}
"""What carries the bytes; those through SSH are named by their cipher, PgBouncer's by what each part says."""


def _pgbouncer_words(level: str) -> str:
    """PgBouncer as its level has it: "through PgBouncer 1.18 by transaction, which ends TLS"."""
    release = " 1.18" if level.startswith(PGBOUNCER_1_18) else ""
    mode = " by transaction" if level.endswith(BY_TRANSACTION) else ""
    given = " with the password" if BY_PASSWORD in level else ""
    tls = next((does for part, does in _TLS_OF_PGBOUNCER.items() if part and part in level), "")
    name = f"PgBouncer{release}{mode}{given}"
    if tls:
        return f"through {name}, which {tls}"
    return f"through {name}{',' if mode or given else ''} without TLS"


def path_words(level: Level) -> str:
    """What carries the bytes: "through SSH (aes256-ctr)"."""
    if level in PGBOUNCERS:
        return _pgbouncer_words(str(level))
    kind, _, suite = str(level).partition("-")
    return f"through SSH ({suite})" if kind == "ssh" else _PATH_WORDS.get(str(level), f"through {level}")


DURABILITY_WORDS = {
    "full": "a commit is on the disk",
    "write": "a commit is with the operating system",
    "none": "a commit waits in the server",
}
"""What the levels of `durability` mean to someone whose server loses power."""

TLS_SWITCH = {"client": "TLS switched at the client", "server": "TLS switched at the server"}


def _listed(words: Mapping[str, str]) -> Callable[[Level], str]:
    return lambda level: words.get(str(level), str(level))


durability_words = _listed(DURABILITY_WORDS)
tls_switch_words = _listed(TLS_SWITCH)
compression_words = _listed(
    {"off": "not compressed", "zlib": "compressed by zlib", "zstd": "compressed by zstd"}
)
protocol_words = _listed({"default": "as each workload has it", "text": "as text", "prepared": "prepared"})
tls_context_words = _listed(
    {"shared": "one TLS context for all connections", "each": "a TLS context for each connection"}
)
observers_words = _listed({"all": "all observers", "none": "no observers"})
