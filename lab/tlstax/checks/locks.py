"""Proof of counted locks: the server's connections called the library, and none of their calls was lost."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.study.level_names import COUNT_LOCKS


def counted(trial: Complete) -> Iterator[Doubt]:
    """Locks were counted over the operations that were watched, and all of them."""
    if trial.case.fault != COUNT_LOCKS:
        return
    seen = trial.evidence.locks
    if seen is None:
        yield Doubt("unknown", "it is not known which locks the server took")
        return
    if seen.lost:
        yield Doubt("invalid", f"{seen.lost} calls that take locks found no room where they are counted")
    if not any(site.calls for site in seen.sites):
        yield Doubt("invalid", "no connection of the server took a lock that is counted")
    if seen.operations != trial.evidence.watched_operations:
        yield Doubt(
            "invalid",
            f"locks were counted over {seen.operations} operations, and {trial.evidence.watched_operations} "
            "were watched",
        )
