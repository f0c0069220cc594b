"""A TLS handshake followed without a key: what was offered, what was chosen, when it is over.

What the numbers on the wire are called is here too: cipher suites, groups, signatures, versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tlstax.network.tap.units import Cursor, Malformed, Unit, numbers
from tlstax.records.capture import Hello, Sender, TlsSeen

_SUITES = """
0004 RC4-MD5 0005 RC4-SHA 0009 DES-CBC-SHA 000a DES-CBC3-SHA 0013 DHE-DSS-DES-CBC3-SHA
0016 DHE-RSA-DES-CBC3-SHA 002f AES128-SHA 0032 DHE-DSS-AES128-SHA 0033 DHE-RSA-AES128-SHA 0035 AES256-SHA
0038 DHE-DSS-AES256-SHA 0039 DHE-RSA-AES256-SHA 003c AES128-SHA256 003d AES256-SHA256
0040 DHE-DSS-AES128-SHA256 0041 CAMELLIA128-SHA 0044 DHE-DSS-CAMELLIA128-SHA 0045 DHE-RSA-CAMELLIA128-SHA
0067 DHE-RSA-AES128-SHA256 006a DHE-DSS-AES256-SHA256 006b DHE-RSA-AES256-SHA256 0084 CAMELLIA256-SHA
0087 DHE-DSS-CAMELLIA256-SHA 0088 DHE-RSA-CAMELLIA256-SHA 009c AES128-GCM-SHA256 009d AES256-GCM-SHA384
009e DHE-RSA-AES128-GCM-SHA256 009f DHE-RSA-AES256-GCM-SHA384 00a2 DHE-DSS-AES128-GCM-SHA256
00a3 DHE-DSS-AES256-GCM-SHA384 00ba CAMELLIA128-SHA256 00bd DHE-DSS-CAMELLIA128-SHA256
00be DHE-RSA-CAMELLIA128-SHA256 00c0 CAMELLIA256-SHA256 00c3 DHE-DSS-CAMELLIA256-SHA256
00c4 DHE-RSA-CAMELLIA256-SHA256 00ff TLS_EMPTY_RENEGOTIATION_INFO_SCSV 1301 TLS_AES_128_GCM_SHA256
1302 TLS_AES_256_GCM_SHA384 1303 TLS_CHACHA20_POLY1305_SHA256 1304 TLS_AES_128_CCM_SHA256
1305 TLS_AES_128_CCM_8_SHA256 5600 TLS_FALLBACK_SCSV c002 ECDH-ECDSA-RC4-SHA c003 ECDH-ECDSA-DES-CBC3-SHA
c004 ECDH-ECDSA-AES128-SHA c005 ECDH-ECDSA-AES256-SHA c007 ECDHE-ECDSA-RC4-SHA
c008 ECDHE-ECDSA-DES-CBC3-SHA c009 ECDHE-ECDSA-AES128-SHA c00a ECDHE-ECDSA-AES256-SHA
c00c ECDH-RSA-RC4-SHA c00d ECDH-RSA-DES-CBC3-SHA c00e ECDH-RSA-AES128-SHA c00f ECDH-RSA-AES256-SHA
c011 ECDHE-RSA-RC4-SHA c012 ECDHE-RSA-DES-CBC3-SHA c013 ECDHE-RSA-AES128-SHA c014 ECDHE-RSA-AES256-SHA
c023 ECDHE-ECDSA-AES128-SHA256 c024 ECDHE-ECDSA-AES256-SHA384 c025 ECDH-ECDSA-AES128-SHA256
c026 ECDH-ECDSA-AES256-SHA384 c027 ECDHE-RSA-AES128-SHA256 c028 ECDHE-RSA-AES256-SHA384
c029 ECDH-RSA-AES128-SHA256 c02a ECDH-RSA-AES256-SHA384 c02b ECDHE-ECDSA-AES128-GCM-SHA256
c02c ECDHE-ECDSA-AES256-GCM-SHA384 c02d ECDH-ECDSA-AES128-GCM-SHA256 c02e ECDH-ECDSA-AES256-GCM-SHA384
c02f ECDHE-RSA-AES128-GCM-SHA256 c030 ECDHE-RSA-AES256-GCM-SHA384 c031 ECDH-RSA-AES128-GCM-SHA256
c032 ECDH-RSA-AES256-GCM-SHA384 c050 ARIA128-GCM-SHA256 c051 ARIA256-GCM-SHA384
c052 DHE-RSA-ARIA128-GCM-SHA256 c053 DHE-RSA-ARIA256-GCM-SHA384 c056 DHE-DSS-ARIA128-GCM-SHA256
c057 DHE-DSS-ARIA256-GCM-SHA384 c05c ECDHE-ECDSA-ARIA128-GCM-SHA256 c05d ECDHE-ECDSA-ARIA256-GCM-SHA384
c060 ECDHE-ARIA128-GCM-SHA256 c061 ECDHE-ARIA256-GCM-SHA384 c072 ECDHE-ECDSA-CAMELLIA128-SHA256
c073 ECDHE-ECDSA-CAMELLIA256-SHA384 c076 ECDHE-RSA-CAMELLIA128-SHA256 c077 ECDHE-RSA-CAMELLIA256-SHA384
c09c AES128-CCM c09d AES256-CCM c09e DHE-RSA-AES128-CCM c09f DHE-RSA-AES256-CCM c0a0 AES128-CCM8
c0a1 AES256-CCM8 c0a2 DHE-RSA-AES128-CCM8 c0a3 DHE-RSA-AES256-CCM8 c0ac ECDHE-ECDSA-AES128-CCM
c0ad ECDHE-ECDSA-AES256-CCM c0ae ECDHE-ECDSA-AES128-CCM8 c0af ECDHE-ECDSA-AES256-CCM8
cca8 ECDHE-RSA-CHACHA20-POLY1305 cca9 ECDHE-ECDSA-CHACHA20-POLY1305 ccaa DHE-RSA-CHACHA20-POLY1305
"""

SUITES: dict[int, str] = {
    int(number, 16): name for number, name in re.findall(r"([0-9a-f]{4}) (\S+)", _SUITES)
}
"""Cipher suites as OpenSSL prints them: `openssl ciphers -V` of OpenSSL 3.0; those that it has dropped, as in
ciphers(1) of 1.0.2. The two that are signals and no suites (RFC 5746, RFC 7507) have IANA's names."""

