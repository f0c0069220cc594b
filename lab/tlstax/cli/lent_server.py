"""The server that a command is about: an external one by its address, or a private one by its name."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tlstax.guests.access import GuestAccess, GuestOptions, settle
from tlstax.inspection.own_server import private_access
from tlstax.support.errors import UserMistake


@contextmanager
def accessed(options: GuestOptions, say: Callable[[str], None]) -> Iterator[GuestAccess]:
    """How to get into it; a private one runs until the block is left. Raises UserMistake for bad options."""
    if "://" in options.url:
        yield settle(options, getpass.getpass if sys.stdin.isatty() else None)
        return
    for name in ("ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "defaults_file", "login_path", "server_host"):
        if getattr(options, name) is not None:
            raise UserMistake(
                f"--{name.replace('_', '-')} needs the address of an external server",
                remedy="give its mysql:// address, or leave the option out",
            )
    with private_access(options.url or None, say) as access:
        yield access
