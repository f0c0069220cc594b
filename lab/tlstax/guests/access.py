"""How to get into a guest: the URL and the options that go with it, made one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tlstax.errors import UserMistake
from tlstax.guests import address as guest_address
from tlstax.guests import login_file, option_file
from tlstax.guests import tls as guest_tls
from tlstax.guests.address import GuestAddress
from tlstax.guests.tls import GuestTls

PASSWORD_VARIABLE = "TLSTAX_PASSWORD"  # noqa: S105 (the variable's name)


@dataclass(frozen=True)
class GuestOptions:
    """What the user said about the server, as the mysql client names it.

    The URL wins over the login path, and that over the [client] group of the defaults file.
    """

    url: str
    ssl_mode: str | None = None
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    defaults_file: Path | None = None
    login_path: str | None = None


@dataclass(frozen=True)
class GuestAccess:
    """A guest's address, who logs in there, and how TLS is used on the way."""

    address: GuestAddress
    user: str
    password: str = field(repr=False)
    tls: GuestTls = field(default_factory=GuestTls)


def settle(options: GuestOptions, ask: Callable[[str], str] | None = None) -> GuestAccess:
    """Everything that a connection needs; UserMistake when a part is missing or does not fit.

    The password is taken from the login path, the defaults file, the environment variable TLSTAX_PASSWORD
    (which may be empty for an account without one), or from `ask`, which is given the text of a prompt.
    """
    address = guest_address.parse(options.url)
    stored = _stored(options)
    user = address.user or stored.get("user")
    if not user:
        raise UserMistake(
            f"no user was named for {address}", remedy="write the URL as mysql://user@host:port/schema"
        )
    # Before the password, so that nobody types one only to be told of another mistake.
    tls = guest_tls.choose(
        options.ssl_mode or stored.get("ssl-mode"),
        options.ssl_ca or stored.get("ssl-ca"),
        options.ssl_cert or stored.get("ssl-cert"),
        options.ssl_key or stored.get("ssl-key"),
    )
    password = _password(stored, user, address, ask)
    for what, text in (("user", user), ("schema", address.schema or ""), ("password", password)):
        _check_text(text, what, address)
    return GuestAccess(address=address, user=user, password=password, tls=tls)


def _check_text(text: str, what: str, address: GuestAddress) -> None:
    """MySQL's protocol has these as text that ends with a NUL. The text itself is not told."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserMistake(
            f"the {what} for {address} is not UTF-8 text",
            remedy="check the encoding of the terminal or the file",
        ) from error
    if "\0" in text:
        raise UserMistake(f"the {what} for {address} has a NUL in it", remedy="give it without")


def _stored(options: GuestOptions) -> dict[str, str]:
    """Options from the files that were named; none is read unasked."""
    stored: dict[str, str] = {}
    if options.defaults_file is not None:
        stored.update(option_file.read(options.defaults_file).get("client", {}))
    if options.login_path is not None:
        stored.update(login_file.login_path(options.login_path))
    return stored


def _password(
    stored: dict[str, str], user: str, address: GuestAddress, ask: Callable[[str], str] | None
) -> str:
    if "password" in stored:
        return stored["password"]
    given = os.environ.get(PASSWORD_VARIABLE)
    if given is not None:
        return given
    if ask is None:
        raise UserMistake(
            f"no password was given for {user} at {address}",
            remedy=f"set {PASSWORD_VARIABLE}, or name a file with --defaults-file or --login-path",
        )
    return ask(f"Password of {user} at {address}: ")
