"""A trial whose locks were not counted, or not all of them, is found out."""

from __future__ import annotations

from typing import Any

from test_settings_checks import PLAIN, trial

from tlstax.checks.complete import Doubt
from tlstax.checks.identity import counted
from tlstax.records.window import LockCounts, LockSite

SITE = LockSite(kind="mutex", library="mysqld", function="f", calls=12, contended=0, moved=3)


def judged(seen: LockCounts | None, fault: str = "count-locks") -> list[Doubt]:
    made = trial(PLAIN, levels={"fault": fault})
    return list(counted(made._replace(evidence=made.evidence.model_copy(update={"locks": seen}))))


def counts(**changes: Any) -> LockCounts:
    watched = trial(PLAIN, levels={}).evidence.watched_operations
    return LockCounts(**{"operations": watched, "sites": (SITE,), "lost": 0, **changes})


def test_all_locks_of_the_operations_that_were_watched_are_counted() -> None:
    assert judged(counts()) == []
    assert judged(None, fault="none") == []


def test_none_at_all_is_a_count_of_a_server_that_accepted_the_connections() -> None:
    assert judged(counts(sites=(), accepted=8)) == []


def test_what_is_missing_is_found_out() -> None:
    assert judged(None) == [Doubt("unknown", "it is not known which locks the server took")]
    assert judged(counts(lost=3)) == [
        Doubt("invalid", "3 calls for a lock found no room where they are counted")
    ]
    nothing = [
        Doubt("invalid", "no connection of the server took a lock that is counted, nor was one accepted")
    ]
    assert (
        judged(counts(sites=())) == judged(counts(sites=(SITE.model_copy(update={"calls": 0}),))) == nothing
    )
    assert judged(counts(sites=(), accepted=0)) == nothing
    (doubt,) = judged(counts(operations=1))
    assert doubt.weight == "invalid"
    assert "counted over 1 operation" in doubt.reason


def judged_beside(client: str, seen: LockCounts | None) -> list[Doubt]:
    """What is said of a client's own locks, beside a server of which all is known."""
    made = trial(PLAIN, levels={"fault": "count-locks", "client": client})
    both = {"locks": counts(), "client_locks": seen}
    return list(counted(made._replace(evidence=made.evidence.model_copy(update=both))))


def test_a_client_that_counts_its_locks_has_counted_all_of_them() -> None:
    assert judged_beside("pgbench", counts()) == judged_beside("pgbench", counts(sites=())) == []
    assert judged_beside("engine", None) == []
    assert judged_beside("pgbench", None) == [Doubt("unknown", "it is not known which locks the client took")]
    (lost,) = judged_beside("pgbench", counts(lost=2))
    (others,) = judged_beside("pgbench", counts(operations=1))
    assert (lost.weight, others.weight) == ("invalid", "invalid")
