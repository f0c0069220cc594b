"""The obfuscated login file that mysql_config_editor writes (~/.mylogin.cnf).

Source of the format: MySQL's own reader, mysys/my_default.cc (mysql_file_getline, get_login_key). Four
unused bytes and twenty bytes of key material are followed by lines, each a four-byte little-endian length
and as many bytes, enciphered with AES-128 in ECB mode and padded as PKCS #7 says. The key is the key
material folded to sixteen bytes by exclusive or. This hides a password from a glance and from nobody else.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tlstax.external import option_file
from tlstax.external.option_file import Groups
from tlstax.support.errors import UserMistake

UNUSED_BYTES = 4
KEY_MATERIAL_BYTES = 20
KEY_BYTES = 16
LENGTH_BYTES = 4

PATH_VARIABLE = "MYSQL_TEST_LOGIN_FILE"
"""The environment variable by which MySQL's own programs are given another login file."""


def login_path(name: str) -> dict[str, str | None]:
    """The options of one login path of the user's login file; UserMistake when there is none."""
    path = Path(os.environ.get(PATH_VARIABLE) or Path.home() / ".mylogin.cnf")
    groups = read(path)
    if name.lower() not in groups:
        raise UserMistake(
            f"the login file {path} has no login path named {name!r}",
            remedy="create it with mysql_config_editor set --login-path=NAME --user=USER --password",
        )
    return groups[name.lower()]


def read(path: Path) -> Groups:
    """The groups of a login file; UserMistake when it is missing, open to others or not of this format."""
    try:
        content = path.read_bytes()
        mode = path.stat().st_mode
    except OSError as error:
        raise UserMistake(f"the login file {path} cannot be read ({error.strerror})") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UserMistake(
            f"the login file {path} can be read by other users, so it is not used",
            remedy=f"run chmod 600 {path}",
        )
    try:
        text = _decipher(content)
    except (ValueError, struct.error) as error:
        raise UserMistake(
            f"the login file {path} is damaged, or was not written by mysql_config_editor"
        ) from error
    return option_file.parse(text, str(path))


def _decipher(content: bytes) -> str:
    start = UNUSED_BYTES + KEY_MATERIAL_BYTES
    cipher = Cipher(algorithms.AES(_key(content[UNUSED_BYTES:start])), modes.ECB())  # noqa: S305
    lines = []
    while start < len(content):
        (length,) = struct.unpack_from("<i", content, start)
        start += LENGTH_BYTES
        block = content[start : start + length]
        if length <= 0 or len(block) != length:
            raise ValueError("a line is cut short")
        decryptor, unpadder = cipher.decryptor(), padding.PKCS7(algorithms.AES.block_size).unpadder()
        padded = decryptor.update(block) + decryptor.finalize()
        lines.append(unpadder.update(padded) + unpadder.finalize())
        start += length
    return b"".join(lines).decode(errors="surrogateescape")


def _key(material: bytes) -> bytes:
    if len(material) != KEY_MATERIAL_BYTES:
        raise ValueError("the key is cut short")
    key = bytearray(KEY_BYTES)
    for index, byte in enumerate(material):
        key[index % KEY_BYTES] ^= byte
    return bytes(key)
