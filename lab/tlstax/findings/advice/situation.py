"""How a server is used and by which TLS, in the terms in which it can be measured. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tlstax.results.advice import SeenUse, Source
from tlstax.results.inspection import Asked, InspectedServer, Topic, Use
from tlstax.study.level_names import CERTIFICATES
from tlstax.study.workloads.sessions import MOST_BYTES, MOST_STATEMENTS

ASSUMED_STATEMENTS, ASSUMED_BYTES = 10, 120
"""Of what nobody knows: a few small lookups, which is what is asked about most (docs/advising.md)."""

LEAST_CONNECTS, LEAST_CONNECTS_PER_S, LEAST_UPTIME_S = 20, 1.0, 600.0
"""Fewer connects in all say nothing of how clients use a server. Nor do fewer a second since its start, for
monitoring alone makes some, or a start that is not long ago."""


@dataclass(frozen=True)
class Now:
    """What clients left to themselves get: TLS version and key as levels, and what was seen of it.

    `certificate` is empty where no private server can have such a key. `resumes` says whether sessions of
    that version are resumed, None where that was not asked.
    """

    tls: str
    certificate: str
    key: str
    hello_retry: bool
    resumes: bool | None
    other_version: str | None


def now_of(found: InspectedServer) -> Now | None:
    """What a client gets; None where there is no TLS."""
    default = next((own.agreed for own in found.asked if own.topic == "default"), None)
    if default is None:
        return None
    version = default.version.removeprefix("TLSv")
    key = found.chain[0].key if found.chain else ""
    resumed = next((own for own in _of(found, "resumption") if own.name == f"TLS {version}"), None)
    other = {"1.3": "1.2", "1.2": "1.3"}.get(version)
    offered = any(own.agreed for own in _of(found, "version") if own.name == f"TLS {other}")
    return Now(
        tls=version,
        certificate=level_of(key),
        key=key,
        hello_retry=bool(default.hello_retry),
        resumes=None if resumed is None else resumed.agreed is not None,
        other_version=other if offered else None,
    )


def level_of(key: str) -> str:
    """The level of `certificate` that a key is, "RSA 4096" or "EC P-256"; empty where there is none."""
    level = re.sub(r"[ -]", "", key.lower()).replace("rsa", "rsa-").replace("ecp", "ec-p")
    return level if level in CERTIFICATES else ""


def use_of(
    found: InspectedServer, connects_per_s: float | None, statements: int | None, answer_bytes: int | None
) -> SeenUse:
    """How the server is used: as given, else as watched, else since its start, else as assumed."""
    source, seen = _seen(found.inside.watched, found.inside.since_start)
    per_connect = seen.statements_per_connect if seen is not None else None
    if statements is not None or connects_per_s is not None:
        source = "given"
    return SeenUse(
        connects_per_s=connects_per_s if connects_per_s is not None else seen and seen.connects_per_s,
        statements=statements or _within(per_connect, MOST_STATEMENTS) or ASSUMED_STATEMENTS,
        answer_bytes=answer_bytes or _within(_answer_bytes(seen), MOST_BYTES) or ASSUMED_BYTES,
        source=source,
    )


def _seen(watched: Use | None, since_start: Use | None) -> tuple[Source, Use | None]:
    """The use that enough connects tell of: what was watched before what is long ago."""
    if watched is not None and watched.connects_per_s * watched.over_s >= LEAST_CONNECTS:
        return "watched", watched
    if since_start is not None and _tells(since_start):
        return "since its start", since_start
    return "assumed", None


def _tells(since_start: Use) -> bool:
    return since_start.over_s >= LEAST_UPTIME_S and since_start.connects_per_s >= LEAST_CONNECTS_PER_S


def _answer_bytes(use: Use | None) -> float | None:
    if use is None or not use.statements_per_s or use.sent_bytes_per_s is None:
        return None
    return use.sent_bytes_per_s / use.statements_per_s


def _within(value: float | None, most: int) -> int | None:
    return None if value is None or value <= 0 else min(most, max(1, round(value)))


def _of(found: InspectedServer, topic: Topic) -> Sequence[Asked]:
    return [own for own in found.asked if own.topic == topic]
