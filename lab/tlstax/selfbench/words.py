"""The TLS of held connections, in words."""

from __future__ import annotations

TLS_WORDS = {"off": "in plaintext", "1.3": "under TLS 1.3"}