GROUPS = {
    0x0013: "secp192r1",
    0x0015: "secp224r1",
    0x0016: "secp256k1",
    0x0017: "secp256r1",
    0x0018: "secp384r1",
    0x0019: "secp521r1",
    0x001A: "brainpoolP256r1",
    0x001B: "brainpoolP384r1",
    0x001C: "brainpoolP512r1",
    0x001D: "x25519",
    0x001E: "x448",
    0x001F: "brainpoolP256r1tls13",
    0x0020: "brainpoolP384r1tls13",
    0x0021: "brainpoolP512r1tls13",
    0x0100: "ffdhe2048",
    0x0101: "ffdhe3072",
    0x0102: "ffdhe4096",
    0x0103: "ffdhe6144",
    0x0104: "ffdhe8192",
    0x11EB: "SecP256r1MLKEM768",
    0x11EC: "X25519MLKEM768",
    0x11ED: "SecP384r1MLKEM1024",
}
"""Key exchange groups: IANA's registry "TLS Supported Groups"."""

SIGNATURES = {
    0x0201: "rsa_pkcs1_sha1",
    0x0203: "ecdsa_sha1",
    0x0401: "rsa_pkcs1_sha256",
    0x0501: "rsa_pkcs1_sha384",
    0x0601: "rsa_pkcs1_sha512",
    0x0403: "ecdsa_secp256r1_sha256",
    0x0503: "ecdsa_secp384r1_sha384",
    0x0603: "ecdsa_secp521r1_sha512",
    0x0804: "rsa_pss_rsae_sha256",
    0x0805: "rsa_pss_rsae_sha384",
    0x0806: "rsa_pss_rsae_sha512",
    0x0807: "ed25519",
    0x0808: "ed448",
    0x0809: "rsa_pss_pss_sha256",
    0x080A: "rsa_pss_pss_sha384",
    0x080B: "rsa_pss_pss_sha512",
    0x0904: "mldsa44",
    0x0905: "mldsa65",
    0x0906: "mldsa87",
}
"""What a server may sign with: IANA's registry "TLS SignatureScheme"."""

