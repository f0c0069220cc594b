"""sysbench, with its own scripts where it has them for the workload."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tlstax.study.client_kinds.kind import ClientKind, Limit, Wanted
from tlstax.study.client_kinds.limits import of_other_makers

NAME = "sysbench"

_TEXT = frozenset({"insert", "reconnect"})
"""Built-in workloads that it does without preparing anything."""

_HAS_NOT = (
    "people-",
    "words-",
    "session-",
    "answer-",
    "rows-",
    "sent-",
    "insert-",
    "connect-",
    "ping",
    "reconnect-ping",
)
"""How the names of the built-in workloads that it does not have begin."""

_VERIFIES_UNASKED_BEFORE = (3, 4)
"""MariaDB Connector/C up to 3.3 checks the chain of each certificate once it has an authority's file. Over
3.4 it depends on how sysbench was built: with another server's authority Debian 13's 1.0.20+ds-7 got in, and
sid's 1.0.20+ds-9 did not."""


def _limits(wanted: Wanted) -> Iterable[Limit]:
    yield from of_other_makers(wanted)
    workload = wanted.case.workload
    yield wanted.workload.own is not None or workload.startswith(_HAS_NOT), "has no such workload"
    yield (
        workload == "delete",
        "draws ids to delete at random, so that more and more of them are already gone",
    )
    yield (
        wanted.workload.is_prepared and workload in _TEXT,
        f"does {workload} only with a text query (protocol = text)",
    )


def _verifies(version: str) -> bool:
    library = re.search(r"Connector/C ([0-9]{1,4})\.([0-9]{1,4})", version)
    return library is not None and (int(library[1]), int(library[2])) < _VERIFIES_UNASKED_BEFORE


KIND: ClientKind = ClientKind(NAME, NAME, _limits, verifies=_verifies)
