"""What nobody can prove themselves by is left out of a study, with the reason."""

from __future__ import annotations

import pytest

from left_out import why_left_out
from tlstax.study import Level


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"tls": "1.2", "certificate": "mldsa65"}, "signs handshakes of TLS 1.3 alone"),
        ({"tls": "1.3", "certificate": "mldsa65"}, ""),
        ({"tls": "off", "certificate": "mldsa65"}, ""),
        ({"tls": "1.2", "certificate": "ed25519"}, ""),
        ({"tls": "1.3", "client_certificate": "on", "auth": "mysql_native_password"}, "default plugin"),
        ({"tls": "1.3", "client_certificate": "on"}, ""),
        (
            {"tls": "1.3", "client_certificate": "on", "path": "router-terminate"},
            "never sees its certificate",
        ),
        ({"tls": "1.3", "client_certificate": "on", "path": "haproxy"}, ""),
        ({"tls": "off", "client_certificate": "on", "auth": "mysql_native_password"}, ""),
    ],
)
def test_why_a_case_is_left_out(levels: dict[str, Level], words: str) -> None:
    found = why_left_out(levels)
    assert words in found
    assert bool(found) == bool(words)