VERSIONS = {0x0300: "SSLv3", 0x0301: "TLSv1", 0x0302: "TLSv1.1", 0x0303: "TLSv1.2", 0x0304: "TLSv1.3"}
"""Protocol versions as OpenSSL prints them."""


def named(names: Mapping[int, str], number: int) -> str:
    """What a number is called, or itself in hexadecimal."""
    return names.get(number, f"0x{number:04x}")


def _offered(names: Mapping[int, str], numbers: Iterable[int]) -> tuple[str, ...]:
    """What a client offers, by name: without what only tests how the other side bears it (RFC 8701)."""
    return tuple(named(names, one) for one in numbers if one & 0x0F0F != 0x0A0A or one >> 8 != one & 0xFF)


HELLO_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random number of a ServerHello that is a HelloRetryRequest (RFC 8446, section 4.1.3)."""

TLS13 = 0x0304

_SERVER_NAME, _GROUPS, _SIGNATURES, _ALPN, _TICKET, _PSK, _VERSIONS, _KEY_SHARE = (
    0,
    10,
    13,
    16,
    35,
    41,
    43,
    51,
)
"""Extensions, by their numbers in IANA's registry."""

_NAMED_CURVE = 3
"""How a ServerKeyExchange of ECDHE begins (RFC 8422, section 5.4)."""


@dataclass(frozen=True)
class ServerSaid:
    """A ServerHello: what the server chose. `group` is None where it is sent later, or there is none."""

    version: int
    suite: int
    group: str | None
    hello_retry: bool
    takes_psk: bool


def client_hello(body: bytes) -> Hello:
    """A ClientHello without its header (RFC 8446, section 4.1.2). Malformed where it is none."""
    cursor = Cursor(body)
    version = cursor.number(2)
    cursor.take(32)
    session_id = cursor.vector(1)
    suites = numbers(cursor.vector(2))
    cursor.vector(1)
    extensions = _extensions(cursor)
    versions: tuple[int, ...] = (version,)
    if _VERSIONS in extensions:
        versions = numbers(Cursor(extensions[_VERSIONS]).vector(1))
    named_session = bool(session_id) and TLS13 not in versions
    return Hello(
        versions=_offered(VERSIONS, sorted(versions, reverse=True)),
        cipher_suites=_offered(SUITES, suites),
        groups=_offered(GROUPS, _listed(extensions, _GROUPS)),
        key_shares=_offered(GROUPS, _key_shares(extensions)),
        server_name=_server_name(extensions),
        offers_session=named_session or bool(extensions.get(_TICKET)) or _PSK in extensions,
        signatures=_offered(SIGNATURES, _listed(extensions, _SIGNATURES)),
        protocols=_protocols(extensions),
    )


def server_hello(body: bytes) -> ServerSaid:
    """A ServerHello without its header (RFC 8446, section 4.1.3). Malformed where it is none."""
    cursor = Cursor(body)
    version = cursor.number(2)
    random = cursor.take(32)
    cursor.vector(1)
    suite = cursor.number(2)
    cursor.take(1)
    extensions = _extensions(cursor)
    if chosen := extensions.get(_VERSIONS):
        version = Cursor(chosen).number(2)
    share = extensions.get(_KEY_SHARE)
    return ServerSaid(
        version=version,
        suite=suite,
        group=named(GROUPS, Cursor(share).number(2)) if share else None,
        hello_retry=random == HELLO_RETRY,
        takes_psk=_PSK in extensions,
    )


def key_exchange_group(body: bytes, suite: str) -> str | None:
    """The group of a ServerKeyExchange; None for a cipher suite that has none.

    It is a curve (RFC 8422, section 5.4), or a prime, which is named by its size (RFC 5246, section 7.4.3).
    """
    cursor = Cursor(body)
    if "ECDHE" in suite:
        return named(GROUPS, cursor.number(2)) if cursor.number(1) == _NAMED_CURVE else None
    if "DHE" in suite:
        return f"DH {int.from_bytes(cursor.vector(2), 'big').bit_length()}"
    return None


def _extensions(cursor: Cursor) -> dict[int, bytes]:
    """All extensions by number; before TLS 1.2 there may be none."""
    found: dict[int, bytes] = {}
    if not cursor.rest:
        return found
    inside = Cursor(cursor.vector(2))
    while inside.rest:
        number = inside.number(2)
        found[number] = inside.vector(2)
    return found


