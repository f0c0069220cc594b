"""The engine, tlstax's own load client: where its binary is."""

from __future__ import annotations

import os
from pathlib import Path

from tlstax.errors import MachineFault

BINARY_VARIABLE = "TLSTAX_ENGINE"
"""Set by the launcher to the binary that it built from these sources."""


def engine_command() -> list[str]:
    """The command that starts the engine; MachineFault when it has not been built."""
    path = os.environ.get(BINARY_VARIABLE, "")
    if not path or not Path(path).is_file():
        raise MachineFault(
            "the load engine has not been built", remedy="start tlstax by its launcher, which builds it"
        )
    return [path]
