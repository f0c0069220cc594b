"""What was done otherwise at external servers: they had no room for all cases, or let nothing be made."""

from __future__ import annotations

from tlstax.plan.admission import turns_apart, without_room
from tlstax.plan.elsewhere import Promise
from tlstax.plan.sittings import companies, most_connections
from tlstax.records.trial import StoredRun


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
        return (*no_tables, *without_room(header.study, header.external))
    return _of_older(stored)


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
