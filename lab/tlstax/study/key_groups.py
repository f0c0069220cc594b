"""Key exchange groups by their names: how OpenSSL spells them, and what the field calls them."""

from __future__ import annotations

from tlstax.study.level_names import GROUPS

KEY_GROUPS = (
    "X25519MLKEM768",
    "SecP256r1MLKEM768",
    "X25519",
    "P-256",
    "P-384",
    "P-521",
    "X448",
    "ffdhe2048",
)
"""Those that are asked for by name (IANA, TLS Supported Groups), as OpenSSL spells them."""

_LEVELS = {registered: level for level, registered in GROUPS.items()}


def group_name(registered: str | None) -> str:
    """A group by its better known name (RFC 8422, appendix A): "P-256" for secp256r1; empty for none."""
    return _LEVELS.get(registered or "", registered or "")
