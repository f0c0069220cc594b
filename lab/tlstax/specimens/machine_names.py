"""What this machine's architecture is called: by the kernel, and by OpenSSL's Configure."""

from __future__ import annotations

import platform

CONFIGURE_TARGETS = {"x86_64": "linux-x86_64", "aarch64": "linux-aarch64"}
"""The names that OpenSSL's ./Configure has for machines (LIST in its output)."""


def machine() -> str:
    """As `uname -m` says it, such as x86_64 or aarch64."""
    return platform.machine()
