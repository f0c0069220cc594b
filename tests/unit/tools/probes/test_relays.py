"""The greeting that a hostile wire hands on offers no TLS, and is otherwise the server's own."""

from __future__ import annotations

from tlstax.tools.probes.drivers.relays import scramble_of, without_tls

FIRST, SECOND = b"12345678", b"abcdefghijkl"
VERSION, CONNECTION = b"9.7.4\x00", b"\x07\x00\x00\x00"


def greeting(flags: int) -> bytes:
    """As a server sends it (source documentation, "Protocol::HandshakeV10")."""
    low, high = flags & 0xFFFF, flags >> 16
    return b"".join(
        (
            b"\x0a",
            VERSION,
            CONNECTION,
            FIRST,
            b"\x00",
            low.to_bytes(2, "little"),
            b"\xff",
            b"\x02\x00",
            high.to_bytes(2, "little"),
            b"\x15",
            bytes(10),
            SECOND,
            b"\x00caching_sha2_password\x00",
        )
    )


def test_only_the_offer_of_tls_is_gone() -> None:
    assert without_tls(greeting(0xDFFFFFFF)) == greeting(0xDFFFF7FF)
    assert without_tls(greeting(0x00000000)) == greeting(0x00000000)


def test_the_challenge_is_put_together() -> None:
    assert scramble_of(greeting(0xFFFFFFFF)) == FIRST + SECOND
