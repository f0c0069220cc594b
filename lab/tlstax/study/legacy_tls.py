"""What both sides need set for TLS that is no longer thought safe: old versions, short keys."""

from __future__ import annotations

from tlstax.contract import TlsVersion
from tlstax.study.level_names import DEFAULT_CERTIFICATE

LEGACY_CIPHERS = "AES256-SHA:@SECLEVEL=0"
"""RSA key exchange, AES-256, HMAC-SHA-1 (RFC 3268) is what yaSSL has and OpenSSL still does. With
Diffie-Hellman, which yaSSL would rather use, it offers 512 bits, and OpenSSL refuses those at any security
level. Level 0 is needed for the hashes of these versions, MD5 and SHA-1."""


SHORT_KEYS = frozenset({"rsa-1024"})
"""Certificates with keys of less than the 112 bits of security that level 2 asks for, the default since
OpenSSL 3.2 and in Debian (SSL_CTX_set_security_level(3)): RSA of 1024 bits has 80."""

ANY_KEY = "DEFAULT:@SECLEVEL=0"
"""The library's own ciphers, with keys of any length; the level holds for TLS 1.3 too."""


def cipher_list(
    version: TlsVersion | None, certificate: str = DEFAULT_CERTIFICATE, only: str | None = None
) -> str | None:
    """The ciphers for this version and those before TLS 1.3, in OpenSSL's words; None: the library's own.

    `certificate` is the kind of key that the server shows, `only` the one cipher to be offered (none: any).
    """
    if only:
        return f"{only}:@SECLEVEL=0" if version in {"1.0", "1.1"} or certificate in SHORT_KEYS else only
    if version in {"1.0", "1.1"}:
        return LEGACY_CIPHERS
    return ANY_KEY if certificate in SHORT_KEYS else None


def openssl_conf(certificate: str) -> str:
    """The configuration that a server's OpenSSL needs for such a certificate, as a file's text; often none.

    Without it MySQL 9.7 starts without TLS, and MariaDB does not start (config(5), SSL configuration).
    """
    if certificate not in SHORT_KEYS:
        return ""
    sections = {"": "openssl_conf = modules", "modules": "ssl_conf = ssl", "ssl": "system_default = all"}
    sections["all"] = f"CipherString = {ANY_KEY}"
    return "".join(f"[{name}]\n{line}\n" if name else f"{line}\n" for name, line in sections.items())
