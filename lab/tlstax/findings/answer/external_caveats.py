"""What was done otherwise at external servers: they had no room for all cases, or let nothing be made."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.plan import at_work
from tlstax.plan.admission import turns_apart, without_room
from tlstax.plan.elsewhere import Promise
from tlstax.plan.sittings import companies, most_connections
from tlstax.records.trial import StoredRun
from tlstax.study.level_names import KEPT_BESIDE_MADE

COUNTED = ("Com_select", "Com_insert", "Com_update", "Com_delete", "Com_replace")
"""What a server counts of statements that read and write (reference manual, "Server Status Variables")."""


def of_external(stored: StoredRun) -> tuple[str, ...]:
    """What was done otherwise there, and why, a sentence each."""
    header = stored.header
    if not header.guest or not stored.measured:
        return ()
    if header.external:
        no_tables = [
            f"statements that read nothing took the place of point selects: {own.no_tables}"
            for own in header.external
            if own.no_tables
        ]
        return (*no_tables, *without_room(header.study, header.external), *_of_others(stored))
    return _of_older(stored)


def _of_others(stored: StoredRun) -> Iterator[str]:
    """What others were seen to do there before the first block, and while it was measured."""
    for external in stored.header.external:
        seen = external.at_work
        if seen is not None and at_work.is_at_work(seen.others_per_s):
            at = f"{external.server}: " if external.server is not None else ""
            yield f"{at}{at_work.words(seen)}"
    meanwhile = others_per_s(stored)
    if meanwhile is not None and at_work.is_at_work(meanwhile):
        yield (
            f"others ran about {meanwhile:,.0f} statements a second at the server while it was measured; "
            "what they do there is in all figures"
        )


def others_per_s(stored: StoredRun) -> float | None:
    """How many statements a second others ran while cases were watched; None where that cannot be told.

    A case of one statement that reads, on connections that are kept, says how many SELECT it has run; what
    the server counted beyond that, and all that writes, was somebody else's.
    """
    others, watched_s = 0, 0.0
    for record in stored.measured:
        window, case = record.window, record.trial.case
        reads = case.typed.workload in {kept for kept, _ in KEPT_BESIDE_MADE}
        if window is None or not window.status_delta or not reads or record.failure:
            continue
        counted = sum(window.status_delta.get(name, 0) for name in COUNTED)
        others += counted - record.watched_operations
        watched_s += window.took_s
    return max(0.0, others / watched_s) if watched_s else None


def _of_older(stored: StoredRun) -> tuple[str, ...]:
    """Of an older run, in which cases took turns only where `--connections` had room for all."""
    study = stored.header.study
    promised = most_connections(study)
    block = [one for one in stored.measured if one.trial.block == stored.measured[0].trial.block]
    in_turns = {one.trial.position for one in block if one.slices is not None}
    return tuple(
        turns_apart(company, study, promised, parts=0)
        for company in companies(study, [one.trial for one in block])
        if not any(trial.position in in_turns for trial in company)
        and Promise.of((trial.case.levels for trial in company), study).held > promised
    )
