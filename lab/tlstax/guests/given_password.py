"""The password in the environment: taken out once, at the door, so that no child process inherits it."""

from __future__ import annotations

import os

PASSWORD_VARIABLE = "TLSTAX_PASSWORD"  # noqa: S105 (the variable's name)


def take() -> bytes | None:
    """What the variable holds, None where it is not set; from now on it is not.

    What remains is what the kernel shows of this very process, to its user and to root: the environment that
    it was started with (/proc/PID/environ, proc(5)).
    """
    return os.environb.pop(PASSWORD_VARIABLE.encode(), None)