def _listed(extensions: dict[int, bytes], extension: int) -> tuple[int, ...]:
    """The numbers in an extension that is one list of them; none where it was not sent."""
    return numbers(Cursor(extensions[extension]).vector(2)) if extension in extensions else ()


def _key_shares(extensions: dict[int, bytes]) -> list[int]:
    shares: list[int] = []
    if _KEY_SHARE in extensions:
        inside = Cursor(Cursor(extensions[_KEY_SHARE]).vector(2))
        while inside.rest:
            shares.append(inside.number(2))
            inside.vector(2)
    return shares


def _protocols(extensions: dict[int, bytes]) -> tuple[str, ...]:
    """The names in ALPN (RFC 7301, section 3.1), which are bytes and in practice ASCII."""
    names: list[str] = []
    if _ALPN in extensions:
        inside = Cursor(Cursor(extensions[_ALPN]).vector(2))
        while inside.rest:
            names.append(inside.vector(1).decode("utf-8", "replace"))
    return tuple(names)


def _server_name(extensions: dict[int, bytes]) -> str | None:
    """The first host name (RFC 6066, section 3)."""
    if _SERVER_NAME not in extensions:
        return None
    names = Cursor(Cursor(extensions[_SERVER_NAME]).vector(2))
    if names.number(1) != 0:
        raise Malformed
    return names.vector(2).decode("utf-8", "replace")


CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA = 20, 21, 22, 23
"""Content types of records (RFC 8446, section 5.1)."""

_TYPES = {20: "ChangeCipherSpec", 21: "Alert", 22: "Handshake", 23: "Application Data"}

_CLIENT_HELLO, _SERVER_HELLO, _SERVER_KEY_EXCHANGE, _SERVER_HELLO_DONE = 1, 2, 12, 14
"""Types of handshake messages (RFC 8446, section 4; RFC 5246, section 7.4)."""

_MESSAGE_HEADER_BYTES = 4
_LONGEST_HANDSHAKE_BYTES = 1 << 17
_ALERT_BYTES = 2
_CONTENT_TYPE_BYTES = 1
"""What is sealed with the content of a record of TLS 1.3 (RFC 8446, section 5.2)."""

_EMPTY_CERTIFICATE_BYTES = _MESSAGE_HEADER_BYTES + 1 + 3
"""What a client without a certificate answers a server that asks for one (RFC 8446, section 4.4.2). rustls
puts it into one record with its Finished."""

_PADDINGS = (0, 16)
"""How many zeros a client adds to what it seals: most none, Java's JSSE sixteen (seen with JDK 17)."""


