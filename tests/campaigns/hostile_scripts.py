"""What a hostile server says to the laboratory itself: each kind of mischief at each stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from recorded_guest import HEADER_BYTES
from scripted_server import Act, Place, Script, packet

STAGES = {
    "greeting": "greeting",
    "login": "login",
    "names": "SET NAMES",
    "tls facts": "SHOW GLOBAL VARIABLES",
    "version": r"SELECT VERSION\(\)",
    "lock": "SELECT GET_LOCK",
    "schema": r"SELECT DATABASE\(\)",
    "schemas": "SELECT SCHEMA_NAME",
    "cluster": "SHOW GLOBAL STATUS LIKE 'wsrep",
    "comments": "SELECT TABLE_COMMENT",
    "case of names": r"SELECT IF\(@@lower_case",
    "on record": r"SELECT COUNT\(\*\) FROM tlstax_made",
    "kinds": "SELECT TABLE_NAME, COLUMN_NAME",
    "record": "INSERT INTO tlstax_made",
    "limits": "SELECT @@max_connections",
    "connected": "SHOW GLOBAL STATUS LIKE 'Threads",
    "load table": "CREATE TABLE `tlstax_sbtest1`",
    "statistics": "ANALYZE TABLE",
    "a workload's own": "CREATE TABLE mine",
    "things": "SELECT TABLE_SCHEMA, TABLE_TYPE",
    "signs": "SELECT TABLE_SCHEMA, TABLE_NAME",
    "checksum": r"SELECT COUNT\(\*\), SUM",
    "purge": "SHOW ENGINE INNODB STATUS",
    "status": "SHOW GLOBAL STATUS$",
    "lock still": "SELECT IS_USED_LOCK",
    "keys": "SET SESSION foreign_key_checks",
    "leaving": "DROP ",
}
"""Where, by the beginning of the statement that is answered."""

EOF = packet(b"\xfe\0\0\2\0", 3)
COLUMN = b"\x03def\0\0\0\x01c\0\x0c\x2d\0\x00\x01\0\0\xfd\0\0\0\0\0"
LOCAL_FILE = packet(b"\xfb/etc/passwd")
ACCESS_DENIED = packet(b"\xff\x15\x04#28000Access denied")
PLUGINS = ("mysql_native_password", "mysql_clear_password", "mysql_old_password", "caching_sha2_password")
PLUGINS += (
    "sha256_password",
    "client_ed25519",
    "dialog",
    "auth_gssapi_client",
    "nobody_knows_this",
    "",
    "\xfc\xdf",
)
WANTS_ALL, SALT = b"\x01\x04", b"01234567890123456789\0"
PEM = b"\x01-----BEGIN PUBLIC KEY-----\nMIGf\n-----END PUBLIC KEY-----\n"


def rows(*values: bytes | None, columns: int = 1, times: int = 1) -> bytes:
    """An answer of rows, each with these values."""
    sent = [packet(bytes([columns]), 1), *(packet(COLUMN, 2 + place) for place in range(columns))]
    row = b"".join(b"\xfb" if value is None else _string(value) for value in values)
    end = b"\xfe\0\0\2\0"
    bodies = [end, *[row] * times, end]
    sent += [packet(body, (2 + columns + place) % 256) for place, body in enumerate(bodies)]
    return b"".join(sent)


def _string(value: bytes) -> bytes:
    size = len(value)
    return (bytes([size]) if size < 251 else b"\xfd" + size.to_bytes(3, "little")) + value


def _error(code: int, text: bytes) -> bytes:
    return packet(b"\xff" + code.to_bytes(2, "little") + b"#HY000" + text)


MISCHIEF: dict[str, Callable[[list[bytes]], Sequence[Act]]] = {
    "closes": lambda _: ["close"],
    "is silent": lambda _: ["silence"],
    "stops in a header": lambda said: [b"".join(said)[:2], "silence"],
    "stops in a packet": lambda said: [said[0][: HEADER_BYTES + 1], "silence"],
    "closes in a packet": lambda said: [said[0][:-1], "close"],
    "drips": lambda _: [b"\xff\xff\xff\1", "drip"],
    "drips whole packets": lambda _: [b"\0", "drip"],
    "never ends": lambda said: [b"".join(said), "endless"],
    "never ends a row": lambda _: [rows(b"1")[:-9], packet(b"\1" + b"1", 4), "endless"],
    "claims more": lambda said: [b"\xf0\xff\xff" + said[0][3:], "silence"],
    "claims less": lambda said: [b"\1\0\0" + said[0][3:]],
    "says nothing in a packet": lambda _: [packet(b"")],
    "counts wrong": lambda said: [said[0][:3] + b"\x63" + said[0][4:], *said[1:]],
    "counts from 0": lambda said: [said[0][:3] + b"\0" + said[0][4:], *said[1:]],
    "says it twice": lambda said: [*said, *said],
    "wants a file": lambda _: [LOCAL_FILE],
    "wants a file and waits": lambda _: [LOCAL_FILE, "silence"],
    "denies": lambda _: [ACCESS_DENIED],
    "has an unknown error": lambda _: [_error(65535, b"what?")],
    "has an error without a text": lambda _: [packet(b"\xff\x15\x04")],
    "has half an error": lambda _: [packet(b"\xff\x15")],
    "has an error of many lines": lambda _: [
        _error(1105, b"one\ntwo\r\nTraceback (most recent call last):\n")
    ],
    "has an error that steers": lambda _: [_error(1105, b"\x1b]0;owned\x07\x1b[2J\xc2\x9b31m")],
    "has an error that is no text": lambda _: [_error(1105, b"\xff\xfe\xc3\x28")],
    "has a long error": lambda _: [_error(1105, b"x" * 1_000_000)],
    "is read-only": lambda _: [_error(1290, b"--read-only")],
    "deadlocks": lambda _: [_error(1213, b"Deadlock found")],
    "says yes": lambda _: [packet(b"\0\0\0\2\0\0\0")],
    "says yes too shortly": lambda _: [packet(b"\0\0\0")],
    "always has more": lambda _: [packet(b"\0\0\0\x0a\0\0\0"), "endless"],
    "ends at once": lambda _: [packet(b"\xfe\0\0\2\0")],
    "has no columns": lambda _: [packet(b"\xfb" + b"\0" * 8)],
    "has 2^63 columns": lambda _: [packet(b"\xfe" + b"\xff" * 7 + b"\x7f"), "silence"],
    "has 2^63 columns in 3 bytes": lambda _: [packet(b"\xfe\xff\xff")],
    "has 16 million columns": lambda _: [packet(b"\xfd\xff\xff\xff"), packet(COLUMN, 2), "endless"],
    "describes a column badly": lambda _: [packet(b"\1"), packet(b"\xfe" * 30, 2)],
    "describes a column in no text": lambda _: [
        packet(b"\1"),
        packet(COLUMN.replace(b"\1c", b"\1\xff"), 2),
        EOF,
    ],
    "has no rows": lambda _: [rows(times=0)],
    "has a row of nothing": lambda _: [rows(None)],
    "has rows of nothing": lambda _: [rows(None, None, columns=2, times=3)],
    "has too many columns": lambda _: [rows(*[b"1"] * 9, columns=9)],
    "has a superscript": lambda _: [rows(b"Threads_connected", "\N{SUPERSCRIPT TWO}".encode(), columns=2)],
    "has superscripts": lambda _: [
        rows("\N{SUPERSCRIPT TWO}".encode(), "\N{SUPERSCRIPT TWO}".encode(), columns=2)
    ],
    "has a superscript alone": lambda _: [rows("\N{SUPERSCRIPT TWO}".encode())],
    "has other digits": lambda _: [rows(b"Uptime", "\N{DEVANAGARI DIGIT ONE}".encode(), columns=2)],
    "has half a minus": lambda _: [rows(b"Uptime", b"--1", columns=2)],
    "has a huge number": lambda _: [rows(b"Uptime", b"9" * 6000, columns=2)],
    "has a huge number alone": lambda _: [rows(b"9" * 6000)],
    "has what is no number": lambda _: [rows(b"x")],
    "has what is no text": lambda _: [rows(b"\xff\xfe\xc3\x28")],
    "has what steers": lambda _: [rows(b"\x1b]0;owned\x07\x1b[2J")],
    "has a row that is short": lambda _: [packet(b"\1"), packet(COLUMN, 2), EOF, packet(b"\x30ab", 4)],
}


def scripts() -> Iterator[tuple[str, Script, bool]]:
    """Each script's name, itself, and whether its server offers TLS."""
    for stage, pattern in STAGES.items():
        for name, act in MISCHIEF.items():
            yield f"at the {stage} it {name}", _at(pattern, act), False
    for plugin in PLUGINS:
        switch = packet(b"\xfe" + plugin.encode("latin1") + b"\0" + SALT, 2)
        for name, then in {
            "closes": ["close"],
            "is silent": ["silence"],
            "wants all": [packet(WANTS_ALL, 4), "silence"],
            "sends a key": [packet(PEM, 4), "silence"],
            "says yes": [packet(b"\0\0\0\2\0\0\0", 4)],
            "asks again": [packet(b"\xfe" + plugin.encode("latin1") + b"\0" + SALT, 4), "silence"],
            "prompts": [packet(b"\x02Password: ", 4), "silence"],
        }.items():
            yield f"it switches to {plugin!r} and {name}", _at("login", _said(switch, *then)), False
        yield f"it greets with {plugin!r}", _greeting(plugin, [packet(WANTS_ALL, 2), "silence"]), False
        yield f"it greets with {plugin!r}, sends a key", _greeting(plugin, [packet(PEM, 2), "silence"]), False
    yield "it is as before MySQL 4.1", _at("login", lambda _: [packet(b"\xfe", 2), "silence"]), False
    for name, greeting in _GREETINGS.items():
        yield f"its greeting {name}", _at("greeting", greeting), False
    for name, then in {
        "closes": ["close"],
        "is silent": ["silence"],
        "says garbage": [b"\0" * 4000],
        "drips": [b"\x16", "drip"],
    }.items():
        yield f"it offers TLS and {name}", _at("login", _said(*then)), True


