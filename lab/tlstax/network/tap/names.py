"""What the numbers on the wire are called: cipher suites, groups, versions, MySQL's commands."""

from __future__ import annotations

import re

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

COMMANDS = {
    0x01: "COM_QUIT",
    0x02: "COM_INIT_DB",
    0x03: "COM_QUERY",
    0x04: "COM_FIELD_LIST",
    0x07: "COM_REFRESH",
    0x08: "COM_SHUTDOWN",
    0x09: "COM_STATISTICS",
    0x0A: "COM_PROCESS_INFO",
    0x0C: "COM_PROCESS_KILL",
    0x0D: "COM_DEBUG",
    0x0E: "COM_PING",
    0x11: "COM_CHANGE_USER",
    0x16: "COM_STMT_PREPARE",
    0x17: "COM_STMT_EXECUTE",
    0x18: "COM_STMT_SEND_LONG_DATA",
    0x19: "COM_STMT_CLOSE",
    0x1A: "COM_STMT_RESET",
    0x1B: "COM_SET_OPTION",
    0x1C: "COM_STMT_FETCH",
    0x1F: "COM_RESET_CONNECTION",
    0xFA: "COM_STMT_BULK_EXECUTE",
}
"""Commands of MySQL's client/server protocol ("Command Phase"); the last is MariaDB's."""


def suite_name(number: int) -> str:
    """A cipher suite's name, or its number in hexadecimal."""
    return SUITES.get(number, f"0x{number:04x}")


def group_name(number: int) -> str:
    """A key exchange group's name, or its number in hexadecimal."""
    return GROUPS.get(number, f"0x{number:04x}")


def signature_name(number: int) -> str:
    """A signature scheme's name, or its number in hexadecimal."""
    return SIGNATURES.get(number, f"0x{number:04x}")


def version_name(number: int) -> str:
    """A protocol version's name, or its number in hexadecimal."""
    return VERSIONS.get(number, f"0x{number:04x}")


def command_name(number: int) -> str:
    """A command's name, or its number in hexadecimal."""
    return COMMANDS.get(number, f"command 0x{number:02x}")


def is_grease(number: int) -> bool:
    """Whether a value stands for nothing, and is there to see that the other side bears it (RFC 8701)."""
    return number & 0x0F0F == 0x0A0A and number >> 8 == number & 0xFF
