"""Trials at a made-up PostgreSQL: those of `fake_trials`, with what its server and its client would say."""

from __future__ import annotations

from typing import Any

from fake_trials import Truth, fake_run, tax_truth
from tlstax.checks import judged
from tlstax.contract import Counts, PhaseWire, PostgreSqlServer
from tlstax.plan.jobs import comes_and_goes
from tlstax.records.server_counts import LOGIN_TRANSACTIONS
from tlstax.records.trial import ConnectionsSeen, Specimen, StoredRun, TrialRecord
from tlstax.study import Case, load_study, override, workloads
from tlstax.study.level_names import DIRECT_TLS

ASKED_ON_CONNECTING = 1
"""Statements on each of the first connections by which the engine asks what is negotiated."""


def at_postgresql(record: TrialRecord, version: str = "18.1", *, logs: bool = False) -> TrialRecord:
    """The trial as an honest client and a PostgreSQL of this version would have it."""
    assert record.job is not None
    assert record.done is not None
    assert record.ready is not None
    assert record.server is not None
    case, done = record.trial.case.levels, record.done
    begins = "direct" if case.tls == DIRECT_TLS else "request"
    workload = workloads.built_in(case.workload, "sbtest1", 10_000, "postgresql")
    server = PostgreSqlServer.model_validate({"ssl_negotiation": begins})
    job = record.job.model_copy(update={"server": server, "workload": workload})
    way = "scram-sha-256-plus" if case.is_encrypted else "scram-sha-256"
    lifetime, window = _by(done.lifetime, way), _by(done.window, way)
    retried = sum(seen.count for seen in window.handshakes if seen.hello_retry)
    wire = _phases(window.connections, retried, case.tls) if comes_and_goes(workload) else {}
    changed = workloads.rows_changed(workload)
    of_server: dict[str, Any] = {
        "version": version,
        "status_delta": {
            "pg_stat_database.sessions": lifetime.connections,
            "pg_stat_database.xact_commit": lifetime.connections * (LOGIN_TRANSACTIONS + ASKED_ON_CONNECTING)
            + workloads.transactions_each(workload) * done.operations,
            "pg_stat_database.tup_inserted": changed.inserted * done.operations,
            "pg_stat_database.tup_updated": changed.updated * done.operations,
            "pg_stat_database.tup_deleted": changed.deleted * done.operations,
        },
    }
    if logs:
        seen = record.ready.negotiated[0].server
        of_all = ConnectionsSeen(
            connections=lifetime.connections,
            version=seen and seen.version,
            cipher=seen and seen.cipher,
        )
        of_server["logged"] = (of_all,)
    said = record.ready.model_copy(update={"server_version": version})
    return record.model_copy(
        update={
            "job": job,
            "ready": said,
            "done": done.model_copy(update={"lifetime": lifetime, "window": window, "phase_wire": wire}),
            "server": record.server.model_copy(update=of_server),
        }
    )


def _by(counts: Counts, way: str) -> Counts:
    return counts.model_copy(update={"authentications": {way: counts.connections}})


def _phases(times: int, retried: int, tls: str) -> dict[str, PhaseWire]:
    """What crosses the wire before the login; without TLS nobody asks for it."""
    if tls == "off" or not times:
        return {}
    handshake = PhaseWire(
        times=times, round_trips=times + retried, bytes_sent=600 * times, bytes_received=2000 * times
    )
    asked = {} if tls == DIRECT_TLS else {"greeting": _greeting(times)}
    return {**asked, "tls_handshake": handshake}


def _greeting(times: int) -> PhaseWire:
    return PhaseWire(times=times, round_trips=times, bytes_sent=8 * times, bytes_received=times)


def postgresql_run() -> StoredRun:
    """A run of the tax study on a PostgreSQL 17, whose only curve is not the one that its client sends."""
    study = override(load_study("tax"), "server", ["postgresql-17"])
    study = override(study, "tls", ["off", "1.3", "1.3-direct"])
    run = fake_run(study, noise=0.0, invalid=False, number_of_blocks=5, truth=_truth)
    named = Specimen(name="postgresql-17", kind="server", version="17.6", origin="Debian trixie")
    others = (specimen for specimen in run.header.specimens if specimen.kind != "server")
    header = run.header.model_copy(update={"specimens": (named, *others)})
    trials = tuple(judged(at_postgresql(record, "17.6")) for record in run.trials)
    return run.model_copy(update={"header": header, "trials": trials})


def _truth(case: Case) -> Truth:
    """Direct TLS saves a question; else PostgreSQL is here as the other servers are."""
    levels = {**case.levels, "resumption": "off"}
    if case.levels["tls"] != DIRECT_TLS:
        return tax_truth(Case(levels=levels, role=case.role))
    asked = tax_truth(Case(levels={**levels, "tls": "1.3"}, role=case.role))
    return asked.times(1.02) if case.levels["workload"] == "reconnect" else asked
