"""The passwords of a private server's accounts."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

PASSWORD_BYTES = 24
"""Entropy of a generated password: 192 bits, 32 characters."""


@dataclass(frozen=True)
class Credentials:
    """Those of the laboratory's account, of the load's, and of the server's own administrator.

    The passwords consist of letters, digits, `-` and `_`, so they stand in SQL without escapes.
    """

    admin_password: str = field(repr=False)
    load_password: str = field(repr=False)
    root_password: str = field(repr=False)


def new_credentials() -> Credentials:
    """New credentials from the operating system's random numbers."""
    return Credentials(
        admin_password=secrets.token_urlsafe(PASSWORD_BYTES),
        load_password=secrets.token_urlsafe(PASSWORD_BYTES),
        root_password=secrets.token_urlsafe(PASSWORD_BYTES),
    )
