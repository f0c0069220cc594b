"""User names and passwords of private servers, generated for each server and kept in memory only."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

ADMINISTRATOR = "tlstax_admin"
LOAD_USER = "tlstax_load"
LOAD_USER_BY_CERTIFICATE = "tlstax_load_by_certificate"
SCHEMA = "tlstax"

PASSWORD_BYTES = 24
"""Entropy of a generated password: 192 bits, 32 characters."""


def user_by_plugin(plugin: str) -> str:
    """The load account that is proved by this plugin: one for each, since cases of one run may have several.

    With the longest name of a plugin it has 31 characters; MySQL takes 32.
    """
    return f"tlstax_by_{plugin}"


@dataclass(frozen=True)
class Credentials:
    """The two accounts of a private server: one for the laboratory, one for the load.

    The passwords consist of letters, digits, `-` and `_`, so they stand in SQL without escapes.
    """

    admin_password: str = field(repr=False)
    load_password: str = field(repr=False)
    root_password: str = field(repr=False)


def generate() -> Credentials:
    """New credentials from the operating system's random numbers."""
    return Credentials(
        admin_password=secrets.token_urlsafe(PASSWORD_BYTES),
        load_password=secrets.token_urlsafe(PASSWORD_BYTES),
        root_password=secrets.token_urlsafe(PASSWORD_BYTES),
    )