class Handshake:
    """Follows the records of one connection. Malformed where they are no TLS; it is of no use then."""

    def __init__(self) -> None:
        self._hello: Hello | None = None
        self._version: int | None = None
        self._suite: int | None = None
        self._group: str | None = None
        self._hello_retry = self._resumed = self._hello_done = False
        self._encrypts: set[Sender] = set()
        self._messages: dict[Sender, bytearray] = {"client": bytearray(), "server": bytearray()}
        self._padding: int | None = None
        self._client_sealed = False
        self.finished = False
        """Whether the client's Finished has passed, and in TLS 1.2 and before the server's too."""

    @property
    def seen(self) -> TlsSeen | None:
        """What is known so far; None before there was a ClientHello."""
        if self._hello is None:
            return None
        hello = self._hello
        if self._resumed and not hello.offers_session:
            hello = hello.model_copy(update={"offers_session": True})
        return TlsSeen(
            hello=hello,
            version=None if self._version is None else named(VERSIONS, self._version),
            cipher=None if self._suite is None else named(SUITES, self._suite),
            group=self._group,
            hello_retry=self._hello_retry,
            resumed=self._resumed,
            finished=self.finished,
        )

    def name(self, record: Unit) -> str:
        """What a record is, as far as can be read: "TLSv1.2 Application Data"."""
        version = int.from_bytes(record.header[1:3], "big") if self._version is None else self._version
        return f"{named(VERSIONS, version)} {_TYPES.get(record.header[0], 'record')}"

    def follow(self, sender: Sender, record: Unit) -> bool | None:
        """One more record, in its order. Whether its sender then waits: None says nothing of it."""
        content, body = record.header[0], record.body
        if content not in _TYPES:
            raise Malformed
        if content == HANDSHAKE and sender not in self._encrypts:
            self._read_messages(sender, body)
        elif content == CHANGE_CIPHER_SPEC:
            self._change_cipher(sender)
            return None
        elif self._is_alert(sender, record):
            return None
        elif content == APPLICATION_DATA and self._version == TLS13 and not self.finished:
            return self._sealed(sender, record)
        return True

    def _sealed(self, sender: Sender, record: Unit) -> bool:
        """One of the records of TLS 1.3 until the client's Finished, which it sends and does not wait."""
        if sender == "client":
            self._client_sealed = True
            self.finished = self._is_finished(record)
            return not self.finished
        # A server goes on after the client only when that has finished, however it did.
        self.finished = self._client_sealed
        return True

    def _read_messages(self, sender: Sender, body: bytes) -> None:
        """Handshake messages, which may be cut into several records, or stand in one together."""
        waiting = self._messages[sender]
        waiting += body
        if len(waiting) > _LONGEST_HANDSHAKE_BYTES:
            raise Malformed
        while len(waiting) >= _MESSAGE_HEADER_BYTES:
            end = _MESSAGE_HEADER_BYTES + int.from_bytes(waiting[1:4], "big")
            if len(waiting) < end:
                return
            message = bytes(waiting[_MESSAGE_HEADER_BYTES:end])
            kind = waiting[0]
            del waiting[:end]
            self._message(sender, kind, message)

    def _message(self, sender: Sender, kind: int, message: bytes) -> None:
        if sender == "client" and kind == _CLIENT_HELLO and self._hello is None:
            self._hello = client_hello(message)
        elif sender == "server" and kind == _SERVER_HELLO:
            self._server_hello(message)
        elif sender == "server" and kind == _SERVER_KEY_EXCHANGE and self._suite is not None:
            self._group = key_exchange_group(message, named(SUITES, self._suite))
        elif sender == "server" and kind == _SERVER_HELLO_DONE:
            self._hello_done = True

    def _server_hello(self, message: bytes) -> None:
        said = server_hello(message)
        self._version, self._suite = said.version, said.suite
        if said.hello_retry:
            self._hello_retry = True
            return
        self._group = said.group
        self._resumed = said.takes_psk

    def _change_cipher(self, sender: Sender) -> None:
        """Up to TLS 1.2 the sender encrypts from here on; in TLS 1.3 that means nothing (RFC 8446, 5)."""
        if self._version is None or self._version >= TLS13:
            return
        if sender == "server":
            # A server that resumes goes on at once: no certificate, no keys, no ServerHelloDone.
            self._resumed = not self._hello_done
        self._encrypts.add(sender)
        self.finished = self._encrypts == {"client", "server"}

    def _is_alert(self, sender: Sender, record: Unit) -> bool:
        """Whether a record is an alert, which no one answers; in TLS 1.3 its length gives it away."""
        if record.header[0] != APPLICATION_DATA or self._version != TLS13:
            return record.header[0] == ALERT
        paddings = _PADDINGS if self._padding is None else (self._padding,)
        content = len(record.body) - _CONTENT_TYPE_BYTES - self._tag_bytes()
        return content - _ALERT_BYTES in (paddings if sender == "client" else (0,))

    def _is_finished(self, record: Unit) -> bool:
        """Whether this is the client's Finished of TLS 1.3, which nothing but its length shows from outside.

        It is a hash with a message header (RFC 8446, section 4.4.4). What may come before it, a certificate
        and its proof, has other lengths.
        """
        hash_bytes = 48 if self._suite is not None and named(SUITES, self._suite).endswith("SHA384") else 32
        content = len(record.body) - _CONTENT_TYPE_BYTES - self._tag_bytes()
        for padding in _PADDINGS:
            rest = content - padding - _MESSAGE_HEADER_BYTES - hash_bytes
            if rest in {0, _EMPTY_CERTIFICATE_BYTES}:
                self._padding = padding
                return True
        return False

    def _tag_bytes(self) -> int:
        """How much longer the cipher's seal makes a record of TLS 1.3 (RFC 8446, appendix B.4)."""
        return 8 if self._suite is not None and "CCM_8" in named(SUITES, self._suite) else 16
