"""TLS in the contract: what a client is told of it, and what both sides say that it became."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from tlstax.contract.compression import CompressionAgreed
from tlstax.contract.frozen import Frozen


class TlsOff(Frozen):
    """No encryption; the client does not send an SSLRequest.

    Where caching_sha2_password wants the whole password over TCP, it is encrypted with the server's RSA key.
    That key, which nothing verifies, is asked for only with `get_server_public_key` (an option of the mysql
    client); without, the login fails. The field is written only where it is false, since most clients know
    nothing else than asking.
    """

    mode: Literal["off"] = "off"
    get_server_public_key: bool = Field(default=True, exclude_if=lambda may: may is True)


TlsVersion = Literal["1.0", "1.1", "1.2", "1.3"]


class TlsOn(Frozen):
    """TLS is required; a server without it is an error.

    `cipher_list` (TLS 1.2 and before), `ciphersuites` (TLS 1.3) and `groups` are in OpenSSL's own
    syntax; None leaves the library's default. `library` is the path of a libssl, None the machine's. With
    `weak_dh`, Diffie-Hellman groups of any size are taken, which OpenSSL refuses below 1024 bits even at its
    lowest security level (SSL_CTX_set_security_level(3)). With `own_context` each connection makes a TLS
    context of its own and reads its files for it, as many drivers do; a session belongs to the context that
    it was made in, so that none is resumed then. It is written only where it is true, since no driver is told
    how to go about that.
    """

    mode: Literal["on"] = "on"
    min_version: TlsVersion | None = None
    max_version: TlsVersion | None = None
    cipher_list: str | None = None
    ciphersuites: str | None = None
    groups: str | None = None
    verify: Literal["none", "ca", "identity"] = "none"
    ca_file: str | None = None
    server_name: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    resumption: bool = False
    weak_dh: bool = False
    own_context: bool = Field(default=False, exclude_if=lambda own: own is False)
    library: str | None = None
    keylog_file: str | None = None


class TlsUnset(Frozen):
    """Nothing is said to the driver of TLS: whether and how it encrypts is its own default.

    `trusted_ca_file` is what the driver's runtime is to trust beside nothing else, as if an administrator
    had installed it on the machine; it is never told to the driver itself. None leaves the runtime what it
    has.
    """

    mode: Literal["unset"] = "unset"
    trusted_ca_file: str | None = None


class TlsRequired(Frozen):
    """TLS is required by the plainest word that the driver has for that, and nothing else is said of it.

    Which versions there may be and whose certificates it takes is its own default. `trusted_ca_file` is as
    in TlsUnset.
    """

    mode: Literal["required"] = "required"
    trusted_ca_file: str | None = None


Tls = Annotated[TlsOff | TlsOn | TlsUnset | TlsRequired, Field(discriminator="mode")]


def _is_none(value: object) -> bool:
    """Written only where they are known: most clients know nothing of them."""
    return value is None


class TlsView(Frozen):
    """What one side says was negotiated. Names as OpenSSL prints them.

    `resumed` is None where that side cannot tell: MariaDB's Ssl_sessions_reused stays 0 whatever happens.
    `certificates_sent` is how many certificates the server sent (None where a session was resumed),
    `authorities` how many the client has loaded to verify them, `client_certificate` whether it proved
    itself by one. PostgreSQL's server says how many `cipher_bits` the key has, and by `client_name`, a
    distinguished name, whose certificate it was shown.
    """

    version: str
    cipher: str
    resumed: bool | None
    group: str | None = None
    hello_retry: bool | None = None
    certificate_key: str | None = None
    certificate_sha256: str | None = None
    certificates_sent: int | None = Field(default=None, exclude_if=_is_none)
    authorities: int | None = Field(default=None, exclude_if=_is_none)
    client_certificate: bool | None = Field(default=None, exclude_if=_is_none)
    cipher_bits: int | None = Field(default=None, exclude_if=_is_none)
    client_name: str | None = Field(default=None, exclude_if=_is_none)


class Negotiated(Frozen):
    """What both sides said of connections that were asked before measuring, and how many said so.

    `client` is read from the client's TLS library; `server` is the server's answer, on that very
    connection, to SHOW SESSION STATUS LIKE 'Ssl%'. None means plaintext; but a client that does not
    `client_tells`, because its driver has no word for it, leaves `client` None whatever there is.
    `compression` is None of a client that does not report it.
    """

    connections: PositiveInt
    client: TlsView | None
    server: TlsView | None
    client_tells: bool = True
    compression: CompressionAgreed | None = Field(default=None, exclude_if=_is_none)


class TlsLibrary(Frozen):
    """The TLS library that the client really loaded: what it says of itself, and the files mapped."""

    version: str
    libssl_path: str
    libcrypto_path: str


class Handshakes(Frozen):
    """How many TLS handshakes ended in this way."""

    version: str
    cipher: str
    group: str | None
    resumed: bool
    hello_retry: bool | None
    count: PositiveInt
