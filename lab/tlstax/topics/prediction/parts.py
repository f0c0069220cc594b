"""What a connection and its statements are made of, as far as the parts differ in what they cost. Pure.

Costs are taken to add up: a connection in the clear, on top of it a handshake (RFC 8446, 2; RFC 5246, 7.3),
on top of that what a key and a group take more than the common ones. A resumed session proves no side by a
certificate; in TLS 1.3 it still agrees on a key by a group (psk_dhe_ke, RFC 8446, 4.2.9), in TLS 1.2 it does
not (RFC 5246, F.1.4). Statements and their bytes cost the same whatever came before, more under TLS. What
another login or a path adds, it adds to connections and statements alike.

A server that does not accept the client's first group asks for a second ClientHello, in which the client
sends its ticket again (RFC 8446, 4.1.2 and 4.2.11): some 200 bytes that a full handshake does not have.

Each further certificate of a chain is read and verified by the client. A client that proves itself adds a
certificate and a signature (RFC 8446, 4.4.2 and 4.4.3), which the server verifies; what that leaves to do
where the session is resumed is a part of its own.

Bytes of an answer beyond its first 16 KiB cost something else than those: a record of TLS holds no more (RFC
8446, 5.1), and as much the server gathers before it writes (net_buffer_length, MySQL reference manual). For
an answer that is longer the connection's buffers grow, once (max_allowed_packet, ibidem): their memory is
new to the first statement, and there for those that follow. A PostgreSQL gives the memory of an answer
from 256 KiB on back to the system, and touches it anew with each statement: glibc returns what is free at the
end of the heap, or was mapped by itself (mallopt(3), M_TRIM_THRESHOLD and M_MMAP_THRESHOLD).

The statements of a long connection cost less than its first: with several at once, the longer each lasts, the
fewer handshakes of others come between its statements, and the less often a server is woken.

Compression adds to a connection, to a statement and to a KiB of its answer. What zlib takes for a KiB
depends on what came before it, in which it looks for the same, up to the 32 KiB of its window (RFC 1951,
2); between the sizes of STEPS_KIB each costs alike. TLS then has only what is left to encrypt; and a
statement that is both compressed and encrypted costs a client more than either adds.

At PostgreSQL a connection in the clear is a process and its start. What proves the account comes on top
(SCRAM, where nobody names a method: RFC 5802), and so does the question for TLS and its answer (SSLRequest,
documentation, "Message Flow"), which TLS that begins at once does without. A value that makes a row longer
than 2 kB is kept beside the table, in chunks that are looked up one by one (documentation, "TOAST"); the
first look costs a connection more than those that follow. A statement is prepared once a connection, in a
round trip of its own, and each time that it is carried out it is neither parsed nor looked up. A pool lends
connections that it has: what its clients' connections and statements cost has nothing of the server's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import inf

from tlstax.study.level_names import (
    COMPRESSIONS,
    DEFAULT_AUTH,
    DEFAULT_CERTIFICATE,
    DIRECT,
    DIRECT_TLS,
    POSTGRESQL_AUTH,
    SCRAM,
    SCRAM_PLUS,
    authority_key,
    key_of,
)
from tlstax.study.mixes import NEEDS_TLS, P256, Mix
from tlstax.study.tls_levels import POOLS

CONNECTION, STATEMENT, KIB = "connection", "statement", "KiB"
COMPRESSION = "compression"
BEYOND = "KiB beyond 16"
"""Of each answer."""

FIRST_STATEMENTS = 8
LATER = f"statement beyond {FIRST_STATEMENTS}"
"""Of each connection."""

TICKET_AGAIN = "ticket again"
"""Of a resumed session whose client puts its own choice of groups first; next to nothing where the server
accepts that."""

BUFFER = "buffer KiB"
"""By how much a connection's buffers grow: once, or with each statement where they shrink again."""

GIVEN_BACK_BYTES = 256 << 10
"""From so long an answer on a PostgreSQL touches new memory with each statement: at 18.6, asked by
`log_statement_stats` on new connections, the second statement and all later ones faulted no page up to 224
KiB, and some 200 pages at 256 KiB, 920 at 1 MiB."""

GATHERED_KIB = 16

SSL_REQUEST = "SSLRequest"
"""PostgreSQL's question whether to begin TLS, and its answer: a round trip."""

PREPARING, PREPARED = "preparing", f"{STATEMENT} prepared"
"""A statement, once a connection, and what carrying it out then takes more, or less, than text."""

