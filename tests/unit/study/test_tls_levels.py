"""Clients of old servers are told the only cipher that both can, short keys are allowed; else nothing is."""

from __future__ import annotations

import pytest

from tlstax.contract import TlsVersion
from tlstax.study import tls_levels


@pytest.mark.parametrize(
    ("version", "ciphers"),
    [
        ("1.0", "AES256-SHA:@SECLEVEL=0"),
        ("1.1", "AES256-SHA:@SECLEVEL=0"),
        ("1.2", None),
        ("1.3", None),
        (None, None),
    ],
)
def test_only_old_versions_are_told_a_cipher(version: TlsVersion | None, ciphers: str | None) -> None:
    assert tls_levels.cipher_list(version) == ciphers


def test_short_keys_lower_the_security_level_on_both_sides_and_others_do_not() -> None:
    assert tls_levels.cipher_list("1.3", "rsa-1024") == "DEFAULT:@SECLEVEL=0"
    assert tls_levels.cipher_list("1.0", "rsa-1024") == "AES256-SHA:@SECLEVEL=0"
    assert tls_levels.cipher_list("1.3", "rsa-4096") is None
    assert "CipherString = DEFAULT:@SECLEVEL=0\n" in tls_levels.openssl_conf("rsa-1024")
    assert not tls_levels.openssl_conf("ec-p256")
