"""Where passwords come in: from the environment, out of which they are taken, and never from an argument."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tlstax.support import credentials
from tlstax.support.errors import UserMistake

PASSWORD_VARIABLE = "TLSTAX_PASSWORD"  # noqa: S105 (the variable's name)
LIBPQ_VARIABLE = "PGPASSWORD"

OTHERS = ("MYSQL_PWD",)
"""What the clients of MySQL take a password from (MySQL's manual, "Environment Variables")."""

REMEDY = (
    "leave it out and give it at the prompt, in the environment variable "
    f"{PASSWORD_VARIABLE}, in a file with --defaults-file, or with --login-path"
)


def refuse_arguments(arguments: Sequence[str]) -> None:
    """UserMistake where an argument has a password in it, which is not repeated."""
    for before, argument in pairwise(("", *arguments)):
        if credentials.has_password(argument):
            name, equals, _ = argument.partition("=")
            if not (equals and name.startswith("-")):
                name = before if before.startswith("-") else ""
            raise UserMistake(
                "a password may not stand on the command line"
                f"{f' ({name})' if name else ''}, where other users and logs can see it",
                remedy="leave it out; ssh asks for it, or uses a key" if "ssh://" in argument else REMEDY,
            )


@dataclass(frozen=True)
class GivenPassword:
    """Passwords of the environment: that of TLSTAX_PASSWORD for whichever server, and libpq's PGPASSWORD.

    None where it was not set.
    """

    own: bytes | None = field(default=None, repr=False)
    libpq: bytes | None = field(default=None, repr=False)


def take() -> GivenPassword:
    """What the variables hold; from now on they are not set, nor is one of the others.

    What remains is what the kernel shows of this very process, to its user and to root: the environment that
    it was started with (/proc/PID/environ, proc(5)).
    """
    for other in OTHERS:
        os.environ.pop(other, None)
    return GivenPassword(
        own=os.environb.pop(PASSWORD_VARIABLE.encode(), None),
        libpq=os.environb.pop(LIBPQ_VARIABLE.encode(), None),
    )
