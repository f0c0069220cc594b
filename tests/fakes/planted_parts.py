"""Costs of the parts of a connection, planted, and what mixes of them then cost."""

from __future__ import annotations

from tlstax.topics.prediction.parts import Parts

PLANTED = {
    "connection": 300.0,
    "statement": 40.0,
    "statement beyond 8": 35.0,
    "statement beyond 8 under TLS": 3.0,
    "KiB": 1.5,
    "KiB beyond 16": 0.4,
    "buffer KiB": 0.3,
    "KiB beyond 16 under TLS": 0.6,
    "TLS 1.3": 500.0,
    "TLS 1.2": 450.0,
    "TLS 1.3 resumed": 180.0,
    "TLS 1.2 resumed": 60.0,
    "key rsa-3072": 900.0,
    "key rsa-4096": 2500.0,
    "key ec-p256": -250.0,
    "key ec-p384": 300.0,
    "key ed25519": -200.0,
    "key mldsa44": 600.0,
    "key mldsa65": 1100.0,
    "chain rsa-2048": 1.0,
    "chain ec-p256": 2.0,
    "chain mldsa65": 3.0,
    "client rsa-2048": 150.0,
    "client ec-p256": 250.0,
    "client mldsa65": 350.0,
    "group X25519": 10.0,
    "group X25519MLKEM768": 80.0,
    "group default": 90.0,
    "group P-384": 400.0,
    "ticket again": 5.0,
    "statement under TLS": 4.0,
    "KiB under TLS": 0.9,
    "login mysql_native_password": -20.0,
    **{
        f"{name}{algorithm}": times * own
        for algorithm, times in (("zlib", 1.0), ("zstd", 0.3))
        for name, own in (
            ("compression ", 30.0),
            ("statement under ", 12.0),
            ("KiB under ", 16.0),
            ("KiB 8 to 16 under ", 23.0),
            ("KiB 16 to 32 under ", 44.0),
            ("KiB beyond 32 under ", 61.0),
        )
    },
    "statement under zlib under TLS": 2.0,
    "statement under zstd under TLS": 1.5,
    **{
        f"{name} through {path}": own
        for path in ("ssh-aes128-gcm", "stunnel", "haproxy-tls")
        for name, own in (
            ("connection", 150.0),
            ("statement", 25.0),
            ("statement beyond 8", 20.0),
            ("KiB", 2.5),
        )
    },
}
"""Microseconds; what is made up is in the order of what servers take."""

PLANTED_AT_POSTGRESQL = {
    **{
        name: own
        for name, own in PLANTED.items()
        if name
        in {
            *("connection", "statement", "KiB", "statement beyond 8", "KiB beyond 16", "buffer KiB"),
            *(
                "statement under TLS",
                "KiB under TLS",
                "statement beyond 8 under TLS",
                "KiB beyond 16 under TLS",
            ),
            *("TLS 1.2", "TLS 1.3", "group default", "group X25519", "chain rsa-2048", "chain ec-p256"),
            *("key rsa-3072", "key rsa-4096", "key ec-p256", "key ec-p384", "key ed25519"),
            *("client rsa-2048", "client ec-p256"),
        }
        or name.endswith(" through stunnel")
    },
    "SSLRequest": 12.0,
    "login scram-sha-256": 90.0,
    "login scram-sha-256 under TLS": 8.0,
    "login scram-sha-256-plus under TLS": 14.0,
    "login md5": 25.0,
    "login md5 under TLS": 4.0,
    "login password": 1500.0,
    "login cert": 15.0,
    "preparing": 45.0,
    "statement prepared": -11.0,
    "large values": 35.0,
    "statement of a large value": 7.0,
    "connection through pgbouncer": 60.0,
    "statement through pgbouncer": 28.0,
    "statement beyond 8 through pgbouncer": 26.0,
    "KiB through pgbouncer": 1.1,
}
"""The same of PostgreSQL, as far as its study has them."""


def cost_of(parts: Parts) -> float:
    known = PLANTED | PLANTED_AT_POSTGRESQL
    return sum(known[name] * amount for name, amount in parts.items())
