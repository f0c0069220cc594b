"""Clients of old servers are told the only cipher that both can; nobody else is told any."""

from __future__ import annotations

import pytest

from tlstax import legacy_tls
from tlstax.contract import TlsVersion


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
    assert legacy_tls.cipher_list(version) == ciphers
