"""What was done otherwise at external servers: no room for all cases, nothing made, nobody in the clear."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.plan import at_work
from tlstax.plan.admission import turns_apart, without_room
from tlstax.plan.elsewhere import Promise
from tlstax.plan.sittings import companies, most_connections
from tlstax.plan.stand_ins import stand_in_for
from tlstax.records.external import ExternalServer
from tlstax.records.trial import StoredRun
from tlstax.study.labels import label_levels
from tlstax.study.level_names import DIRECT, KEPT_BESIDE_MADE
from tlstax.study.mixes import Mix
from tlstax.study.server_words import key_of
from tlstax.support.text import enumerated
from tlstax.topics.prediction.model import SERVER_CPU
from tlstax.topics.prediction.other_machines import shipped_parts, stand_in
from tlstax.topics.prediction.prediction import costs, in_the_clear

COUNTED = ("Com_select", "Com_insert", "Com_update", "Com_delete", "Com_replace")
"""What a server counts of statements that read and write (reference manual, "Server Status Variables")."""


SELECT_BYTES, MANY = 120, 1000
"""The answer to a point select, and statements on a connection that is kept."""


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
        less = (*_of_plaintext(stored), *no_tables, *without_room(header.study, header.external))
        return (*less, *_of_others(stored), *_legs(stored))
    return _of_older(stored)


def _of_plaintext(stored: StoredRun) -> Iterator[str]:
    """Of each server that rules it out a sentence that says why, and what is known of it elsewhere."""
    return (_why_none(own, stored) for own in stored.header.external if own.no_plaintext)


def _why_none(external: ExternalServer, stored: StoredRun) -> str:
    why = f"plaintext was not measured: {external.no_plaintext}"
    servers = (one for one in stored.header.specimens if one.kind == "server")
    own = next((one for one in servers if external.server in {None, one.name}), None)
    specimen = None if own is None else stand_in_for(own.version)
    if specimen is None:
        return why
    version = "1.2" if str(stored.header.study.baseline.get("tls")) == "1.2" else "1.3"
    return f"{why}; {_elsewhere(specimen, version)}"


def _elsewhere(specimen: str, version: str) -> str:
    """What TLS costs beside plaintext by the parts that come with tlstax, of the server that is nearest."""
    parts = shipped_parts(stand_in(specimen))
    model = parts.calibrated()
    one = Mix(tls="1.2" if version == "1.2" else "1.3", statements=1, answer_bytes=SELECT_BYTES)
    many = one.but(statements=MANY)

    def cpu_us(mix: Mix) -> float:
        return costs(model, mix, 0.0)[SERVER_CPU].point

    kept = (cpu_us(many) - cpu_us(one)) / (cpu_us(in_the_clear(many)) - cpu_us(in_the_clear(one)))
    made = cpu_us(one) / cpu_us(in_the_clear(one))
    return (
        f"measured elsewhere, on a private {parts.server} with a certificate of {key_of(one.certificate)} "
        f"({parts.processor}): TLS {version} costs the server about {kept - 1:+.0%} CPU a point select and "
        f"×{made:.1f} a new connection, compared with plaintext (`tlstax run --server {specimen}` measures "
        "that on this machine)"
    )


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
        and Promise.of((trial.case.levels for trial in company), study).held > promised
    )
