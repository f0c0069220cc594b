"""SCRAM-SHA-256, the client's side, as libpq speaks it: the user's name is empty, the server has it already.

Source: RFC 5802 and RFC 7677; PostgreSQL documentation, "SASL Authentication"; RFC 5929, section 4.1, for
what a channel is bound to.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from scramp import ScramException
from scramp.utils import saslprep

from tlstax.support.text import natural

PLAIN, PLUS = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"

_NONCE_BYTES: Final = 18
"""As many random bytes as libpq takes (SCRAM_RAW_NONCE_LEN)."""

_MOST_ITERATIONS: Final = 10_000_000
"""More would keep a processor busy for seconds, on the word of a server that has proved nothing yet."""

_MOST_BYTES: Final = 4096
"""More than any server's message has."""

_HASHES = {"MD5": "sha256", "SHA1": "sha256"}
"""What stands for digests that are no longer safe (RFC 5929, section 4.1)."""


class ScramError(Exception):
    """The server does not keep to SCRAM, or did not prove that it knows the password."""


class ScramClient:
    """One exchange: `first`, then `final` for what the server answers, then `verify` for its last word."""

    def __init__(self, password: str, *, end_point: bytes | None, could_bind: bool) -> None:
        """`end_point` binds it to a TLS channel; `could_bind` says that the server did not offer to."""
        self._password = _prepared(password)
        self.mechanism = PLUS if end_point is not None else PLAIN
        flag = b"p=tls-server-end-point" if end_point is not None else b"y" if could_bind else b"n"
        self._header = flag + b",,"
        self._binding = base64.b64encode(self._header + (end_point or b""))
        self._nonce = base64.b64encode(secrets.token_bytes(_NONCE_BYTES))
        self._signature = b""
        self.is_verified = False
        self.iterations = 0

    def first(self) -> bytes:
        """What the client says first, with its nonce."""
        return self._header + self._bare

    @property
    def _bare(self) -> bytes:
        return b"n=,r=" + self._nonce

    def final(self, server_first: bytes) -> bytes:
        """The client's proof, for the server's nonce, salt and iterations. Raises ScramError."""
        nonce, salt, iterations = _server_first(server_first)
        self.iterations = iterations
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise ScramError("the server's nonce does not continue the client's")
        client_key, server_key = keys(self._password, salt, iterations)
        without_proof = b"c=" + self._binding + b",r=" + nonce
        signed = b",".join((self._bare, server_first, without_proof))
        proof = _xor(client_key, _hmac(hashlib.sha256(client_key).digest(), signed))
        self._signature = _hmac(server_key, signed)
        return without_proof + b",p=" + base64.b64encode(proof)

    def verify(self, server_final: bytes) -> None:
        """See that the server knows the password as well. Raises ScramError."""
        expected = b"v=" + base64.b64encode(self._signature)
        said = server_final.partition(b",")[0]
        if not self._signature or not hmac.compare_digest(said, expected):
            raise ScramError("the server did not prove that it knows the password")
        self.is_verified = True


def keys(password: bytes, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
    """ClientKey and ServerKey, of which the other side keeps a hash and the key (RFC 5802, section 3)."""
    salted = hashlib.pbkdf2_hmac("sha256", password, salt, iterations)
    return _hmac(salted, b"Client Key"), _hmac(salted, b"Server Key")


def end_point_of(certificate: bytes) -> bytes | None:
    """The digest of a server's certificate (DER), to which a channel is bound; None where there is none."""
    try:
        algorithm = x509.load_der_x509_certificate(certificate).signature_hash_algorithm
    except (ValueError, UnsupportedAlgorithm):
        return None
    if algorithm is None:
        return None
    name = _HASHES.get(algorithm.name.upper(), algorithm.name)
    try:
        return hashlib.new(name, certificate).digest()
    except ValueError:
        return None


def md5_proof(user: bytes, password: bytes, salt: bytes) -> bytes:
    """The answer to AuthenticationMD5Password (PostgreSQL documentation, "Message Flow")."""
    inner = hashlib.md5(password + user, usedforsecurity=False).hexdigest().encode()
    return b"md5" + hashlib.md5(inner + salt, usedforsecurity=False).hexdigest().encode()


def _prepared(password: str) -> bytes:
    """As SASLprep has it, and as it is where that has no word for it, as PostgreSQL does with both sides."""
    try:
        return str(saslprep(password)).encode()
    except ScramException:
        return password.encode()


def _server_first(message: bytes) -> tuple[bytes, bytes, int]:
    parts = message.split(b",")
    if len(message) > _MOST_BYTES or [part[:2] for part in parts[:3]] != [b"r=", b"s=", b"i="]:
        raise ScramError("the server's first message is none of SCRAM's")
    nonce, salt, iterations = (part[2:] for part in parts[:3])
    try:
        decoded = base64.b64decode(salt, validate=True)
    except binascii.Error as error:
        raise ScramError("the server's salt is not in base64") from error
    times = natural(iterations.decode("ascii", errors="replace"))
    if times is None or not decoded:
        raise ScramError("the server's first message is none of SCRAM's")
    if not 0 < times <= _MOST_ITERATIONS:
        raise ScramError(f"the server wants more than {_MOST_ITERATIONS:,} iterations, or none")
    return nonce, decoded, times


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