_GREETINGS: dict[str, Callable[[list[bytes]], Sequence[Act]]] = {
    "has an older protocol": lambda said: [said[0][:4] + b"\x09" + said[0][5:]],
    "has no version": lambda said: [packet(b"\x0a\0" + said[0].partition(b"\0\0\0")[2], 0)],
    "has a version of letters": lambda said: [
        re.sub(rb"\x0a[^\0]*", lambda v: b"\x0a" + b"x" * (len(v[0]) - 1), said[0], count=1)
    ],
    "has an endless version": lambda _: [packet(b"\x0a" + b"9" * 4000, 0)],
    "is too long": lambda _: [packet(b"\x0a9.7\0" + b"\xff" * 8000, 0)],
    "has nothing but flags": lambda _: [packet(b"\x0a9.7\0" + b"\1\0\0\0" + b"saltsalt\0" + b"\xff\xf7", 0)],
    "has no flags set": lambda _: [
        packet(b"\x0a9.7\0" + b"\1\0\0\0" + b"saltsalt\0" + b"\0\0" + b"\0" * 30, 0)
    ],
    "is HTTP": lambda _: [b"HTTP/1.1 400 Bad Request\r\n\r\n", "close"],
}


def _at(pattern: str, act: Callable[[list[bytes]], Sequence[Act]]) -> Script:
    """The mischief wherever the pattern fits, the recorded answer elsewhere."""

    def script(place: Place, packets: list[bytes]) -> Sequence[Act]:
        return act(packets or [packet(b"\0")]) if re.match(pattern, place.what) else packets

    return script


def _said(*acts: Act) -> Callable[[list[bytes]], Sequence[Act]]:
    return lambda _: acts


def _greeting(plugin: str, then: Sequence[Act]) -> Script:
    """A greeting that names this method, and what follows the answer to it."""

    def script(place: Place, packets: list[bytes]) -> Sequence[Act]:
        if place.what == "greeting":
            payload = packets[0][HEADER_BYTES:].rstrip(b"\0")
            return [packet(payload[: payload.rindex(b"\0") + 1] + plugin.encode("latin1") + b"\0", 0)]
        return then if place.what == "login" else packets

    return script
