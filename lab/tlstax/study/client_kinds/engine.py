"""Our own load engine, which does every case that is not for drivers alone."""

from __future__ import annotations

from tlstax.study.client_kinds.kind import ClientKind
from tlstax.study.level_names import ENGINE

KIND: ClientKind = ClientKind(
    ENGINE,
    "the engine",
    lambda _: (),
    makes_storms=True,
    takes_turns=True,
    tells_full_load=True,
    verifies=lambda _: True,
)
