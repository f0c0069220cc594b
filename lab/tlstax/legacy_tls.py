"""What a client must be told to talk to servers of the TLS 1.0 era; pure."""

from __future__ import annotations

from tlstax.contract import TlsVersion

LEGACY_CIPHERS = "AES256-SHA:@SECLEVEL=0"
"""RSA key exchange, AES-256, HMAC-SHA-1 (RFC 3268) is what yaSSL has and OpenSSL still does. With
Diffie-Hellman, which yaSSL would rather use, it offers 512 bits, and OpenSSL refuses those at any security
level. Level 0 is needed for the hashes of these versions, MD5 and SHA-1."""


def cipher_list(version: TlsVersion | None) -> str | None:
    """The ciphers for this version and those before TLS 1.3, in OpenSSL's words; None: the library's own."""
    return LEGACY_CIPHERS if version in ("1.0", "1.1") else None
