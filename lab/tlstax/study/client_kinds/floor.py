"""The bare floor: the least that a client can do for the same work, and so hardly anything else."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.contract import OpenLoop
from tlstax.study.client_kinds.kind import ClientKind, Limit, Wanted
from tlstax.study.level_names import POINT_SELECT, RECONNECT

NAME = "floor"

ONLY_TLS = "1.3"
"""It asks its connections nothing, so that a server which accepts this version alone has to prove it."""


def _limits(wanted: Wanted) -> Iterable[Limit]:
    case = wanted.case
    yield (
        case.workload not in {POINT_SELECT, RECONNECT},
        f"sends one short statement again and again: {POINT_SELECT}, or {RECONNECT}",
    )
    yield (
        case.workload == RECONNECT and wanted.workload.is_prepared,
        "prepares nothing on connections that it makes anew (protocol = text)",
    )
    yield isinstance(wanted.schedule, OpenLoop), "cannot be given a rate"
    yield case.queries is not None, "works for a time, and does no number of queries"
    yield case.resumes, "resumes no session"
    yield case.is_compressed, "compresses nothing"
    yield (
        case.is_encrypted and case.tls != ONLY_TLS,
        f"does not ask which TLS it has, and is proved by a server that accepts {ONLY_TLS} alone",
    )


KIND: ClientKind = ClientKind(
    NAME, "the bare floor", _limits, asks=False, takes_turns=True, has_one_thread=True
)