LARGE, LARGE_STATEMENT = "large values", f"{STATEMENT} of a large value"
"""What a connection's first look at values that are kept beside the table takes, and each statement's."""

LARGEST_IN_TABLE_BYTES = 2000
"""Of a value beside an id: with their headers, 32 bytes, as much as a row of PostgreSQL's may have before the
value is kept beside the table (TOAST_TUPLE_THRESHOLD with pages of 8 KiB: documentation, "TOAST")."""

NOTHING_PROVED = "trust"
"""The method of an account that has no part of its own."""

STEPS_KIB = tuple(pairwise((0.0, 8.0, 16.0, 32.0, inf)))

LEFT_OF_DIGITS = 0.5
"""What a compression leaves of the answers, which are random digits; as good as none does better
(log 10 / log 256 is 0.42)."""

UNDER_TLS, THROUGH = " under TLS", " through "

Parts = Mapping[str, float]
"""How much of each part a mix has, by its name."""


def parts_of(mix: Mix) -> dict[str, float]:
    """The parts of one connection of the mix with all its statements."""
    asked, is_postgresql = _statements(mix), mix.product == "postgresql"
    parts: dict[str, float] = {CONNECTION: 1, **asked}
    if BEYOND in asked:
        parts[BUFFER] = asked[BEYOND] / (1 if _gives_memory_back(mix) else mix.statements)
    if mix.path != DIRECT:
        through = {f"{name}{THROUGH}{mix.path}": amount for name, amount in parts.items()}
        parts = through if mix.path in POOLS else parts | through
    if is_postgresql:
        parts |= _at_postgresql(mix)
    elif mix.auth != DEFAULT_AUTH:
        parts[f"login {mix.auth}"] = 1
    encrypted = asked
    if mix.compression != "off":
        packed = f"{STATEMENT} under {mix.compression}"
        parts |= {f"{COMPRESSION} {mix.compression}": 1, packed: mix.statements, **dict(_steps(mix))}
        encrypted = {**_statements(mix, LEFT_OF_DIGITS), packed: mix.statements}
    if mix.tls == "off":
        return parts
    return {
        **parts,
        **dict(_handshake(mix)),
        **{f"{name}{UNDER_TLS}": amount for name, amount in encrypted.items()},
    }


def _gives_memory_back(mix: Mix) -> bool:
    return mix.product == "postgresql" and mix.answer_bytes >= GIVEN_BACK_BYTES


def _at_postgresql(mix: Mix) -> dict[str, float]:
    """What proves the account, preparing, and what values that are kept beside the table take.

    What a proof takes more under TLS is a part too, in which SCRAM is bound to the channel or not.
    """
    is_encrypted = mix.tls != "off"
    asked = SCRAM_PLUS if mix.auth == DEFAULT_AUTH and is_encrypted else mix.auth
    method = SCRAM if asked in {DEFAULT_AUTH, SCRAM_PLUS} else asked
    is_proved = method != NOTHING_PROVED and mix.path not in POOLS
    amounts = {f"login {method}": float(is_proved)}
    if is_proved and is_encrypted and method not in NEEDS_TLS:
        amounts[f"login {asked}{UNDER_TLS}"] = 1.0
    if mix.protocol == "prepared":
        amounts |= {PREPARING: 1.0, PREPARED: float(mix.statements)}
    if mix.answer_bytes > LARGEST_IN_TABLE_BYTES:
        amounts |= {LARGE: float(mix.path not in POOLS), LARGE_STATEMENT: float(mix.statements)}
    return {name: amount for name, amount in amounts.items() if amount}


def _statements(mix: Mix, left: float = 1) -> dict[str, float]:
    """What all statements of the mix have: themselves, and the bytes that they return, or what is `left`."""
    kib = left * mix.answer_bytes / 1024
    first = min(mix.statements, FIRST_STATEMENTS)
    amounts = {
        STATEMENT: float(first),
        LATER: float(mix.statements - first),
        KIB: mix.statements * min(kib, GATHERED_KIB),
        BEYOND: mix.statements * max(0.0, kib - GATHERED_KIB),
    }
    return {name: amount for name, amount in amounts.items() if amount}


def _steps(mix: Mix) -> Iterator[tuple[str, float]]:
    """The KiB of all answers that are compressed, step by step."""
    kib = mix.answer_bytes / 1024
    for low, high in STEPS_KIB:
        if kib > low:
            yield step_name(low, high, mix.compression), mix.statements * (min(kib, high) - low)


