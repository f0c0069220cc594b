"""What was done otherwise at an external server: it had no room for all cases, or let nothing be made."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.plan.admission import turns_apart, without_room
from tlstax.plan.sittings import companies, most_connections
from tlstax.plan.turns import held_at_once
from tlstax.records.trial import StoredRun
from tlstax.study.labels import label_levels
from tlstax.study.level_names import DIRECT
from tlstax.support.text import enumerated


def of_external(stored: StoredRun) -> tuple[str, ...]:
    """What was done otherwise there, and why, a sentence each."""
    header = stored.header
    if not header.guest or not stored.measured:
        return ()
    if header.external is not None:
        why = header.external.no_tables
        no_tables = (f"statements that read nothing took the place of point selects: {why}",) if why else ()
        return (*no_tables, *without_room(header.study, header.external), *_legs(stored))
    return _of_older(stored)


def _legs(stored: StoredRun) -> Iterator[str]:
    """What the server sees of connections that come by another address: its own leg, which we do not see."""
    seen: dict[str, dict[str, set[str]]] = {}
    for record in stored.measured:
        case = record.trial.case.typed
        if case.address == DIRECT or record.verdict.value != "valid" or record.ready is None:
            continue
        client = label_levels({"tls": case.tls})
        for both in record.ready.negotiated:
            views = seen.setdefault(case.address, {}).setdefault(client, set())
            views.add(both.server.version if both.server else "no TLS")
    for address, by_client in seen.items():
        legs = [
            f"{enumerated(sorted(views))} where the client has {client}"
            for client, views in sorted(by_client.items())
        ]
        yield f"behind {address} the server sees {enumerated(legs)}; nobody shows what lies between the two"


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
        and held_at_once((trial.case.levels for trial in company), study) > promised
    )
