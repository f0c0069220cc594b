"""What clients of other makers have in common: their options leave things out."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.contract import OpenLoop
from tlstax.study.client_kinds.kind import Limit, Wanted
from tlstax.study.level_names import OWN


def of_other_makers(wanted: Wanted) -> Iterable[Limit]:
    """What no client but the engine has an option for."""
    case = wanted.case
    yield isinstance(wanted.schedule, OpenLoop), "cannot be given a rate"
    yield case.resumes, "resumes no session"
    yield case.group != "default", "takes no key exchange group"
    yield case.is_compressed, "is not told by tlstax to compress, nor asked whether it does"
    yield case.client_tls_library != OWN, "keeps the TLS library that it comes with"