def step_name(low: float, high: float, algorithm: str) -> str:
    """The part of the KiB of an answer that lie between these: "KiB under zlib", "KiB 8 to 16 under zlib"."""
    where = f" {low:g} to {high:g}" if high < inf else f" beyond {low:g}"
    return f"{KIB}{where if low else ''} under {algorithm}"


def _handshake(mix: Mix) -> Iterator[tuple[str, float]]:
    """What TLS takes before the first statement, where there is TLS."""
    resumed = " resumed" if mix.resumption == "on" else ""
    if mix.product == "postgresql" and mix.tls != DIRECT_TLS:
        yield SSL_REQUEST, 1
    yield f"TLS {mix.version}{resumed}", 1
    if not resumed and mix.certificate != DEFAULT_CERTIFICATE:
        yield f"key {mix.certificate}", 1
    if not resumed and mix.chain > 1:
        yield f"chain {authority_key(mix.certificate)}", mix.chain - 1
    if mix.client_certificate == "on":
        yield f"client {mix.certificate}{resumed}", 1
    if mix.group != P256 and not (resumed and mix.tls == "1.2"):
        yield f"group {mix.group}", 1
    if resumed and mix.tls == "1.3" and mix.group == "default":
        yield TICKET_AGAIN, 1


def of_path(parts: Parts) -> dict[str, float]:
    """The parts that a path's own programs take; empty where there is none."""
    return {name: amount for name, amount in parts.items() if THROUGH in name}


def statements_alone(mix: Mix) -> dict[str, float]:
    """The parts of the mix on connections that are there already."""
    kinds = (STATEMENT, KIB, *([BUFFER] if _gives_memory_back(mix) else []))
    return {name: amount for name, amount in parts_of(mix).items() if name.startswith(kinds)}


def part_words(name: str) -> str:
    """A part in words: "a full handshake of TLS 1.3 with RSA 2048", "RSA 4096 in place of RSA 2048"."""
    kind, level, resumed = (*name.split(" "), "", "")[:3]
    common, key = key_of(DEFAULT_CERTIFICATE), key_of(level)
    words = {
        "TLS": f"a full handshake of TLS {level}, with {common} and P-256",
        "TLS resumed": f"a resumed handshake of TLS {level}",
        "key": f"{key} in place of {common}",
        "chain": f"further certificate of an authority with {key}",
        "client": f"a client certificate with {key}",
        "client resumed": f"a client certificate with {key}, resumed",
        "group": f"{GROUP_WORDS.get(level, level)} in place of P-256",
        "login": _login_words(level),
        "login under": f"{_login_words(level)}: more under TLS",
        COMPRESSION: f"{level}, agreed on and made ready",
    }
    return _STATEMENTS_WORDS.get(name) or words.get(f"{kind} {resumed}".rstrip(), name)


def _login_words(method: str) -> str:
    """A login by a plugin of MySQL's or MariaDB's; at PostgreSQL the proof alone, on top of a connection."""
    return f"the account, proved by {method}" if method in POSTGRESQL_AUTH else f"a login by {method}"


GROUP_WORDS = {"default": "the client's first group"}
"""Groups that are called otherwise than by their names."""


def _step_words(low: float, high: float) -> str:
    if not low:
        return f"KiB of the first {high:g}"
    return f"KiB {low:g} to {high:g}" if high < inf else f"KiB beyond the first {low:g}"


_STATEMENTS_WORDS = {
    CONNECTION: "a connection, in the clear",
    SSL_REQUEST: "the question for TLS, and its answer (SSLRequest)",
    PREPARING: "preparing the statement",
    PREPARED: "statement that is prepared, in place of text",
    LARGE: "the first look at values kept beside the table (TOAST)",
    LARGE_STATEMENT: "statement whose value is kept beside the table",
    TICKET_AGAIN: "its ticket again, where a second ClientHello is asked for",
    KIB: "KiB of answers",
    BEYOND: "KiB of answers beyond the first 16 of each",
    BUFFER: "KiB by which the connection's buffers grow",
    BEYOND + UNDER_TLS: "KiB beyond the first 16 of each, under TLS",
    LATER: f"statement beyond the first {FIRST_STATEMENTS}",
    LATER + UNDER_TLS: f"statement beyond the first {FIRST_STATEMENTS}, under TLS",
    **{
        f"{STATEMENT} under {algorithm}{UNDER_TLS}": f"statement under {algorithm} and TLS at once"
        for algorithm in COMPRESSIONS[1:]
    },
    **{
        step_name(low, high, algorithm): f"{_step_words(low, high)} of each, under {algorithm}"
        for algorithm in COMPRESSIONS[1:]
        for low, high in STEPS_KIB
    },
}
