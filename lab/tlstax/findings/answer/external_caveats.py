"""That cases at an external server took no turns, since they would have held more than it was promised."""

from __future__ import annotations

from tlstax.plan.elsewhere import Elsewhere, most_connections
from tlstax.plan.sittings import companies
from tlstax.records.trial import StoredRun
from tlstax.study.labels import group_label
from tlstax.support.text import counted


def of_turns(stored: StoredRun) -> tuple[str, ...]:
    """A sentence for the first group of cases that had an external server to themselves for that reason."""
    study = stored.header.study
    if not stored.header.guest or not stored.measured:
        return ()
    elsewhere = Elsewhere(most_connections(study), round_trip_s=0.0)
    block = [one for one in stored.measured if one.trial.block == stored.measured[0].trial.block]
    in_turns = {one.trial.position for one in block if one.slices is not None}
    found = []
    for company in companies(study, [one.trial for one in block]):
        cases = [trial.case.levels for trial in company]
        why = elsewhere.why_not(cases, study, slice_s=0.0)
        if why and not any(trial.position in in_turns for trial in company):
            found.append(f"{group_label(cases[0], study)}: each case had the server to itself, because {why}")
    others = f"; so it was with {counted(len(found) - 1, 'other group')} of cases" if len(found) > 1 else ""
    return (f"{found[0]}{others}",) if found else ()
